"""What the scripts under `scripts/reproduce` share: one argument, the folder into which a table and a picture go."""

import argparse
from collections.abc import Callable
from pathlib import Path


def called(main: Callable[[str], None], text: str) -> None:
    """Call `main` with the folder that the command line names; `text` says what is reproduced."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="reproduced", help="where the picture and the table go")
    main(parser.parse_args().folder)


def made(folder: str) -> Path:
    """The folder, which is made if it is not there."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


def show(table: Path, picture: Path) -> None:
    """Print the table, and say where the picture is."""
    print(table.read_text())
    print(f"picture: {picture}")

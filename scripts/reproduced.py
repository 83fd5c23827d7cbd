"""What the scripts under `scripts/reproduce` share: one argument, a folder for a table and a picture, and refusals."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tacit.errors import PrivacyError

T = TypeVar("T")


def called(main: Callable[[str], None], text: str) -> None:
    """Call `main` with the folder that the command line names; `text` says what is reproduced."""
    parser = argparse.ArgumentParser(description=text.splitlines()[0])
    parser.add_argument("folder", nargs="?", default="reproduced", help="where the picture and the table go")
    main(parser.parse_args().folder)


def made(folder: str) -> Path:
    """Make the folder if it is not there."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    return path


def show(table: Path, picture: Path) -> None:
    """Print the table, and say where the picture is."""
    print(table.read_text())
    print(f"picture: {picture}")


class Refusals:
    """Plans that were refused: gaps in the curves, with their reasons under the table."""

    def __init__(self) -> None:
        self._reasons: dict[str, list[str]] = {}

    def attempt(self, name: str, make: Callable[[], T]) -> T | None:
        """Make a plan, or what is read off plans; None if one is refused, under this name."""
        try:
            return make()
        except PrivacyError as error:
            self._reasons.setdefault(str(error), []).append(name)
            return None

    def lines(self) -> list[str]:
        """Each reason once, with the names of what it refused."""
        return [
            line for reason, names in self._reasons.items() for line in ("", f"Refused ({'; '.join(names)}): {reason}")
        ]

"""Take the pictures of the live page again: `python -m scripts.docs.live_page` writes them to docs/images.

Chromium looks at the page of `tacit serve --demo`, as a desktop and as a phone, light and dark.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from scripts.docs import browser

IMAGES = Path(__file__).parents[2] / "docs" / "images"
COLOURS = 96  # more than the page has, edges of letters aside
SCREENS = {
    "live-light": {"width": 1200, "height": 1010, "scheme": "light"},
    "live-dark": {"width": 1200, "height": 850, "scheme": "dark"},
    "live-phone": {"width": 390, "height": 844, "scheme": "light", "scale": 1.5},
}
OPENED = "document.querySelectorAll('article > details').forEach((part, index) => part.open = index < arguments[0])"


@contextmanager
def demo() -> Iterator[tuple[str, str]]:
    """The address of the demo, and its token."""
    command = [sys.executable, "-m", "tacit.cli.main", "serve", "--demo", "--no-browser", "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            told = json.loads(child.stdout.readline())
            yield told["address"], told["page"].partition("#token=")[2]
        finally:
            child.send_signal(signal.SIGTERM)


def take(folder: Path) -> Iterator[Path]:
    """Every picture."""
    with demo() as (address, token), browser.opened() as driver:
        browser.sign_in(driver, address, token)
        for name, screen in SCREENS.items():
            browser.look_like(driver, still=True, **screen)
            driver.execute_script(OPENED, int(name == "live-light"))  # one contract is enough to see
            time.sleep(1.5)
            driver.save_screenshot(str(folder / f"{name}.png"))
            yield shrink(folder / f"{name}.png")


def shrink(path: Path) -> Path:
    """Keep as many colours as the page needs."""
    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(COLOURS)
    small.save(path, optimize=True)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=IMAGES, help="where the pictures go")
    arguments = parser.parse_args()
    for made in take(arguments.folder):
        print(made)

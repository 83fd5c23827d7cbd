"""Chromium without a window, driven by selenium: for pictures of the live page, and for its tests.

It asks no other host for anything: Debian's chromium and chromedriver are taken where they are installed.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

QUIET = ("disable-background-networking", "disable-component-update", "disable-sync", "no-first-run", "disable-gpu")


def missing() -> str:
    """Why there is no browser here (empty: there is one)."""
    if find_spec("selenium") is None:
        return "selenium is not installed"
    absent = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"{' and '.join(absent)} not installed (Debian: apt install chromium chromium-driver)" if absent else ""


@contextmanager
def opened() -> Iterator[Any]:
    """A browser with its logs on."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars", *QUIET):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(60)
        yield driver
    finally:
        driver.quit()


def look_like(driver: Any, *, width: int, height: int, scheme: str, still: bool = False, scale: float = 1.0) -> None:
    """The size of a screen, light or dark, and whether somebody asked for less motion."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    features.append({"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    screen = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)


def sign_in(driver: Any, address: str, token: str) -> None:
    """Put the token where the form would, and open the page."""
    driver.execute_cdp_cmd(
        "Network.setCookie", {"name": "tacit_token", "value": token, "url": address, "httpOnly": True}
    )
    driver.get(address)


def hosts(driver: Any) -> set[str]:
    """Every host that was asked for something since the last look."""
    found = set()
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.add(urlsplit(message["params"]["request"]["url"]).netloc)
    return found - {""}


def complaints(driver: Any) -> list[str]:
    """What the console holds since the last look."""
    return [entry["message"] for entry in driver.get_log("browser")]

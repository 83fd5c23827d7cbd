"""Check that the search of the built site finds what people type: `python -m scripts.docs.search`, after `make docs`.

The site's own search is asked, in a browser: its first answer must be on the page that is named here.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from scripts.docs import browser
from scripts.docs.hooks import WORDS

SITE = Path(__file__).parents[2] / "build" / "site"
EXPECTED = {word: page.removesuffix(".md") for page, words in WORDS.items() for word in words} | {
    "thompson": "algorithms/live-arms",
    "a/b test": "experiments",
    "bandit": "arms",
    "frank-wolfe": "algorithms/bandit-fw",
    "install": "index",
    "kubernetes": "deployment",
    "limitations": "limitations",
    "lower bound": "lower-bounds",
    "sdk": "sdk",
    "spark": "fleet",
    "typescript": "sdk",
}


def main() -> None:
    """Ask for every word, and stop with those that are not found."""
    if browser.missing():
        print(f"The search was not checked: {browser.missing()}.")
        return
    with browser.opened() as driver:
        found = {word: first_answer(driver, word) for word in EXPECTED}
    wrong = [
        f"{word!r} leads to {found[word]}, not to {page}" for word, page in EXPECTED.items() if found[word] != page
    ]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"The search finds the right page for {len(EXPECTED)} queries.")


def first_answer(driver: Any, word: str) -> str:
    """Give the page of the first answer ("": there is none)."""
    from selenium.common.exceptions import TimeoutException
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    driver.get("about:blank")  # so that the next address is loaded, not only its query changed
    driver.get(f"{(SITE / 'index.html').as_uri()}?q={quote(word)}")
    try:
        links = WebDriverWait(driver, 20).until(lambda d: d.find_elements(By.CSS_SELECTOR, ".md-search-result__link"))
    except TimeoutException:
        return ""
    address = links[0].get_attribute("href").partition("?")[0].partition("#")[0]
    return address.removeprefix(f"{SITE.as_uri()}/").removesuffix(".html")


if __name__ == "__main__":
    main()

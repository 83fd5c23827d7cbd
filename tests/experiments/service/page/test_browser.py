"""The page in a real browser: it lives, speaks to nobody else, and can be used without a mouse or without eyes.

Needs Debian's chromium and chromedriver. The check by axe-core needs npm once, which puts it into build/axe.
"""

import json
import shutil
import subprocess
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from scripts.docs import browser

import tacit_experiments
from experiments.service.page.world import PROBLEM, TARGET, fill
from experiments.service.running import running
from tacit_experiments.service import demo

pytestmark = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing() or "there is a browser")
AXE = Path(__file__).parents[4] / "build" / "axe"
VERSION = "axe-core@4.10"
DESKTOP, PHONE = (1280, 900), (390, 844)


@pytest.fixture(scope="module")
def driver():
    with browser.opened() as made:
        yield made


@pytest.fixture(scope="module")
def axe():
    """The source of axe-core."""
    source = AXE / "node_modules" / "axe-core" / "axe.min.js"
    if not source.exists():
        if shutil.which("npm") is None:
            pytest.skip(f"axe-core is not in {AXE}, and there is no npm to fetch it")
        command = ["npm", "install", "--prefix", str(AXE), "--no-audit", "--no-fund", "--ignore-scripts", VERSION]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=120)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            pytest.skip(f"axe-core is not in {AXE}, and npm cannot fetch it")
    return source.read_text()


def until(condition, seconds=30.0):
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never was so"
        time.sleep(0.05)


def text(driver, selector):
    return driver.execute_script("return document.querySelector(arguments[0])?.textContent ?? ''", selector)


def focused(driver):
    """What has the focus, in a few words, and whether one sees that it has."""
    return driver.execute_script(
        "const e = document.activeElement, r = e.getBoundingClientRect(), s = getComputedStyle(e);"
        "return [e.id || e.tagName, e.textContent.trim().slice(0, 12), r.width > 0 && s.outlineStyle !== 'none']"
    )


def press(driver, key):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(key).perform()


def test_signing_in_looking_and_signing_out_by_keyboard(driver, tmp_path):
    from selenium.webdriver.common.keys import Keys

    with running(tmp_path / "decisions.db") as service:
        live = service.store.open("homepage", PROBLEM, **TARGET)
        browser.look_like(driver, width=DESKTOP[0], height=DESKTOP[1], scheme="light")
        driver.get(service.url)
        assert focused(driver)[0] == "token"
        press(driver, service.token + Keys.ENTER)
        until(lambda: text(driver, "#state") == "live")
        assert "0 of 100,000" in text(driver, "#rows")
        for _ in range(3):
            live.decide()
        until(lambda: "3 of 100,000" in text(driver, "#rows"))

        driver.execute_script("document.activeElement.blur()")
        walked = []
        for _ in range(4):
            press(driver, Keys.TAB)
            walked.append(focused(driver))
        assert [name for name, _, _ in walked] == ["A", "pause", "BUTTON", "DIV"]
        assert all(seen for _, _, seen in walked)
        live.decide()
        until(lambda: "4 of 100,000" in text(driver, "#rows"))
        assert focused(driver)[0] == "DIV"  # what changes takes the focus from nobody

        driver.execute_script("document.getElementById('pause').focus()")
        press(driver, Keys.SPACE)
        assert text(driver, "#state") == "paused"
        live.decide()
        press(driver, Keys.SPACE)
        until(lambda: "5 of 100,000" in text(driver, "#rows"))
        press(driver, Keys.TAB)
        press(driver, Keys.ENTER)
        until(lambda: "needs a token" in text(driver, "main"))
        assert not driver.get_cookies()
        assert browser.hosts(driver) == {urlsplit(service.url).netloc}
        refused = [line for line in browser.complaints(driver) if "401 (Unauthorized)" not in line]
        assert refused == []


def test_an_experiment_is_started_killed_and_ended_by_keyboard(driver, tmp_path):
    from selenium.webdriver.common.keys import Keys

    with running(tmp_path / "decisions.db") as service:
        assert service.post("/v1/ledgers", {"name": "people", "epsilon": 1})[0] == 201
        body = {"name": "home", "arms": ["control", "short"], "ledger": "people", "epsilon": 1}
        assert service.post("/v1/experiments", body)[0] == 201
        browser.look_like(driver, width=DESKTOP[0], height=DESKTOP[1], scheme="light")
        browser.sign_in(driver, service.url, service.tokens.make("read"))
        until(lambda: text(driver, "#state") == "live")

        def act(kind, *keys):
            driver.execute_script("document.querySelector(arguments[0]).focus()", f"[data-act={kind}]")
            press(driver, Keys.ENTER)
            assert driver.execute_script("return document.getElementById('act').open")
            for key in keys:
                press(driver, key)

        act("start", service.tokens.make("read") + Keys.ENTER)
        until(lambda: "'admin'" in text(driver, "#act-refused"))  # who may look may not act
        press(driver, Keys.ESCAPE)
        assert text(driver, ".state") == "draft"
        driver.execute_script("document.getElementById('act-token').value = ''")
        act("start", service.token + Keys.ENTER)
        until(lambda: text(driver, ".state") == "running")
        assert not driver.execute_script("return document.getElementById('act').open")
        act("kill", Keys.ENTER)  # the token is known to this page by now
        until(lambda: "killed" in text(driver, "tbody"))
        act("end", Keys.TAB, Keys.ENTER)
        until(lambda: text(driver, ".state") == "ended")
        assert driver.execute_script("return document.querySelectorAll('[data-act]').length") == 0
        kept = driver.execute_script("return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        assert kept == '[{},{},""]'
        done = [act["act"] for act in service.get("/v1/experiments/home")[1]["acts"]]
        assert done == ["made", "started", "killed short", "ended, control for everybody"]
        assert browser.hosts(driver) == {urlsplit(service.url).netloc}
        assert [line for line in browser.complaints(driver) if "403 (Forbidden)" not in line] == []
        driver.get("about:blank")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_experiments_and_learners_are_accessible(driver, axe, tmp_path, size, scheme):
    path = tmp_path / "decisions.db"
    with tacit_experiments.Store(path) as store:
        store.ledger(demo.PEOPLE, epsilon=3, delta=1e-6, renews="monthly")
        demo.simulate_past(store, time.time())
        fill(store, 50, 0)
    with running(path) as service:
        browser.hosts(driver), browser.complaints(driver)
        browser.look_like(driver, width=size[0], height=size[1], scheme=scheme, still=True)
        browser.sign_in(driver, service.url, service.token)
        until(lambda: text(driver, "#state") == "live")
        check(driver, axe)
        driver.execute_script("document.querySelector('[data-act=end]').click()")
        check(driver, axe)
        assert browser.hosts(driver) == {urlsplit(service.url).netloc}
        assert browser.complaints(driver) == []
        driver.get("about:blank")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_form_is_accessible_and_faults_would_be_found(driver, axe, tmp_path, scheme):
    with running(tmp_path / "decisions.db") as service:
        browser.look_like(driver, width=PHONE[0], height=PHONE[1], scheme=scheme, still=True)
        driver.get(service.url)
        check(driver, axe)
        driver.execute_script("document.querySelector('label').remove()")
        with pytest.raises(AssertionError, match="label"):
            check(driver, axe)
        driver.get("about:blank")
        browser.complaints(driver)


def check(driver, axe):
    """Nothing stands out of the screen, nothing moves, and axe finds no fault."""
    width = "const e = document.scrollingElement; return [e.scrollWidth, e.clientWidth]"
    wanted, there = driver.execute_script(width)
    assert wanted <= there
    assert driver.execute_script("return document.getAnimations().length") == 0
    driver.execute_script(axe)
    driver.set_script_timeout(60)
    found = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations', 'incomplete']}).then(found => done(JSON.stringify(found)))"
    )
    result = json.loads(found)
    faults = [
        (fault["id"], fault["help"], [node["target"] for node in fault["nodes"][:3]]) for fault in result["violations"]
    ]
    assert faults == []
    assert len(result["passes"]) > 15

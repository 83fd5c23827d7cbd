"""The TypeScript SDK in a real browser: the same arms, and replies that are sent while the page goes away.

Needs Debian's chromium and chromedriver, and the package as `make test-sdk` builds it.
"""

import json
from pathlib import Path

import pytest
from make_vectors import WHERE, pid
from scripts.docs import browser

from experiments.sdk.service import SECRET, serving

FOLDER = WHERE.parent
BUILT = (FOLDER / "typescript" / "dist" / "index.js").exists()
MISSING = browser.missing() or ("" if BUILT else "sdk/typescript is not built (make test-sdk)")
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING or "there is a browser")
PAGE = (
    "<!doctype html><html lang='en'><head><title>page</title><link rel='icon' href='data:,'></head><body></body></html>"
)

CHECK = """
const [sdk, { check, many }, vectors] = await Promise.all([
  import("/files/typescript/dist/index.js"),
  import("/files/typescript/test/vectors.js"),
  fetch("/files/vectors.json").then((answer) => answer.json()),
]);
const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(many(sdk, vectors.many)));
const found = Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
return { differ: check(sdk, vectors), many: found, wanted: vectors.many.sha256 };
"""
WORK = """
const { Client } = await import("/files/typescript/dist/index.js");
window.client = new Client({ url: "/backend", experiment: "homepage", secret: null, default: "control" });
while (client.decide(PID).token === null) await new Promise((done) => setTimeout(done, 10));
client.reply(client.decide(PID).token, 0.25);
const sent = await client.flush();
client.reply(client.decide(PID).token, 0.75);
return { sent, counters: client.counters(), stranger: client.decide("alice").reason };
"""


@pytest.fixture(scope="module")
def driver():
    with browser.opened() as made:
        made.set_script_timeout(60)
        yield made


def run(driver, script):
    """What a script gives that may wait."""
    return driver.execute_async_script(
        f"const tell = arguments[0]; (async () => {{ {script} }})().then(tell, (error) => tell(String(error)));"
    )


def test_a_page_decides_and_reports(driver, tmp_path):
    for name in ("typescript", "vectors.json"):
        (tmp_path / name).symlink_to(FOLDER / name)
    Path(tmp_path / "page.html").write_text(PAGE)
    with serving() as (service, url):
        service.files = tmp_path
        driver.get(f"{url}/files/page.html")
        found = run(driver, CHECK)
        assert found["differ"] == []
        assert found["many"] == found["wanted"]
        told = run(driver, WORK.replace("PID", json.dumps(pid(SECRET, "alice"))))
        assert told["sent"]
        assert told["stranger"] == "person"
        assert told["counters"]["sent"] == 1
        driver.get("about:blank")  # the page goes away before the next second
        service.wait_until(lambda: [row[2] for row in service.rows] == [0.25, 0.75])
        assert all("Authorization" not in headers for _, _, headers in service.asked)
        assert browser.complaints(driver) == []

import base64
import re
import shutil
import subprocess
from datetime import date, timedelta
from html.parser import HTMLParser

import numpy as np
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.report.html import write_report
from tacit.sweeps.records import Sweep

NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?(?!\w)")
SOURCES = ("src", "href", "srcset", "data", "action", "poster", "background")


class Page(HTMLParser):
    """Every address that a browser would load, every text, and every number with its source."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.texts, self.numbers, self.styles = [], [], [], []
        self._open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.addresses += [found[name] for name in SOURCES if name in found]
        self.styles += [found["style"]] if "style" in found else []
        if tag not in ("meta", "link", "img"):
            self._open.append((tag, found))

    def handle_endtag(self, tag):
        assert self._open.pop()[0] == tag

    def handle_data(self, data):
        tag, found = self._open[-1] if self._open else ("", {})
        if tag in ("style", "script"):
            self.styles.append(data)
        elif "data-value" in found:
            self.numbers.append((data, found))
        else:
            self.texts.append((tag, data))


@pytest.fixture(scope="module")
def text(results, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(Sweep.read(results), path, command="tacit report results.parquet", title="A <title> & more")
    return path.read_text(encoding="utf-8")


def test_page_loads_nothing(text):
    page = Page(text)
    assert page.addresses
    assert all(address.startswith("data:") for address in page.addresses)
    code = "\n".join(page.styles)
    for loader in ("http:", "https:", "//", "url(", "@import", "import(", "fetch", "XMLHttpRequest", "WebSocket"):
        assert loader not in code
    assert "default-src 'none'" in text


def test_pictures_are_inside(text):
    images = re.findall(r"data:image/png;base64,([^\"]+)", text)
    assert len(images) == 4 + 4 + 3  # two worlds with a grid of experts, one of tracking with a trace
    assert all(base64.b64decode(image, validate=True)[:8] == b"\x89PNG\r\n\x1a\n" for image in images)
    assert text.count("<figcaption>") == len(images)


def statistic(table, found):
    """The number recomputed from the raw Parquet rows."""
    rows = table if not found["data-cell"] else table.filter(np.asarray(table["cell"]) == found["data-cell"])
    assert len(rows)
    values = rows[found["data-column"]].to_pylist()
    match found["data-statistic"]:
        case "value":
            [value] = set(values)
            return value
        case "count":
            return len(values)
        case "distinct":
            return len(set(values))
        case "mean":
            return np.mean(values)
        case "standard error":
            return np.std(values, ddof=1) / np.sqrt(len(values))


def test_every_number_is_in_the_parquet_file(text, results):
    table = pq.read_table(results)
    page = Page(text)
    assert len(page.numbers) > 100
    for shown, found in page.numbers:
        value = float(found["data-value"])
        assert value == pytest.approx(statistic(table, found), rel=1e-12)
        [read] = NUMBER.findall(shown)
        number = float(read.replace(",", ""))
        if found["data-column"] == "bound":  # certified: rounded up
            assert value <= number <= max(value * 1.0011, value + (value >= 1000))
        elif found["data-column"] == "floor":  # certified from below: rounded down
            assert value * 0.9989 <= number <= value
        else:
            assert number == pytest.approx(value, rel=6e-4, abs=0.5 if value >= 1000 else 0)
    # Numbers in running text are facts of the rows as well: inside one of their strings, or a number of runs.
    strings = "\n".join(
        str(entry)
        for name in ("contract", "command", "family", "tacit_version")
        for entry in set(table[name].to_pylist())
    )
    runs = {str(count) for count in (2, 3)}
    today = {str(date.today()), str(date.today() - timedelta(days=1))}  # it may have been written before midnight
    assert any(data in today for tag, data in page.texts)
    dated = [data for tag, data in page.texts if data not in today]
    loose = [number for data in dated for number in NUMBER.findall(data)]
    assert loose
    assert all(number in runs or number in strings for number in loose)


def test_a_wrong_number_would_be_noticed(text, results):
    table = pq.read_table(results)
    _, found = next(entry for entry in Page(text).numbers if entry[1]["data-statistic"] == "mean")
    assert float(found["data-value"]) * 1.001 != pytest.approx(statistic(table, found), rel=1e-12)


def test_nearly_no_privacy_is_named_and_no_missing_horizon_is_shown(text):
    assert "10,000 (without privacy)" in text
    assert "horizon=None" not in text


def test_it_says_what_was_secret_and_what_replayable(results, tmp_path):
    plan = tacit.algorithms.LazyExperts(tacit.Experts(n=3, horizon=50), eta=0.1, force=0.1)
    secret = plan.start().guarantee
    written = write_report(Sweep.read(results), tmp_path / "report.html", secret=secret).read_text()
    assert "The contract of the secret run beside these" in written
    assert "randomness: computational" in written
    assert "replayable: not private" in written
    with pytest.raises(tacit.InvalidInput):
        write_report(Sweep.read(results), tmp_path / "report.html", secret="none")


def test_commands_and_title_are_escaped_and_shown(text, results):
    commands = Sweep.read(results).commands
    assert len(commands) == 2
    for command in (*commands, "tacit report results.parquet"):
        assert command in text
    assert "<title>A &lt;title&gt; &amp; more</title>" in text


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
@pytest.mark.parametrize("size", ["1300,1000", "390,800"])
def test_chromium_opens_it_without_complaint(text, size, tmp_path):
    page = tmp_path / "report.html"
    # Click every column head, then write what happened into the title.
    probe = "<script>document.querySelectorAll('th button').forEach(b => b.click());"
    probe += "document.title = [document.querySelectorAll('th[aria-sort]').length, document.images.length,"
    probe += " [...document.images].every(i => i.complete && i.naturalWidth > 0),"
    probe += " document.documentElement.scrollWidth <= window.innerWidth].join(' ');</script>"
    page.write_text(text.replace("</body>", probe + "</body>"), encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    command += [f"--window-size={size}", f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=5000"]
    shot = tmp_path / "shot.png"
    done = subprocess.run(
        [*command, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    assert "CONSOLE" not in done.stderr
    tables = text.count("<table")
    assert f"<title>{tables} {text.count('<img')} true true</title>" in done.stdout
    subprocess.run([*command, f"--screenshot={shot}", page.as_uri()], capture_output=True, timeout=120, check=True)
    assert shot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

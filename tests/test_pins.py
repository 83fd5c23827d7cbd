"""One lock pins everything that a clone installs, build tools and the installer included, by version and hash."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PEERS = sorted((ROOT / "benchmarks" / "peers" / "requirements").glob("*.txt"))
LOCKS = [ROOT / "requirements.lock", ROOT / "requirements-spark.lock", *PEERS]
APART = {"spark", "torch"}  # environments of their own: one holds pandas back, builds of the other differ by platform


def pins(text):
    """Each pin's name with how many hashes it has."""
    entries = re.findall(
        r"^([\w.-]+)==[^\s]+(?: ;[^\\]*)? \\\n((?:    --hash=sha256:[0-9a-f]{64}.*\n?)+)", text, re.MULTILINE
    )
    return [(name, hashes.count("sha256:")) for name, hashes in entries]


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")


def wanted():
    """The name of every package that pyproject.toml asks for."""
    project = PROJECT["project"]
    extras = [line for extra, lines in project["optional-dependencies"].items() if extra not in APART for line in lines]
    groups = [line for group, lines in PROJECT["dependency-groups"].items() if group not in APART for line in lines]
    everything = [*project["dependencies"], *extras, *groups, *PROJECT["build-system"]["requires"]]
    return {name_of(requirement) for requirement in everything} - {"tacit"}


def test_every_line_of_every_lock_is_a_pin_with_its_hashes():
    for lock in LOCKS:
        text = lock.read_text()
        assert len(pins(text)) == len(re.findall(r"^[\w.-]+==", text, re.MULTILINE)) > 5, lock.name
        assert not re.findall(r"^(?![\w.-]+==|    --hash=|#).+", text, re.MULTILINE), lock.name


def test_the_lock_holds_all_that_the_project_asks_for():
    assert wanted() <= {name for name, _ in pins((ROOT / "requirements.lock").read_text())}, "run `make lock`"


def test_the_lock_of_spark_holds_what_a_fleet_asks_for():
    lines = [*PROJECT["project"]["optional-dependencies"]["spark"], *PROJECT["dependency-groups"]["spark"]]
    held = {name for name, _ in pins((ROOT / "requirements-spark.lock").read_text())}
    assert {name_of(line) for line in lines} <= held, "run `make lock`"


def test_pins_without_hashes_would_be_seen():
    assert pins("numpy==2.0 \\\n    --hash=sha256:" + "0" * 64 + "\n") == [("numpy", 1)]
    assert not pins("numpy==2.0\n")


def test_setup_installs_by_hash_only():
    text = (ROOT / "Makefile").read_text()
    assert "--require-hashes --only-binary :all:" in text
    installs = [
        line for line in text.replace("\\\n", "").splitlines() if line.startswith("\t") and "pip install " in line
    ]
    assert installs
    # Builds of torch differ by platform: a version and no hash.
    hashed = ("$(PINNED)", "--require-hashes", "--no-deps --no-build-isolation --editable .", "--quiet torch==2.13.0")
    assert all(any(words in line for words in hashed) for line in installs)

"""The papers that stand, with a short run of each, made once."""

import json
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tacit import papers

FOLDER = Path(__file__).parent
NAMES = tuple(name for name in papers.NAMES if find_spec(f"tacit.papers.{name}"))
"""Names of the papers whose module stands."""
SHORT = {"horizon": 300, "runs": 2, "seed": 7, "progress": False}
"""Settings of a short run; the dimension is the paper's own."""


def paper_of(name):
    """Return the paper of this name."""
    return import_module(f"tacit.papers.{name}").PAPER


@cache
def short_run(name):
    """Return a short run of all rows of a paper."""
    return import_module(f"tacit.papers.{name}").run(**SHORT)


@cache
def numbers_of(name):
    """Return the numbers that were typed from the paper's text."""
    return json.loads((FOLDER / f"numbers_{name}.json").read_text())

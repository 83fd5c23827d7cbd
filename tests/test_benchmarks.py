"""The benchmarks' page is made from their results, and from nothing else."""

import json
from pathlib import Path

from benchmarks.__main__ import PAGE, table

RESULTS = Path(__file__).parents[1] / "benchmarks" / "latest.json"


def test_the_page_is_the_table_of_the_results():
    assert PAGE.read_text() == table(json.loads(RESULTS.read_text()))

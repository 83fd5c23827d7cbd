"""The benchmarks' page is made from their results, and from nothing else."""

import json
import re
from pathlib import Path

from benchmarks.__main__ import LATEST, PAGE, PEERS, page
from benchmarks.growing import around, learners
from benchmarks.growth import PAGE as PROMISES
from benchmarks.growth import read_formulas
from benchmarks.writing.targets import TARGETS

from tacit.planning.catalogue import CATALOGUE


def test_the_page_is_made_of_the_results():
    assert PAGE.read_text() == page(json.loads(LATEST.read_text()), json.loads(PEERS.read_text()))


def test_every_target_has_a_result():
    results = json.loads(LATEST.read_text())["results"] | {
        name: entry["results"] for name, entry in json.loads(PEERS.read_text()).items() if name == "spark"
    }
    for target in TARGETS:
        assert any(re.fullmatch(target.key, key) for key in results[target.section]), target


def test_every_algorithm_is_promised_and_measured():
    formulas, rows = read_formulas(PROMISES.read_text()), {case.row for case in learners.cases()}
    known = {algorithm.__name__ for family in CATALOGUE.values() for algorithm in family} - {
        "LiveArms",
        "ExploreLinear",
    }
    assert known <= {row.split(",")[0] for row in rows}
    assert rows | {case.row for case in around.cases(Path())} == set(formulas)

"""The benchmarks' page is made from their results, and from nothing else."""

import json
import re
from pathlib import Path

import pytest
from benchmarks.__main__ import HERE, LATEST, PAGE, PEERS, about, page
from benchmarks.growing import around, learners
from benchmarks.growing.case import Case, Work, exponent, measured, promised
from benchmarks.growth import PAGE as PROMISES
from benchmarks.growth import measure as grow
from benchmarks.growth import read_formulas
from benchmarks.writing.targets import TARGETS

from tacit.planning.catalogue import CATALOGUE


def test_the_page_is_made_of_the_results():
    assert PAGE.read_text() == page(json.loads(LATEST.read_text()), json.loads(PEERS.read_text()))


def test_every_peer_has_requirements_and_a_module():
    from benchmarks.peers.__main__ import HERE, NAMES

    for name in NAMES:
        assert (
            name == "spark" or (HERE / "requirements" / f"{name}.txt").exists()
        )  # it has the environment of its tests
        assert (HERE / f"{name}_peer.py").exists()


def test_every_benchmark_says_what_its_numbers_are():
    for path in HERE.glob("[a-z]*.py"):
        text = "\n".join(about(path.stem))
        assert text, path
        assert "Run" not in text


def test_every_target_has_a_result():
    results = json.loads(LATEST.read_text())["results"] | {
        name: entry["results"] for name, entry in json.loads(PEERS.read_text()).items() if name == "spark"
    }
    for target in TARGETS:
        assert any(re.fullmatch(target.key, key) for key in results[target.section]), target


@pytest.mark.parametrize(
    ("formula", "size", "power"),
    [
        ("O(N)", "N", 1), ("O(N)", "T", 0), ("O(N log T)", "T", 0), ("O(N log N)", "N", 1), ("O(N T/B)", "T", 1),
        ("O(T d^2 + d^3)", "d", 3), ("O(T d^2 + d^3)", "T", 1), ("O(N T^0.5)", "T", 0.5), ("O(log T) a plan", "T", 0),
        ("O(N delay)", "delay", 1), ("O(1)", "learners", 0), ("", "T", 0),
    ],
)  # fmt: skip
def test_the_power_of_a_formula(formula, size, power):
    assert promised(formula, size) == power


def test_an_exponent_is_that_of_the_largest_sizes():
    assert exponent({10: 500.0, 100: 500.0, 1000: 2e3, 3000: 6e3, 10_000: 2e4}) == pytest.approx(1.0)


def test_memory_and_state_are_fitted():
    def make(size):
        def play(kept, rows):
            kept.append(bytes(1000 * size))
            yield

        return Work(list, play, 1, lambda kept: sum(map(len, kept)))

    found = measured(Case("a list", "T", (100, 300, 1_000), make))
    assert exponent(found["KB of memory"]) == pytest.approx(1.0, abs=0.05)
    assert found["KB of state"] == {100: 100.0, 300: 300.0, 1_000: 1_000.0}


def test_every_algorithm_is_promised_and_measured():
    formulas, rows = read_formulas(PROMISES.read_text()), {case.row for case in learners.cases()}
    known = {algorithm.__name__ for family in CATALOGUE.values() for algorithm in family} - {
        "LiveArms",
        "ExploreLinear",
    }
    assert known <= {row.split(",")[0] for row in rows}
    assert rows | {case.row for case in around.cases(Path())} == set(formulas)


CASES = [f"{case.row}, {case.size}" for case in [*learners.cases(), *around.cases(Path())]]
QUICK = ("LazyExperts, N", "PhasedArms, N", "PrivateFTRL, d", "late feedback, delay", "a store: names, learners")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_what_grows_is_measured(name, tmp_path):
    case = {f"{case.row}, {case.size}": case for case in [*learners.cases(), *around.cases(tmp_path)]}[name]
    results = grow([case._replace(sizes=case.sizes[:2])])
    column = f"{case.size}={case.sizes[0]}"
    assert all(value > 0 for key, value in results.items() if f", {column}, " in key)
    assert sum("=exponent, " in key for key in results) == sum("=promised, " in key for key in results) >= 2

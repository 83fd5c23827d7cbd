"""Planted bugs in tests of arms: lengths, charges, noise, rows and intervals, each found by a test."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np

from attacks import rows
from experiments.ab_tests.test_contract import DESIGNS
from planted_bugs.catalogue import around, planting
from planted_bugs.tested import by_test
from tacit.noise.randomness import Sealed
from tacit.verification import ab_tests as accountant
from tacit_experiments.ab_tests import inference, persons, plan, release
from tacit_experiments.ab_tests.persons import PersonsFile
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.registry import Registry
from tacit_experiments.ab_tests.vector import Layout
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.witness import Witness

MODULE = "experiments.ab_tests.test_"
vector, promise, contract, files, analysis, inferred, planned = (
    partial(by_test, MODULE + name)
    for name in ("vector", "promise", "contract", "persons", "analysis", "inference", "plan")
)


@around
def _second_moment_twice(honest: Any, self: Layout, values: Any) -> Any:
    """The coordinate of the second moment has twice the weight of the first one's."""
    found = honest(self, values)
    first = 1 + len(self.binary)
    found[:, first : first + len(self.squared)] *= 2
    return found


@around
def _not_centred(honest: Any, self: Layout, values: Any) -> Any:
    """2y in place of 2y - L."""
    found = honest(self, values)
    found[:, 1 : 1 + len(self.binary)] += self.lattice
    return found


@around
def _metric_forgotten(honest: Any, self: Layout, multipliers: Any) -> int:
    return int(honest(self, (multipliers[0], *multipliers[2:])))


def _look_forgotten(honest: Any) -> Any:
    return property(lambda self: sum(self.layout.squared_norm(b) for look in self.looks[1:] for b in look.blocks))


def _cells_forgotten(honest: Any) -> Any:
    return property(lambda self: sum(self.layout.squared_norm(look.total) for look in self.looks))


def _half_noise(honest: Any) -> Any:
    class Half(honest):  # type: ignore[misc]
        """Half of the noise."""

        def draw(self, count: int) -> Any:
            return super().draw(count) // 2

    return Half


def _by(**fixed: Any) -> Any:
    """Noise that does not depend on a part of what it must depend on."""
    return lambda honest: lambda self, **parts: honest(self, **{**parts, **fixed})


@around
def _new_rows(honest: Any, self: PersonsFile) -> Iterator[Any]:
    """Every line is another person."""
    for number, row in enumerate(honest(self)):
        yield (number.to_bytes(16, "big"), *row[1:])


@around
def _joined_lines(honest: Any, file: Any) -> Iterator[bytes]:
    """A line goes on behind its end while a quotation mark is open."""
    held = b""
    for line in honest(file):
        held += line
        if held.count(b'"') % 2 == 0:
            yield held
            held = b""
    if held:
        yield held


@around
def _above_high(honest: Any, measure: Any, cell: str) -> int:
    """A value above the largest one counts as it is."""
    try:
        return int(float(cell) / measure.high * 2**32) if float(cell) > measure.high else int(honest(measure, cell))
    except (ValueError, OverflowError):
        return int(honest(measure, cell))


@around
def _last_release(honest: Any, self: Witness, salt: str, look: int, content: Any, charged: Any) -> Any:
    honest(self, salt, look, content, charged)
    return content


@around
def _not_charged(honest: Any, self: StoredLedger, transaction: Any, *rest: Any, **more: Any) -> tuple[int, str]:
    return self._locked(transaction), ""


@around
def _persons_known(honest: Any, direction: Any, noise: Any) -> Any:
    """The noise in the number of persons is left out."""
    others = direction.copy()
    others[..., 0] = 0.0
    return honest(others, noise)


@around
def _without_noise(honest: Any, persons: Any, variance: float, shares: Any) -> Any:
    return honest(persons, 0.0, shares)


@around
def _in_one_arm(honest: Any, *arguments: Any) -> Any:
    """The planner counts the noise of one arm."""
    return [lambda value, at=at: at(value) / 2 for at in honest(*arguments)]


bug = planting("tests of arms")
TWO_LOOKS = planned("test_planned_power_is_power", 0.2, 0.2, 4, 1.0)
CONTROLS = (
    bug("a second moment of twice the weight", Layout, "features", _second_moment_twice,
        vector("test_the_lemma_holds_at_all_points_of_the_lattice")),
    bug("sums that are not centred", Layout, "features", _not_centred,
        vector("test_the_lemma_holds_at_all_points_of_the_lattice")),
    bug("the length of one metric is forgotten", Layout, "squared_norm", _metric_forgotten,
        vector("test_the_largest_row_is_as_long_as_declared", Layout((False, False), ((0, 1),), lattice=12))),
    bug("the first look is not charged", Promise, "squared_shift", _look_forgotten,
        promise("test_the_longest_person_is_as_long_as_declared")),
    bug("cells at full length beside totals", Promise, "squared_shift", _cells_forgotten,
        promise("test_the_longest_person_is_as_long_as_declared")),
    bug("half of the noise in sums", release, "DiscreteGaussian", _half_noise,
        promise("test_noise_is_added_to_every_integer_with_its_deviation")),
    bug("two looks with one noise", Sealed, "batch", _by(first=0),
        analysis("test_the_noise_of_two_looks_of_the_same_rows_differs"), row=rows.RELEASED),
    bug("other rows with the same noise", Sealed, "batch", _by(rows=b""),
        analysis("test_other_rows_would_have_independent_noise"), row=rows.RELEASED),
    bug("the witness takes a second release of a look", Witness, "add_look", _last_release,
        analysis("test_the_witness_keeps_the_first_release_of_a_look"), row=rows.RELEASED),
    bug("a test that is not charged", StoredLedger, "charge", _not_charged,
        analysis("test_all_looks_are_one_charge"), row=rows.RELEASED),
    bug("a lost copy of a store owes nothing for its tests", Registry, "_owe", lambda honest: lambda self: None,
        analysis("test_a_store_that_lost_the_test_owes_what_the_witness_knows"), row=rows.RELEASED),
    bug("a witness that was lost is begun anew for tests", Registry, "_releases", lambda honest: lambda *_: {},
        analysis("test_without_its_witness_nothing_is_released"), row=rows.RELEASED),
    bug("a person counts once a line", PersonsFile, "_rows", _new_rows,
        files("test_a_person_who_is_listed_twice_counts_once"), row=rows.FLOODED),
    bug("an open quotation mark swallows other persons", persons, "_lines", _joined_lines,
        files("test_a_quotation_mark_that_is_not_closed_swallows_no_other_person"), row=rows.CELLS),
    bug("a value above the largest one", persons, "row_value", _above_high,
        files("test_a_person_moves_nothing_but_one_vector_whatever_their_lines_hold"), row=rows.CELLS),
    bug("a byte of a letter is cut off as white space", persons, "BLANKS", lambda honest: None,
        files("test_persons_whose_last_byte_looks_like_white_space_are_two_persons"), row=rows.CELLS),
    bug("1.96 at all looks", inference, "critical",
        lambda honest: lambda alpha, level: NormalDist().inv_cdf(1 - alpha / 2),
        inferred("test_four_looks_at_nothing_are_rarely_called", 1.0), fast=False),
    bug("noise is left out of variances", inference, "_noise_along",
        lambda honest: lambda direction, noise: np.zeros(direction.shape[:-1]),
        inferred("test_four_looks_at_nothing_are_rarely_called", 0.3), fast=False),
    bug("the noise in numbers of persons is left out", inference, "_noise_along", _persons_known,
        inferred("test_four_looks_at_nothing_are_rarely_called", 0.1), fast=False),
    bug("no pseudo-persons", inference, "PSEUDO", lambda honest: 0.0,
        inferred("test_small_and_lopsided_samples_are_not_called", 400, (0.5, 0.5)), fast=False),
    bug("a sample ratio without noise", inference, "ratio_chance", _without_noise,
        inferred("test_sample_ratios_that_are_right_are_rarely_refused", (0.5, 0.5), 60.0), fast=False),
    bug("noise planned for one arm", plan, "_noises", _in_one_arm, TWO_LOOKS, fast=False),
    bug("an accountant that forgets the last multiplier", accountant, "_square",
        lambda honest: lambda block: honest(block[:-1]),
        contract("test_the_second_accountant_agrees", DESIGNS["four metrics"])),
)  # fmt: skip

"""Private selections and tests on integers: docs/algorithms/limited-updates.md, recent-leader.md, restart-on-shift.md.

A round replaced moves the difference of two sums of losses by at most two ranges, one put in place of a constant by one
range. Permute-and-flip and the tests pay their rate a step; windows, blocks and epochs share no round, so that a
person's rounds cost most if they stand together.
"""

from __future__ import annotations

import mpmath as mp

from tacit.verification.facts import Facts, NotVerifiable, check_noise, people, sides
from tacit.verification.leaks import Leak, PureLeak, Real


def selection(contract: Facts) -> Leak:
    """One selection that sees all of a person's rounds."""
    if _alone(contract):
        return PureLeak(mp.mpf(0))
    leak = PureLeak(_selected(contract))
    check_noise(contract, leak.value, "epsilon", people(contract))
    return leak


def selection_and_tests(contract: Facts) -> Leak:
    """One selection and the tests of one epoch: the threshold's noise, and that of the one answer "above"."""
    if _alone(contract):
        return PureLeak(mp.mpf(0))
    noise = _noise(contract)
    rates = mp.mpf(noise.positive("threshold_rate")) + mp.mpf(noise.positive("query_rate"))
    leak = PureLeak(_selected(contract) + rates * noise.integer("test_units", at_least=1) * _width(contract))
    check_noise(contract, leak.value, "epsilon", people(contract))
    return leak


def _alone(contract: Facts) -> bool:
    """One expert leaves nothing to select."""
    return contract.part("problem").integer("n", at_least=1) == 1


def _selected(contract: Facts) -> Real:
    noise = _noise(contract)
    return mp.mpf(noise.positive("rate")) * noise.integer("units", at_least=1) * _width(contract)


def _noise(contract: Facts) -> Facts:
    if not contract.has("noise"):
        raise NotVerifiable("The contract does not say with which rate it selects.")
    noise = contract.part("noise")
    if noise.text("law") != "permute-and-flip":
        raise NotVerifiable(f"Selections with the law {noise.text('law')!r} have no independent accountant yet.")
    return noise


def _width(contract: Facts) -> int:
    return sides(contract) * people(contract)

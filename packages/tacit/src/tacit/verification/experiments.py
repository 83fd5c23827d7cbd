"""The contract of an experiment, recomputed from the theorem: one pair of sums moves in each version of a month.

A person moves the pair (score, what it lacks) of one arm, by `lattice` steps in l1 and no more in l2, times
units/lattice where sums are multiplied first. So V versions cost V rate units under two-sided geometric noise, and
sqrt(V) units/sigma under discrete Gaussian noise (docs/algorithms/experiments.md).
"""

from __future__ import annotations

from typing import Any

import mpmath as mp

from tacit.verification.facts import Facts, contradiction
from tacit.verification.leaks import GaussianLeak, Leak, PureLeak
from tacit.verification.schema import check_schema
from tacit.verification.statements import Differs, at_delta, curve_points, is_extra
from tacit.verification.sums import SIGMA_SQUARED, draw_errors

FORMAT = "tacit experiment contract 1"
STATED = ("randomness", "that one person has one identifier, and that the program counts as it says")
_LAPLACE, _GAUSSIAN = "two-sided geometric", "discrete gaussian"
_UNITS = {
    "person-month": "everything reported about one person for versions that began in one calendar month",
    "event": "one reply",
}
_WORDS = {
    "relation": "zero-out",
    "released": "all policies, all released sums, all times of opening and closing, all acts, "
    "and which arm anybody got",
    "theorem": "noisy pairs of sums, one pair moved in each version of a month",
}
_ASSUMED = [
    "the operator gives one person one identifier",
    "acts, such as killing an arm, are not decided from raw replies",
    "replies are not lost because of what other persons sent",
]
RANDOMNESS = "computational: AES-128-CTR keyed by BLAKE2b of each batch under a sealed key, if both are pseudorandom"
# Relative: the last digits of a float, and what a contract may round up.
_ROUNDED, _COARSER, _LEAST = mp.mpf("1e-11"), mp.mpf("0.02"), mp.mpf("1e-6")


def check_experiment(content: dict[str, Any]) -> float:
    """Check the form, the words, epsilon and the curve of a contract; return the recomputed epsilon."""
    check_schema(content, schema={"$ref": "#/$defs/experiment"})
    facts = Facts(content, "contract")
    words = {**_WORDS, "protected": _UNITS[facts.text("unit")]}
    if content["assumed"] != _ASSUMED:
        raise Differs("the 'assumed' of this contract must say what is assumed, word for word.")
    for name, expected in words.items():
        if facts.text(name) != expected:
            raise Differs(f"the '{name}' of this contract must be {expected!r}.")
    if not facts.part("limit").flag("enforced"):
        raise Differs("the limit of versions of this contract is not enforced.")
    if facts.text("randomness").startswith("replayable"):
        raise Differs("the noise can be replayed by whoever knows the seed.")
    if facts.text("randomness") != RANDOMNESS:
        raise Differs(f"the 'randomness' of this contract must be {RANDOMNESS!r}.")
    leak = _leak(facts)
    found = check_point(leak, facts.number("delta"), facts.number("epsilon"))
    for point in curve_points(facts):
        at = point.number("delta")
        if point.has("epsilon"):
            check_point(leak, at, point.number("epsilon"))
        elif leak.epsilon(mp.mpf(at), mp.mpf(found)) < mp.inf:
            raise Differs(f"the 'curve' of this contract states no epsilon at delta={at:g}, and there is one.")
    return found


def _leak(facts: Facts) -> Leak:
    noise, versions = facts.part("noise"), facts.part("limit").integer("versions")
    units, lattice, law = noise.integer("units"), noise.integer("lattice"), noise.text("law")
    if units % lattice or (law == _LAPLACE and units != lattice) or noise.has("rate") != (law == _LAPLACE):
        raise contradiction("units", "noise")
    if law == _LAPLACE:
        if facts.text("numerics") != "exact":
            raise Differs("the 'numerics' of this contract must be 'exact'.")
        return PureLeak(versions * mp.mpf(noise.number("rate")) * units)
    distance, extra, exponent = draw_errors(2 * versions)  # a person moves two sums a version
    if not is_extra(facts.text("numerics"), extra, extra):
        raise Differs("the 'numerics' of this contract must say the extra epsilon of its draws.")
    return GaussianLeak(mp.sqrt(versions) * units / mp.sqrt(SIGMA_SQUARED), distance, extra, exponent)


def check_point(leak: Leak, delta: float, stated: float) -> float:
    """Check one epsilon: no less follows, and not much more is stated; return the recomputed one."""
    found = leak.epsilon(mp.mpf(delta), mp.mpf(stated))
    at = at_delta(delta)
    if leak.delta(mp.mpf(stated) * (1 + _ROUNDED)) > mp.mpf(delta):
        raise Differs(f"the contract states epsilon={stated:.6g} {at}; recomputed: {float(found):.6g}.")
    if mp.mpf(stated) > found * (1 + _COARSER) + _LEAST:
        raise Differs(f"the contract states epsilon={stated:.6g} {at}; less follows: {float(found):.6g}.")
    return float(found)

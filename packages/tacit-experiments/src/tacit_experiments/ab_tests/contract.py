"""The contract of a test: JSON that the second accountant recomputes, and words for people who sign it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from statistics import NormalDist
from typing import Any

import numpy as np

from tacit.accounting.rounding import rounded_up
from tacit.version import __version__
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Measure
from tacit_experiments.ab_tests.promise import ASSUMED, Promise, gaussian_curve
from tacit_experiments.ab_tests.release import read_release
from tacit_experiments.policy import digest

FORMAT = "tacit test contract 1"
LAW = "discrete gaussian"
CURVE_DELTAS = (1e-9, 1e-6, 1e-3)


@np.errstate(under="ignore")
def contract_of(design: ABTest, promise: Promise) -> dict[str, Any]:
    """Write the contract as JSON, which `tacit contract verify` checks."""
    guarantee = promise.guarantee
    points = ((at, guarantee.epsilon(at)) for at in CURVE_DELTAS if at != promise.delta)
    return {
        "format": FORMAT,
        "tacit": __version__,
        "test": design.name,
        "ledger": design.ledger,
        "unit": "person-test",
        "protected": guarantee.unit,
        "relation": str(guarantee.relation),
        "epsilon": guarantee.epsilon(),
        "delta": promise.delta,
        "limit": {"row": 1, "looks": len(promise.looks), "enforced": True},
        "vector": {
            "lattice": promise.layout.lattice,
            "arms": list(design.arms),
            "metrics": [_metric(measure) for measure in design.measures],
            "pairs": [list(pair) for pair in promise.layout.pairs],
            "segments": [{"name": name, "cells": list(cells)} for name, cells in design.segments.items()],
        },
        "looks": [
            {"kind": "look", "total": list(look.total), "cells": [list(part) for part in look.cells]}
            for look in promise.looks
        ],
        "noise": {
            "law": LAW,
            # as texts: beyond 2^53 numbers are not the same everywhere
            "squared_shift": str(promise.squared_shift),
            "squared_stories": str(promise.squared_stories),
            "draws": promise.draws,
            "mu": promise.mu,
            "stories_mu": promise.stories_mu,
        },
        "curve": [{"delta": at, "epsilon": epsilon if epsilon < inf else None} for at, epsilon in points],
        "released": guarantee.released,
        "theorem": guarantee.theorem,
        "numerics": guarantee.numerics,
        "randomness": guarantee.randomness,
        "assumed": list(ASSUMED),
    }


def contract_digest(contract: dict[str, Any]) -> str:
    """Hash a contract, less the version of the program that wrote it."""
    return digest({name: value for name, value in contract.items() if name != "tacit"})


@np.errstate(under="ignore")
def contract_text(design: ABTest, promise: Promise) -> str:
    """Write the contract for people who sign it, with the numbers of its design."""
    epsilon = rounded_up(promise.guarantee.epsilon())
    twice = rounded_up(gaussian_curve(2 * promise.mu, 2 * promise.draws).epsilon(promise.delta))
    looks = "One release" if design.looks == 1 else f"{design.looks} releases"
    limits = ", ".join(_limit(measure) for measure in design.measures)
    groups = f", in one cell of each of {', '.join(design.segments)}" if design.segments else ""
    counted = [
        f"{design.looks} look{'s' * (design.looks > 1)}",
        f"{len(design.metrics)} metric{'s' * (len(design.metrics) > 1)}",
    ]
    counted += [f"{len(design.segments)} grouping{'s' * (len(design.segments) > 1)}"] if design.segments else []
    paragraphs = {
        "What is protected": "Everything this test holds about one person: whether they were in it, what they did, how "
        "often, how much, and the groups they were put in. One person is one identifier given by the operator.",
        "What may be seen": f"{looks} of noisy sums for every arm and group; the design, all times, all acts of the "
        "operator; and which arm anybody would get. All of it may be published.",
        "Promise": "Somebody who sees all of that, and knows everything about everybody else, guesses whether a person "
        f"was in the test, or anything about them in it, right in at most {_hundredths(promise.mu)} of 100 cases where "
        f"a coin has 50. Told two stories of how the person behaved, one of them true: at most "
        f"{_hundredths(promise.stories_mu)}. (In formulas: Gaussian differential privacy with mu = "
        f"{rounded_up(promise.mu)}; epsilon = {epsilon} at delta = {promise.delta:g}.)",
        "How it is kept": f"A person counts once, in one arm{groups}: {limits}. The program enforces this "
        "for every row. Noise is added to every sum, exactly, and once per look. At the last look its standard "
        f"deviation is {rounded_up(persons_deviation(design, promise), 3)} in the number of persons.",
        "One charge for everything": f"{' and '.join(counted)} are one release. Nothing can be added after the "
        "start: no metric, no group, no look.",
        "Two devices": "If the operator cannot tell that two identifiers are one person's, that person is two persons "
        f"here, and the promise for both together is that of epsilon = {twice}.",
        "Tests add up": f"The exact figure of all tests on these people stands in the ledger {design.ledger!r}.",
        "Not protected": "That a person visited the site, which arm they got, and what the operator's own systems "
        "record: the file that was analysed is one of these.",
        "Whom you trust": "The operator, who holds the rows and the key of the noise.",
        "Assumed, not enforced": f"That {'; that '.join(ASSUMED)}.",
    }
    return "\n\n".join(f"{title}. {text}" for title, text in paragraphs.items())


def persons_deviation(design: ABTest, promise: Promise) -> float:
    """Return the standard deviation of the noise in an arm's number of persons at the last look."""
    arms, blocks = len(design.arms), 1 + sum(map(len, design.segments.values()))
    empty: Sequence[int] = [0] * (arms * blocks * promise.layout.size)
    last = read_release(design, promise, len(promise.looks), empty)
    return float(last.total.noise[0, 0] ** 0.5)


def _metric(measure: Measure) -> dict[str, Any]:
    return {"name": measure.name, "kind": "conversion" if measure.binary else "sum", "high": measure.high}


def _limit(measure: Measure) -> str:
    return f"{measure.name} at most {'once' if measure.binary else format(measure.high, 'g')}"


def _hundredths(mu: float) -> str:
    """Return the chance to guess right between N(0, 1) and N(mu, 1), in hundredths, rounded up."""
    return rounded_up(100 * NormalDist().cdf(mu / 2), 3)

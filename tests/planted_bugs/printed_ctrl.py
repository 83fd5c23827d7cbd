"""Planted bugs in the printed formulas of the paper on CTRL, and in what rows and plans say of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from planted_bugs.catalogue import Control, around, planting
from printed.typed_ctrl import errors
from tacit.algorithms import CTRL, HedgeOnSums, LazyOCO
from tacit.algorithms.convex.ctrl import ctrl as learner
from tacit.algorithms.convex.ctrl import lazy_oco
from tacit.algorithms.experts import hedge_on_sums
from tacit.algorithms.lipschitz import lipschitz_grid
from tacit.auditing.report import Finding
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses import LogisticLoss, QuadraticLoss
from tacit.papers import run as rows
from tacit.papers.ctrl import LINE, PAPER
from tacit.papers.paper import Entry
from tacit.papers.row import Settings
from tacit.printed import ctrl
from tacit.problems import Convex, Experts
from tacit.runtime.printed import Printed

ASKED = {"epsilon": 1.0, "delta": 1e-6}


def _problem(loss: Any = None, rounds: int = 500) -> Convex:
    return Convex(domain=Ball(3), loss=loss or LogisticLoss(), horizon=rounds)


def formulas() -> Finding:
    """Every printed formula against its second typing, at three settings."""
    name, worst = max(errors(), key=lambda pair: pair[1])
    return Finding("reference", name, "relative error", 1e-12, worst, violation=not worst <= 1e-12)


def running() -> Finding:
    """What plans run, against the formulas as the second typing has them: the parameters that `printed` states."""
    off = 0.0
    for plan in (
        CTRL.as_printed(_problem(), **ASKED),
        CTRL.as_printed(_problem(QuadraticLoss()), **ASKED),
        LazyOCO.as_printed(_problem(), switches=50),
        LazyOCO.as_printed(_problem(QuadraticLoss()), switches=50),
    ):
        assert plan.printed is not None
        for name in ("eta", "sigma", "log_phi"):
            stated, runs = plan.printed.values[name], plan.parameters.get(name, 0.0)
            off = max(off, abs(runs / stated - 1))
    sums = HedgeOnSums.as_printed(Experts(n=4, horizon=300), **ASKED)
    assert isinstance(sums, HedgeOnSums)
    assert sums.printed is not None
    off = max(off, abs(sums.scale / sums.printed.values["node"] - 1))
    return Finding("reference", "printed parameters", "relative difference", 1e-5, off, violation=off > 1e-5)


def statuses() -> Finding:
    """A run whose curve is above what was asked says so, and refuses secret randomness."""
    plan = CTRL.as_printed(_problem(), constant=5.0, **ASKED)
    proved = plan.guarantee.curve.epsilon(1e-6)
    try:
        plan.start()
        refused = False
    except PrivacyError:
        refused = True
    honest = refused and plan.printed_status == "exceeded"
    return Finding("reference", "a constant of 5", "epsilon", 1.0, proved, violation=not honest)


def labels() -> Finding:
    """A row of the lazy learner has coins, unless its note says batches."""
    entry = Entry("calibrated", "LazyOCO", LINE.name, "", {"max_switches": 20, "batches": False}, private=False)
    plan = rows.plan_of(entry, LINE.problem(100, 1), Settings(100, 1, 1.0, 1e-6, 1, 0))
    asked = LazyOCO.for_budget(LINE.problem(100, 1), switches=20)
    assert isinstance(plan, LazyOCO)
    wrong = sum(made.batch > 0 for made in (plan, asked))
    return Finding("reference", "LazyOCO with coins", "plans in batches", 0.0, float(wrong), violation=wrong > 0)


def repaired() -> Finding:
    """Every row that is called repaired is kept, or promises no privacy."""
    wrong = 0
    for entry in (entry for entry in PAPER.entries if entry.kind == "repaired"):
        stream = next(stream for stream in PAPER.streams if stream.name == entry.stream)
        plan = rows.plan_of(entry, stream.problem(200, 2), Settings(200, 2, 1.0, 1e-6, 1, 0))
        wrong += plan.printed_status not in ("kept", "not private")
    return Finding("reference", "repaired rows", "rows that are not kept", 0.0, float(wrong), violation=wrong > 0)


@around
def _constant(honest: Any, losses: Any, epsilon: float, delta: float, constant: float = 100.0) -> Any:
    return honest(losses, epsilon, delta, constant)


@around
def _without_root(honest: Any, losses: Any, switches: float) -> Any:
    values = honest(losses, switches)
    return values | {"sigma": values["sigma"] / losses.dimension**0.5}


@around
def _half_tail(honest: Any, losses: Any, eta: float, sigma: float, delta: float) -> Any:
    return honest(losses, eta, sigma, 2 * delta)  # ln(1/delta) in place of ln(2/delta)


@around
def _capped(honest: Any, losses: Any, *others: Any) -> Any:
    return min(honest(losses, *others), 2 * losses.lipschitz * losses.diameter / 2 * losses.rounds)


@around
def _printed_phi(honest: Any, *others: Any) -> Any:
    plan = honest(*others)
    return replace(plan, log_phi=2 * plan.log_phi)


@around
def _mu_doubled(honest: Any, plan: Any, scale: float) -> float:
    return 2 * float(honest(plan, scale))


@around
def _always_batches(honest: Any, cls: Any, problem: Any, *, batches: bool = False, **options: Any) -> Any:
    return honest.__func__(cls, problem, batches=True, **options)


@around
def _always_kept(honest: Any, self: Printed, curve: Any) -> str:
    return "kept"


@around
def _too_small(honest: Any, self: Any) -> Any:
    plan = honest(self)
    return self.plan({}, float(plan.printed.reading.removeprefix("10^3 -> ")) / 2)


def _classmethod(make: Any) -> Any:
    return lambda honest: classmethod(lambda cls, problem, **options: make(honest)(cls, problem, **options))


in_print = planting("convex")
CONTROLS: tuple[Control, ...] = (
    in_print("ctrl: 10^3 is 10^2 in Theorem 8", ctrl, "theorem_8", _constant, formulas),
    in_print("ctrl: 10^3 is 10^2 in Theorem 11", ctrl, "theorem_11", _constant, formulas),
    in_print("ctrl: sqrt(d) dropped in Theorem 9", ctrl, "theorem_9", _without_root, formulas),
    in_print("ctrl: ln(1/delta) in Lemma 7", ctrl, "lemma_7", _half_tail, formulas),
    in_print("ctrl: ln(1/delta) in Lemma 10", ctrl, "lemma_10", _half_tail, formulas),
    in_print("ctrl: Theorem 4 capped by what anyone can lose", ctrl, "theorem_4", _capped, formulas),
    in_print("ctrl: another Phi runs than Theorem 9 prints", lazy_oco, "printed_coins", _printed_phi, running),
    in_print("ctrl: half the printed noise", hedge_on_sums, "privacy_of_noise", _mu_doubled, running),
    in_print("ctrl: for_budget takes batches unasked", LazyOCO, "for_budget", _classmethod(_always_batches), labels),
    in_print("ctrl: a status that is always kept", Printed, "status", _always_kept, statuses),
    in_print("ctrl: repaired with half the constant", learner._Printing, "smallest_constant", _too_small, repaired),
    in_print("ctrl: repaired sums with half the noise", lipschitz_grid, "privacy_of_noise", _mu_doubled, repaired),
)  # fmt: skip

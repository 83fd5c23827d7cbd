"""Planted bugs in the learners that hold an expert by a coin."""

from __future__ import annotations

from math import exp
from typing import Any

from planted_bugs.catalogue import Control, around, both, planting, swap
from tacit.algorithms.experts import expert_plan, l2p
from tacit.algorithms.experts import lazy_experts as lazy
from tacit.algorithms.experts import scheduled_experts as scheduled
from tacit.auditing import attacks
from tacit.auditing.certified_law import frequencies, marginals
from tacit.auditing.instances import alphabet
from tacit.auditing.report import Finding
from tacit.auditing.tapes import epochs
from tacit.noise.exact_draws import coin, draw_softmax
from tacit.noise.lattice import LOSS_UNITS, quantise_losses
from tacit.noise.randomness import Randomness
from tacit.problems import Experts
from tacit.runtime import doubling
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import Target

LAZY = lazy.LazyExperts(Experts(n=2, horizon=5), eta=0.3, force=0.3, relative=False)
BATCHED = lazy.LazyExperts(Experts(n=2, horizon=6), eta=0.3, force=0.3, relative=False, batch=2)
CAPPED = lazy.LazyExperts(Experts(n=2, horizon=5), eta=0.6, force=0.3, relative=False, max_switches=1)
CHAINS = l2p.L2P(Experts(n=2, horizon=4), eta=0.3, force=0.3, reference_force=0.3)
SCHEDULED = scheduled.ScheduledExperts(Experts(n=2, horizon=6), eta=0.3)
SLOW = scheduled.ScheduledExperts(Experts(n=2, horizon=6), eta=0.3, batch=3)


def searched(plan: Plan, laws: int = 24) -> Finding:
    """Attack by enumeration with a short search."""
    instance = SmallInstance("enumeration", "planted", plan)
    return attacks.exact(instance, Randomness.replayable(3).stream("controls"), laws=laws)


def described(plan: Plan) -> Finding:
    """Attack the law itself: is it exponential weights?"""
    letters = alphabet(plan)
    return marginals(SmallInstance("enumeration", "planted", plan), letters.stream(_MIXED[: plan.horizon]))


def observed(plan: Plan) -> Finding:
    """Attack by real runs: do they have the enumerated law?"""
    letters = alphabet(plan)
    return frequencies(
        SmallInstance("enumeration", "planted", plan), letters.stream(_MIXED[: plan.horizon]), 4, runs=1500
    )


_MIXED = [1, 2, 1, 1, 3, 0]


def _started(make: Any) -> Any:
    """Change the learner after it was started."""

    def build(honest: Any) -> Any:
        def init(self: Any, plan: Any, randomness: Any) -> None:
            honest(self, plan, randomness)
            make(self)

        return init

    return build


def _no_force(learner: lazy.LazyExpertsLearner) -> None:
    learner._stay = 1.0


def _no_cap(learner: lazy.LazyExpertsLearner) -> None:
    learner._cap = None


def _absorb(decide: Any) -> Any:
    """The lazy learner's round with another decision rule: `decide(self)` says whether to redraw."""

    def build(honest: Any) -> Any:
        def absorb(self: lazy.LazyExpertsLearner, losses: Any) -> None:
            held = self._add_units(losses, self._total)
            self._held_loss += held
            finished = self._round + 1
            if finished % self._batch == 0 and finished <= self._last_decision:
                if decide(self):
                    self._draw()
                    held = int(losses.item(self._action) * LOSS_UNITS)
                if decide is not _cumulative:
                    self._held_loss = held if decide is _carried else 0

        return absorb

    return build


def _wrong_sign(self: Any) -> bool:
    return not coin(self._keep, min(1.0, self._stay * exp(self._rate * self._held_loss)))


def _cumulative(self: Any) -> bool:
    return not coin(self._keep, self._stay, self._rate, self._held_loss)


def _carried(self: Any) -> bool:
    return not coin(self._keep, self._stay, self._rate, self._held_loss)


def _certain(self: Any) -> bool:
    return self._held_loss > 0 or not coin(self._keep, self._stay)


@around
def _stale(honest: Any, self: lazy.LazyExpertsLearner, losses: Any) -> None:
    """Draw from the sums before the newest round."""
    vars(self)["_newest"] = quantise_losses(losses)
    honest(self, losses)


@around
def _without_newest(honest: Any, self: lazy.LazyExpertsLearner) -> None:
    self._total -= vars(self)["_newest"]
    honest(self)
    self._total += vars(self)["_newest"]


@around
def _added_twice(honest: Any, self: lazy.LazyExpertsLearner, losses: Any, total: Any, relative: bool = False) -> int:
    """Sums that take in the newest losses twice."""
    honest(self, losses, total)
    return honest(self, losses, total, relative)


def _doubled(honest: Any) -> Any:
    return lambda uniforms, rate, scores: honest(uniforms, 2 * rate, scores)


@around
def _every_round(honest: Any, self: scheduled.ScheduledExpertsLearner, losses: Any) -> None:
    self._total += quantise_losses(losses)
    if self._round + 1 < self.plan.rounds:
        self._move(draw_softmax(self._choice, self._rate, self._total))


@around
def _merged_bit(honest: Any, self: l2p.ExactChains) -> bool:
    """One switch bit for both chains: the reference's coin is taken to hide the held chain's."""
    if not self._reference_kept():
        self._reference = self._measure.sample(self._streams["reference draw"])
    stay, self._stay = self._stay, 1.0
    redraw = not self._kept()
    self._stay = stay
    if redraw:
        self.decision = self._measure.sample(self._streams["draw"])
    self._ratio = 0
    return redraw


def _reversed(honest: Any) -> Any:
    return lambda self, decision, feedback: -honest(self, decision, feedback)


@around
def _unclipped_slack(honest: Any, self: l2p.ExactChains) -> bool:
    """The coin without its constant C: min(1, .) cuts, and a cut coin tells everything."""
    return coin(self._streams["keep"], 1.0, self._rate, max(0, LOSS_UNITS - int(self._ratio)))


def _one_key(honest: Any) -> Any:
    return lambda self, name: honest(self, "keep")


@around
def _fed_again(honest: Any, self: doubling.DoublingLearner, feedback: Any) -> None:
    """The last round of an epoch is the first of the next one as well."""
    before = self._index
    honest(self, feedback)
    if self._index > before:
        self._inner.play()
        self._inner._finish(feedback)
        self._action = self._inner._action


def _doubling() -> Finding:
    # A loud plan for every epoch: what crosses the border shows in the first coins.
    def make(problem: Any) -> Plan:
        return lazy.LazyExperts(problem, eta=0.3, force=0.3)

    plan = doubling.Doubling(Experts(n=2, horizon=None), Target(1e6, 1e-6), make)
    return epochs(plan, Randomness.replayable(5).stream("controls"))


in_experts = planting("experts")
CONTROLS: tuple[Control, ...] = (
    in_experts("missing forced switch (lazy experts)", lazy.LazyExpertsLearner, "__init__", _started(_no_force),
               lambda: searched(LAZY, 8)),
    in_experts("wrong acceptance sign (lazy experts)", lazy.LazyExpertsLearner, "_absorb", _absorb(_wrong_sign),
               lambda: searched(LAZY)),
    in_experts("keep bit looks at the cumulative loss", lazy.LazyExpertsLearner, "_absorb", _absorb(_cumulative),
               lambda: searched(LAZY)),
    in_experts("a loss counted in two decisions", lazy.LazyExpertsLearner, "_absorb", _absorb(_carried),
               lambda: described(BATCHED)),
    in_experts("any loss at all means redraw", lazy.LazyExpertsLearner, "_absorb", _absorb(_certain),
               lambda: searched(LAZY)),
    Control(
        "draw from stale weights", "experts",
        both(
            swap(lazy.LazyExpertsLearner, "_absorb", _stale), swap(lazy.LazyExpertsLearner, "_draw", _without_newest)
        ),
        lambda: described(LAZY),
    ),
    in_experts("losses added twice", expert_plan.ExpertLearner, "_add_units", _added_twice, lambda: described(LAZY)),
    in_experts("cap on redraws ignored", lazy.LazyExpertsLearner, "__init__", _started(_no_cap),
               lambda: searched(CAPPED, 40), fast=False),
    in_experts("doubled rate in the draw (lazy experts)", lazy, "draw_softmax", _doubled, lambda: searched(LAZY, 40),
               fast=False),
    in_experts("exponential mechanism with doubled rate", scheduled, "draw_softmax", _doubled,
               lambda: searched(SCHEDULED, 40)),
    in_experts("draw every round, priced every batch", scheduled.ScheduledExpertsLearner, "_absorb", _every_round,
               lambda: searched(SLOW, 40)),
    in_experts("merged switch bit (L2P)", l2p.ExactChains, "decide", _merged_bit, lambda: searched(CHAINS, 6),
               fast=False),
    in_experts("ratio reversed (L2P)", l2p.ExponentialWeights, "log_ratio", _reversed, lambda: described(CHAINS)),
    in_experts("coin without its constant (L2P)", l2p.ExactChains, "_kept", _unclipped_slack,
               lambda: searched(CHAINS, 6), fast=False),
    in_experts("one key for all streams", Randomness, "stream", _one_key, lambda: observed(LAZY)),
    in_experts("doubling reuses the last round", doubling.DoublingLearner, "_absorb", _fed_again, _doubling),
)  # fmt: skip

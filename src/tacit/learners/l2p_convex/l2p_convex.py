"""L2P on regularised multiplicative weights: private online convex optimisation without smoothness.

Paper: "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), Section 3.2. The measure is
nu_s ~ exp(-beta (sum of losses + lambda |x|^2)) on the domain, the switching rule is `tacit.learners.two_chains`.
A draw from it is mu-Gaussian DP, mu = L sqrt(2 beta/lambda): one replaced loss adds a 2 beta L-Lipschitz function
to a 2 beta lambda-strongly convex potential. No delta is spent on draws that are exact.

What differs from the print. Each round's log ratio is clipped at h, so one replaced loss moves the log of the keep
probability by at most 2h whatever the data, and clipping costs utility only. The reference need not be a second
chain: any point that is independent of x leaves the law exact, and the centre of the domain (`reference_force=0`)
costs no draws and, with h = beta L R, never clips. With `force=1` there is no coin at all, only a fresh draw after
each batch, composed exactly as Gaussian DP: the better choice on short streams and in several dimensions (at
epsilon = 1 it won at T = 1e3 for d = 1, at 1e3 and 1e4 for d = 2, at 1e5 for d = 5). The batching term is
T B L^2/(4 lambda), not the print's (its Proposition 3.3 is false). The sampler comes with a certificate and its
total variation error is inside delta; in one dimension draws are exact.

Regret, explicit: lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda), by telescoping log partition
functions: a copy of the domain shrunk by gamma around the comparator gives the entropy term, and an
L-Lipschitz function of a 2 beta lambda-strongly log-concave variable is sub-Gaussian, which gives the last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np

from tacit.errors import InvalidInput, PrivacyError
from tacit.learners.convex.common import ConvexPlan
from tacit.learners.experts.l2p import REFUSED
from tacit.learners.l2p_convex.accounting import (
    Tuning,
    certified_regret,
    check_samplable,
    exact_curve,
    never_clips,
)
from tacit.learners.l2p_convex.loud_parameters import FRESH, INTERVAL, loud_parameters, steep_parameters
from tacit.learners.l2p_convex.measure import IntervalMeasure, ProximalMeasure, interval_nodes, sampler_after
from tacit.learners.l2p_convex.search import best_parameters
from tacit.learners.learner import Learner
from tacit.learners.plan import PrivatePlan
from tacit.learners.search import tosses
from tacit.learners.small_instances import SmallInstance
from tacit.learners.small_problems import described, few_dimensions, on_interval
from tacit.learners.target import RegretBound, Target
from tacit.learners.two_chains import CHAIN_STREAMS, TwoChains
from tacit.losses.base import RowLoss, asks_user
from tacit.privacy.curves import Curve, SamplerError
from tacit.problems import Convex
from tacit.randomness import Randomness
from tacit.validation import FloatArray, check_choice, check_integer, check_number, check_positive

# Loss evaluations in one draw that a plan accepts: several seconds.
WORK_LIMIT = 1e8


@dataclass(frozen=True)
class L2PConvex(ConvexPlan, PrivatePlan):
    """A point drawn from regularised multiplicative weights and held until a coin says otherwise.

    Privacy contract: every decision and the switch times of both chains; draws are mu-Gaussian DP with
    mu = L sqrt(2 beta/lambda), the coin's log moves by at most 2h, once. Adaptive adversaries. Enforced: feature
    norms and labels (clipped by the loss), log ratios clipped at h. Numerics: idealized; draws in two and more
    dimensions are within `sampler_distance` of their law, which is charged to delta.
    Regret (oblivious): lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda) + clipping.

    Reference: Asi, Koren, Liu and Talwar (2024), "Private Online Learning via Lazy Algorithms",
    https://arxiv.org/abs/2406.03620.

    Page: docs/algorithms/l2p-convex.md.

    Attributes:
        rate: beta, the weight of the losses.
        regularisation: lambda.
        force: probability of a forced redraw at each toss of the coins; 1: a fresh draw after each batch, no coin.
        clip: h, the most that one round moves the coin.
        batch: rounds from one toss to the next.
        reference_force: probability of a redraw of the reference at each toss; 0: it is the domain's centre.
        sampler_distance: total variation error of a draw (0 in one dimension, where draws are exact).
        work_limit: most loss evaluations in one draw; plans that need more are refused (None: no limit).

    >>> from tacit.geometry import Ball
    >>> from tacit.losses import LogisticLoss
    >>> problem = Convex(domain=Ball(1), loss=LogisticLoss(), horizon=1000)
    >>> plan = L2PConvex(problem, rate=0.05, regularisation=60.0, force=0.3, clip=0.05, batch=8)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> point = learner.play()
    >>> learner.observe(([1.0], 1.0))
    """

    rate: float
    regularisation: float
    force: float
    clip: float
    batch: int = 1
    reference_force: float = 0.0
    sampler_distance: float = 0.0
    work_limit: float | None = WORK_LIMIT
    released_streams: ClassVar[tuple[str, ...]] = ("draw", "reference draw")
    released: ClassVar[str] = "every decision and the switch times of both chains"

    def _check_parameters(self) -> None:
        check_samplable(self.problem)
        for name in ("rate", "regularisation", "clip"):
            check_positive("L2PConvex", name, getattr(self, name))
        check_number("L2PConvex", "force", self.force, above=0.0, below=1.0, closed_low=True, closed_high=True)
        check_number("L2PConvex", "reference_force", self.reference_force, above=0.0, below=1.0, closed_low=True)
        check_integer("L2PConvex", "batch", self.batch)
        exact = self.problem.domain.dimension == 1
        check_number("L2PConvex", "sampler_distance", self.sampler_distance, above=0.0, below=1.0, closed_low=exact)
        if self.work_limit is not None and self.work > check_positive("L2PConvex", "work_limit", self.work_limit):
            raise PrivacyError(
                f"A draw of L2PConvex at {self.rounds} rounds in {self.problem.domain.dimension} dimensions takes "
                f"{self.work:.2g} loss evaluations, more than work_limit={self.work_limit:.2g}: shorten the horizon, "
                "raise work_limit, or use CTRL or PrivateFTRL."
            )

    @property
    def decisions(self) -> int:
        """How many times the coins are tossed: after every batch but the last."""
        return tosses(self.rounds, self.batch)

    @cached_property
    def work(self) -> float:
        """Expected loss evaluations in one draw at the end of the horizon: steps times history, at most."""
        if self.problem.domain.dimension == 1:
            return float(self.rounds + interval_nodes(self.problem, self.rate, self.regularisation))
        sampler = sampler_after(self.problem, self.rate, self.regularisation, self.sampler_distance, self.rounds)
        return sampler.work * self.rounds

    @property
    def assumed(self) -> str:
        """What is believed of the losses that measures are made of."""
        return self.problem.loss.assumed

    @property
    def theorem(self) -> str:
        """What proves it."""
        if self.force == 1:
            return "fresh draws from strongly log-concave measures, Gaussian composition"
        return "L2P on strongly log-concave measures, random-draw Renyi composition"

    @cached_property
    def curve(self) -> Curve:
        """What the transcript leaks, the sampler's error included."""
        if self.sampler_distance == 0:
            return self.exact_curve
        chains = 2 if self.reference_force > 0 and self.force < 1 else 1
        return SamplerError(self.exact_curve, self.sampler_distance, chains * self.decisions)

    @cached_property
    def exact_curve(self) -> Curve:
        """What the transcript would leak if every draw had exactly its law."""
        return exact_curve(self.problem, self._tuned, self.reference_force, self.relation, self.rounds_per_person)

    @property
    def _tuned(self) -> Tuning:
        return Tuning(self.rate, self.regularisation, self.force, self.clip, self.batch)

    @property
    def regret_bound(self) -> RegretBound:
        """The explicit bound, with clipping and the sampler's error."""
        value = certified_regret(self.problem, self._tuned, self.reference_force, self.sampler_distance)
        return RegretBound(
            value,
            "lambda R^2 + (d/beta) ln(1/gamma) + gamma T L D + T B L^2/(4 lambda) + clipping",
            (f"{self.certified_against[-1]} adversary", "expectation over the learner's coins", "convex losses"),
        )

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adaptive adversaries too when every round draws afresh."""
        return ("oblivious", "adaptive") if self.force == 1 and self.batch == 1 else ("oblivious",)

    @property
    def expected_switches(self) -> float:
        """A coin keeps with probability at least (1 - p) e^{-2 B h}; by Jensen, more on average."""
        if not self.decisions:
            return 0.0
        if self.force == 1:
            return float(self.decisions)
        hazard = 2 * self.batch * self.clip
        if self.reference_force == 0 and never_clips(self.problem, self._tuned, 0.0):
            # The mean log ratio to the centre sums to at most the regret against the centre.
            hazard = min(hazard, self.batch * self.clip + self.rate * float(self.regret_bound) / self.decisions)
        return self.decisions * (1 - (1 - self.force) * exp(-hazard))

    def explain(self) -> str:
        """The plan in words, with the work of a draw."""
        return f"{super().explain()}\nwork: at most {self.work:.2g} loss evaluations a draw in expectation"

    @classmethod
    def _calibrate(
        cls, problem: Convex, target: Target, *, calibration: str = "certified", work_limit: float | None = WORK_LIMIT
    ) -> L2PConvex:
        check_choice("L2PConvex", "calibration", calibration, ("certified", *REFUSED))
        if calibration in REFUSED:
            raise PrivacyError(REFUSED[calibration])
        if target.delta == 0 or target.max_switches is not None:
            raise PrivacyError(
                "L2PConvex cannot promise a limit on switches and has no pure form: leave out max_switches, and "
                "take delta > 0."
            )
        check_samplable(problem)
        tuned, distance = best_parameters(problem, target)
        return cls(problem, *tuned, sampler_distance=distance, work_limit=work_limit, **target.contract)

    def small_instances(self, most_rounds: int) -> tuple[SmallInstance, ...]:
        """An interval, where draws are integrated; few dimensions, where draws and coins are tested."""
        coins = {} if self.force == 1 else {"force": 0.3, "batch": min(2, self.batch)}
        coins |= {"reference_force": 0.3} if self.reference_force > 0 else {}
        line = replace(self, problem=on_interval(self.problem), **{**coins, **INTERVAL})
        problem = few_dimensions(self.problem, rounds=4)
        loud = replace(self, problem=problem, **{**FRESH, **coins, **loud_parameters(problem)})
        label = described("loud parameters", problem)
        found = [
            SmallInstance("integrated interval", "loud parameters, one dimension, T=3", line),
            SmallInstance("draws", label, loud, effort=max(1_500, 18_000 // problem.domain.hull_dimension)),
            SmallInstance("likelihood ratios", described("loud draws", problem), loud),
        ]
        if self.force < 1:
            found.append(SmallInstance("keep probabilities", label, loud))
        if problem.domain.dimension > 1 and 0 < problem.smoothness < np.inf:
            steep = replace(loud, **FRESH, **steep_parameters(problem))
            found.append(SmallInstance("draws", described("steep losses", problem), steep, effort=300))
        return tuple(found)

    def _learner(self, randomness: Randomness) -> L2PConvexLearner:
        if not isinstance(self.problem.loss, RowLoss):
            raise InvalidInput(
                f"L2PConvex can be planned for {self.problem.loss!r}, but starts only with a loss of rows of data."
            )
        return L2PConvexLearner(self, randomness, self.problem.loss)


class L2PConvexLearner(Learner):
    """Plays the first chain."""

    plan: L2PConvex
    _stream_names = CHAIN_STREAMS
    _state = ("_measure", "_chains")

    def __init__(self, plan: L2PConvex, randomness: Randomness, loss: RowLoss) -> None:
        super().__init__(plan, randomness)
        problem = plan.problem
        self._loss = loss
        self._dimension = problem.domain.dimension
        self._batch = plan.batch
        self._last_decision = plan.decisions * plan.batch
        self._measure: IntervalMeasure | ProximalMeasure
        if self._dimension == 1:
            self._measure = IntervalMeasure(problem, loss, plan.rate, plan.regularisation)
        else:
            self._measure = ProximalMeasure(problem, loss, plan.rate, plan.regularisation, plan.sampler_distance)
        self._chains: TwoChains | None = None
        if plan.force == 1:  # no coin: fresh draws after every batch
            self._action = self._measure.sample(self._streams["draw"])
            return
        self._chains = TwoChains(
            self._measure,
            limit=plan.clip,
            batch=plan.batch,
            slack=1.0,
            force=plan.force,
            reference_force=plan.reference_force,
            streams=self._streams,
        )
        if plan.reference_force == 0:  # the reference stands at the centre for ever
            self._chains.load_state_dict({**self._chains.state_dict(), "reference": problem.domain.centre})
        self._action = self._chains.decision

    def _decision(self) -> FloatArray:
        return np.array(self._action)

    def _consistent(self) -> bool:
        return self._measure.count == self._round

    def _check(self, feedback: Any) -> FloatArray:
        row: FloatArray = self._loss.pack(feedback, self._dimension, many=False)[0]
        return row

    def _nothing(self) -> FloatArray:
        row: FloatArray = self._loss.neutral(self._dimension)[0]
        return row

    def _check_many(self, feedback: Any) -> Any:
        return list(feedback) if self._shows else self._loss.pack(feedback, self._dimension, many=True)

    @property
    def _shows(self) -> bool:
        """A loss made of callables is asked about the points that were played."""
        return asks_user(self._loss)

    def _run(self, rows: FloatArray) -> FloatArray:
        points = np.empty((len(rows), self._dimension))
        for index, row in enumerate(rows):
            points[index] = self._action
            self._finish(row)
        return points

    @np.errstate(all="ignore")
    def _absorb(self, row: FloatArray) -> None:
        chains = self._chains
        finished = self._round + 1
        deciding = finished % self._batch == 0 and finished <= self._last_decision
        if chains is None:
            self._measure.absorb(row)
            if deciding:
                self._move(self._measure.sample(self._streams["draw"]))
            return
        chains.absorb(row)
        if deciding and chains.decide():
            self._move(chains.decision)

    def _move(self, point: FloatArray) -> None:
        self._switches += 1
        self._action = point

"""Numerical integration for learners with one continuous coordinate: draws become nodes of a quadrature.

In one dimension a draw has a density that the learner's own state determines. With Gauss-Legendre nodes in place of the
draw, the enumeration of `tacit.auditing.script` integrates the hockey stick over all draws of the transcript. Only
"draw from this density" is taken on trust, and tested by draws.py.

- `coins`: a coin keeps a point exactly if an exponential clock outlives a hazard. The hazard is read off the
  comparison, or by asking the learner's own scan again with other clocks, on copies, and compared with the claim.
- `model_law`: the minimiser of J(x) + Z x is at x exactly if the noise is Z = -J'(x), so its density is that of the
  noise at -J'(x), times J''(x).
- `totality`: every noise must give a model. Whether a release fails is released too, so a failure is a violation. The
  minimiser is found a second time, by halving an interval with exactly rounded sums of the loss's own gradients.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import exp, expm1, fsum, inf
from typing import Any

import numpy as np

from tacit.algorithms.convex.ctrl import coupled
from tacit.algorithms.convex.l2p_convex import measure
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvexLearner
from tacit.algorithms.stochastic.objective_perturbation import model_noise
from tacit.algorithms.stochastic.objective_perturbation.model_noise import SHRUNK
from tacit.algorithms.stochastic.objective_perturbation.objective_perturbation import (
    ObjectivePerturbation,
    ObjectivePerturbationLearner,
)
from tacit.algorithms.stochastic.online_to_batch import norms
from tacit.auditing.attacks import random_stream
from tacit.auditing.claimed_laws import Reading, claim_of, read, recorded_minima, stepwise
from tacit.auditing.instances import Instance
from tacit.auditing.report import Finding
from tacit.auditing.script import (
    Feedback,
    Law,
    Script,
    ScriptedRandomness,
    Stream,
    Walk,
    law_of,
    swapped,
    transcript_law,
)
from tacit.errors import TacitError
from tacit.losses.loss import RowLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import FloatNoise
from tacit.noise.sampler_bounds import WIDE_SIGMA
from tacit.noise.source import PooledNoise
from tacit.runtime.learner import Learner
from tacit.runtime.plan import Plan
from tacit.solvers.minimum import Minimum
from tacit.validation import FloatArray

TOLERANCE = 1e-7
"""Of a probability: bisection and the rounding of incremental updates."""


def coins(instance: Instance, source: Randomness, *, runs: int, rounds: int = 8) -> Finding:
    """Compute the largest difference between the learner's keep probability and the claimed one, over all coins."""
    plan = instance.plan
    worst, tossed, seen = 0.0, 0, ()
    for run in range(runs):
        stream = random_stream(instance, source.stream(f"neighbours {run}"))[:rounds]
        hazards: list[float] = []
        with metered(hazards), recorded_minima() as minima:
            learner = plan.start(source.child(run))
            _listen(learner, hazards)
            transcript = replace(stepwise(learner, stream), minima=tuple(minima))
        reading = Reading()
        read(claim_of(plan, stream), transcript, reading)
        claimed = [exp(toss.log_keep) for toss in reading.tosses if not toss.reference]
        # The last coin of a run is tossed but its outcome is never played.
        gaps = [abs(exp(-read_off) - keep) for read_off, keep in zip(hazards, claimed, strict=False)]
        tossed += len(gaps)
        if max(gaps, default=0.0) > worst:
            worst, seen = max(gaps), tuple(stream)
    return Finding(
        "coins", f"{instance.label}, {tossed} coins", "largest difference of a keep probability", TOLERANCE, worst,
        worst > TOLERANCE, detail="a coin does not have its claimed probability", stream=seen, check=True,
    )  # fmt: skip


@contextmanager
def metered(hazards: list[float]) -> Iterator[None]:
    """Let scans of single rounds note the hazard of their coin."""

    def wrapped(honest: Any) -> Any:
        def scan(self: coupled.Held, rows: FloatArray, tosses: coupled.Coins) -> int:
            if len(rows) == 1 and np.isfinite(tosses.clocks[0]):
                hazards.append(hazard(honest, self, rows, tosses))
            return int(honest(self, rows, tosses))

        return scan

    with swapped(*((kind, "scan", wrapped(kind.scan)) for kind in coupled.KINDS.values())):
        yield


def hazard(honest: Any, state: coupled.Held, rows: FloatArray, tosses: coupled.Coins) -> float:
    """Give the clock at which the scan changes its mind, by bisection on copies."""
    low, high = 0.0, tosses.hazard + 2 * float(tosses.log_phi[0]) + 1.0
    for _ in range(40):
        middle = (low + high) / 2
        kept = honest(copy.deepcopy(state), rows, replace(tosses, clocks=np.array([middle])))
        low, high = (low, middle) if kept else (middle, high)
    return high


def _listen(learner: Learner, hazards: list[float]) -> None:
    """Let the clock of the two-chain rule note the hazard with which the clock is compared."""
    if isinstance(learner, L2PConvexLearner):
        streams: dict[str, Any] = learner._streams
        streams["keep"] = _Listening(streams["keep"], hazards)


class _Listening:
    """A stream whose clocks note what they are compared with."""

    def __init__(self, stream: np.random.Generator, hazards: list[float]) -> None:
        self._stream, self._hazards = stream, hazards

    def standard_exponential(self) -> _Clock:
        return _Clock(self._stream.standard_exponential(), self._hazards)


class _Clock:
    """A clock that notes its hazard."""

    def __init__(self, time: float, hazards: list[float]) -> None:
        self._time, self._hazards = time, hazards

    def __le__(self, hazard: float) -> bool:
        self._hazards.append(max(0.0, float(hazard)))
        return self._time <= hazard


NODES = 8
QUADRATURE_SLACK = 0.03
"""Relative error of integrated hockey sticks, whose integrand has kinks."""


def interval_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of everything released, on the nodes of the quadrature."""
    with integrated_draws():
        return transcript_law(plan, feedback)


@contextmanager
def integrated_draws(nodes: int = NODES) -> Iterator[None]:
    """Let draws from one-dimensional densities take nodes; coins that are kept as numbers are asked instead."""
    unit, weights = np.polynomial.legendre.leggauss(nodes)

    def sample(self: Any, generator: Stream) -> FloatArray:
        """Give the measure's density at the nodes, from its own history and penalty."""
        low, high = float(self._nodes[0]), float(self._nodes[-1])
        points = (low + high) / 2 + (high - low) / 2 * unit

        def masses() -> FloatArray:
            potential = self._rate * (self.losses(points[:, None]) + self._penalty(points))
            return np.asarray(weights * np.exp(potential.min() - potential))

        return np.array([points[_ask(generator, masses)]])

    def draw(self: Any) -> None:
        """Compute the density of the perturbed minimiser at x: that of the noise -J'(x), times J''(x)."""
        points = unit * (1 - 1e-9)
        barrier = self._set.hull_barrier

        def slope(x: FloatArray) -> FloatArray:
            return np.asarray(self._sums.gradient(x)[0] + self._ridge * x + self._weight * barrier.gradient(x))

        def masses() -> FloatArray:
            slopes, curvatures = np.empty(nodes), np.empty(nodes)
            for index, x in enumerate(points[:, None]):
                bend = self._sums.hessian(x) + self._weight * barrier.hessian(x)
                slopes[index], curvatures[index] = slope(x)[0], bend[0, 0] + self._ridge
            deviation = self._deviation(self._sums.count)
            return np.asarray(weights * curvatures * np.exp(-((slopes / deviation) ** 2) / 2))

        x = points[[_ask(self._streams["noise"], masses)]]
        self._hold(self._set.from_hull(x), x, -slope(x))

    scripted: list[Stream] = []

    def clocks(self: Stream, size: Any = None) -> Any:
        """Give the clocks that a learner keeps as numbers: not a number, until the learner's coin is asked."""
        if self._name != "keep" or size is None:
            return honest_clocks(self, size)
        scripted.append(self)
        return np.full(size, np.nan)

    def asked(honest_scan: Any) -> Any:
        """Give a scan of one round whose coin is the script's; its hazard is read off the shipped scan itself."""

        def scan(self: coupled.Held, rows: FloatArray, coins: coupled.Coins) -> int:
            if np.isinf(coins.clocks[0]):
                return int(honest_scan(self, rows, coins))

            def law() -> tuple[float, float]:
                limit = hazard(honest_scan, self, rows, coins)
                return exp(-limit), -expm1(-limit)

            drawn = scripted[-1].decide(law) == 1
            return int(honest_scan(self, rows, replace(coins, clocks=np.array([0.0 if drawn else inf]))))

        return scan

    honest_clocks = Stream.standard_exponential
    swaps = (
        (measure.IntervalMeasure, "sample", sample),
        (coupled.CoupledLearner, "_draw", draw),
        *((kind, "scan", asked(kind.scan)) for kind in coupled.KINDS.values()),
        (Stream, "standard_exponential", clocks),
    )
    with swapped(*swaps):
        yield


def _ask(stream: Stream, masses: Callable[[], FloatArray]) -> int:
    def law() -> list[float]:
        values = masses()
        return list((values / values.sum()).tolist())

    return stream.decide(law)


_CELLS = 160
# Deviations beyond which less than 1e-17 of exponential noise, or of Gaussian noise, is left.
EXPONENTIAL_TAIL, GAUSSIAN_TAIL = 40.0, 9.0
_UNIT, _WEIGHTS = np.polynomial.legendre.leggauss(4)


class UnitStream(Stream):
    """Normal noise of this stream is 1: what reaches the minimiser is its scale."""

    def standard_normal(self, count: int) -> Any:
        """Give ones."""
        return np.ones(count)


class UnitRandomness(ScriptedRandomness):
    """A script whose normal noise is 1."""

    __slots__ = ()

    def _stream(self, script: Script, name: str) -> Any:
        return UnitStream(script, name)


def model_law(plan: Plan, feedback: Feedback) -> Law:
    """Compute the law of the released model on the nodes of the quadrature."""
    assert isinstance(plan, ObjectivePerturbation)

    def released(walk: Walk) -> tuple[float]:
        with _integrated(plan, walk):
            learner = plan.start(UnitRandomness(walk))
            assert isinstance(learner, ObjectivePerturbationLearner)
            for row in feedback:
                learner.play()
                learner.observe(row)
            return (round(float(learner.release()[0]), 12),)

    return law_of(released)


@contextmanager
def lattice_noise(deviations: float) -> Iterator[None]:
    """Replace wide discrete Gaussian draws by so many of their standard deviations, and all others by 0."""
    wide = round(deviations * WIDE_SIGMA)
    swaps = (
        (DiscreteGaussian, "draw_wide", lambda self, count: np.full(count, wide)),
        (PooledNoise, "draw", lambda self, count: np.zeros(count, dtype=np.int64)),
    )
    with swapped(*swaps):
        yield


@contextmanager
def _integrated(plan: ObjectivePerturbation, walk: Walk) -> Iterator[None]:
    """Replace noise by its own scale; the minimiser asks the script for its place."""

    def minimum(losses: Any, *, ridge: float, noise: Any, **_: Any) -> Minimum:
        sigma = abs(float(noise[0]))
        constants = plan.problem.loss.constants(None)
        # A public interval beyond which neither stream has mass worth counting.
        reach = (
            losses.count * 5 * constants.lipschitz + (EXPONENTIAL_TAIL if plan.pure else GAUSSIAN_TAIL) * sigma
        ) / ridge
        edges = np.linspace(-reach, reach, _CELLS + 1)
        half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
        x = (middle[:, None] + half[:, None] * _UNIT).ravel()
        weights = (half[:, None] * _WEIGHTS).ravel()

        def law() -> list[float]:
            slope = np.array([losses.gradient(np.array([point]))[0][0] for point in x]) + ridge * x
            bend = np.array([losses.hessian(np.array([point]))[0, 0] for point in x]) + ridge
            log_noise = -np.abs(slope) / sigma if plan.pure else -((slope / sigma) ** 2) / 2
            masses = weights * bend * np.exp(log_noise)
            return list((masses / masses.sum()).tolist())

        return Minimum(x[[walk.ask("noise", law)]], 0.0)

    swaps = (
        (model_noise, "perturbed_minimum", minimum),
        (norms.Norm, "exponential_noise", lambda self, generator: np.ones),
    )
    with swapped(*swaps), lattice_noise(1.0):
        yield


# An interval around a slope of exactly 0 has a width too.
_NOT_EMPTY = 1e-300


def totality(plan: Plan, records: Any, noises: Sequence[float]) -> Finding:
    """Check models of these records at these noises (in units of the plan's own), without the protection."""
    assert isinstance(plan, ObjectivePerturbation)
    loss = plan.problem.loss
    assert isinstance(loss, RowLoss)
    rows = loss.pack(records, 1, many=True)
    rows[:, :-1] *= SHRUNK
    farthest, failed = 0.0, 0
    for noise in noises:
        found = _model(plan, records, noise)
        if found is None:
            failed += 1
        else:
            exact = minimiser(loss, rows, plan.regularisation, plan.noise_scale * noise)
            farthest = max(farthest, abs(found - exact) / plan.accuracy)
    label = f"{len(rows)} records in one dimension, {len(noises)} noises"
    if failed:
        return Finding(
            "minimisers", label, "noises without a model", 0.0, float(failed), True,
            detail="whether a model can be released depends on the data", check=True,
        )  # fmt: skip
    return Finding(
        "minimisers", label, "distance from the minimiser over the certified one", 1.0, farthest, farthest > 1,
        detail="a minimiser is not as close as was certified", check=True,
    )  # fmt: skip


def minimiser(loss: RowLoss, rows: FloatArray, ridge: float, noise: float) -> float:
    """Find where the slope of the losses, the ridge and the noise add up to nothing."""

    def slope(x: float) -> float:
        return fsum([*loss.gradients(np.array([x]), rows)[:, 0].tolist(), ridge * x, noise])

    reach = (abs(slope(0.0)) + _NOT_EMPTY) / ridge
    low, high = -reach, reach
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return low


def _model(plan: ObjectivePerturbation, records: Any, noise: float) -> float | None:
    """Give the minimiser that the shipped learner releases, or None if it releases nothing."""
    learner = plan.start(Randomness.replayable(0))
    assert isinstance(learner, ObjectivePerturbationLearner)
    learner.run(records)
    drawn = iter([np.array([noise]), np.zeros(1)])  # the noise, and no protection

    def draw(*_: Any) -> FloatArray:
        return next(drawn)

    with swapped((FloatNoise, "draw", draw)), lattice_noise(noise):
        try:
            return float(learner.release()[0])
        except TacitError:
            return None

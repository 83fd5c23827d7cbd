"""Projection-free private bandits (PrivateBandit, Algorithm 1): explore around a leader of noisy gradient sums.

Only the loss at the played point is seen. A point is the current leader, shrunk, plus a random direction of length
zeta: value times direction estimates the gradient of the smoothed loss. The estimates of a batch are summed, a private
mechanism releases running sums of batches, and Frank-Wolfe finds the leader of a released sum with linear
optimisation only. The solve may run beside the next batch: a batch plays what was computed from the sums two before.

What differs from the print:
- Line 14 has the wrong sign: the leader minimises |x|^2/2 + <eta s, x>. As printed it runs uphill (`uphill`).
- Given the transcript, replacing one round's loss moves one batch's sum by at most n W/zeta, whatever the batch length:
  the print bounds the norm of the whole batch (Lemmas 5.1 and 5.4) and adds 50 (pure) to thousands of times (Gaussian)
  the noise that is needed. `BanditFW.as_printed` runs the printed parameters, noise and sign.
- Values are clipped to their public range (or no noise suffices) and centred at a public baseline.
- Points stay in the set by shrinking (Appendix D), except as far as the problem's losses are defined beyond it
  (`Bandit.margin`). Sets without interior are handled in their affine hull, of dimension n.
- The last two batches' sums are never formed: no point depends on them. Rounds left over play the last leader itself.

The certified regret, with N = floor(sqrt T) batches of B = floor(T/N) rounds (proof: docs/algorithms/bandit-fw.md):

    R^2/(2 eta) + (eta/2) N k^2 + B L (eta sum_R lag_R + (N - 2) D/sqrt(2B))
        + N B (zeta L/(n+1) + s min(L sqrt(R^2 + r^2 n/(n+2)), W) + m L n/(n+1)) + (T - N B) min(L D, W)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, isqrt, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.accounting.calibration import gaussian_mu, minimise
from tacit.accounting.curves import ROUND_UP
from tacit.algorithms.bandit.bandit_plan import BanditLearner, on_sphere
from tacit.algorithms.bandit.noisy_oco import NoisyOCO, noisy_regret
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import LaplaceTree, RunningSum, Tree, best_gaussian
from tacit.noise.running_sums.accumulators import SummedRecords
from tacit.noise.running_sums.running_sum import check_mechanism
from tacit.printed import bandit as printed_formulas
from tacit.problems import Bandit, Problem
from tacit.releases import NoisySums, Vectors
from tacit.runtime.on_sums import RunningSumPlan
from tacit.runtime.printed import Printed
from tacit.runtime.small_instances import SmallInstance, few_rounds
from tacit.runtime.state import fitting
from tacit.runtime.target import RegretBound, Target
from tacit.solvers.frank_wolfe import FrankWolfe
from tacit.validation import FloatArray, check_choice, check_flag, check_number, check_positive

# What rate="practical" takes of the parameters with the smallest certificate: measured, 39 to 57% less regret.
LINEAR_ZETA, LINEAR_ETA = 0.5, 5.0
# A point of a batch uses the sum of two batches before.
DELAY = 1
# Directions are drawn, and estimates summed, in blocks of at most this many rounds and about this many numbers.
BLOCK_ROUNDS, BLOCK_ENTRIES = 1024, 1 << 18


@dataclass(frozen=True)
class BanditFW(RunningSumPlan):
    """Frank-Wolfe leaders of private sums of one-point gradient estimates.

    Privacy contract: all noisy sums and directions, hence every point. Gaussian noise: mu-Gaussian DP of l2 sensitivity
    2 n w/zeta, w the largest distance of a value from the baseline (n W/zeta at the centre). Laplace trees: pure DP, l1
    sensitivity sqrt(n) times as much. Half if neighbours zero out a round; m times for m rounds per person. Adaptive
    adversaries. Enforced: values are clipped to `value_range`, values that are not finite raise. Numerics: exact with
    Laplace trees, exact up to an epsilon that the contract states with Gaussian noise.
    Regret (oblivious, convex, L-Lipschitz losses within the range on the set): the formula at the head of this file.

    Reference: Ene, Nguyen and Vladu (2021), "Projection-Free Bandit Optimization with Privacy Guarantees",
    https://arxiv.org/abs/2012.12138.

    Page: docs/algorithms/bandit-fw.md.

    Attributes:
        zeta: smoothing radius, below the inner radius of the set plus the margin of the problem.
        eta: learning rate.
        mechanism: the running sum, of floor(sqrt(T)) - 2 batches.
        privacy: mu for Gaussian mechanisms, epsilon for Laplace ones.
        baseline: the public value that is subtracted from every value; the middle of the range if None.
        linear: whether every loss is declared to be linear up to a constant: smoothing then costs nothing by itself.
            `calibrate(linear=True)` has a smaller certificate. `calibrate(linear=True, rate="practical")` takes half
            the smoothing radius and five times the learning rate of that one: this lowers the measured regret of losses
            that stay, and raises the certificate.
        uphill: whether leaders minimise |x|^2/2 - <eta s, x>, the sign that line 14 prints; nothing is certified then.

    >>> from tacit.domains import Ball
    >>> problem = Bandit(domain=Ball(dim=2, radius=0.5), horizon=10_000)
    >>> plan = BanditFW.calibrate(problem, epsilon=1.0, delta=1e-6)
    >>> learner = plan.start(Randomness.replayable(1))
    >>> learner.play().shape
    (2,)
    >>> learner.observe(0.25)
    """

    problem: Bandit
    _takes: ClassVar[type[Problem]] = Bandit
    zeta: float
    eta: float
    mechanism: RunningSum
    privacy: float
    baseline: float | None = None
    linear: bool = False
    uphill: bool = False
    printed_results: ClassVar[tuple[str, ...]] = (
        "Theorem 1.1",
        "Algorithm 1",
        "Lemma 3.1",
        "Lemma 5.1",
        "Lemma 5.2",
        "Lemma 5.4",
        "Lemma 5.5",
        "Appendix D",
    )
    _separates: ClassVar[bool] = False
    released_streams: ClassVar[tuple[str, ...]] = ()
    released: ClassVar[str] = "every point played (all noisy gradient sums and directions)"
    theorem: ClassVar[str] = "private running sums of gradient estimates; leaders are post-processing"

    def _check_parameters(self) -> None:
        check_positive("BanditFW", "zeta", self.zeta)
        check_positive("BanditFW", "eta", self.eta)
        if not self.zeta < reach(self.problem):
            raise InvalidInput(
                f"The 'zeta' parameter of BanditFW must be below {reach(self.problem):g}, the set's inner radius with "
                f"the margin that is of use. Got {self.zeta!r} instead."
            )
        check_mechanism("BanditFW", self.mechanism, self.batches - 1 - DELAY)
        check_flag("BanditFW", "linear", self.linear)
        check_flag("BanditFW", "uphill", self.uphill)
        low, high = self.problem.value_range
        baseline = (low + high) / 2 if self.baseline is None else self.baseline
        baseline = check_number(
            "BanditFW", "baseline", baseline, above=low, below=high, closed_low=True, closed_high=True
        )
        object.__setattr__(self, "baseline", baseline)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the sign of line 14 only where it is the printed one."""
        return {name: value for name, value in super().parameters.items() if name != "uphill" or value}

    @property
    def rounds(self) -> int:
        """The horizon, known to be finite and long enough."""
        return long_enough(super().rounds)

    @property
    def batches(self) -> int:
        """Number of batches; each plays around one leader."""
        return batches_of(self.rounds)[0]

    @property
    def batch_length(self) -> int:
        """Rounds in a batch."""
        return batches_of(self.rounds)[1]

    @property
    def deviation(self) -> float:
        """The largest distance of a value from the baseline."""
        low, high = self.problem.value_range
        return max(high - self._centre, self._centre - low)

    @property
    def _centre(self) -> float:
        return float(self.baseline) if self.baseline is not None else sum(self.problem.value_range) / 2

    @property
    def shrink(self) -> float:
        """The share by which leaders are shrunk so that exploring stays where losses are defined."""
        return room(self.problem, self.zeta)[1]

    @cached_property
    def releases(self) -> NoisySums:
        """A round's gradient estimate, of norm n |value - baseline|/zeta; a batch adds up those of its rounds.

        Several rounds of one person may lie in different batches: the encoded shifts add up.
        """
        n = self.problem.domain.hull_dimension
        return NoisySums(
            records=Vectors(n, n * self.deviation / self.zeta * ROUND_UP, batch=1),
            mechanism=self.mechanism,
            privacy=self.privacy,
            exact=self.numerics == "exact",
            made_for=self.neighbours,
        )

    @cached_property
    def records(self) -> SummedRecords:
        """The gradient estimates of rounds, which a batch adds up."""
        records = super().records
        assert isinstance(records, SummedRecords)
        return records

    @cached_property
    def certified(self) -> CertifiedRegret:
        """The certified regret as a function of zeta and eta."""
        spread = sqrt(self.problem.domain.hull_dimension) * self.zeta
        noise = spread * (self.mechanism.standard_deviations(self.scale) + self.grid.disturbance(self.mechanism))
        return CertifiedRegret(self.problem, self.rounds, self.deviation, noise, spread * self.grid.lost, self.linear)

    @property
    def regret_bound(self) -> RegretBound:
        if self.uphill:
            return RegretBound(self.trivial_regret, "the most that anybody can lose: the leaders run uphill")
        return RegretBound(
            self.certified.regret(self.zeta, self.eta),
            "R^2/(2 eta) + (eta/2) N k^2 + B L (eta sum lag + (N-2) D/sqrt(2B)) + smoothing + rounds left over",
            (
                "oblivious adversary",
                ("linear" if self.linear else "convex")
                + " losses, Lipschitz as stated, within the value range on the whole set"
                + (f" and as far as {self.problem.margin:g} beyond it" if self.problem.margin else ""),
                "expectation over all draws",
            ),
        )

    @property
    def trivial_regret(self) -> float:
        """Any learner's regret: a round costs at most the width, and at most L D."""
        return self.rounds * min(self.problem.width, self.problem.lipschitz * self.problem.domain.diameter)

    @property
    def most_oracle_calls(self) -> int:
        """The certified number of calls of the linear oracle; `BanditFWLearner.oracle_calls` counts them."""
        return self.mechanism.steps * self.solver().most_calls

    def solver(self) -> FrankWolfe:
        """Make a Frank-Wolfe solver at this plan's tolerance."""
        return FrankWolfe(self.problem.domain, tolerance=gap_tolerance(self.problem, self.rounds))

    @classmethod
    def _calibrate(
        cls,
        problem: Bandit,
        target: Target,
        *,
        linear: bool = False,
        rate: str = "certified",
        calibration: str = "sensitivity",
    ) -> BanditFW:
        if calibration == "paper":
            raise InvalidInput(
                "BanditFW.calibrate has no calibration='paper' any more: use BanditFW.as_printed(problem, epsilon=, "
                "delta=, line_14='plus')."
            )
        check_flag("calibrate", "linear", linear)
        check_choice("calibrate", "rate", rate, ("certified", "practical") if linear else ("certified",))
        check_choice("calibrate", "calibration", calibration, ("sensitivity",))
        if target.max_switches is not None:
            raise PrivacyError("BanditFW cannot promise a limit on switches: it explores in every round.")
        rounds = long_enough(problem.horizon or 0)
        pure = target.delta == 0
        privacy = target.epsilon if pure else gaussian_mu(target.epsilon, target.delta)

        def probe(horizon: int) -> BanditFW:
            """The plan of a horizon at half the inner radius: its noise, times zeta, is that of every zeta."""
            steps = batches_of(horizon)[0] - 1 - DELAY
            return cls(
                replace(problem, horizon=horizon),
                problem.domain.inner_radius / 2,
                1.0,
                LaplaceTree.best(steps) if pure else best_gaussian(steps),
                privacy,
                linear=linear,
                **target.contract,
            )

        plan = probe(rounds)
        zeta, eta = best_parameters(lambda horizon: probe(horizon).certified, rounds)
        if rate == "practical":
            zeta, eta = zeta * LINEAR_ZETA, eta * LINEAR_ETA
        return replace(plan, zeta=zeta, eta=eta)

    @classmethod
    def _as_printed(
        cls, problem: Bandit, asked: Target, result: str, reading: str | None, *, line_14: str = "minus"
    ) -> BanditFW:
        owner = "BanditFW.as_printed"
        check_choice(owner, "line_14", line_14, ("minus", "plus"))
        check_choice(owner, "reading", reading, (None,))
        laplace = asked.delta == 0 if result not in NOISE_OF_RESULT else NOISE_OF_RESULT[result] == "laplace"
        if laplace:
            asked = replace(asked, delta=0.0)
        elif asked.delta == 0:
            raise InvalidInput(f"The 'delta' parameter of {owner} must be above 0 for {result}: its noise is Gaussian.")
        rounds = long_enough(problem.horizon or 0)
        values = printed_values(problem, rounds, asked)
        if result == "Lemma 3.1":
            domain = problem.domain
            norm = sqrt((2 if laplace else 1) * domain.hull_dimension) * values["scale"]
            values["order"] = printed_formulas.lemma_3_1(
                domain.hull_dimension, rounds, domain.diameter, problem.lipschitz, norm
            )
        if not values["zeta"] < reach(problem):
            raise too_short(problem, rounds, values["zeta"], paper_enough(problem))
        steps = batches_of(rounds)[0] - 1 - DELAY
        mechanism: RunningSum = LaplaceTree(steps, 2) if laplace else Tree(steps)
        uphill = line_14 == "minus"
        plan = cls(problem, values["zeta"], values["eta"], mechanism, privacy=1.0, uphill=uphill, **asked.contract)
        # The privacy that noise of the printed scale gives: the lattice adds that much noise, or a little more.
        privacy = mechanism.scale(1.0, plan.sensitivity) / values["scale"] * ROUND_UP
        printed = Printed(
            "bandit",
            result,
            asked.epsilon,
            asked.delta,
            reading="" if uphill else "line 14 with a plus",
            order=PRINTED_ORDERS["any" if result == "Lemma 3.1" else mechanism.noise],
            evidence=printed_evidence(problem, asked),
            differs=printed_differences(plan),
            values=values,
        )
        return replace(plan, privacy=privacy, printed=printed)

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give an instance of eight batches at the plan's own privacy."""
        problem = few_rounds(self.problem, 64)
        return self._summed(problem, batches_of(problem.horizon or 1)[0] - 1 - DELAY)

    def _learner(self, randomness: Randomness) -> BanditFWLearner:
        return BanditFWLearner(self, randomness)


class BanditFWLearner(BanditLearner):
    """Explores around the leader; blocks of directions are drawn ahead, so arrays and single rounds agree."""

    plan: BanditFW
    _stream_names = ("directions",)
    _state = ("_core", "_solver", "_calls", "_points", "_filled", "_directions", "_values", "_gradient", "_done")
    _any_shape = ("_points", "_directions", "_values")  # the last blocks may be shorter

    def __init__(self, plan: BanditFW, randomness: Randomness) -> None:
        super().__init__(plan, plan.problem, randomness)
        self._n = plan.problem.domain.hull_dimension
        self._solver = plan.solver()
        self._calls = 0
        self._core = NoisyOCO(
            steps=plan.batches,
            dimension=self._n,
            eta=plan.eta,
            leader=self._leader,
            sums=plan.mechanism.start_on(plan.grid, randomness, "noise"),
            delay=DELAY,
        )
        self._gradient = np.zeros(self._n)
        self._values: FloatArray = np.zeros(0)
        self._done = 0  # rounds of all blocks that are complete
        self._open()

    def _nothing(self) -> float:
        return self.plan._centre

    def _gather(self) -> dict[str, Any]:
        content = super()._gather()
        content["_values"] = content["_values"][: self._filled]  # behind them lies memory that was never written
        return content

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        values, self._values = self._values, np.zeros(len(self._points))
        self._values[: self._filled] = fitting(self._values[: self._filled], values)

    def _consistent(self) -> bool:
        block = len(self._directions) == len(self._points) and self._filled <= len(self._points)
        steps = min(self._done // self.plan.batch_length, self.plan.batches)
        counted = self._round == self._done + (self._filled if self._done < self.plan.rounds else 0)
        return block and counted and self._core.step == steps

    @property
    def oracle_calls(self) -> int:
        """How many times the linear oracle was asked so far."""
        with self._looking("oracle_calls"):
            return self._calls

    @property
    def switches(self) -> int:
        """Every round explores: one change a round."""
        with self._looking("switches"):
            return max(0, self._round - 1)

    def _leader(self, slope: FloatArray) -> FloatArray:
        solution = self._solver.minimize(-slope if self.plan.uphill else slope)
        self._calls += solution.oracle_calls
        return solution.point

    def _open(self) -> None:
        """Draw the directions of the next block, which never crosses the end of a batch."""
        plan, domain = self.plan, self.plan.problem.domain
        most = max(1, min(BLOCK_ROUNDS, BLOCK_ENTRIES // domain.dimension))
        explored = plan.batches * plan.batch_length
        if self._done < explored:
            size = min(most, plan.batch_length - self._done % plan.batch_length)
            self._directions = on_sphere(self._streams["directions"].standard_normal((size, self._n)))
            leader = (1 - plan.shrink) * self._core.point
            self._points = domain.from_hull(leader + plan.zeta * self._directions)
        else:
            size = min(most, plan.rounds - explored)
            self._directions = np.zeros((size, self._n))
            self._points = domain.from_hull(np.tile(self._core.point, (size, 1)))
        self._points.setflags(write=False)
        self._values = np.zeros(size)
        self._filled = 0
        self._action = self._points[0]

    def _fill(self, values: FloatArray) -> None:
        end = self._filled + len(values)
        self._values[self._filled : end] = values
        self._filled = end
        if end == len(self._values):
            self._close()
        else:
            self._action = self._points[end]

    def _close(self) -> None:
        """Add the block's estimates to the batch; at the end of a batch, on to the next leader."""
        plan = self.plan
        self._gradient = self._gradient + self._estimate()
        self._done += len(self._values)
        if self._done % plan.batch_length == 0 and self._core.step < plan.batches:
            self._core.observe(self._gradient)
            self._gradient = np.zeros(self._n)
        if self._done < plan.rounds:
            self._open()

    def _estimate(self) -> FloatArray:
        """The sum over the block of (n/zeta) (value - baseline) direction."""
        weights = (self._n / self.plan.zeta) * (self._values - self.plan._centre)
        # Each round is quantised by itself; row by row in order: the same sum however the rounds arrived.
        rows = self.plan.records.each(weights[:, None] * self._directions, self.plan.grid.units)
        total: FloatArray = np.add.reduce(rows, axis=0)
        return total


def long_enough(rounds: int) -> int:
    """The horizon, if two batches can play before the first sum is used."""
    if rounds < FEWEST_ROUNDS:
        raise PrivacyError(f"BanditFW needs at least {FEWEST_ROUNDS} rounds to learn anything. Got {rounds} instead.")
    return rounds


NOISE_OF_RESULT = {"Lemma 5.1": "laplace", "Lemma 5.2": "laplace", "Lemma 5.4": "gaussian", "Lemma 5.5": "gaussian"}
"""The noise of results that name one; the others take Laplace noise for delta = 0 and Gaussian noise else."""
PRINTED_ORDERS = {
    "any": "T^(3/4) n^(1/2) L D + T^(1/4) D mu ln T, mu the root mean square of a noise",
    "laplace": "T^(3/4) n^(1/2) L D + T^(3/4) n^(3/2) L D ln^2 T/epsilon",
    "gaussian": (
        "T^(3/4) n^(1/2) L D + T^(1/2) n L D ln^2 T ln(T/delta) ln((n+T)/delta)/epsilon"
        " + T^(3/4) n^(1/2) L D ln^2 T ln(T/delta) ln((n+T)/delta)^(1/2)/epsilon"
    ),
}


def printed_values(problem: Bandit, rounds: int, asked: Target) -> dict[str, float]:
    """Return the printed parameters by name, with the scale of the noise and the order of the regret."""
    n, diameter, lipschitz = problem.domain.hull_dimension, problem.domain.diameter, problem.lipschitz
    values = printed_formulas.algorithm_1(n, rounds, diameter, lipschitz)
    if asked.delta == 0:
        scale = printed_formulas.lemma_5_1(n, rounds, lipschitz, asked.epsilon)
        order = printed_formulas.lemma_5_2(n, rounds, diameter, lipschitz, asked.epsilon)
    else:
        scale = printed_formulas.lemma_5_4(n, rounds, lipschitz, asked.epsilon, asked.delta)
        order = printed_formulas.lemma_5_5(n, rounds, diameter, lipschitz, asked.epsilon, asked.delta)
    return {**values, "scale": scale, "order": order}


def printed_evidence(problem: Bandit, asked: Target) -> tuple[str, ...]:
    """Return what the status of printed parameters rests on, and printed preconditions that do not hold."""
    lines = [
        "the noise is counted as that of one replaced value, given the transcript; the printed proofs bound a batch",
        "logarithms are natural",
    ]
    low, high = problem.value_range
    bound = problem.lipschitz * problem.domain.diameter
    if max(-low, high) > bound:
        lines.append(f"the range of values reaches beyond the printed |f| <= L D = {bound:g}")
    if asked.rounds_per_person > 1:
        lines.append("the print protects one round of a person")
    return tuple(lines)


def printed_differences(plan: BanditFW) -> tuple[str, ...]:
    """Return where the learner with printed parameters is not the printed one."""
    low, high = plan.problem.value_range
    rounds = plan.rounds
    lines = [
        "sums have the noise of their own nodes, without the padding of Algorithm 4",
        f"the tree has T_round - 2 = {plan.mechanism.steps} sums: the last two change no point",
        "noise is drawn on a lattice, of the printed scale or a little more",
        f"values are clipped to [{low:g}, {high:g}] and taken from {plan._centre:g}",
        "Frank-Wolfe stops at a duality gap of D^2/(2 T_batch), within D/(2 T_batch)^(1/2) of the leader",
    ]
    left_over = rounds - plan.batches * plan.batch_length
    if plan.batches**2 != rounds:
        lines.append(
            f"T_round = {plan.batches} batches of T_batch = {plan.batch_length} rounds, rounded down"
            + (f"; {left_over} rounds left over play the last leader" if left_over else "")
        )
    if plan.shrink:
        lines.append("points stay in the set: leaders are shrunk, directions are not (Appendix D shrinks both)")
    if plan.problem.domain.hull_dimension < plan.problem.domain.dimension:
        lines.append("n is the dimension of the set's affine hull")
    if not plan.uphill:
        lines.append("line 14 with a plus")
    return tuple(lines)


# Two batches play the centre before the first sum is used.
FEWEST_ROUNDS = 9

# Beyond this many rounds the search for a sufficient horizon answers with the closed form.
_SEARCH_LIMIT = 10**12


@dataclass(frozen=True)
class CertifiedRegret:
    """The bound above for one problem.

    Attributes:
        problem: the problem.
        rounds: number of rounds.
        deviation: w, the largest distance of a value from the baseline.
        noise: zeta times the root mean square norm of the noise in each sum, of shape (N - 2,).
        lost: zeta times the norm by which an estimate may be off on a lattice. Then the bound is for the quantised
            estimates, which are longer by at most that, whose means are steeper by it, and which miss the true ones by
            it.
        linear: whether losses are linear up to a constant.
    """

    problem: Bandit
    rounds: int
    deviation: float
    noise: FloatArray
    lost: float = 0.0
    linear: bool = False

    def regret(self, zeta: float, eta: float) -> float:
        """The certified regret."""
        second_moment, lag, smoothing = self._terms(zeta)
        batches, length = batches_of(self.rounds)
        domain, lipschitz = self.problem.domain, self.problem.lipschitz
        mirror = noisy_regret(
            eta=eta,
            steps=batches,
            spread=domain.radius**2 / 2,
            second_moment=second_moment,
            mean_norm=length * (lipschitz + self.lost / zeta),
            map_error=eta * lag + (batches - 2) * sqrt(gap_tolerance(self.problem, self.rounds)),
        )
        left_over = self.rounds - batches * length
        worst = min(lipschitz * domain.diameter, self.problem.width)
        return mirror + smoothing + left_over * worst + batches * length * self.lost / zeta * domain.diameter

    def best_eta(self, zeta: float) -> float:
        """The learning rate that minimises the regret at this smoothing radius."""
        second_moment, lag, _ = self._terms(zeta)
        batches, length = batches_of(self.rounds)
        slope = batches / 2 * second_moment + length * (self.problem.lipschitz + self.lost / zeta) * lag
        return self.problem.domain.radius / sqrt(2 * slope)

    def best_zeta(self) -> float:
        """The smoothing radius that minimises the regret; it may not fit the set."""
        widest = reach(self.problem)
        return minimise(lambda zeta: self.regret(zeta, self.best_eta(zeta)), 1e-9 * widest, 1e3 * widest)

    def _terms(self, zeta: float) -> tuple[float, float, float]:
        """(k^2, sum of the lags, all that smoothing costs)."""
        batches, length = batches_of(self.rounds)
        domain, lipschitz = self.problem.domain, self.problem.lipschitz
        n = domain.hull_dimension
        beyond, share = room(self.problem, zeta)
        variance = length * ((n * self.deviation + self.lost) / zeta) ** 2
        steepest = lipschitz + self.lost / zeta
        second_moment = variance + length * (length - 1) * steepest**2
        noise = np.append(0.0, self.noise / zeta)
        lag = float(np.sqrt(variance + (noise + length * steepest) ** 2).sum())
        if self.linear:
            smoothing = share * min(lipschitz * domain.radius, self.problem.width)
        else:
            smoothing = zeta * lipschitz / (n + 1) + share * inside(self.problem) + beyond * lipschitz * n / (n + 1)
        return second_moment, lag, batches * length * smoothing


def inside(problem: Bandit) -> float:
    """A bound on what the mean of a loss over the inner ball exceeds its value at a point of the set by."""
    domain, n = problem.domain, problem.domain.hull_dimension
    return min(problem.lipschitz * sqrt(domain.radius**2 + domain.inner_radius**2 * n / (n + 2)), problem.width)


def usable_margin(problem: Bandit) -> float:
    """The margin, as far as leaving the set is cheaper than shrinking within it; more than the diameter is no use."""
    n = problem.domain.hull_dimension
    cheaper = problem.lipschitz * n / (n + 1) <= inside(problem) / problem.domain.inner_radius
    return min(problem.margin, problem.domain.diameter) if cheaper else 0.0


def reach(problem: Bandit) -> float:
    """What smoothing radii must stay below."""
    return problem.domain.inner_radius + usable_margin(problem)


def room(problem: Bandit, zeta: float) -> tuple[float, float]:
    """(m, s): how far points leave the set, and by which share leaders are shrunk."""
    beyond = min(zeta, usable_margin(problem))
    return beyond, (zeta - beyond) / problem.domain.inner_radius


def batches_of(rounds: int) -> tuple[int, int]:
    """The number of batches, floor(sqrt T), and their length."""
    batches = isqrt(rounds)
    return batches, rounds // batches


def gap_tolerance(problem: Bandit, rounds: int) -> float:
    """The duality gap at which Frank-Wolfe stops, D^2/(2B)."""
    return problem.domain.diameter**2 / (2 * batches_of(rounds)[1])


def paper_parameters(problem: Bandit, rounds: int) -> tuple[float, float]:
    """The smoothing radius and learning rate of Algorithm 1: D sqrt(n)/T^(1/4) and D/(L sqrt(n) T^(3/4))."""
    domain = problem.domain
    values = printed_formulas.algorithm_1(domain.hull_dimension, rounds, domain.diameter, problem.lipschitz)
    return values["zeta"], values["eta"]


def best_parameters(make: Callable[[int], CertifiedRegret], rounds: int) -> tuple[float, float]:
    """The smoothing radius and learning rate of the smallest certified regret among those that fit the set.

    Raises `PrivacyError`, with a horizon that would be enough, if none fits.
    """
    certified = make(rounds)
    fitting = _fitting(certified)
    if fitting:
        return min(fitting, key=lambda pair: certified.regret(*pair))
    wanted = min(certified.best_zeta(), paper_parameters(certified.problem, rounds)[0])
    raise too_short(certified.problem, rounds, wanted, _enough(make, rounds))


def too_short(problem: Bandit, rounds: int, zeta: float, enough: int) -> PrivacyError:
    """The refusal of a horizon at which the smoothing radius does not fit the set."""
    return PrivacyError(
        f"BanditFW with T={rounds} rounds needs a smoothing radius of {zeta:.3g}, but a ball of radius only "
        f"{reach(problem):.3g} fits into the set{' and its margin' if problem.margin else ''}: "
        f"T={enough} would be enough."
    )


def paper_enough(problem: Bandit) -> int:
    """The smallest horizon at which the paper's smoothing radius has room."""
    ratio = problem.domain.diameter * sqrt(problem.domain.hull_dimension) / reach(problem)
    enough = max(FEWEST_ROUNDS, ceil(ratio**4))
    while not paper_parameters(problem, enough)[0] < reach(problem):
        enough += ceil(1e-12 * enough)
    return enough


def _fitting(certified: CertifiedRegret) -> list[tuple[float, float]]:
    """The optimised parameters and the paper's, where they fit."""
    widest = reach(certified.problem)
    paper = paper_parameters(certified.problem, certified.rounds)
    zeta = certified.best_zeta()
    return [pair for pair in (paper, (zeta, certified.best_eta(zeta))) if pair[0] < widest]


def _enough(make: Callable[[int], CertifiedRegret], low: int) -> int:
    """A horizon that fits, within 1% of the smallest."""
    high = paper_enough(make(low).problem)
    if high > _SEARCH_LIMIT:
        return high
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        if _fitting(make(middle)):
            high = middle
        else:
            low = middle
    return high

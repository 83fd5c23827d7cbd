"""Planted bugs in convex, bandit and one-pass learners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.sums import replayed
from planted_bugs.tested import by_test
from tacit.algorithms.bandit import bandit_fw
from tacit.algorithms.bandit.bandit_plan import BanditLearner
from tacit.algorithms.convex import private_ftrl
from tacit.algorithms.convex.ctrl import coupled, ctrl
from tacit.algorithms.convex.l2p_convex.l2p_convex import L2PConvex
from tacit.algorithms.lipschitz import lipschitz_grid
from tacit.algorithms.lipschitz.lipschitz_grid import Multiscale
from tacit.algorithms.stochastic import averaged_ftrl
from tacit.algorithms.stochastic.objective_perturbation import model_noise, objective_perturbation
from tacit.algorithms.stochastic.online_to_batch import norms, online_to_batch
from tacit.auditing import attacks
from tacit.auditing.integration import model_law
from tacit.auditing.noise_laws import plan_noise
from tacit.auditing.report import Finding
from tacit.domains import Ball
from tacit.errors import PrivacyError
from tacit.losses.loss import LinearLoss, LogisticLoss, clip_rows, finite_rows
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import VectorRecords
from tacit.problems import Bandit, Convex, Lipschitz, Stochastic
from tacit.releases import NoisySums
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.two_chains import TwoChains
from tacit.solvers import minimum
from tacit.solvers.minimum import model_minimum

PRIVACY: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}


# In float64 privacy rests on clipping; on a lattice the integers are checked once more.
SIMULATED: dict[str, Any] = {**PRIVACY, "numerics": "float"}
AT_THE_KINKS = by_test("solvers.test_minimum", "test_no_noise_is_without_a_model")


def leader(**target: Any) -> Plan:
    """Private follow-the-regularised-leader on linear losses."""
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=10)
    return private_ftrl.PrivateFTRL.calibrate(problem, **(target or SIMULATED))


def in_batches() -> Plan:
    """The same in batches of four rounds."""
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=10)
    return private_ftrl.PrivateFTRL.calibrate(problem, max_switches=2, **SIMULATED)


@around
def _never_forgets(honest: Any, self: Any, gradient: Any) -> None:
    """What was added stays among the gradients of the next batch."""
    self._carried = getattr(self, "_carried", 0.0) + gradient
    honest(self, self._carried)


def bandit() -> Plan:
    """Frank-Wolfe leaders of one-point estimates."""
    return bandit_fw.BanditFW.calibrate(Bandit(domain=Ball(2, radius=0.5), horizon=400), **SIMULATED)


def grid() -> Plan:
    """Hedge on multiscale differences."""
    return lipschitz_grid.LipschitzGrid.calibrate(Lipschitz(horizon=12), bits=3, coordinates="multiscale", **SIMULATED)


def one_pass() -> Plan:
    """Online to batch on the logistic loss."""
    problem = Stochastic(domain=Ball(2), loss=LogisticLoss(), horizon=16)
    # Constants that the loss does not keep: privacy must not rest on them.
    return online_to_batch.OnlineToBatch.calibrate(problem, lipschitz=0.2, smoothness=0.02, **SIMULATED)


def integrated(plan: Plan, pair: tuple[tuple[int, ...], tuple[int, ...]]) -> Finding:
    """Attack a learner on an interval by integration, on one pair of neighbours."""
    from tacit.auditing.integration import QUADRATURE_SLACK, interval_law

    return attacks.exact(
        SmallInstance("enumeration", "planted", plan), Randomness.replayable(7).stream("controls"), laws=2,
        law=interval_law, method="integrated", slack=QUADRATURE_SLACK, pair=pair,
    )  # fmt: skip


def perturbed() -> Finding:
    """CTRL on an interval, linear losses."""
    line = Convex(domain=Ball(1), loss=LinearLoss(), horizon=3)
    return integrated(ctrl.CTRL(line, eta=0.5, sigma=20.0, force=0.3, log_phi=0.1), ((0, 0, 0), (3, 0, 0)))


def limited() -> Finding:
    """The same with a limit of one switch, and quiet noise: what is left to hide are the coins."""
    line = Convex(domain=Ball(1), loss=LinearLoss(), horizon=3)
    plan = ctrl.CTRL(line, eta=0.5, sigma=200.0, force=0.1, log_phi=0.005, max_switches=1)
    return integrated(plan, ((0, 0, 0), (3, 0, 0)))


def gibbs() -> Finding:
    """Regularised multiplicative weights on an interval, with a tight clip."""
    line = Convex(domain=Ball(1), loss=LogisticLoss(), horizon=2)
    plan = L2PConvex(line, rate=0.4, regularisation=40.0, force=0.1, clip=0.02)
    return integrated(plan, ((0, 0), (3, 0)))


@around
def _gives_up(honest: Any, objective: Any, accuracy: float, start: Any) -> Any:
    """Steps are judged by the present distance, and a solver that is at a loss says so."""
    current = objective.at(start)
    for _ in range(100):
        if current.distance <= accuracy:
            return current
        curvature = objective.losses.hessian(current.point)
        target = model_minimum(objective, current.point, current.of_losses, curvature, current.point)
        following = objective.at(target)
        if not following.distance <= current.distance / 2:
            following = minimum.line_search(objective, current, target - current.point)
        if following is None:
            break
        current = following
    raise PrivacyError("The minimiser could not be certified.")


def _stops_by_the_losses(honest: Any) -> Any:
    """No coin is tossed any more once the losses add up to a slope."""
    return property(lambda self: bool(self._sums.gradient(np.zeros(1))[0][0] > 0.5))


@around
def _uncertified(honest: Any, objective: Any, accuracy: float, start: Any) -> Any:
    """Three steps, and no look at the certificate."""
    current = objective.at(start)
    for _ in range(3):
        curvature = objective.losses.hessian(current.point)
        target = model_minimum(objective, current.point, current.of_losses, curvature, current.point)
        current = objective.at(target)
    return current


def _packed(norm: float | None) -> Any:
    """Data clipped at another norm, or not at all."""

    def make(honest: Any) -> Any:
        def pack(self: LinearLoss, data: Any, dimension: int, *, many: bool) -> Any:
            rows = finite_rows("LinearLoss", "gradients", data, dimension, many=many)
            return rows if norm is None else clip_rows(rows, norm * self.lipschitz)

        return pack

    return swap(LinearLoss, "pack", make)


def _raw_gradient(honest: Any) -> Any:
    return lambda self, data, point: self._loss.gradients(point, data)[0]


def _raw_value(honest: Any) -> Any:
    return lambda self, value: float(value)


@around
def _clipped_sum(honest: Any, self: Any, rows: Any) -> None:
    """The sum is clipped after the noise; the gradients are not."""
    honest(self, rows)
    self._move(np.clip(self._action, -1.0, 1.0))


def _small_constant(honest: Any) -> Any:
    return property(lambda self: 1.0)


def _one_estimate(honest: Any) -> Any:
    """The range of a value for the range of an estimate: n/zeta is forgotten."""

    def releases(self: bandit_fw.BanditFW) -> Any:
        fair = honest.func(self)
        short = fair.records.norm * self.zeta / self.problem.domain.hull_dimension
        return replace(fair, records=replace(fair.records, norm=short))

    return property(releases)


def _unchecked(honest: Any) -> Any:
    """Vectors become integers without a look at their norm."""
    return lambda self, rows, units, stretch: np.trunc(rows * (units / (self.norm * stretch)))


def _loose_shares(honest: Any) -> Any:
    return lambda sizes, clip: honest(sizes, 2 * clip)


def _quarter_noise(honest: Any) -> Any:
    return lambda self, rounds: honest(self, rounds) / 4


def _norm_noise(power: float) -> Finding:
    """Attack the noise of a pure one-pass plan in this norm."""
    problem = Stochastic(domain=Ball(3), loss=LogisticLoss(), horizon=16)
    target: dict[str, Any] = {"epsilon": 1.0, "delta": 0.0, "numerics": "float"}
    plan = online_to_batch.OnlineToBatch.calibrate(problem, **target, norm=norms.Norm(power))
    return plan_noise(plan, Randomness.replayable(10), coordinates=30_000)


def _quarter_term(honest: Any) -> Any:
    return lambda self, source: honest(self, source) / 4


def one_model() -> Finding:
    """Integrate the law of the model of one-dimensional records."""
    problem = Stochastic(domain=Ball(1, radius=3.0), loss=LogisticLoss(), horizon=3)
    plan = objective_perturbation.ObjectivePerturbation.calibrate(problem, **PRIVACY)
    instance = SmallInstance("enumeration", "planted", plan)
    stream = Randomness.replayable(9).stream("controls")
    return attacks.exact(instance, stream, laws=4, law=model_law, method="integrated", slack=1e-3)


@around
def _short_noise(honest: Any, self: norms.Norm, generator: Any) -> Any:
    draw = honest(self, generator)
    return lambda count: 0.9 * draw(count)


@around
def _gaussian_direction(honest: Any, self: norms.Norm, generator: Any) -> Any:
    """A direction that is Gaussian for every norm, with the right length."""

    def draw(count: int) -> Any:
        direction = generator.standard_normal(count)
        return direction * (generator.standard_gamma(count) / self.dual_size(direction))

    return draw


@around
def no_limit(honest: Any, self: TwoChains, feedback: Any) -> None:
    self._limit, limit = 100.0, self._limit
    honest(self, feedback)
    self._limit = limit


def two_streams(**target: Any) -> Plan:
    """Follow-the-regularised-leader that takes gradients in one stream and plays another."""
    problem = Convex(domain=Ball(2), loss=LinearLoss(), horizon=16)
    return private_ftrl.PrivateFTRL.calibrate(problem, streams=2, **(target or PRIVACY))


@around
def _one_noise(honest: Any, self: Any, plan: Any, randomness: Any) -> None:
    """The points that are played get the noise of those where gradients are taken."""
    honest(self, plan, randomness)
    self._played_sums = plan.mechanism.start_on(plan.grid, randomness, "noise")


@around
def _opposite_noise(honest: Any, self: Any, plan: Any, randomness: Any) -> None:
    """The second noise is the first with the other sign: the mean of both streams is exact."""
    honest(self, plan, randomness)
    self._played_sums = plan.mechanism.start_on(plan.grid, randomness, "noise")
    source = self._played_sums._noise
    self._played_sums._noise = lambda count: -source(count)


def averages() -> Plan:
    """The average of private follow-the-regularised-leader."""
    problem = Stochastic(domain=Ball(2), loss=LinearLoss(), horizon=10)
    return averaged_ftrl.AveragedFTRL.calibrate(problem, **PRIVACY)


@around
def _leaking_average(honest: Any, self: Any, checked: Any) -> None:
    """The newest gradient is added to the average, past the noise."""
    honest(self, checked)
    self._action = self._action + 1e-3 * np.asarray(checked)[0]


in_stochastic = planting("stochastic")
in_convex = planting("convex")
in_bandit = planting("bandit")
CONTROLS: tuple[Control, ...] = (
    in_stochastic("a gradient reaches the average past the noise", averaged_ftrl.AveragedFTRLLearner, "_absorb",
                  _leaking_average, lambda: replayed(averages())),
    in_convex("a batch counts its gradients again in the next one (FTRL)", private_ftrl.PrivateFTRLLearner, "_add",
              _never_forgets, lambda: replayed(in_batches())),
    Control(
        "second stream not paid for (FTRL)", "convex",
        both(
            swap(NoisySums, "privacy_per_stream", lambda _: property(lambda self: self.privacy)),
            swap(NoisySums, "own_curve", lambda _: lambda self: self.grid.curve),
        ),
        lambda: replayed(two_streams()),
    ),
    in_convex("both streams under one noise (FTRL)", private_ftrl.TwoStreamsLearner, "__init__", _one_noise,
              lambda: replayed(two_streams())),
    in_convex("second noise is minus the first (FTRL)", private_ftrl.TwoStreamsLearner, "__init__", _opposite_noise,
              lambda: replayed(two_streams())),
    Control(
        "clip after the sum (FTRL)", "convex",
        both(
            _packed(None), swap(private_ftrl.PrivateFTRLLearner, "_gradient", _raw_gradient),
            swap(private_ftrl.PrivateFTRLLearner, "_follow", _clipped_sum),
        ),
        lambda: replayed(leader()),
    ),
    Control(
        "gradient clipped at twice the bound (FTRL)", "convex",
        both(_packed(2.0), swap(private_ftrl.PrivateFTRLLearner, "_gradient", _raw_gradient)),
        lambda: replayed(leader()),
    ),
    Control(
        "norms of integers not checked (FTRL)", "convex",
        both(
            _packed(2.0), swap(private_ftrl.PrivateFTRLLearner, "_gradient", _raw_gradient),
            swap(VectorRecords, "quantised", _unchecked),
        ),
        lambda: replayed(leader(**PRIVACY)),
    ),
    in_convex("multiscale constant as printed", Multiscale, "squared_norm", _small_constant, lambda: replayed(grid())),
    in_convex("noise quartered (CTRL)", ctrl.CTRLLearner, "_deviation", _quarter_noise, perturbed, fast=False),
    in_convex("a minimiser that raises for some data", minimum, "_certified", _gives_up, AT_THE_KINKS),
    in_convex("linear term quartered (objective perturbation)", model_noise.LatticeModelNoise, "linear_term",
              _quarter_term, one_model, fast=False),
    in_convex("a limit on switches that reads the losses (CTRL)", coupled.CoupledLearner, "_stopped",
              _stops_by_the_losses, limited),
    in_convex("an iterate without certificate", minimum, "_certified", _uncertified, AT_THE_KINKS),
    in_convex("ratios not clipped (Gibbs)", TwoChains, "absorb", no_limit, gibbs, fast=False),
    in_bandit("values not clipped (bandit)", BanditLearner, "_check", _raw_value, lambda: replayed(bandit())),
    in_bandit("sensitivity of a value for that of an estimate", bandit_fw.BanditFW, "releases", _one_estimate,
              lambda: replayed(bandit())),
    in_stochastic("differences clipped at twice the bound", online_to_batch, "_shares", _loose_shares,
                  lambda: replayed(one_pass())),
    in_stochastic("norm noise x .9", norms.Norm, "exponential_noise", _short_noise, lambda: _norm_noise(2.0),
                  fast=False),
    in_stochastic("Gaussian direction of noise in another norm", norms.Norm, "exponential_noise", _gaussian_direction,
                  lambda: _norm_noise(1.2), fast=False),
)  # fmt: skip

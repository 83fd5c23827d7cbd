"""Certified excess risk of one pass."""

from collections.abc import Callable
from functools import cache, partial

import tacit
from docs.sources.statement import CELL, TARGET, Stated, just_above


def one_pass(horizon: int, loss: tacit.losses.loss.RowLoss, learner: str, share: float | None = None) -> float:
    """Certified excess risk on the unit ball of five dimensions; deviations of `share` of the constants."""
    domain = tacit.domains.Ball(5)
    known, declared = loss.constants(domain), {}
    if share is not None:
        declared = {"gradient_deviation": share * known.lipschitz, "hessian_deviation": share * known.smoothness}
    problem = tacit.Stochastic(domain=domain, loss=loss, horizon=horizon, **declared)
    return float(tacit.algorithms.OnlineToBatch.calibrate(problem, learner=learner, **TARGET).regret_bound)


@cache
def confident_pass(horizon: int) -> tacit.algorithms.OnlineToBatch:
    """A pass with a certificate for a single run."""
    problem = tacit.Stochastic(domain=tacit.domains.Ball(5), loss=tacit.losses.LogisticLoss(), horizon=horizon)
    return tacit.algorithms.OnlineToBatch.calibrate(problem, confidence=0.95, **TARGET)


def passes() -> list[Stated]:
    page, horizons = "docs/algorithms/online-to-batch.md", (20_000, 100_000, 1_000_000)
    quadratic, logistic = tacit.losses.QuadraticLoss(), tacit.losses.LogisticLoss()
    steepest = logistic.constants(tacit.domains.Ball(5)).lipschitz

    def near_start(distance: float) -> list[float]:
        found = [float(confident_pass(horizon).risk_within(distance)) for horizon in (100_000, 1_000_000)]
        return [*found, steepest * distance]

    def along(loss: tacit.losses.loss.RowLoss, learner: str, share: float | None = None) -> Callable[[], list[float]]:
        return lambda: [one_pass(horizon, loss, learner, share) for horizon in horizons]

    rows = [
        Stated(page, rf"\| {shown} \|" + 3 * CELL, partial(near_start, distance), just_above)
        for shown, distance in ((r"\.01", 0.01), (r"\.1", 0.1), ("1", 1.0))
    ]
    return [
        *rows,
        Stated(page, r"quadratic loss, strongly convex \|" + 3 * CELL, along(quadratic, "strongly-convex"), just_above),
        Stated(page, r"logistic loss, optimistic \|" + 3 * CELL, along(logistic, "optimistic"), just_above),
        Stated(page, r"\.1 G and \.1 H declared \|" + 3 * CELL, along(logistic, "optimistic", 0.1), just_above),
    ]

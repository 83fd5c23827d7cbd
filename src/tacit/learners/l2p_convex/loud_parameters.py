"""Parameters of L2PConvex at which audits see mistakes: laws that move, coins that matter, samplers at work."""

from __future__ import annotations

from typing import Any

from tacit.problems import Convex

# A fresh draw after every round, no coins.
FRESH: dict[str, Any] = {"force": 1.0, "batch": 1, "reference_force": 0.0}
# On an interval: a clip that binds, and draws that say little, so that the coins are what is attacked.
INTERVAL: dict[str, Any] = {
    "rate": 0.4, "regularisation": 40.0, "force": 0.1, "clip": 0.02, "batch": 1, "sampler_distance": 0.0,
}  # fmt: skip


def loud_parameters(problem: Convex) -> dict[str, Any]:
    """A law about a third as wide as the domain, which every loss moves by a quarter of it."""
    size, slope = problem.domain.radius, problem.lipschitz
    exact = problem.domain.dimension == 1
    return {
        "rate": 2 / (slope * size), "regularisation": 2 * slope / size, "clip": 0.5,
        "sampler_distance": 0.0 if exact else 1e-12,
    }  # fmt: skip


def steep_parameters(problem: Convex) -> dict[str, Any]:
    """Losses three times as curved as the regulariser: the sampler needs many short steps."""
    regularisation = 4 * problem.smoothness / 6
    rate = 2 / (regularisation * problem.domain.radius**2)
    return {"rate": rate, "regularisation": regularisation, "sampler_distance": 1e-10}

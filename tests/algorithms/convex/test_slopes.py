"""How measured regret grows with the horizon: the log-log slope lies in a band around its theorem's 1/2."""

import numpy as np
import pytest

import tacit

HORIZONS = (1_000, 4_000, 16_000)


def slope(plans, environments, runs):
    regret = [
        tacit.simulate(plan, environment, runs=runs, seed=5).mean[-1]
        for plan, environment in zip(plans, environments, strict=True)
    ]
    return float(np.polyfit(np.log(HORIZONS), np.log(regret), 1)[0])


@pytest.mark.slow
def test_ftrl_on_sign_flips():
    worlds = [tacit.environments.SignFlips(3, horizon) for horizon in HORIZONS]
    plans = [
        tacit.algorithms.PrivateFTRL.calibrate(
            tacit.Convex(domain=tacit.domains.Ball(3), loss=world.loss, horizon=world.horizon), epsilon=1.0, delta=1e-6
        )
        for world in worlds
    ]
    assert 0.3 <= slope(plans, worlds, runs=10) <= 0.7


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [tacit.algorithms.LipschitzGrid, tacit.algorithms.LipschitzNet])
def test_lipschitz_on_the_pricing_curve(algorithm):
    """Their theorems: about T^(1/2) for the grid, T^(2/3) for experts on a net; constants still fall at these T."""
    worlds = [tacit.environments.PricingCurve(horizon, softness=0.2) for horizon in HORIZONS]
    plans = [
        algorithm.calibrate(tacit.Lipschitz(horizon=world.horizon, lipschitz=world.lipschitz), epsilon=4.0, delta=1e-6)
        for world in worlds
    ]
    assert 0.2 <= slope(plans, worlds, runs=5) <= 0.8

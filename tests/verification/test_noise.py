"""The noise that a contract names is the one that its parameters make."""

import json

import pytest

import tacit
from tacit.errors import InvalidInput
from verification.test_verify import CONVEX, DISC, EXPERTS, LINE, LOGISTIC, SHIFTING, TRACKING


@pytest.mark.parametrize(
    ("algorithm", "problem", "delta"),
    [
        (tacit.algorithms.HedgeOnSums, EXPERTS, 1e-6),
        (tacit.algorithms.HedgeOnSums, EXPERTS, 0.0),
        (tacit.algorithms.PrivateFTRL, CONVEX, 1e-6),
        (tacit.algorithms.OnlineToBatch, LOGISTIC, 1e-6),
        (tacit.algorithms.BanditFW, DISC, 1e-6),
        (tacit.algorithms.LipschitzGrid, LINE, 1e-6),
        (tacit.algorithms.NoisyMirrorDescent, TRACKING, 0.0),
        (tacit.algorithms.TrackingOnSums, SHIFTING, 0.0),
        (tacit.algorithms.LimitedUpdates, SHIFTING, 0.0),
        (tacit.algorithms.RecentLeader, SHIFTING, 0.0),
        (tacit.algorithms.RestartOnShift, SHIFTING, 0.0),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_noise_that_the_parameters_do_not_make_raises(algorithm, problem, delta):
    """The plan that is started from these parameters draws less of it."""
    made = tacit.contract(algorithm.calibrate(problem, epsilon=5.0, delta=delta))
    noise = made["noise"]
    for name in ("rate", "threshold_rate", "query_rate"):
        if noise.get(name):
            noise[name] /= 1000
    if noise["law"] == "discrete gaussian":
        noise["units"] = max(2, noise["units"] // 2000 * 2)
    made["epsilon"] /= 100
    with pytest.raises(InvalidInput, match="must not contradict itself: its 'noise'"):
        tacit.verify(json.dumps(made))

"""The noise that a contract names is the one that its parameters make."""

import json

import pytest

import tacit
from tacit.errors import InvalidInput
from verification.test_verify import CONVEX, DISC, EXPERTS, LINE, LOGISTIC, SHIFTING, TRACKING


@pytest.mark.parametrize(
    ("algorithm", "problem", "delta"),
    [
        (tacit.HedgeOnSums, EXPERTS, 1e-6),
        (tacit.HedgeOnSums, EXPERTS, 0.0),
        (tacit.PrivateFTRL, CONVEX, 1e-6),
        (tacit.OnlineToBatch, LOGISTIC, 1e-6),
        (tacit.BanditFW, DISC, 1e-6),
        (tacit.LipschitzGrid, LINE, 1e-6),
        (tacit.NoisyMirrorDescent, TRACKING, 0.0),
        (tacit.TrackingOnSums, SHIFTING, 0.0),
        (tacit.LimitedUpdates, SHIFTING, 0.0),
        (tacit.RecentLeader, SHIFTING, 0.0),
        (tacit.RestartOnShift, SHIFTING, 0.0),
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

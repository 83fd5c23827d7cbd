"""Parameters that no world has: each is refused by its name."""

import pytest

import tacit
from tacit import environments as worlds
from tacit.domains import Ball, L1Ball
from tacit.environments.named import named_environment
from tacit.environments.tracking import FingerprintPhases, PenaliseHeld
from tacit.errors import InvalidInput

NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: worlds.BernoulliGap(0, 5), "n"),
        (lambda: worlds.BernoulliGap(2, True), "horizon"),
        (lambda: worlds.BernoulliGap(2, 5, gap=0.6), "gap"),
        (lambda: worlds.SwitchingAdversary(1, 5), "n"),
        (lambda: worlds.SwitchingAdversary(2, 5, phase=0), "phase"),
        (lambda: worlds.Replay([[1.0], [1.0, 2.0]]), "matrix"),
        (lambda: worlds.ShiftingBernoulli(2, 5, changes=(5,)), "changes"),
        (lambda: worlds.ShiftingBernoulli(2, 5, changes=(3, 3)), "changes"),
        (lambda: worlds.ShiftingBernoulli(2, 5, changes=(), gap=0.9), "gap"),
        (lambda: worlds.ShiftingBernoulli(2, 5, changes=(), mean=NAN), "mean"),
        (lambda: worlds.DriftingLosses(2, 5, periods=0.0), "periods"),
        (lambda: worlds.DriftingLosses(2, 5, swing=0.4, noise=0.2), "noise"),
        (lambda: PenaliseHeld(3, 10, mean=1.5), "mean"),
        (lambda: FingerprintPhases(5, 10, switches=1), "n"),
        (lambda: worlds.PerfectExpert(3, 5, phases=6), "phases"),
        (lambda: worlds.BernoulliArms((), 10), "means"),
        (lambda: worlds.BernoulliArms((0.5, 1.5), 10), "means"),
        (lambda: worlds.ClickArms((0.1, 0.2), 10, swing=1.5), "swing"),
        (lambda: worlds.NeedlePolicy(3, 10, 1), "actions"),
        (lambda: worlds.NeedlePolicy(3, 10, 2, shape="alone"), "shape"),
        (lambda: worlds.SkilledPolicies(3, 10, 2, skill=1.2), "skill"),
        (lambda: worlds.LogisticStream(0, 10), "dimension"),
        (lambda: worlds.LogisticStream(2, 10, strength=-1.0), "strength"),
        (lambda: worlds.DriftingQuadratic(2, 10, turns=NAN), "turns"),
        (lambda: worlds.SignFlips(2, 10, bias=1.5), "bias"),
        (lambda: worlds.RandomSigns(L1Ball(2), 5), "domain"),
        (lambda: worlds.MovingTarget(Ball(2, 0.5), 10, distance=0.6), "distance"),
        (lambda: worlds.Routing(horizon=10, noise=-0.1), "noise"),
        (lambda: worlds.Routing(horizon=10, times=(1.0,)), "times"),
    ],
)
def test_parameters_that_no_world_has(make, name):
    with pytest.raises(InvalidInput, match=f"'{name}'"):
        make()


def test_what_must_agree():
    with pytest.raises(InvalidInput, match=r"mean costs of Routing must be finite and at least noise=0\.2"):
        worlds.Routing(horizon=10, noise=0.2)
    with pytest.raises(InvalidInput, match="same"):
        named_environment("signs", tacit.Convex(domain=Ball(2), loss=tacit.losses.LogisticLoss(), horizon=5))

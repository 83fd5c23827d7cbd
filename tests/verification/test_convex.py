"""CTRL and L2P on a Gibbs measure: recomputed on many losses and domains, and refused with louder numbers."""

import json

import jsonschema
import mpmath as mp
import pytest

import tacit
from tacit.domains import Ball, Box, L1Ball, Polytope, Simplex
from tacit.errors import InvalidInput
from tacit.losses import (
    AbsoluteLoss,
    ConvexFamily,
    HingeLoss,
    HuberLoss,
    LinearLoss,
    LogisticLoss,
    QuadraticLoss,
    QuantileLoss,
    SmoothedHingeLoss,
    SquaredLoss,
)
from tacit.planning.contract import _plain
from tacit.verification.convex import _Draw, _longest, constants
from tacit.verification.facts import Facts
from verification.test_verify import placed

BOX = Box([0.0, -1.0], [1.0, 3.0])
SMOOTH = [
    LinearLoss(0.5), LogisticLoss(2.0), SmoothedHingeLoss(smoothing=0.5), SmoothedHingeLoss(smoothing=9.0),
    SquaredLoss(label_bound=2.0), HuberLoss(transition=0.3), HuberLoss(transition=9.0), QuadraticLoss(0.5),
    ConvexFamily(1.0, 0.5, "glm"), ConvexFamily(1.0, 0.5, "general"),
]  # fmt: skip
KINKED = [HingeLoss(), AbsoluteLoss(0.5), QuantileLoss(level=0.9), ConvexFamily(2.0)]
GIVEN = {"eta": 0.01, "sigma": 60.0, "force": 0.1, "log_phi": 0.2}
DRAWN = {"rate": 0.05, "regularisation": 60.0, "force": 0.3, "clip": 0.01, "batch": 8}


def written(plan):
    made = json.loads(json.dumps(tacit.contract(plan)))
    jsonschema.validate(made, tacit.contract_schema())
    return made


def confirmed(plan):
    made = written(plan)
    verdict = tacit.verify(made)
    assert verdict.answer == "yes", verdict
    assert "real numbers" in verdict.reason
    assert 0.995 * made["epsilon"] < verdict.epsilon <= made["epsilon"]
    assert tacit.verify({**made, "epsilon": verdict.epsilon * 0.999}).answer == "no"
    return made


def convex(loss, domain, horizon=200):
    return tacit.Convex(domain=domain, loss=loss, horizon=horizon)


@pytest.mark.parametrize("loss", SMOOTH + KINKED, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("domain", [Ball(3, radius=2.0), BOX, Simplex(4), L1Ball(2)], ids=lambda d: type(d).__name__)
def test_constants_of_losses_are_those_that_plans_use(loss, domain):
    problem = convex(loss, domain)
    with mp.workdps(30):
        found = constants(Facts(json.loads(json.dumps(_plain(problem))), "problem"))
        assert float(found.steep) == pytest.approx(problem.lipschitz, rel=1e-14)
        assert float(found.bent) == pytest.approx(problem.smoothness, rel=1e-14)
        assert float(found.least) == pytest.approx(problem.strong_convexity)
    assert found.linear == (loss.family != "general")


# CTRL's account takes the constants of a loss alone, which are compared above: one loss of each kind is enough.
@pytest.mark.parametrize(
    "index",
    [pytest.param(at, marks=[] if at in (0, 1, 2, 8, 9, 11) else pytest.mark.slow) for at in range(len(SMOOTH))],
)
def test_ctrl_with_every_loss(index):
    person = {"relation": "replace"} if index % 2 else {"relation": "zero-out", "rounds_per_person": 3}
    domain = (Ball(3), BOX, Simplex(4), L1Ball(2))[index % 4]
    confirmed(
        tacit.algorithms.CTRL(convex(SMOOTH[index], domain), **GIVEN, **person, max_switches=20 if index % 3 else None)
    )


@pytest.mark.parametrize("loss", [AbsoluteLoss(), QuadraticLoss()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("changes", [{}, {"reference_force": 0.1}, {"force": 1.0}, {"batch": 1}], ids=str)
def test_draws_of_gibbs_measures(loss, changes):
    several = {} if "batch" in changes else {"relation": "zero-out", "rounds_per_person": 3}
    confirmed(tacit.algorithms.L2PConvex(convex(loss, Box([1.0], [2.0])), **{**DRAWN, **changes}, **several))


def test_draws_of_gibbs_measures_in_more_dimensions():
    made = confirmed(tacit.algorithms.L2PConvex.calibrate(convex(LogisticLoss(), Ball(2)), epsilon=1.0, delta=1e-6))
    made["parameters"]["sampler_distance"] *= 2000
    assert tacit.verify(made).answer == "no"
    made["parameters"]["sampler_distance"] = 0.0
    with pytest.raises(InvalidInput, match="sampler_distance"):
        tacit.verify(made)


@pytest.fixture(scope="module")
def calibrated():
    return json.dumps(
        confirmed(tacit.algorithms.CTRL.calibrate(convex(LogisticLoss(), Ball(3), 1000), epsilon=1.0, delta=1e-6))
    )


@pytest.mark.parametrize(
    ("part", "name", "factor"),
    [
        ("parameters", "sigma", 0.98),
        ("parameters", "log_phi", 1.1),
        ("parameters", "eta", 1.5),
        ("problem", "horizon", 2),
        ("noise", "accuracy", 100.0),
        ("noise", "release_scale", 0.01),
        ("noise", "largest_curvature", 1e7),
    ],
)
def test_louder_numbers_of_ctrl_are_refused(calibrated, part, name, factor):
    made = json.loads(calibrated)
    made[part][name] = type(made[part][name])(made[part][name] * factor)
    assert tacit.verify(made).answer == "no"


@pytest.mark.parametrize(("name", "factor"), [("rate", 1.02), ("regularisation", 0.98), ("clip", 1.2)])
def test_louder_numbers_of_gibbs_measures_are_refused(name, factor):
    made = written(tacit.algorithms.L2PConvex(convex(LogisticLoss(), Ball(1)), **DRAWN))
    made["parameters"][name] *= factor
    assert tacit.verify(made).answer == "no"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("noise/dimension", 2),
        ("noise/accuracy", 1.0),
        ("noise/largest_curvature", 1e30),
        ("parameters/force", 1.0),
        ("problem/loss", {"kind": "HingeLoss", "data_norm": 1.0}),
        ("problem/domain", {"kind": "Box", "low": [0.0, 0.0, 0.0], "high": [1.0, 0.0, 1.0]}),
        ("problem/loss", {"kind": "LogisticLoss"}),
    ],
)
def test_what_is_no_contract_of_ctrl_raises(place, value):
    made = placed(written(tacit.algorithms.CTRL(convex(LogisticLoss(), Ball(3)), **GIVEN)), place, value)
    with pytest.raises(InvalidInput, match="contract"):
        tacit.verify(made)


def test_what_numbers_do_not_say_is_not_passed():
    triangle = Polytope([[1.0, 1.0], [-1.0, 0.0], [0.0, -1.0]], [1.0, 0.0, 0.0])
    plan = tacit.algorithms.CTRL(convex(LogisticLoss(), triangle), **GIVEN)
    assert tacit.verify(written(plan)).answer == "not verifiable yet"
    confirmed(
        tacit.algorithms.CTRL(convex(LinearLoss(), triangle), **GIVEN)
    )  # these constants are the same on every domain
    made = written(tacit.algorithms.CTRL(convex(LogisticLoss(), Ball(3)), **GIVEN))
    assert tacit.verify({**made, "numerics": "exact"}).answer == "not verifiable yet"
    assert tacit.verify({**made, "noise": None}).answer == "not verifiable yet"


@pytest.mark.parametrize(("degrees", "slope"), [(1, 0.3), (3, 0.05), (10, 0.2)])
def test_the_moment_of_a_draw_against_its_integral(degrees, slope):
    with mp.workdps(30):
        offset, cover, alpha, half = mp.mpf("0.01"), mp.mpf("0.02"), mp.mpf(7), mp.mpf(degrees) / 2

        def integrand(x):
            size = offset + mp.mpf(slope) * x
            phi = mp.expm1(alpha * size) - alpha * mp.expm1(size)
            return x ** (degrees - 1) * mp.exp(-(x**2) / 2) * 2 ** (1 - half) / mp.gamma(half) * phi

        exact = mp.log1p(mp.quad(integrand, [0, 2, 5, 10, 40])) + (alpha - 1) * alpha * cover**2 / 2
        assert float(_Draw(degrees, offset, mp.mpf(slope), cover)(alpha) / exact) == pytest.approx(1, abs=1e-12)


def test_the_longest_noise():
    with mp.workdps(30):
        assert float(mp.erfc(_longest(1) / mp.sqrt(2))) == pytest.approx(1e-30, rel=1e-9)
        assert float(mp.exp(-(_longest(2) ** 2) / 2)) == pytest.approx(1e-30, rel=1e-9)

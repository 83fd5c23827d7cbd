"""Losses that users bring: links, sums of links, quadratic forms, and losses that are taken on trust."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

from tacit.accounting.guarantee import Guarantee
from tacit.algorithms.convex import PrivateFTRL
from tacit.algorithms.convex.ctrl import CTRL, LazyOCO
from tacit.algorithms.convex.l2p_convex import L2PConvex
from tacit.algorithms.stochastic import AveragedFTRL, ObjectivePerturbation, OnlineToBatch
from tacit.domains import Ball, Box
from tacit.errors import InvalidInput, PrivacyError
from tacit.losses import (
    CustomLoss,
    DeclaredLoss,
    HuberLoss,
    LinkLoss,
    LogisticLoss,
    QuadraticFormLoss,
    SquaredLoss,
    TabulatedLoss,
)
from tacit.noise.randomness import Randomness
from tacit.problems import Convex, Stochastic

PRIVACY = {"epsilon": 1.0, "delta": 1e-6}
LOUD = {"eta": 0.5, "sigma": 20.0, "force": 0.3, "log_phi": 0.3}


@dataclass(frozen=True)
class Squareplus(LinkLoss):
    """(sqrt(4 + s^2) - y s)/2, declared with a curvature of its user's choice."""

    declared: float = 0.25
    sign: float = 1.0
    label_range = (-1.0, 1.0)

    def link(self, margins, labels):
        return self.sign * (np.sqrt(4 + margins**2) - labels * margins) / 2

    def slope(self, margins, labels):
        return self.sign * (margins / np.sqrt(4 + margins**2) - labels) / 2

    def curvature(self, margins, labels):
        return self.sign * 2 / (4 + margins**2) ** 1.5

    def link_constants(self, largest_margin):
        return 1.0, self.declared


def generator(seed=0):
    return Randomness.replayable(seed).stream("losses")


def declared_loss(**changes):
    parts = {
        "value_of": lambda x, z: float(np.sum(np.log(np.cosh(x - z)))),
        "gradient_of": lambda x, z: np.tanh(x - z),
        "hessian_of": lambda x, z: np.diag(1 / np.cosh(x - z) ** 2),
        "width": 2, "lipschitz": 2**0.5, "smoothness": 1.0, "trust": True,
    }  # fmt: skip
    return DeclaredLoss(**{**parts, **changes})


def test_the_table_is_close_to_the_link_and_its_pieces_fit_together():
    own, table = Squareplus(), TabulatedLoss.of(Squareplus(), 3.0)
    stream = generator()
    margins, labels = stream.uniform(-3, 3, 500), stream.choice([-1.0, 1.0], 500)
    assert np.abs(table.slope(margins, labels) - own.slope(margins, labels)).max() < 1e-5
    assert np.abs(table.curvature(margins, labels) - own.curvature(margins, labels)).max() < 1e-2
    shift = own.link(np.zeros(1), np.zeros(1))
    assert np.abs(table.link(margins, labels) - own.link(margins, labels) + shift).max() < 1e-5
    # The link is the integral of the slope, inside and outside of the table, at labels between the nodes too.
    for start, end, label in ((-5.0, 5.0, 0.3), (-3.5, -3.1, -1.0), (0.013, 0.014, 1.0)):
        line, middle = np.linspace(start, end, 4001), np.full(4001, label)
        integral = np.trapezoid(table.slope(line, middle), line)
        ends = table.link(np.array([start, end]), np.array([label, label]))
        assert integral == pytest.approx(ends[1] - ends[0], abs=1e-6)
    assert np.array_equal(table.slope(np.array([3.0, 9.0]), np.ones(2))[:1], table.slope(np.array([9.0]), np.ones(1)))
    assert table.curvature(np.array([9.0]), np.ones(1)) == 0


def test_what_lies_between_the_nodes_keeps_the_declared_bounds():
    table = TabulatedLoss.of(SquaredLoss(), 2.0, nodes=33, labels=np.linspace(-1, 1, 5))
    stream = generator(1)
    for _ in range(300):
        label = stream.uniform(-1.2, 1.2)
        label = float(table.clip_labels(np.array(label)))
        first, second = np.sort(stream.uniform(-3, 3, 2))
        slopes = table.slope(np.array([first, second]), np.array([label, label]))
        assert -1e-15 <= slopes[1] - slopes[0] <= table.link_constants(1.0)[1] * (second - first) + 1e-15
        assert np.abs(slopes).max() <= table.largest_slope


def test_slopes_beyond_the_declared_bound_are_huberised():
    slopes = np.linspace(-4, 4, 801)[None]
    table = TabulatedLoss(1.0, 4.0, (0.0,), slopes, largest_slope=0.5, largest_curvature=1.1)
    huber = HuberLoss(transition=0.5)
    margins, zeros = np.linspace(-4, 4, 57), np.zeros(57)
    np.testing.assert_allclose(table.slope(margins, zeros), huber.slope(margins, zeros), atol=1e-9)
    np.testing.assert_allclose(table.link(margins, zeros), huber.link(margins, zeros), atol=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TabulatedLoss.of(Squareplus(declared=0.1), 3.0), "more than the declared curvature 0.1"),
        (lambda: TabulatedLoss.of(Squareplus(sign=-1.0), 3.0), "not convex"),
        (lambda: TabulatedLoss.of("logistic", 3.0), "must be a LinkLoss"),
        (lambda: TabulatedLoss.of(LogisticLoss(), 3.0, nodes=1), "nodes"),
        (lambda: TabulatedLoss.of(LogisticLoss(), 3.0, nodes=10**7), "nodes times labels"),
        (lambda: TabulatedLoss.of(LogisticLoss(), -3.0), "largest_margin"),
        (lambda: TabulatedLoss(labels=(1.0, -1.0)), "numbers that grow"),
        (lambda: TabulatedLoss(slopes=((np.nan, 0.0), (0.0, 1.0))), "finite numbers, two margins"),
    ],
)
def test_links_that_cannot_be_minimised_safely_are_refused_at_declaration(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_the_users_functions_are_never_asked_about_data():
    asked = []

    class Counted(Squareplus):
        def slope(self, margins, labels):
            asked.append(np.shape(margins))
            return super().slope(margins, labels)

    table = TabulatedLoss.of(Counted(), 2.0)
    count = len(asked)
    plan = CTRL(Convex(domain=Ball(2), loss=table, horizon=5), **LOUD)
    plan.start(Randomness.replayable(1)).run((generator().standard_normal((5, 2)), np.ones(5)))
    assert len(asked) == count == 1


def test_tables_are_values():
    one, two = TabulatedLoss.of(Squareplus(), 2.0), TabulatedLoss.of(Squareplus(), 2.0)
    other = TabulatedLoss.of(Squareplus(), 2.0, nodes=65)
    assert one == two != other
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(one)) == one
    assert repr(one) == repr(two) != repr(other)


def test_a_link_that_nobody_checked_goes_to_methods_that_clip_and_to_no_others():
    own = Squareplus()
    problem, records = Convex(domain=Ball(2), loss=own, horizon=20), Stochastic(domain=Ball(2), loss=own, horizon=20)
    for kind in (CTRL, L2PConvex):
        with pytest.raises(PrivacyError, match="nobody checked"):
            kind.calibrate(problem, **PRIVACY)
    with pytest.raises(PrivacyError, match="nobody checked"):
        ObjectivePerturbation.calibrate(records, **PRIVACY)
    for plan in (PrivateFTRL.calibrate(problem, **PRIVACY), AveragedFTRL.calibrate(records, **PRIVACY)):
        assert plan.guarantee.assumed == ""
        plan.start().run((np.ones((20, 2)), np.ones(20)))


@pytest.mark.parametrize("kind", [ObjectivePerturbation, OnlineToBatch, AveragedFTRL])
def test_tables_go_through_one_pass(kind):
    problem = Stochastic(domain=Ball(2, radius=3.0), loss=TabulatedLoss.of(Squareplus(), 3.0), horizon=200)
    plan = kind.calibrate(problem, **PRIVACY)
    assert plan.guarantee.assumed == ""
    learner = plan.start(Randomness.replayable(2))
    features = generator(3).standard_normal((200, 2))
    learner.run((features, np.sign(features[:, 0])))
    assert np.isfinite(learner.release()).all()


def test_eigenvalues_and_targets_are_clipped():
    loss, stream = QuadraticFormLoss(largest_curvature=0.7, data_norm=0.5), generator(4)
    domain = Box([-1.0, 0.0, -0.5], [0.5, 1.0, 0.5])
    most = loss.constants(domain)
    worst = 0.0
    for _ in range(200):
        matrix = stream.standard_normal((3, 3)) * stream.choice([1e-3, 1.0, 1e200])
        row = loss.pack((matrix, stream.standard_normal(3)), 3, many=False)
        hessian = loss.hessians(np.zeros(3), row)[0]
        values = np.linalg.eigvalsh(hessian)
        assert values.min() >= -1e-15
        assert values.max() <= 0.7
        x = domain.low + (domain.high - domain.low) * stream.integers(0, 2, 3)
        worst = max(worst, float(np.linalg.norm(loss.gradients(x, row))) / most.lipschitz)
        z = row[0, 9:]
        assert loss.values(x, row)[0] == pytest.approx((x - z) @ hessian @ (x - z) / 2)
    assert 0.5 < worst <= 1
    kept = loss.pack(([[0.5, 0.1], [0.1, 0.2]], [0.1, 0.2]), 2, many=False)
    np.testing.assert_allclose(kept, [[0.5, 0.1, 0.1, 0.2, 0.1, 0.2]], atol=1e-15)
    assert loss.constants(None).lipschitz == np.inf


def test_quadratic_forms_need_a_bounded_set():
    records = Stochastic(domain=Ball(2), loss=QuadraticFormLoss(), horizon=20)
    with pytest.raises(PrivacyError, match="without a domain, and there the slope of a QuadraticFormLoss has no bound"):
        ObjectivePerturbation.calibrate(records, **PRIVACY)
    with pytest.raises(InvalidInput, match="a pair \\(matrix, target\\)"):
        QuadraticFormLoss().pack([1.0, 2.0, 3.0], 2, many=False)
    with pytest.raises(InvalidInput, match="a target for each matrix"):
        QuadraticFormLoss().pack((np.zeros((2, 2, 2)), np.zeros((3, 2))), 2, many=True)


def test_a_declared_loss_asks_for_trust_and_its_contract_says_so():
    with pytest.raises(PrivacyError, match="say trust=True"):
        declared_loss(trust=False)
    problem = Convex(domain=Ball(2), loss=declared_loss(), horizon=20)
    rows = generator(6).standard_normal((20, 2))
    trusting = [
        CTRL(problem, **LOUD),
        L2PConvex(problem, rate=0.2, regularisation=5.0, force=0.5, clip=0.2, batch=4, sampler_distance=1e-6),
    ]
    for plan in trusting:
        assert "assumed:    convex, G, beta as declared by you" in str(plan.guarantee)
        assert Guarantee.from_json(plan.guarantee.to_json()).assumed == "convex, G, beta as declared by you"
        together = plan.guarantee.compose(PrivateFTRL.calibrate(problem, **PRIVACY).guarantee)
        assert together.assumed == "convex, G, beta as declared by you"
        assert np.isfinite(plan.start(Randomness.replayable(1)).run(rows)).all()
    careful = PrivateFTRL.calibrate(problem, **PRIVACY)
    assert "assumed" not in str(careful.guarantee)
    assert LazyOCO.for_budget(problem, switches=10.0).start(Randomness.replayable(1)).run(rows).shape == (20, 2)


def test_functions_that_fail_for_some_rows_count_as_no_loss():
    def gradient(x, z):
        if z[0] < 0:
            raise RuntimeError("no gradient")
        return np.tanh(x - z)

    loss = declared_loss(gradient_of=gradient, hessian_of=lambda x, z: "no matrix")
    rows = loss.pack([[1.0, 0.0], [-1.0, 0.0]], 2, many=True)
    x = np.array([0.5, 0.5])
    np.testing.assert_array_equal(loss.gradients(x, rows)[1], [0.0, 0.0])
    np.testing.assert_array_equal(loss.hessians(x, rows), np.zeros((2, 2, 2)))
    np.testing.assert_array_equal(loss.gradients(x, loss.neutral(2)), [[0.0, 0.0]])
    with pytest.raises(InvalidInput):
        loss.pack([1.0, np.nan], 2, many=False)
    with pytest.raises(InvalidInput, match="callable"):
        declared_loss(value_of=3)


def test_linearising_a_custom_loss_is_refused_with_the_reason():
    loss = CustomLoss(lambda x, z: abs(x[0]), lambda x, z: [1.0, 0.0], lipschitz=1.0)
    with pytest.raises(PrivacyError, match="to linearise it would keep privacy and lose the regret bound"):
        CTRL.calibrate(Convex(domain=Ball(2), loss=loss, horizon=20), **PRIVACY)


@pytest.mark.parametrize("size", [1e300, 1e-320])
def test_no_matrix_of_floats_raises_where_warnings_are_errors(size):
    """Whether eigenvalues under- or overflow is a property of the data."""
    with np.errstate(all="raise"):
        row = QuadraticFormLoss().pack(([[size, 0.0], [0.0, 1e-300]], [size, 1e-300]), 2, many=False)
    assert np.isfinite(row).all()


class Steeper(LogisticLoss):
    """A thousand times as steep as it says, and it says that nothing is assumed of it."""

    assumed = ""

    def slope(self, margins, labels):
        return 1000 * super().slope(margins, labels)


class Quiet(DeclaredLoss):
    """Declared, and its contracts would not say so."""

    assumed = ""


@pytest.mark.parametrize("kind", [CTRL, L2PConvex, ObjectivePerturbation])
def test_a_loss_cannot_vouch_for_itself(kind):
    """Neither when a plan is calibrated nor when it is made of another one."""
    given = Stochastic if kind is ObjectivePerturbation else Convex
    problem = given(domain=Ball(2), loss=LogisticLoss(), horizon=50)
    plan = kind.calibrate(problem, epsilon=5.0, delta=1e-4)
    quiet = Quiet(lambda x, z: 0.0, lambda x, z: 0 * x, lambda x, z: np.eye(2), 1, 1.0, 0.25, trust=True)
    for loss in (Steeper(), quiet):
        for make in (lambda other: kind.calibrate(other, **PRIVACY), lambda other: replace(plan, problem=other)):
            with pytest.raises(PrivacyError, match=r"nobody checked|needs a generalised linear loss"):
                make(replace(problem, loss=loss))

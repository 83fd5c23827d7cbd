"""Values, gradients and constants of every loss; what is clipped, and what is refused."""

import numpy as np
import pytest

from losses.longest import longest_rows
from tacit import losses
from tacit.domains import Ball, Box, Simplex
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, clip_rows, row_norms
from tacit.noise.randomness import Randomness

LINKS = [
    losses.SquaredLoss(),
    losses.SquaredLoss(data_norm=2.0, label_bound=0.5),
    losses.HuberLoss(transition=0.3),
    losses.HuberLoss(data_norm=0.5, transition=5.0),
    losses.LogisticLoss(),
    losses.LogisticLoss(data_norm=3.0),
    losses.SmoothedHingeLoss(),
    losses.SmoothedHingeLoss(data_norm=2.0, smoothing=0.1),
]
KINKED = [
    losses.HingeLoss(),
    losses.HingeLoss(data_norm=2.0),
    losses.AbsoluteLoss(label_bound=0.5),
    losses.QuantileLoss(data_norm=0.5, level=0.9),
]
ROWS = [
    *LINKS, *KINKED, losses.LinearLoss(2.0), losses.QuadraticLoss(strength=3.0, data_norm=0.5),
    losses.RegularisedLoss(losses.LogisticLoss(), 0.7), losses.RegularisedLoss(losses.LinearLoss(), 0.3),
]  # fmt: skip


def stream(name):
    return Randomness.replayable(11).stream(name)


def data_for(loss, dimension, rounds, generator, scale=3.0):
    vectors = scale * generator.standard_normal((rounds, dimension))
    return (vectors, 2 * generator.standard_normal(rounds)) if takes_pairs(loss) else vectors


def takes_pairs(loss):
    return isinstance(getattr(loss, "loss", loss), LinkLoss)


@pytest.mark.parametrize("loss", ROWS, ids=repr)
def test_gradients_are_those_of_the_values(loss):
    generator = stream("gradients")
    rows = loss.pack(data_for(loss, 3, 200, generator), 3, many=True)
    x = 0.5 * generator.standard_normal(3)
    gradients = loss.gradients(x, rows)
    for axis in np.eye(3):
        h = 1e-6
        slope = (loss.values(x + h * axis, rows) - loss.values(x - h * axis, rows)) / (2 * h)
        np.testing.assert_allclose(gradients @ axis, slope, atol=2e-5)


@pytest.mark.parametrize("loss", LINKS, ids=repr)
def test_curvature_is_the_derivative_of_the_slope(loss):
    generator = stream("curvature")
    margins = generator.uniform(-2, 2, 500)
    labels = loss.clip_labels(generator.standard_normal(500))
    h = 1e-6
    slope = (loss.slope(margins + h, labels) - loss.slope(margins - h, labels)) / (2 * h)
    error = np.abs(loss.curvature(margins, labels) - slope)
    assert np.quantile(error, 0.99) < 1e-4  # kinks have no derivative, and almost no mass


@pytest.mark.parametrize("domain", [Ball(3, 2.0), Box([0.0, 1.0, -3.0], [1.0, 2.0, -1.0]), Simplex(3)], ids=repr)
@pytest.mark.parametrize("loss", ROWS, ids=repr)
def test_constants_hold_on_the_domain(loss, domain):
    generator = stream("constants")
    constants = loss.constants(domain)
    rows = loss.pack(data_for(loss, 3, 300, generator, scale=100.0), 3, many=True)
    points = [domain.project(5 * generator.standard_normal(3)) for _ in range(60)]
    points += [domain.minimize_linear(generator.standard_normal(3)) for _ in range(20)]
    gradients = np.array([loss.gradients(point, rows) for point in points])
    assert np.max(np.linalg.norm(gradients, axis=2)) <= constants.lipschitz * (1 + 1e-12)
    distances = np.linalg.norm(np.array(points)[:, None] - np.array(points)[None], axis=2)
    moves = np.linalg.norm(gradients[:, None] - gradients[None], axis=3).max(axis=2)
    if constants.smoothness < np.inf:
        assert np.all(moves <= constants.smoothness * distances + 1e-9)
    # Convex, by midpoints, and as strongly as is said.
    middle, gain = loss.values((points[0] + points[1]) / 2, rows), constants.strong_convexity * distances[0, 1] ** 2 / 8
    assert np.all(middle + gain <= (loss.values(points[0], rows) + loss.values(points[1], rows)) / 2 + 1e-12)


def test_extremes_reach_the_constants():
    domain = Ball(2)
    largest = losses.SquaredLoss().gradient([1.0, 0.0], ([1.0, 0.0], -1.0))
    assert np.linalg.norm(largest) == pytest.approx(losses.SquaredLoss().constants(domain).lipschitz)
    largest = losses.QuadraticLoss().gradient([1.0, 0.0], [-1.0, 0.0])
    assert np.linalg.norm(largest) == pytest.approx(losses.QuadraticLoss().constants(domain).lipschitz)
    assert losses.QuadraticLoss(2.0).constants(domain).strong_convexity == 2.0
    largest = losses.LogisticLoss().gradient([1.0, 0.0], ([-1.0, 0.0], 1.0))
    assert np.linalg.norm(largest) == pytest.approx(losses.LogisticLoss().constants(domain).lipschitz)


def test_features_and_labels_are_clipped_and_short_ones_untouched():
    loss = losses.LogisticLoss(data_norm=1.0)
    rows = loss.pack(([[3.0, 4.0], [0.3, 0.4]], [7.0, -0.5]), 2, many=True)
    np.testing.assert_allclose(rows[0], [0.6, 0.8, 1.0])
    assert rows[1].tolist() == [0.3, 0.4, -0.5]
    huge = losses.LinearLoss().pack([[1e200, 1e200]], 2, many=True)
    assert np.linalg.norm(huge) <= 1.0


def test_one_round_and_many_rounds_agree():
    generator = stream("many")
    for loss in ROWS:
        data = data_for(loss, 4, 7, generator)
        x = generator.standard_normal(4) / 4
        many = loss.value(x, data)
        for t in range(7):
            one = (data[0][t], data[1][t]) if takes_pairs(loss) else data[t]
            assert loss.value(x, one) == many[t]
            np.testing.assert_array_equal(loss.gradient(x, one), loss.gradient(x, data)[t])


@pytest.mark.parametrize(
    ("loss", "data", "message"),
    [
        (losses.LogisticLoss(), [1.0, 2.0, 3.0], "pair"),
        (losses.LogisticLoss(), np.ones(3), "pair"),
        (losses.LogisticLoss(), ([np.nan, 1.0], 1.0), "features"),
        (losses.LogisticLoss(), ([1.0, 1.0], np.inf), "labels"),
        (losses.LogisticLoss(), ([1.0, 1.0, 1.0], 1.0), "shape"),
        (losses.LogisticLoss(), ([[1.0, 1.0]], [1.0, 1.0]), "a label for each"),
        (losses.LinearLoss(), [np.inf, 0.0], "gradients"),
        (losses.LinearLoss(), [["a", "b"]], "real numbers"),
        (losses.QuadraticLoss(), [[0.0, np.nan]], "round 0"),
        (losses.LogisticLoss(), (np.ones((3, 2)), [1.0, np.nan, 1.0]), "those of round 1 are not"),
        (losses.LogisticLoss(), (np.ones((3, 2)), [1.0, 1.0]), "Got 2 for 3"),
        (losses.LogisticLoss(), (np.ones(2), np.nan), r"finite numbers\."),
    ],
)
def test_bad_data_raise(loss, data, message):
    with pytest.raises(InvalidInput, match=message):
        loss.value(np.zeros(2), data)


@pytest.mark.parametrize(
    "make",
    [
        lambda: losses.LinearLoss(0.0),
        lambda: losses.LogisticLoss(data_norm=np.nan),
        lambda: losses.SquaredLoss(label_bound=-1.0),
        lambda: losses.HuberLoss(transition=0.0),
        lambda: losses.SmoothedHingeLoss(smoothing=0.0),
        lambda: losses.QuadraticLoss(strength=True),
        lambda: losses.QuadraticLoss(data_norm=0.0),
        lambda: losses.RegularisedLoss(losses.LogisticLoss(), 0.0),
        lambda: losses.RegularisedLoss(losses.ConvexFamily(1.0), 1.0),
        lambda: losses.ConvexFamily(lipschitz=0.0),
        lambda: losses.ConvexFamily(lipschitz=1.0, smoothness=-1.0),
        lambda: losses.ConvexFamily(lipschitz=1.0, smoothness=1.0, strong_convexity=2.0),
        lambda: losses.ConvexFamily(lipschitz=1.0, family="custom"),
        lambda: losses.CustomLoss(1.0, lambda x, z: x, 1.0),
        lambda: losses.CustomLoss(lambda x, z: 0.0, lambda x, z: x, 0.0),
    ],
)
def test_bad_parameters_raise(make):
    with pytest.raises(InvalidInput):
        make()


def test_custom_losses_are_clipped_and_checked():
    loss = losses.CustomLoss(lambda x, z: float(np.sum((x - z) ** 4)), lambda x, z: 4 * (x - z) ** 3, lipschitz=2.0)
    assert loss.family == "custom"
    assert np.linalg.norm(loss.gradient([5.0, 0.0], np.zeros(2))) <= 2.0
    np.testing.assert_allclose(loss.gradient([0.5, 0.0], np.zeros(2)), [0.5, 0.0])
    assert loss.value([1.0, 0.0], np.zeros(2)) == 1.0
    assert "lipschitz=2.0" in repr(loss)
    x = np.array([0.1, 0.2])
    losses.CustomLoss(lambda x, z: 0.0, lambda x, z: x, 1.0).gradient(x, None)[:] = 1.0
    assert x.tolist() == [0.1, 0.2]  # no alias of the point
    with pytest.raises(InvalidInput, match="finite"):
        loss.gradient([0.0, 0.0], np.array([np.nan, 0.0]))
    with pytest.raises(InvalidInput, match="cannot be taken") as caught:
        loss.gradient([0.0, 0.0], "text")
    assert caught.value.__context__ is None  # numpy's own error may quote the data
    broken = losses.CustomLoss(lambda x, z: 0.0, lambda x, z: np.zeros(3), 1.0)
    with pytest.raises(InvalidInput, match="shape"):
        broken.gradient([0.0, 0.0], None)


@pytest.mark.parametrize("size", [1.7e308, 1e-200, 5e-324, 0.0])
def test_no_row_of_floats_raises_where_warnings_are_errors(size):
    """Whether a norm overflows or underflows is a property of the data."""
    with np.errstate(all="raise"):
        norms = row_norms(np.full((2, 4), size))
        clip_rows(np.array([[size, 1e-300, -size, 1e300]]), 1.0)
    assert np.all(norms >= (size if size > 1e-150 else 0.0))  # shorter rows may have the norm 0


@pytest.mark.parametrize("norm", [1.0, 1e-6, 1e-12, 1e-15, 1e-60])
def test_the_longest_floats_are_clipped_to_the_norm(norm):
    """Factors below the normal floats have few digits: rows of 1e308 were longer than a norm of 1e-15 by 18%."""
    longest = longest_rows()
    clipped = clip_rows(longest, norm)
    one = np.array([losses.LogisticLoss(data_norm=norm).pack((row, 1.0), 3, many=False)[0, :-1] for row in longest])
    assert row_norms(clipped).max() <= norm
    assert row_norms(one).max() <= norm
    np.testing.assert_array_equal(clipped, one)


@pytest.mark.parametrize("loss", [*LINKS, *KINKED], ids=repr)
def test_the_height_is_the_largest_value_on_the_domain(loss):
    domain = Ball(2, 1.5)
    generator = stream("height")
    points = np.array([domain.project(point) for point in 5 * generator.standard_normal((2000, 2))])
    rows = loss.pack(data_for(loss, 2, 2000, generator), 2, many=True)
    values = loss.values(points, rows)
    assert values.min() >= 0
    assert values.max() <= loss.height(domain)
    ends = loss.clip_labels(np.array([-1e9, 1e9]))
    corners = [loss.value([1.5, 0.0], ([side * loss.data_norm, 0.0], end)) for side in (-1, 1) for end in ends]
    assert loss.height(domain) == pytest.approx(max(corners))


def test_nobody_knows_the_height_of_other_losses():
    for loss in (losses.ConvexFamily(1.0), losses.LinearLoss(), losses.QuadraticLoss()):
        assert loss.height(Ball(2)) == float("inf")

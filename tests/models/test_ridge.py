"""Ridge regression: what it learns, and targets of all sizes."""

import numpy as np
import pytest

from models.records import private, two_classes, unit
from tacit.noise.randomness import Randomness
from tacit_models import PrivateRidge

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here
either = pytest.mark.parametrize("algorithm", ["objective", "one-pass"])


@either
def test_no_target_is_too_large_for_a_fit(algorithm):
    """Targets are clipped before they are divided by their bound: the quotient may be too large for a float."""
    X, y = two_classes()
    fits = []
    for largest in (0.01, 1.7e308):
        changed = np.where(y > 0, largest, -largest)
        model = private(PrivateRidge, label_bound=0.01, algorithm=algorithm, horizon=600)
        with np.errstate(over="raise"):
            fits.append(model.fit(X, changed).coef_)
            model.partial_fit(X[:1], changed[:1]).partial_fit(X[1:2], changed[1:2])
    assert np.array_equal(*fits)


@either
@pytest.mark.parametrize("relation", ["replace", "zero-out"])
def test_ridge_learns(algorithm, relation):
    stream = Randomness.replayable(2).stream("data")
    X = unit(stream.standard_normal((8000, 5)) / 2)
    y = 50.0 * (X @ [0.8, -0.4, 0.0, 0.2, 0.1] + 0.05 * stream.standard_normal(8000))
    model = private(PrivateRidge, 2.0, label_bound=50.0, algorithm=algorithm, relation=relation)
    assert model.fit(X, y).score(X, y) > 0.9
    assert model.guarantee_.epsilon(1e-6) <= 2.0 * (1 + 1e-9)
    assert model.public_guarantee(8000, 5).epsilon(1e-6) == pytest.approx(model.guarantee_.epsilon(1e-6))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_auto_is_objective_perturbation(delta):
    assert private(PrivateRidge, delta=delta).fit(*two_classes()).algorithm_ == "objective"

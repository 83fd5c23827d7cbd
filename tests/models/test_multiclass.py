"""Several classes: joint losses, and classes that are declared."""

import warnings

import numpy as np
import pytest

from models.records import CLASSIFIERS, SOURCE, three_classes, two_classes
from tacit.errors import InvalidInput
from tacit.losses import SmoothedHingeLoss
from tacit.losses.several_classes import MultinomialLoss, OneVsRestLoss
from tacit.noise.randomness import Randomness
from tacit_models import Ledger, PrivateLogisticRegression, UsefulnessWarning

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("algorithm", ["objective", "one-pass"])
def test_several_classes(kind, algorithm):
    X, y = three_classes()
    model = kind(4.0, data_norm=1.0, classes=["a", "b", "c"], algorithm=algorithm, random_state=SOURCE, ledger=Ledger())
    assert model.fit(X, y).score(X, y) > 0.85
    assert model.coef_.shape == (3, 2)
    assert model.guarantee_.epsilon(1e-6) <= 4.0 * (1 + 1e-9)
    assert model.public_guarantee(len(X), 2, 3).epsilon(1e-6) == pytest.approx(model.guarantee_.epsilon(1e-6))
    if kind is PrivateLogisticRegression:
        chances = model.predict_proba(X)
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(X)))
        assert np.array_equal(model.classes_[np.argmax(chances, axis=1)], model.predict(X))
        assert np.exp(model.predict_log_proba(X)) == pytest.approx(chances)


def test_joint_losses_have_the_gradients_and_constants_they_say():
    stream = Randomness.replayable(5).stream("data")
    for loss in (MultinomialLoss(1.0, 3), OneVsRestLoss(1.0, 3, SmoothedHingeLoss())):
        rows = loss.pack((3 * stream.standard_normal((50, 4)), stream.integers(0, 3, 50)), 12, many=True)
        x, other = stream.standard_normal((2, 12))
        step = 1e-6 * stream.standard_normal(12)
        change = (loss.values(x + step, rows) - loss.values(x - step, rows)) / 2
        assert change == pytest.approx(loss.gradients(x, rows) @ step, abs=1e-11)
        constants = loss.constants(None)
        sizes = np.linalg.norm(loss.gradients(5 * x, rows), axis=1)
        assert sizes.max() <= constants.lipschitz * (1 + 1e-9)
        moves = np.linalg.norm(loss.gradients(x, rows) - loss.gradients(other, rows), axis=1)
        assert moves.max() <= constants.smoothness * np.linalg.norm(x - other)
        for bad in (3, (np.zeros((2, 4)), [0, 7]), (np.zeros((2, 4)), [0.5, 1])):
            with pytest.raises(InvalidInput):
                loss.pack(bad, 12, many=True)


def test_declared_classes_are_judged_and_not_the_labels():
    """scikit-learn warns of many classes among few labels, and refuses 0.5 among them: whoever is warned learns it."""
    X = two_classes(30)[0]
    for labels in (np.arange(30) % 20, np.arange(30) % 2):
        model = PrivateLogisticRegression(data_norm=1.0, classes=list(range(20)), ledger=Ledger())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", UsefulnessWarning)
            model.fit(X, labels)
    for labels in (np.zeros(30), np.append(np.zeros(29), 0.5)):
        model = PrivateLogisticRegression(data_norm=1.0, classes=[0.0, 0.5], ledger=Ledger())
        with pytest.raises(InvalidInput, match="whole numbers, or words"):
            model.fit(X, labels)

"""Records for models."""

import numpy as np
from sklearn.datasets import make_blobs

from tacit.noise.randomness import Randomness
from tacit_models import Ledger, PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge

SOURCE = Randomness.replayable(1)


def unit(rows):
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]


def two_classes(count=600, seed=0):
    stream = Randomness.replayable(seed).stream("data")
    X = unit(stream.standard_normal((count, 4)))
    return X, (X @ [2.0, -1.0, 0.0, 0.5] > 0).astype(int)


def three_classes():
    X, y = make_blobs(1500, centers=[[1, 0], [-0.5, 0.9], [-0.5, -0.9]], cluster_std=0.2, random_state=0)
    return X / 2, np.array(["a", "b", "c"])[y]


CLASSIFIERS = (PrivateLogisticRegression, PrivateLinearSVC)


def private(kind, epsilon=1.0, **options):
    """A model with everything declared, replayable noise and a ledger of its own."""
    declared = {"label_bound": 1.0} if kind is PrivateRidge else {"classes": [0, 1]}
    return kind(epsilon, **{"data_norm": 1.0, "random_state": SOURCE, "ledger": Ledger(), **declared, **options})

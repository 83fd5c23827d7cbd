"""Test accuracy and fit time of the private linear models. Run: `python benchmarks/estimators.py`.

Protocol: features standardised, rows clipped to the unit ball, 70/30 split, ten seeds (two on synthetic), delta = 1e-6.
Numbers come as mean and standard deviation over the seeds, under the zero-out relation (what add-or-remove methods
protect), with replacement beside it. No parameter is tuned: all of them follow from n, d, epsilon and delta. Fit times
were taken on a machine that others used: only their ratios count.
"""

import time
import warnings
from functools import cache

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from tacit_models import Ledger, PrivateLinearSVC, PrivateLogisticRegression

EPSILONS = (0.1, 1.0, 3.0)
SEEDS = 10
SETS = {"breast cancer": SEEDS, "digits": SEEDS, "synthetic": 2}
"""Seeds of the sets that are measured here."""


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels 0, 1 (of wine and ten-class digits more)."""
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, (y >= 5).astype(int)
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "100k x 50":
        return make_classification(100_000, 50, flip_y=0.1, random_state=42)
    if name.endswith("% positives"):
        return few_positives(float(name.split("%")[0]) / 100)
    if name == "ten-class digits":
        return load_digits(return_X_y=True)
    if name in MADE:
        return MADE[name](np.random.default_rng(42))
    return make_classification(100_000, 20, flip_y=0.1, random_state=42)


def few_positives(share: float) -> tuple[np.ndarray, np.ndarray]:
    """20,000 x 20; this share of the records is positive: the top of a noisy linear score."""
    generator = np.random.default_rng(42)
    X, weights = generator.standard_normal((20_000, 20)), generator.standard_normal(20)
    score = X @ weights / np.linalg.norm(weights) + 0.5 * generator.standard_normal(20_000)
    return X, (score > np.quantile(score, 1 - share)).astype(int)


def text_like(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """4,000 x 2,000: 60 words a row from Zipf's law, one word in ten from a topic that the label names; unit rows."""
    common = 1 / np.arange(1, 2001)
    y = generator.integers(2, size=4000)
    X = np.zeros((4000, 2000))
    for row, label in zip(X, y, strict=True):
        words = generator.choice(2000, 54, p=common / common.sum())
        topic = 200 + 100 * label + generator.integers(100, size=6)
        np.add.at(row, np.append(words, topic), 1.0)
    X = np.log1p(X) * np.log(4000 / (1 + np.count_nonzero(X, axis=0)))
    return X / np.linalg.norm(X, axis=1)[:, None], y


def heavy_tails(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """20,000 x 20: features of Student's law with two degrees of freedom, logistic labels."""
    X, weights = generator.standard_t(2, (20_000, 20)), generator.standard_normal(20)
    return X, (generator.random(20_000) < 1 / (1 + np.exp(-X @ weights))).astype(int)


def one_hot(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """20,000 x 200: ten categories of twenty values each, logistic labels; unit rows."""
    codes = generator.integers(20, size=(20_000, 10)) + 20 * np.arange(10)
    X = np.zeros((20_000, 200))
    np.put_along_axis(X, codes, 1.0, axis=1)
    return X / np.sqrt(10), (generator.random(20_000) < 1 / (1 + np.exp(-X @ generator.standard_normal(200)))).astype(
        int
    )


def wide(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """2,000 x 1,000: more than half as many features as training rows, fifty of which matter."""
    X, weights = generator.standard_normal((2000, 1000)), np.zeros(1000)
    weights[:50] = generator.standard_normal(50)
    return X, (X @ weights + generator.standard_normal(2000) > 0).astype(int)


MADE = {"text": text_like, "heavy tails": heavy_tails, "one-hot": one_hot, "wide": wide}
NOT_STANDARDISED = ("text", "one-hot")
"""Rows whose norm is public already."""


def split(name: str, seed: int) -> list[np.ndarray]:
    """Training and test rows of the protocol, then their labels."""
    X, y = data(name)
    train, test, train_labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(train)
    rows = [part if name in NOT_STANDARDISED else scaler.transform(part) for part in (train, test)]
    return [part / np.maximum(1.0, np.linalg.norm(part, axis=1))[:, None] for part in rows] + [
        train_labels,
        test_labels,
    ]


def accuracy(name: str, model: BaseEstimator, seeds: int = SEEDS) -> tuple[float, float]:
    """Mean and standard deviation of the test accuracy."""
    scores = []
    for seed in range(seeds):
        train, test, train_labels, test_labels = split(name, seed)
        if "random_state" in model.get_params() and not isinstance(model, LogisticRegression):
            model.set_params(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores.append(model.fit(train, train_labels).score(test, test_labels))
    return float(np.mean(scores)), float(np.std(scores))


def models(epsilon: float, relation: str) -> dict[str, BaseEstimator]:
    """Every private classifier at this epsilon."""
    common = {"epsilon": epsilon, "relation": relation, "data_norm": 1.0, "classes": [0, 1], "ledger": Ledger()}
    return {
        "logistic": PrivateLogisticRegression(**common),
        "one-pass logistic": PrivateLogisticRegression(algorithm="one-pass", **common),
        "svc": PrivateLinearSVC(**common),
    }


def seconds(fit: BaseEstimator, X: np.ndarray, y: np.ndarray) -> float:
    """The fastest of five fits, calibration included."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        fit.fit(X, y)
        times.append(time.perf_counter() - start)
    return min(times)


def accuracies(name: str) -> dict[str, float]:
    """Of all models, with their standard deviations."""
    results = {f"{name}, not private": accuracy(name, LogisticRegression(), SETS[name])[0]}
    for epsilon in EPSILONS:
        for relation in ("zero-out", "replace"):
            for kind, model in models(epsilon, relation).items():
                mean, deviation = accuracy(name, model, SETS[name])
                key = f"{name}, epsilon={epsilon:g}, {relation}, {kind}"
                results[key], results[f"{key}, deviation"] = mean, deviation
    return results


def measure() -> dict[str, float]:
    """Accuracies, and fit times of 100,000 x 20 over scikit-learn's in the same run."""
    results: dict[str, float] = {}
    for name in SETS:
        results |= accuracies(name)
    return results | times()


def times() -> dict[str, float]:
    """Fit times of 100,000 x 20 over scikit-learn's."""
    results: dict[str, float] = {}
    X, y = data("synthetic")
    rows = StandardScaler().fit_transform(X)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    reference = seconds(LogisticRegression(), rows, y)
    for kind, model in models(1.0, "replace").items():
        results[f"fit 100000 x 20 over scikit-learn, {kind}"] = seconds(model, rows, y) / reference
    return results


if __name__ == "__main__":
    for label, value in measure().items():
        print(f"{label}: {value:.4f}", flush=True)

"""Test accuracy and fit time of the private linear models. Run: `python benchmarks/estimators.py`.

Protocol: features standardised, rows clipped to the unit ball, 70/30 split, ten seeds, delta = 1e-6. Numbers come as
mean and standard deviation over the seeds, under the zero-out relation (what add-or-remove methods protect), with
replacement beside it. No parameter is tuned: all of them follow from n, d, epsilon and delta.
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

from tacit.estimators import Ledger, PrivateLinearSVC, PrivateLogisticRegression

EPSILONS = (0.1, 1.0, 3.0)
SEEDS = 10


@cache
def data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels 0, 1 (wine: also 2)."""
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, (y >= 5).astype(int)
    if name == "wine":
        return load_wine(return_X_y=True)
    if name == "100k x 50":
        return make_classification(100_000, 50, flip_y=0.1, random_state=42)
    if name == "5% positives":
        return few_positives()
    return make_classification(100_000, 20, flip_y=0.1, random_state=42)


def few_positives() -> tuple[np.ndarray, np.ndarray]:
    """20,000 x 20; one record in twenty is positive: the top of a noisy linear score."""
    generator = np.random.default_rng(42)
    X, weights = generator.standard_normal((20_000, 20)), generator.standard_normal(20)
    score = X @ weights / np.linalg.norm(weights) + 0.5 * generator.standard_normal(20_000)
    return X, (score > np.quantile(score, 0.95)).astype(int)


def split(name: str, seed: int) -> list[np.ndarray]:
    """Training and test rows of the protocol, then their labels."""
    X, y = data(name)
    train, test, train_labels, test_labels = train_test_split(X, y, test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(train)
    rows = [scaler.transform(part) for part in (train, test)]
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


def measure() -> dict[str, float]:
    """Accuracies with their standard deviations, and fit times of 100,000 x 20 over scikit-learn's in the same run."""
    results: dict[str, float] = {}
    for name in ("breast cancer", "digits", "synthetic"):
        results[f"{name}, not private"] = accuracy(name, LogisticRegression())[0]
        for epsilon in EPSILONS:
            for relation in ("zero-out", "replace"):
                for kind, model in models(epsilon, relation).items():
                    mean, deviation = accuracy(name, model)
                    key = f"{name}, epsilon={epsilon:g}, {relation}, {kind}"
                    results[key], results[f"{key}, deviation"] = mean, deviation
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

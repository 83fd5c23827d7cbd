"""Measure the constants of the rule of `PrivateDescent` on data sets that no page reports.

The rule's numbers (tacit.algorithms.stochastic.private_descent) are held against others, one at a time: the clipping
norm, the number of passes, how far the model reaches. Printed are the mean accuracy and log-loss over all sets and
seeds for each epsilon, zero-out. The second table compares with objective perturbation for two classes. Run from the
root of the project: `python scripts/tune_descent.py` (about ten minutes), or `... two` for the second table alone.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from math import sqrt

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.datasets import load_diabetes, load_iris, make_blobs, make_gaussian_quantiles, make_hastie_10_2, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from tacit.accounting.calibration import gaussian_mu
from tacit.algorithms.stochastic import private_descent as descent
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.losses.several_classes import MultinomialLoss
from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit.problems import Stochastic
from tacit_models import Ledger, PrivateLogisticRegression

EPSILONS, DELTA, SEEDS = (0.3, 1.0, 3.0, 8.0), 1e-6, 3
Table = tuple[np.ndarray, np.ndarray]


def diabetes() -> Table:
    X, y = load_diabetes(return_X_y=True)
    return X, (y > np.median(y)).astype(int)


def hastie() -> Table:
    X, y = make_hastie_10_2(4000, random_state=1)
    return np.hstack([X, X**2]), (y > 0).astype(int)


def quantiles() -> Table:
    X, y = make_gaussian_quantiles(n_samples=3000, n_features=6, n_classes=4, random_state=2)
    return PolynomialFeatures(2, include_bias=False).fit_transform(X), y


def moons() -> Table:
    X, y = make_moons(2000, noise=0.25, random_state=3)
    waves = np.random.default_rng(3).normal(size=(2, 60)) * 1.5
    return np.cos(X @ waves + np.arange(60)), y


def noisy_labels() -> Table:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(5000, 40)) @ rng.normal(size=(40, 40)) / 6
    return X, (rng.random(5000) < expit(1.2 * X @ rng.normal(size=40) / 2)).astype(int)


def counts() -> Table:
    rng = np.random.default_rng(5)
    rates = rng.gamma(0.3, 1.0, size=(6, 300))
    y = rng.integers(6, size=4000)
    X = rng.poisson(rates[y] * 0.25)
    return X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None], y


def twenty_classes() -> Table:
    return make_blobs(6000, 30, centers=20, cluster_std=6.0, random_state=6)


def wide() -> Table:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1500, 200))
    return X, (X @ rng.normal(size=200) + 4 * rng.normal(size=1500) > 0).astype(int)


SETS: dict[str, Callable[[], Table]] = {
    "iris": lambda: load_iris(return_X_y=True),
    "diabetes, above the median": diabetes,
    "hastie, squares": hastie,
    "gaussian quantiles": quantiles,
    "eight blobs": lambda: make_blobs(3000, 16, centers=8, cluster_std=5.0, random_state=8),
    "moons, waves": moons,
    "noisy labels": noisy_labels,
    "counts": counts,
    "twenty classes": twenty_classes,
    "wide": wide,
}


def split(name: str, seed: int) -> list[np.ndarray]:
    """Rows of norm 1 at most with the intercept's constant, for training and test, then their labels."""
    X, y = SETS[name]()
    parts = train_test_split(X, y, test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(parts[0])
    rows = []
    for part in parts[:2]:
        scaled = scaler.transform(part)
        scaled = scaled / np.maximum(1.0, np.linalg.norm(scaled, axis=1))[:, None]
        rows.append(np.hstack([scaled, np.full((len(scaled), 1), 0.35)]))
    return [*rows, *parts[2:]]


def fitted(rows: np.ndarray, labels: np.ndarray, epsilon: float, seed: int, scales: tuple[float, float, float]):
    """A model by the rule, with the clipping norm, the passes and the reach times these."""
    count, (records, width) = int(labels.max()) + 1, rows.shape
    two = count == 2
    loss = LogisticLoss() if two else MultinomialLoss(1.0, count)
    problem = Stochastic(domain=Ball(width * (1 if two else count)), loss=loss, horizon=records)
    rho, scores = records * gaussian_mu(epsilon, DELTA), 1 if two else count
    plan = descent.PrivateDescent.calibrate(
        problem,
        epsilon=epsilon,
        delta=DELTA,
        relation="zero-out",
        clip=min(scales[0] * descent.rule_clip(rho, scores, width), 1.0 if two else sqrt(2.0)),
        steps=max(4, round(scales[1] * max(descent.FEWEST_STEPS, descent.STEPS * sqrt(rho)))),
    )
    reach = scales[2] * descent.rule_reach(rho, scores, width)
    plan = replace(plan, eta=descent.rule_rate(rho, plan.clip, plan.steps, reach, scores))
    columns = np.where(labels == 1, 1.0, -1.0)[:, None] if two else np.column_stack([labels, np.ones(records)]) * 1.0
    clipped = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    noise = DiscreteGaussian.from_streams(Randomness.replayable(seed), "noise")
    return descent.descend(plan, descent.whole_rows(plan, clipped), columns, noise).reshape(plan.scores, -1)


def scored(model: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Accuracy and log-loss."""
    scores = rows @ model.T
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    loss = np.mean(logsumexp(scores, axis=1) - scores[np.arange(len(labels)), labels])
    return float(np.mean(scores.argmax(axis=1) == labels)), float(loss)


def rule() -> None:
    """Hold the rule's numbers against others."""
    print("clip, steps and reach times; accuracy/log-loss at epsilon", *EPSILONS)
    splits = [split(name, seed) for name in SETS for seed in range(SEEDS)]
    for scales in [
        (1, 1, 1), (0.7, 1, 1), (1.5, 1, 1), (2, 1, 1), (1, 0.6, 1), (1, 1.6, 1), (1, 1, 0.5), (1, 1, 2), (1.5, 1, 1.5)
    ]:  # fmt: skip
        cells = []
        for epsilon in EPSILONS:
            found = [
                scored(fitted(parts[0], parts[2], epsilon, seed, scales), parts[1], parts[3])
                for seed, parts in enumerate(splits)
            ]
            cells.append("{:.3f}/{:.3f}".format(*np.mean(found, axis=0)))
        print(*scales, *cells, flush=True)


def two_classes() -> None:
    """Hold descent against objective perturbation, as the estimator fits them."""
    print("two classes: accuracy/log-loss of descent, then of objective perturbation, at epsilon", *EPSILONS)
    for name in SETS:
        parts = [split(name, seed) for seed in range(SEEDS)]
        if parts[0][2].max() > 1:
            continue
        cells = []
        for epsilon in EPSILONS:
            for algorithm in ("descent", "objective"):
                found = []
                for seed, (rows, test, labels, held) in enumerate(parts):
                    model = PrivateLogisticRegression(
                        epsilon, DELTA, data_norm=1.0, classes=[0, 1], relation="zero-out", algorithm=algorithm,
                        random_state=seed, ledger=Ledger(),
                    ).fit(rows[:, :-1], labels)  # fmt: skip
                    chances = np.clip(model.predict_proba(test[:, :-1])[np.arange(len(held)), held], 1e-9, 1)
                    found.append((model.score(test[:, :-1], held), -np.mean(np.log(chances))))
                cells.append("{:.3f}/{:.3f}".format(*np.mean(found, axis=0)))
        print(f"{name} ({len(parts[0][0])} x {parts[0][0].shape[1]}):", *cells, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if "two" not in sys.argv:
        rule()
    two_classes()

"""Test scores of classifiers by the protocol of `benchmarks.estimators`: the same rows, splits and seeds for all."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np

from benchmarks import estimators

SETS = ("breast cancer", "digits", "synthetic")
EPSILONS = estimators.EPSILONS
DELTA = 1e-6

split = cache(estimators.split)


class Model(Protocol):
    """What is compared: something that fits and scores."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any: ...

    def score(self, X: np.ndarray, y: np.ndarray) -> float: ...


def scores(name: str, make: Callable[[int], Model], seeds: int = estimators.SEEDS) -> tuple[float, float]:
    """Mean and standard deviation of the test accuracy of a fresh model for each seed."""
    values = []
    for seed in range(seeds):
        train, test, train_labels, test_labels = split(name, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # replayable noise, and optimisers that stop early
            values.append(make(seed).fit(train, train_labels).score(test, test_labels))
    return float(np.mean(values)), float(np.std(values))


def table(kinds: Callable[[float, int], dict[str, Model]], sets: tuple[str, ...] = SETS) -> dict[str, float]:
    """Accuracies of all kinds of models at each epsilon; `kinds(epsilon, seed)` makes fresh ones."""
    results: dict[str, float] = {}
    for name in sets:
        for epsilon in EPSILONS:
            for kind in kinds(epsilon, 0):
                key = f"test accuracy on {name}, epsilon={epsilon:g}, {kind}"
                mean, deviation = scores(name, lambda seed, kind=kind, e=epsilon: kinds(e, seed)[kind])
                results[key], results[f"{key}, deviation"] = mean, deviation
        print(f"    accuracy on {name}: done", flush=True)
    return results


def fits(models: dict[str, Model], name: str) -> dict[str, Callable[[], object]]:
    """One fit of each model on the first training part, for timing."""
    train, _, labels, _ = split(name, 0)

    def work(model: Model) -> Callable[[], object]:
        def fit() -> None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(train, labels)

        return fit

    return {kind: work(model) for kind, model in models.items()}


def ours(epsilon: float, seed: int | None, relation: str, **options: Any) -> dict[str, Model]:
    """The two classifiers of tacit, without tuning."""
    models = estimators.models(epsilon, relation)
    made = {f"tacit {kind}": models[kind].set_params(random_state=seed, **options) for kind in ("logistic", "svc")}
    return {f"{kind} ({relation})": model for kind, model in made.items()}

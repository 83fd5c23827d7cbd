"""Test scores of classifiers by the protocol of `benchmarks.estimators`: the same rows, splits and seeds for all."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, Protocol

import numpy as np
from sklearn.metrics import accuracy_score, balanced_accuracy_score

from benchmarks import estimators
from tacit.estimators.budget import largest_mu
from tacit.estimators.linear_model import objective_plan

SETS = ("breast cancer", "digits", "synthetic")
PRIVATE_SETS = ("breast cancer", "digits", "wine", "100k x 50", "5% positives")
"""What private peers are compared on."""
FEW_SEEDS = {"100k x 50": 3}
WEIGHTS = {0: 1.0, 1: 19.0}
"""Public weights of the classes where one record in twenty is positive."""
EPSILONS = estimators.EPSILONS
DELTA = 1e-6

split = cache(estimators.split)


class Model(Protocol):
    """What is compared: something that fits and predicts."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any: ...

    def predict(self, X: np.ndarray) -> np.ndarray: ...


def scores(name: str, make: Callable[[int], Model], seeds: int | None = None) -> tuple[float, float]:
    """Mean and standard deviation of the test score of a fresh model for each seed."""
    values, count = [], seeds or FEW_SEEDS.get(name, estimators.SEEDS)
    rate = balanced_accuracy_score if name == "5% positives" else accuracy_score
    for seed in range(count):
        train, test, train_labels, test_labels = split(name, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # replayable noise, and optimisers that stop early
            values.append(rate(test_labels, make(seed).fit(train, train_labels).predict(test)))
    return float(np.mean(values)), float(np.std(values))


def title(name: str) -> str:
    """What is measured on this set."""
    return f"{'balanced ' if name == '5% positives' else ''}test accuracy on {name}"


def table(
    kinds: Callable[[float, int | None, str], dict[str, Model]], sets: tuple[str, ...] = SETS
) -> dict[str, float]:
    """Scores of all kinds of models at each epsilon; `kinds(epsilon, seed, name of the data)` makes fresh ones."""
    results: dict[str, float] = {}
    for name in sets:
        for epsilon in EPSILONS:
            for kind in kinds(epsilon, 0, name):
                key = f"{title(name)}, epsilon={epsilon:g}, {kind}"
                mean, deviation = scores(name, lambda seed, kind=kind, e=epsilon, n=name: kinds(e, seed, n)[kind])
                results[key], results[f"{key}, deviation"] = mean, deviation
        print(f"    {name}: done", flush=True)
    return results


def fits(models: dict[str, Model], name: str) -> dict[str, Callable[[], object]]:
    """One fit of each model on the first training part, for timing."""
    train, _, labels, _ = split(name, 0)

    def work(model: Model) -> Callable[[], object]:
        def fit() -> None:
            objective_plan.cache_clear()  # calibration counts
            largest_mu.cache_clear()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(train, labels)

        return fit

    return {kind: work(model) for kind, model in models.items()}


def ours(
    epsilon: float, seed: int | None, relation: str, name: str = "", mark: str = "", **options: Any
) -> dict[str, Model]:
    """The two classifiers of tacit, without tuning; with public class weights too where few are positive."""
    models = estimators.models(epsilon, relation)
    if name == "wine":
        options["classes"] = [0, 1, 2]
    made = {f"tacit {kind}": models[kind].set_params(random_state=seed, **options) for kind in ("logistic", "svc")}
    found = {f"{kind} ({relation}){mark}": model for kind, model in made.items()}
    if name == "5% positives" and "class_weight" not in options:
        found |= ours(epsilon, seed, relation, name, f"{mark}; class weights", class_weight=WEIGHTS, **options)
    return found

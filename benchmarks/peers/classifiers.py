"""Test scores of classifiers by the protocol of `benchmarks.estimators`: the same rows, splits and seeds for all.

For each set, epsilon and model: accuracy (balanced where few are positive), log-loss (probabilities of at least 1e-6),
area under the curve (one class against the others where there are several), and seconds of a fit.
"""

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from scipy.special import softmax
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, roc_auc_score

from benchmarks import estimators
from tacit_models.budget import largest_mu
from tacit_models.linear_model import calibrated

PRIVATE_SETS = (
    "breast cancer", "digits", "ten-class digits", "wine", "text", "heavy tails", "one-hot", "wide", "100k x 50",
    "2% positives", "5% positives",
)  # fmt: skip
"""What private peers are compared on."""
PARTS = (*PRIVATE_SETS, "regression", "times")
"""What can be measured alone."""
CLASSES = {"wine": 3, "ten-class digits": 10}
FEW_SEEDS = {
    "ten-class digits": 3, "digits": 3, "text": 2, "wide": 2,
    **dict.fromkeys(("heavy tails", "one-hot", "100k x 50", "2% positives", "5% positives"), 1),
}  # fmt: skip
WEIGHTS = {0: 1.0, 1: 19.0}
"""Public weights of the classes where one record in twenty is positive."""
EPSILONS = (0.1, 0.3, 1.0, 3.0, 8.0)
DELTA = 1e-6

split = cache(estimators.split)


class Model(Protocol):
    """What is compared: something that fits and predicts, perhaps with margins or probabilities."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Any: ...

    def predict(self, X: np.ndarray) -> np.ndarray: ...


def scores(name: str, make: Callable[[int], Model], setting: str, seeds: int | None = None) -> dict[str, float]:
    """Means and standard deviations of what a fresh model has for each seed, named by measure, set and setting."""
    found: dict[str, list[float]] = {}
    count = seeds or FEW_SEEDS.get(name, estimators.SEEDS)
    for seed in range(count):
        train, test, train_labels, test_labels = split(name, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # replayable noise, and optimisers that stop early
            model = make(seed)
            start = perf_counter()
            model.fit(train, train_labels)
            seconds = perf_counter() - start
            for measure, value in measures(name, model, test, test_labels).items():
                found.setdefault(measure, []).append(value)
        found.setdefault("seconds of a fit", []).append(seconds)
    results: dict[str, float] = {}
    for measure, values in found.items():
        key = f"{measure} on {name}, {setting}"
        results[key] = float(np.mean(values))
        if count > 1 and measure != "seconds of a fit":
            results[f"{key}, deviation"] = float(np.std(values))
    return results


def measures(name: str, model: Any, test: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """What a fitted model has on the test part."""
    few = name.endswith("% positives")
    rate = balanced_accuracy_score if few else accuracy_score
    found = {f"{'balanced ' if few else ''}test accuracy": float(rate(labels, model.predict(test)))}
    chances = model.predict_proba(test) if hasattr(model, "predict_proba") else None
    if chances is not None:
        safe = np.clip(chances, 1e-6, 1.0)
        found["log-loss"] = float(log_loss(labels, safe / safe.sum(axis=1, keepdims=True)))
    if CLASSES.get(name, 2) == 2:
        margins = model.decision_function(test) if hasattr(model, "decision_function") else chances[:, 1]
        found["area under the curve"] = float(roc_auc_score(labels, margins))
    elif chances is not None or hasattr(model, "decision_function"):
        several = softmax(model.decision_function(test), axis=1) if chances is None else chances
        several = np.clip(several, 1e-300, 1.0)
        several = several / several.sum(axis=1, keepdims=True)
        found["area under the curve"] = float(roc_auc_score(labels, several, multi_class="ovr"))
    return found


def table(
    kinds: Callable[[float, int | None, str], dict[str, Model]],
    sets: Iterable[str],
    epsilons: tuple[float, ...] = EPSILONS,
) -> dict[str, float]:
    """Scores of all kinds of models at each epsilon; `kinds(epsilon, seed, name of the data)` makes fresh ones."""
    results: dict[str, float] = {}
    for name in (name for name in PRIVATE_SETS if name in sets):
        for epsilon in epsilons:
            for kind in kinds(epsilon, 0, name):
                setting = f"epsilon={epsilon:g}, {kind}"
                results |= scores(name, lambda seed, kind=kind, e=epsilon, n=name: kinds(e, seed, n)[kind], setting)
        print(f"    {name}: done", flush=True)
    return results


def fits(models: dict[str, Model], name: str) -> dict[str, Callable[[], object]]:
    """One fit of each model on the first training part, for timing."""
    train, _, labels, _ = split(name, 0)

    def work(model: Model) -> Callable[[], object]:
        def fit() -> None:
            calibrated.cache_clear()  # calibration counts
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
    if name in CLASSES:
        options["classes"] = list(range(CLASSES[name]))
    made = {f"tacit {kind}": models[kind].set_params(random_state=seed, **options) for kind in ("logistic", "svc")}
    found = {f"{kind} ({relation}){mark}": model for kind, model in made.items()}
    if name == "5% positives" and "class_weight" not in options:
        found |= ours(epsilon, seed, relation, name, f"{mark}; class weights", class_weight=WEIGHTS, **options)
    return found

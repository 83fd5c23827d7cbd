"""Test scores of regressions, on the diabetes data and on 100,000 rows: the same rows, splits and bounds for all."""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.peers.classifiers import EPSILONS
from benchmarks.peers.scikit_learn_peer import SEEDS, regression_split
from tacit_models import Ledger, PrivateRidge


def regression_table(
    kinds: Callable[[float, int, str], dict[str, Any]], sets: tuple[str, ...] = ("diabetes", "synthetic")
) -> dict[str, float]:
    """R^2 and seconds of a fit, at each epsilon; rows in the unit ball, targets centred and in [-1, 1]."""
    results: dict[str, float] = {}
    for name in sets:
        for epsilon in EPSILONS:
            for kind in kinds(epsilon, 0, name):
                values, seconds = [], []
                for seed in range(SEEDS if name == "diabetes" else 1):
                    train, test, target, truth = regression_split(name, seed)
                    start = perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # replayable noise
                        model = kinds(epsilon, seed, name)[kind].fit(train, target)
                    seconds.append(perf_counter() - start)
                    values.append(1 - np.sum((model.predict(test) - truth) ** 2) / np.sum((truth - truth.mean()) ** 2))
                key = f"R^2 on {name}, epsilon={epsilon:g}, {kind}"
                results[key], results[f"{key}, deviation"] = float(np.mean(values)), float(np.std(values))
                results[f"seconds of a fit on {name}, epsilon={epsilon:g}, {kind}"] = float(np.mean(seconds))
        print(f"    {name} regression: done", flush=True)
    return results


def ridge(epsilon: float, seed: int, relation: str, mark: str = "", **options: Any) -> dict[str, Any]:
    """The regression of tacit, without tuning."""
    common = {"relation": relation, "random_state": seed, "ledger": Ledger(), "data_norm": 1.0, "label_bound": 1.0}
    return {f"tacit ridge ({relation}){mark}": PrivateRidge(epsilon, **common, **options)}

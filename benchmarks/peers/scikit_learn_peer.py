"""scikit-learn without privacy: what tacit's estimators cost in time and in test score."""

import warnings

import numpy as np
from sklearn.datasets import load_diabetes, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.peers.classifiers import EPSILONS, PARTS, PRIVATE_SETS, Model, fits, ours, scores
from benchmarks.peers.timing import in_turns
from tacit_models import Ledger, PrivateRidge

PACKAGES = ("scikit-learn", "numpy", "scipy", "tacit")
ABOUT = """scikit-learn's estimators with their defaults and no privacy, on the sets and splits of the private peers
below; mean and standard deviation over up to 10 seeds (3 or more on digits, 2 on text and wide, 1 to 3 where there are
20,000 rows or more). Ridge regression of tacit is at delta=1e-6 under replacement of one record; its targets are
centred and scaled into [-1, 1] beforehand. Fit time: the fastest of five fits in turns, 70,000 rows of 20 features,
epsilon=1."""
SEEDS = 10


def measure(*parts: str) -> dict[str, float]:
    parts = parts or PARTS
    results: dict[str, float] = {}
    for name in (name for name in PRIVATE_SETS if name in parts):
        for kind, make in references().items():
            results |= scores(name, lambda _, make=make: make(), f"epsilon=none, {kind}")
    results |= regression() if "regression" in parts else {}
    return results | (times() if "times" in parts else {})


def references() -> dict[str, type[Model]]:
    return {"scikit-learn LogisticRegression": LogisticRegression, "scikit-learn LinearSVC": LinearSVC}


def ridge(epsilon: float, seed: int | None) -> PrivateRidge:
    return PrivateRidge(epsilon, data_norm=1.0, label_bound=1.0, random_state=seed, ledger=Ledger())


def regression() -> dict[str, float]:
    """R^2 of ridge regression; targets are centred and scaled into [-1, 1]."""
    results: dict[str, float] = {}
    for name in ("diabetes", "synthetic"):
        found: dict[str, list[float]] = {}
        for seed in range(SEEDS):
            train, test, target, truth = regression_split(name, seed)
            models = {"epsilon=none, scikit-learn Ridge": Ridge()}
            models |= {f"epsilon={epsilon:g}, tacit ridge (replace)": ridge(epsilon, seed) for epsilon in EPSILONS}
            for kind, model in models.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # replayable noise
                    score = model.fit(train, target).score(test, truth)
                found.setdefault(f"R^2 on {name} regression, {kind}", []).append(score)
        for key, values in found.items():
            results[key], results[f"{key}, deviation"] = float(np.mean(values)), float(np.std(values))
    return results


def regression_split(name: str, seed: int) -> list[np.ndarray]:
    X, y = (
        load_diabetes(return_X_y=True)
        if name == "diabetes"
        else make_regression(100_000, 20, noise=50.0, random_state=42)
    )
    train, test, target, truth = train_test_split(X, y, test_size=0.3, random_state=seed)
    scaler = StandardScaler().fit(train)
    rows = [scaler.transform(part) for part in (train, test)]
    rows = [part / np.maximum(1.0, np.linalg.norm(part, axis=1))[:, None] for part in rows]
    centre = target.mean()
    bound = np.abs(target - centre).max()
    return [*rows, (target - centre) / bound, (truth - centre) / bound]


def times() -> dict[str, float]:
    """Milliseconds of a fit, and tacit's over scikit-learn's."""
    private = ours(1.0, None, "replace")
    works = fits({kind: make() for kind, make in references().items()} | private, "synthetic")
    train, _, target, _ = regression_split("synthetic", 0)
    works["scikit-learn Ridge"] = lambda: Ridge().fit(train, target)
    works["tacit ridge (replace)"] = lambda: ridge(1.0, None).fit(train, target)
    best = in_turns(works)
    results = {f"fit of 70000 x 20 in milliseconds, {kind}": 1e3 * seconds for kind, seconds in best.items()}
    pairs = zip(list(best)[:2], list(best)[2:4], strict=True)
    for theirs, mine in [*pairs, ("scikit-learn Ridge", "tacit ridge (replace)")]:
        results[f"ratio of fit times, {mine} / {theirs}"] = best[mine] / best[theirs]
    return results

"""diffprivlib's logistic regression: test accuracy and fit time."""

from diffprivlib.models import LogisticRegression

from benchmarks.peers.classifiers import SETS, Model, fits, ours, table
from benchmarks.peers.timing import in_turns

PACKAGES = ("diffprivlib", "scikit-learn", "numpy", "tacit")
ABOUT = """diffprivlib's LogisticRegression (objective perturbation after Chaudhuri et al., pure privacy, replacement
of one record) with its defaults and data_norm=1. tacit at the same contract is marked "pure"; at delta=1e-6 it may
use less noise. Rows are standardised (which is not counted as private) and clipped to the unit ball, 70/30 splits, no
tuning; mean and standard deviation over 10 seeds. Fit time: the fastest of five fits in turns at epsilon=1,
calibration included."""


def measure() -> dict[str, float]:
    results = table(kinds)
    for name in SETS:
        best = in_turns(fits(kinds(1.0, None), name))
        for kind, seconds in best.items():
            results[f"fit in milliseconds, data={name}, {kind}"] = 1e3 * seconds
        mine, theirs = "tacit logistic (replace), pure", "diffprivlib LogisticRegression (replace), pure"
        results[f"ratio of fit times, data={name}, {mine} / {theirs}"] = best[mine] / best[theirs]
    return results


def kinds(epsilon: float, seed: int | None) -> dict[str, Model]:
    pure = {f"{kind}, pure": model for kind, model in ours(epsilon, seed, "replace", delta=0.0).items()}
    theirs = LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)
    return {"diffprivlib LogisticRegression (replace), pure": theirs, **pure, **ours(epsilon, seed, "replace")}

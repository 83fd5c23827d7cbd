"""diffprivlib's logistic and linear regression: test scores and fit time."""

from diffprivlib.models import LinearRegression, LogisticRegression

from benchmarks.peers.classifiers import PARTS, Model, fits, ours, table
from benchmarks.peers.regressors import regression_table, ridge
from benchmarks.peers.timing import in_turns

PACKAGES = ("diffprivlib", "scikit-learn", "numpy", "tacit")
ABOUT = """diffprivlib's LogisticRegression (objective perturbation after Chaudhuri et al., pure privacy, replacement of
one record) with its defaults and data_norm=1, and its LinearRegression (functional mechanism) with the bounds -1 and 1,
which solves noisy equations without regularisation: hence R^2 far below 0. tacit at the same contract is marked "pure";
at delta=1e-6 it may use less noise. Rows are standardised (which is not counted as private; text and one-hot rows are
not) and clipped to the unit ball, 70/30 splits, no tuning; mean and standard deviation over up to 10 seeds (3 or more
on digits, 2 on text and wide, 1 to 3 where there are 20,000 rows or more). Where few records are positive the balanced
accuracy counts: 0.5 is deciding blindly; "class weights" are public, 1 to 19. Fit time: the fastest of five fits in
turns at epsilon=1, calibration included, on a machine that others used. Not blind: when the line between classes is
searched for, and how much ridge is regularised, was chosen with 5% positives and diabetes in view."""


def measure(*parts: str) -> dict[str, float]:
    parts = parts or PARTS
    results = table(kinds, parts) | (regression_table(regressions) if "regression" in parts else {})
    for name in ("breast cancer", "digits", "100k x 50") if "times" in parts else ():
        best = in_turns(fits(kinds(1.0, None, name), name))
        for kind, seconds in best.items():
            results[f"fit in milliseconds, data={name}, {kind}"] = 1e3 * seconds
        mine, theirs = "tacit logistic (replace), pure", "diffprivlib LogisticRegression (replace), pure"
        results[f"ratio of fit times, data={name}, {mine} / {theirs}"] = best[mine] / best[theirs]
    return results


def kinds(epsilon: float, seed: int | None, name: str) -> dict[str, Model]:
    theirs = LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)
    pure = ours(epsilon, seed, "replace", name, ", pure", delta=0.0)
    return {"diffprivlib LogisticRegression (replace), pure": theirs, **pure, **ours(epsilon, seed, "replace", name)}


def regressions(epsilon: float, seed: int, name: str) -> dict[str, Model]:
    theirs = LinearRegression(epsilon=epsilon, bounds_X=(-1.0, 1.0), bounds_y=(-1.0, 1.0), random_state=seed)
    pure = ridge(epsilon, seed, "replace", ", pure", delta=0.0)
    return {"diffprivlib LinearRegression (replace), pure": theirs, **pure, **ridge(epsilon, seed, "replace")}

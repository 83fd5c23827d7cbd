"""Opacus: linear models by DP-SGD, test scores and fit time."""

import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from scipy.special import softmax
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.peers.classifiers import DELTA, EPSILONS, PARTS, PRIVATE_SETS, fits, ours, scores, split, table
from benchmarks.peers.regressors import regression_table, ridge
from benchmarks.peers.timing import in_turns

PACKAGES = ("opacus", "torch", "numpy", "tacit")
ABOUT = """Opacus trains a linear model by DP-SGD: 20 epochs of Poisson batches of 64 (1024 for 20,000 rows or more),
learning rate 1 (regression 0.1), gradients clipped to norm 1, its default accountant, add-or-remove of one record.
tacit's estimators run at the same (epsilon, delta=1e-6) under zero-out, the relation nearest to it. Rows are
standardised (which is not counted as private; text and one-hot rows are not) and clipped to the unit ball, 70/30
splits; mean and standard deviation over up to 10 seeds (3 or more on digits, 2 on text and wide, 1 to 3 where there are
20,000 rows or more). Where few records are positive the balanced accuracy counts, and "class weights" are public, 1 to
19. Fit time at epsilon=1 with calibration: the fastest of three fits in turns (one on 100k x 50), torch on one thread,
on a machine that others used."""

torch.set_num_threads(1)
BATCH = dict.fromkeys(("100k x 50", "2% positives", "5% positives", "heavy tails", "one-hot", "synthetic"), 1024)
EPOCHS, THEIRS = 20, "Opacus (add or remove)"


def measure(*parts: str) -> dict[str, float]:
    parts = parts or PARTS
    results = table(lambda epsilon, seed, name: ours(epsilon, seed, "zero-out", name), parts)
    for name in PRIVATE_SETS:
        for epsilon in EPSILONS if name in parts else ():
            results |= theirs(name, epsilon)
    results |= regression_table(regressions) if "regression" in parts else {}
    return results | (times() if "times" in parts else {})


def regressions(epsilon: float, seed: int, name: str) -> dict:
    return ridge(epsilon, seed, "zero-out") | {THEIRS: DPSGD(epsilon, seed, BATCH.get(name, 64), regression=True)}


def theirs(name: str, epsilon: float) -> dict[str, float]:
    """The scores of Opacus over the seeds; the noise is calibrated once, outside of the time of a fit."""
    size = BATCH.get(name, 64)
    noise = noise_multiplier(epsilon, 1 / -(-len(split(name, 0)[0]) // size))
    return scores(name, lambda seed: DPSGD(epsilon, seed, size, noise), f"epsilon={epsilon:g}, {THEIRS}")


def times() -> dict[str, float]:
    """Seconds of a fit, and tacit's over Opacus's."""
    results: dict[str, float] = {}
    mine = "tacit logistic (zero-out)"
    for name in ("breast cancer", "digits", "100k x 50"):
        models = {mine: ours(1.0, None, "zero-out")[mine], THEIRS: DPSGD(1.0, 0, BATCH.get(name, 64))}
        best = in_turns(fits(models, name), batches=1 if name == "100k x 50" else 3)
        for kind, seconds in best.items():
            results[f"fit in milliseconds, data={name}, {kind}"] = 1e3 * seconds
        results[f"ratio of fit times, data={name}, {mine} / {THEIRS}"] = best[mine] / best[THEIRS]
    return results


class DPSGD:
    """A linear model trained by Opacus: of two classes, of several, or a regression."""

    def __init__(
        self, epsilon: float, seed: int, batch: int, noise: float | None = None, regression: bool = False
    ) -> None:
        self.epsilon, self.seed, self.batch, self.noise, self.regression = epsilon, seed, batch, noise, regression

    def fit(self, X: np.ndarray, y: np.ndarray) -> "DPSGD":
        torch.manual_seed(self.seed)
        self.several = not self.regression and len(np.unique(y)) > 2
        labels = torch.tensor(y) if self.several else _tensor(y)
        loader = DataLoader(TensorDataset(_tensor(X), labels), batch_size=self.batch)
        noise = self.noise or noise_multiplier(self.epsilon, 1 / len(loader))
        model = torch.nn.Linear(X.shape[1], len(np.unique(y)) if self.several else 1)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=0.1 if self.regression else 1.0),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )
        losses = torch.nn.MSELoss() if self.regression else torch.nn.BCEWithLogitsLoss()
        criterion = torch.nn.CrossEntropyLoss() if self.several else losses
        for _ in range(EPOCHS):
            for rows, labels in loader:
                optimizer.zero_grad()
                if len(rows):
                    found = model(rows)
                    criterion(found if self.several else found[:, 0], labels).backward()
                    optimizer.step()
        self.model = model
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found = self.model(_tensor(X)).numpy()
        if self.regression:
            return found[:, 0]
        return np.argmax(found, axis=1) if self.several else (found[:, 0] > 0).astype(int)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found = self.model(_tensor(X)).double().numpy()
        return softmax(found if self.several else np.column_stack([np.zeros(len(found)), found[:, 0]]), axis=1)


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def noise_multiplier(epsilon: float, rate: float) -> float:
    """Opacus's own calibration, as `make_private_with_epsilon` does it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_noise_multiplier(
            target_epsilon=epsilon, target_delta=DELTA, sample_rate=rate, epochs=EPOCHS, accountant="prv"
        )

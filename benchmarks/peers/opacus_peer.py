"""Opacus: logistic regression by DP-SGD, test accuracy and fit time."""

import warnings

import numpy as np
import torch
from opacus import PrivacyEngine
from opacus.accountants.utils import get_noise_multiplier
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.peers.classifiers import DELTA, EPSILONS, SETS, fits, ours, scores, split, table
from benchmarks.peers.timing import in_turns

PACKAGES = ("opacus", "torch", "numpy", "tacit")
ABOUT = """Opacus trains a linear model by DP-SGD: Poisson batches of 64 (1024 on synthetic), learning rate 1,
gradients clipped to norm 1, one pass or 20 epochs, its default accountant, add-or-remove of one record. tacit's
estimators run at the same (epsilon, delta=1e-6) under zero-out, the relation nearest to it, and under replacement,
which protects more. Rows are standardised (which is not counted as private) and clipped to the unit ball, 70/30
splits; mean and standard deviation over 10 seeds (Opacus on synthetic: 3 for one epoch, 1 for 20). Fit time at
epsilon=1 with calibration: the fastest of three fits in turns (one for 20 epochs on synthetic), torch on one
thread."""

torch.set_num_threads(1)
BATCH = {"breast cancer": 64, "digits": 64, "synthetic": 1024}


def measure() -> dict[str, float]:
    results = table(lambda epsilon, seed: ours(epsilon, seed, "zero-out") | ours(epsilon, seed, "replace"))
    for name in SETS:
        for epochs in (1, 20):
            for epsilon in EPSILONS:
                key = f"test accuracy on {name}, epsilon={epsilon:g}, {label(epochs)}"
                values = accuracy(name, epochs, epsilon)
                results |= dict(zip((key, f"{key}, deviation"), values, strict=False))
        print(f"    Opacus on {name}: done", flush=True)
    return results | times()


def label(epochs: int) -> str:
    return f"Opacus, {epochs} epoch{'s' if epochs > 1 else ''} (add or remove)"


def accuracy(name: str, epochs: int, epsilon: float) -> tuple[float, ...]:
    """Mean over the seeds, and deviation if there are several; the noise is calibrated once."""
    batches = -(-len(split(name, 0)[0]) // BATCH[name])
    noise = noise_multiplier(epsilon, epochs, 1 / batches)
    seeds = 10 if name != "synthetic" else 3 if epochs == 1 else 1
    found = scores(name, lambda seed: DPSGD(epsilon, epochs, seed, BATCH[name], noise), seeds)
    return found if seeds > 1 else found[:1]


def times() -> dict[str, float]:
    """Seconds of a fit, and tacit's over Opacus's."""
    results: dict[str, float] = {}
    mine = "tacit logistic (zero-out)"
    for name in SETS:
        models = {mine: ours(1.0, None, "zero-out")[mine]}
        best = in_turns(fits(models | {label(1): DPSGD(1.0, 1, 0, BATCH[name])}, name), batches=3)
        long = fits({label(20): DPSGD(1.0, 20, 0, BATCH[name])}, name)
        best |= in_turns(long, batches=1 if name == "synthetic" else 3)
        for kind, seconds in best.items():
            results[f"fit in milliseconds, data={name}, {kind}"] = 1e3 * seconds
        for kind in long | {label(1): None}:
            results[f"ratio of fit times, data={name}, {mine} / {kind}"] = best[mine] / best[kind]
    return results


class DPSGD:
    """A linear model trained by Opacus."""

    def __init__(self, epsilon: float, epochs: int, seed: int, batch: int, noise: float | None = None) -> None:
        self.epsilon, self.epochs, self.seed, self.batch, self.noise = epsilon, epochs, seed, batch, noise

    def fit(self, X: np.ndarray, y: np.ndarray) -> "DPSGD":
        torch.manual_seed(self.seed)
        loader = DataLoader(TensorDataset(_tensor(X), _tensor(y)), batch_size=self.batch)
        noise = self.noise or noise_multiplier(self.epsilon, self.epochs, 1 / len(loader))
        model = torch.nn.Linear(X.shape[1], 1)
        model, optimizer, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
            data_loader=loader,
            noise_multiplier=noise,
            max_grad_norm=1.0,
        )
        criterion = torch.nn.BCEWithLogitsLoss()
        for _ in range(self.epochs):
            for rows, labels in loader:
                optimizer.zero_grad()
                if len(rows):
                    criterion(model(rows)[:, 0], labels).backward()
                    optimizer.step()
        self.model = model
        return self

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        with torch.no_grad():
            return float(np.mean((self.model(_tensor(X))[:, 0].numpy() > 0) == (y == 1)))


def _tensor(values: np.ndarray) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def noise_multiplier(epsilon: float, epochs: int, rate: float) -> float:
    """Opacus's own calibration, as `make_private_with_epsilon` does it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return get_noise_multiplier(
            target_epsilon=epsilon, target_delta=DELTA, sample_rate=rate, epochs=epochs, accountant="prv"
        )

"""Private models and training with PyTorch: what is recorded of them (needs scikit-learn)."""

from __future__ import annotations

import json
import warnings
from itertools import product
from typing import Any

import numpy as np

import tacit
import tacit_models
from frozen.rounds import digest, numbers, summary
from tacit_models.torch import EpochPlan

EPOCHS = (
    {"epochs": 1, "batches": 1},
    {"epochs": 20, "batches": 5},
    {"epochs": 20, "batches": 5, "relation": "zero-out"},
    {"epochs": 3, "batches": 7, "rows_per_person": 4},
    {"epochs": 3, "batches": 7, "hashed": True},
    {"epochs": 40, "batches": 1, "clip": 0.5, "epsilon": 8.0},
)
STATISTICS = {
    "PrivateRidge": {"data_norm": 1.0, "label_bound": 1.0},
    "PrivateStandardScaler": {"bounds": (-1, 1)},
    "PrivateMean": {"bounds": (-1, 1)},
    "PrivateHistogram": {"edges": [-1, 0, 0.5, 1]},
    "PrivateQuantile": {"quantiles": [0.25, 0.75], "bounds": (-1, 1), "steps": 4},
    "PrivateCovariance": {"data_norm": 1.0},
}
RELATIONS = ("replace", "zero-out")
DELTAS = (1e-9, 1e-6, 1e-3)


def table() -> tuple[Any, Any, Any]:
    """Return rows of norm at most 1, their classes and their targets."""
    rows = 2 * numbers("rows of models", 400, 4) - 1
    rows = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
    score = rows @ [2.0, -1.0, 0.0, 0.5]
    return rows, (score > 0).astype(int), np.clip(score / 3, -1, 1)


def models() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return by name the class of a model and its arguments besides noise and ledger."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    target = {"epsilon": 2.0, "delta": 1e-6}
    of_classes = {"data_norm": 1.0, "classes": [0, 1]}
    kinds = ("PrivateLogisticRegression", "PrivateLinearSVC")
    for kind, algorithm, relation in product(kinds, ("objective", "one-pass"), RELATIONS):
        asked = {**target, **of_classes, "algorithm": algorithm, "relation": relation}
        found[f"{kind}, {algorithm}, {relation}"] = (kind, asked)
    for relation in RELATIONS:
        related = {"relation": relation}
        pure = {"epsilon": 2.0, "delta": 0.0, **of_classes, **related}
        found[f"PrivateLogisticRegression, pure, {relation}"] = (kinds[0], pure)
        for kind, asked in STATISTICS.items():
            found[f"{kind}, {relation}"] = (kind, {**target, **asked, **related})
    return found


def fitted(name: str) -> tuple[Any, Any]:
    """Fit a model with replayable noise; return the model and the ledger that was charged."""
    kind, asked = models()[name]
    ledger = tacit_models.Ledger(100.0, 1e-6)
    rows, classes, targets = table()
    fit_to = {"PrivateRidge": (rows, targets), "PrivateHistogram": (rows[:, :1],)}
    given = fit_to.get(kind, (rows, classes) if "classes" in asked else (rows,))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # replayable noise is not private
        source = tacit.Randomness.replayable(7)
        model = getattr(tacit_models, kind)(**asked, random_state=source, ledger=ledger)
        model.fit(*given)
    return model, ledger


def released(model: Any) -> list[float]:
    """Return every number that a fitted model released."""
    names = ("coef_", "intercept_", "mean_", "scale_", "counts_", "quantiles_", "covariance_")
    parts = [np.ravel(getattr(model, name)) for name in names if hasattr(model, name)]
    return np.concatenate([np.asarray(part, dtype=float) for part in parts]).tolist()


def model_fields(model: Any, ledger: Any) -> dict[str, Any]:
    """Return what is recorded of a fitted model and of its ledger."""
    numbers_released = released(model)
    charged = ledger.to_dict()
    names = ("name", "epsilon", "delta", "contract", "voided")
    return {
        "released": digest(numbers_released),
        "summary": summary(numbers_released),
        "spent": charged["spent"],
        "charges": [{name: entry[name] for name in names} for entry in charged["entries"]],
    }


def epoch_fields(asked: dict[str, Any]) -> dict[str, Any]:
    """Calibrate epochs of training; return what is recorded of their accounting."""
    plan = EpochPlan.calibrate(**asked)
    guarantee = plan.guarantee
    fields = {f"epsilon at {delta:g}": guarantee.epsilon(delta) for delta in DELTAS}
    names = ("numerics", "released", "theorem", "unit", "assumed")
    fields.update({name: getattr(guarantee, name) for name in names})
    fields["mu"] = plan.mu
    fields["scale"] = plan.scale
    fields["errors"] = digest(plan.errors().tolist())
    fields["summary of errors"] = summary(plan.errors().tolist())
    return fields


def entries() -> list[dict[str, Any]]:
    """Return the lines of every model and of every plan of epochs."""
    found = []
    for name in models():
        model, ledger = fitted(name)
        guarantee = json.loads(model.guarantee_.to_json())
        found.append({"name": name, "guarantee": guarantee, **model_fields(model, ledger)})
    for changes in EPOCHS:
        asked = {"records": 1000, "parameters": 50, "epsilon": 1.0, "delta": 1e-6, **changes}
        name = ", ".join(f"{key} {value}" for key, value in changes.items())
        found.append({"name": f"torch, {name}", "asked": asked, **epoch_fields(asked)})
    return found

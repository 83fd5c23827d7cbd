"""What 0.3 computed for private models and for training with PyTorch, line by line."""

import json

import pytest

pytest.importorskip("sklearn")

from frozen import lines, models
from tacit.accounting.guarantee import Guarantee

ENTRIES = lines.read("models.txt")
FITTED = [entry for entry in ENTRIES if "guarantee" in entry]
TRAINED = [entry for entry in ENTRIES if "asked" in entry]


def name_of(entry):
    return entry["name"]


def assert_same(entry, found, tolerance):
    """Fail with one line for each field that differs."""
    changed = list(lines.differences(entry, found, tolerance))
    assert not changed, "\n".join(f"models.txt, {entry['name']}: {change}" for change in changed)


def test_every_kind_of_model_is_frozen():
    assert {entry["name"].partition(",")[0] for entry in FITTED} == {
        "PrivateCovariance",
        "PrivateHistogram",
        "PrivateLinearSVC",
        "PrivateLogisticRegression",
        "PrivateMean",
        "PrivateQuantile",
        "PrivateRidge",
        "PrivateStandardScaler",
    }
    assert len(TRAINED) >= 6


@pytest.mark.parametrize("entry", FITTED, ids=name_of)
def test_models(entry):
    """The same rows and noise give the same model, charge and guarantee, which is read as saved."""
    model, ledger = models.fitted(entry["name"])
    assert_same(entry, models.model_fields(model, ledger), lines.tolerance())
    saved = Guarantee.from_json(json.dumps(entry["guarantee"]))
    for delta in lines.DELTAS:
        found = model.guarantee_.epsilon(delta)
        wanted = saved.epsilon(delta)
        same = lines.agree(wanted, found, lines.tolerance())
        assert same, f"models.txt, {entry['name']}: epsilon at {delta}, {wanted!r} != {found!r}"
    assert str(saved).partition("\n")[2] == str(model.guarantee_).partition("\n")[2]


@pytest.mark.parametrize("entry", TRAINED, ids=name_of)
def test_training(entry):
    """Epochs of training have the same accounting."""
    assert_same(entry, models.epoch_fields(entry["asked"]), lines.tolerance_of_searches())

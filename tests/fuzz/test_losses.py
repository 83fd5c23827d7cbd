"""Losses: made or refused; at any data a finite value and a gradient no longer than promised."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import N, examples, nearly, odd_arrays, one_of, values
from tacit.losses.loss import LinkLoss, RowLoss


def distance(x, z):
    """The value of a loss of one's own."""
    return abs(x[0] - z)


def sign(x, z):
    """Its gradient; fails for what is no number."""
    return [1.0 if x[0] > z else -1.0] * len(x)


LOSSES = {
    type(loss).__name__: loss
    for loss in (
        tacit.losses.LinearLoss(),
        tacit.losses.QuadraticLoss(strength=2.0),
        tacit.losses.LogisticLoss(data_norm=1e-30),
        tacit.losses.SquaredLoss(label_bound=1e30),
        tacit.losses.HuberLoss(transition=1e-30),
        tacit.losses.SmoothedHingeLoss(smoothing=1e-30),
        tacit.losses.HingeLoss(),
        tacit.losses.AbsoluteLoss(label_bound=1e30),
        tacit.losses.QuantileLoss(level=1e-12),
        tacit.losses.RegularisedLoss(tacit.losses.LogisticLoss(), 0.5),
        tacit.losses.CustomLoss(distance, sign, lipschitz=1.0),
    )
}
PAIRS = LinkLoss
MADE = (
    tacit.losses.ConvexFamily(1.0),
    tacit.losses.ConvexFamily(1.0, 1.0, "glm"),
    tacit.losses.CustomLoss(distance, sign, lipschitz=1.0),
    tacit.losses.LinearLoss(),
    tacit.losses.QuadraticLoss(),
    tacit.losses.LogisticLoss(),
    tacit.losses.SquaredLoss(),
    tacit.losses.HuberLoss(),
    tacit.losses.SmoothedHingeLoss(),
    tacit.losses.HingeLoss(),
    tacit.losses.AbsoluteLoss(),
    tacit.losses.QuantileLoss(),
    tacit.losses.RegularisedLoss(tacit.losses.QuadraticLoss(), 1.0),
)


@pytest.mark.parametrize("made", MADE, ids=repr)
@examples(10)
@given(data=st.data(), radius=one_of(1.0, 1e-60, 1e60))
def test_losses_are_made_or_refused(made, data, radius):
    arguments = data.draw(nearly(**{field.name: getattr(made, field.name) for field in fields(made) if field.init}))
    loss = attempt(lambda: type(made)(**arguments))
    if loss is REFUSED:
        return
    assert loss.family in ("linear", "glm", "general", "custom")
    for domain in (None, tacit.domains.Ball(2, radius=radius)):
        constants = attempt(lambda domain=domain: loss.constants(domain))
        assert constants.lipschitz > 0
        assert constants.smoothness >= constants.strong_convexity >= 0
        assert domain is None or constants.lipschitz < math.inf
        assert domain is None or loss.height(domain) >= 0
    assert isinstance(repr(loss), str)


@pytest.mark.parametrize("name", LOSSES)
@examples(20)
@given(data=odd_arrays(dimensions=(1, 1, 2)), label=values | odd_arrays(columns=1, dimensions=(1,)), x=odd_arrays())
def test_values_and_gradients(name, data, label, x):
    loss = LOSSES[name]
    records = [(data, label), label] if isinstance(loss, PAIRS) else [data, label]
    inputs = [entry for entry in (data, label) if isinstance(entry, np.ndarray)]
    # What a function of the user's raises in `value` is the user's; `gradient` is what learners call.
    also = (
        ()
        if isinstance(loss, RowLoss)
        else (TypeError, ValueError, IndexError, AttributeError, UserWarning, RuntimeWarning)
    )
    for record in records:
        value = attempt(lambda record=record: loss.value(x, record), *inputs, also=also)
        assert value is REFUSED or also or np.all(np.isfinite(value))
        attempt(lambda record=record: loss.gradient(x, record), *inputs, also=also)
        gradient = attempt(lambda record=record: loss.gradient(np.zeros(N), record), *inputs, also=also)
        if gradient is not REFUSED:
            assert np.all(np.isfinite(gradient))
            norms = np.linalg.norm(np.atleast_2d(gradient), axis=1)
            assert np.all(norms <= loss.constants(tacit.domains.Ball(N)).lipschitz * (1 + 1e-9))


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "CustomLoss"])
@examples(12)
@given(data=odd_arrays(), label=values | odd_arrays(columns=1, dimensions=(1,)), many=st.booleans())
def test_packed_rows(name, data, label, many):
    loss = LOSSES[name]
    record = (data, label) if isinstance(loss, PAIRS) else data
    rows = attempt(lambda: loss.pack(record, N, many=many))
    if rows is not REFUSED:
        assert np.all(np.isfinite(rows))
        values_of = attempt(lambda: loss.values(np.zeros(N), rows))
        assert values_of.shape == (len(rows),)
        assert attempt(lambda: loss.gradients(np.zeros(N), rows)).shape == (len(rows), N)

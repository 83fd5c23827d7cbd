"""Curves as JSON, and the questions and arguments that every curve refuses."""

import json

import numpy as np
import pytest

from privacy.every_curve import CURVES, every
from tacit.errors import InvalidInput
from tacit.privacy import curves
from tacit.privacy.lazy import CappedChain, LazyChain


@every
def test_json_round_trip(curve):
    again = curves.Curve.from_dict(json.loads(json.dumps(curve.to_dict())))
    assert again == curve
    assert again.epsilon(1e-6) == curve.epsilon(1e-6)


def test_every_kind_of_curve_is_in_the_round_trip():
    assert {type(curve).__name__ for curve in CURVES} >= {
        "Pure",
        "Gaussian",
        "Approximate",
        "BoundedRange",
        "Renyi",
        "Sometimes",
        "Repeated",
        "Sum",
        "SamplerError",
        "LazyChain",
        "CappedChain",
    }


def test_numpy_integers_serialise():
    json.dumps(curves.Repeated(curves.Pure(0.1), np.int64(3)).to_dict())


@pytest.mark.parametrize("content", [{}, {"curve": "Nonsense"}, {"curve": None}])
def test_unknown_curve(content):
    with pytest.raises(InvalidInput, match="A curve must be one of"):
        curves.Curve.from_dict(content)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf, True, "1", None, 1j])
@pytest.mark.parametrize(
    "make",
    [
        lambda x: curves.Pure(x),
        lambda x: curves.Gaussian(x),
        lambda x: curves.BoundedRange(x),
        lambda x: curves.Approximate(x, 0.1),
        lambda x: curves.Approximate(0.1, x),
        lambda x: curves.Sometimes(x, curves.Pure(1.0)),
        lambda x: curves.Repeated(curves.Pure(1.0), x),
        lambda x: curves.SamplerError(curves.Pure(1.0), x, 1),
        lambda x: curves.SamplerError(curves.Pure(1.0), 0.1, x),
        lambda x: LazyChain(x, 0.5, 0.7, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, x, 0.7, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, x, 0.1, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, 0.7, x, curves.Pure(1.0)),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), batch=x),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), rounds_per_person=x),
        lambda x: LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0), drift=x),
        lambda x: CappedChain(LazyChain(3, 0.5, 0.7, 0.1, curves.Pure(1.0)), x),
    ],
)
def test_bad_arguments(make, bad):
    with pytest.raises(InvalidInput, match="must be"):
        make(bad)


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf, True, "1", None])
@every
def test_bad_questions(curve, bad):
    with pytest.raises(InvalidInput, match="'epsilon'"):
        curve.delta(bad)
    with pytest.raises(InvalidInput, match="'delta'"):
        curve.epsilon(bad)


@every
def test_delta_of_one_is_refused(curve):
    with pytest.raises(InvalidInput, match="'delta'"):
        curve.epsilon(1.0)


def test_lazy_chain_needs_ordered_keep_probabilities():
    with pytest.raises(InvalidInput, match="keep"):
        LazyChain(3, 0.8, 0.7, 0.1, curves.Pure(1.0))


@pytest.mark.parametrize(
    ("orders", "values"),
    [
        ([], []),
        ([2.0], [1.0, 2.0]),
        ([[2.0]], [[1.0]]),
        ([1.0], [1.0]),
        ([3.0, 2.0], [1.0, 1.0]),
        ([2.0], [-1.0]),
        ([2.0], [np.nan]),
    ],
)
def test_bad_renyi_tables(orders, values):
    with pytest.raises(InvalidInput, match="Renyi"):
        curves.Renyi(orders, values)

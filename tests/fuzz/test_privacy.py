"""Curves, guarantees, conversions and searches: a number on the private side, or a clear error."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, nearly, numbers, one_of, values
from tacit.accounting import curves
from tacit.accounting.calibration import gaussian_mu
from tacit.accounting.composition import Composition, Failing, Responses, TwoSteps, compose
from tacit.accounting.lazy import CappedChain, LazyChain
from tacit.accounting.objective_perturbation import LinkedReleases

PURE, GAUSSIAN, RANGE = curves.Pure(0.1), curves.Gaussian(1.0), curves.BoundedRange(0.3)
TABLE = curves.Renyi([2.0], [0.1])
CURVES = {
    curves.Pure: nearly(value=1.0),
    curves.Gaussian: nearly(mu=1.0),
    curves.Approximate: nearly(value=1.0, at=1e-6),
    curves.BoundedRange: nearly(width=0.3),
    curves.Renyi: nearly(orders=one_of([2.0, 3.0], [2.0], []), values=one_of([1.0, 1.0], [0.5], [math.inf, math.inf])),
    curves.Repeated: nearly(
        curve=one_of(PURE, curves.Gaussian(0.1), curves.BoundedRange(1e-5)), count=one_of(3, 10**12)
    ),
    curves.Sum: nearly(parts=one_of((), (PURE,), (PURE, curves.Gaussian(0.5)))),
    curves.SamplerError: nearly(curve=one_of(PURE, GAUSSIAN), distance=1e-9, draws=3),
    Responses: nearly(values=one_of((0.1,), (0.1, 0.3), ()), counts=one_of((3,), (2, 5), (10**12,))),
    Failing: nearly(curve=one_of(PURE, GAUSSIAN), failure=one_of(1e-9, 0.0)),
    TwoSteps: nearly(curve=one_of(PURE, GAUSSIAN, curves.Approximate(0.1, 1e-9))),
    Composition: nearly(
        parts=one_of((PURE, GAUSSIAN), (curves.Approximate(0.1, 1e-9), RANGE)),
        deltas=one_of(None, (0.0, 1e-6), (1e-6,)),
    ),
    LinkedReleases: nearly(
        move=one_of(0.2, 1e-9, 50.0), growth=one_of(0.3, 0.0, 1e6), replacement=one_of(True, False),
        protection=one_of(0.01, 0.0), releases=one_of(1, 3),
    ),
    LazyChain: nearly(
        decisions=one_of(5, 10**9), keep_low=one_of(0.5, 0.0), keep_high=one_of(0.7, 1.0), bit=one_of(0.1, 1e-300),
        draw=one_of(curves.BoundedRange(0.1), TABLE, curves.SamplerError(PURE, 1e-9, 1)), drift=one_of(0.0, 0.01),
        hazards=one_of(None, (0.35667494393873245, 0.3364722366212129)),
    ),
    CappedChain: nearly(
        chain=one_of(LazyChain(5, 0.5, 0.7, 0.1, curves.BoundedRange(0.1)), LazyChain(5, 0.5, 1.0, 0.1, TABLE)),
        cap=one_of(0, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", CURVES, ids=lambda kind: kind.__name__)
@examples(25)
@given(data=st.data(), epsilon=values, delta=values)
def test_curves(kind, data, epsilon, delta):
    arguments = data.draw(CURVES[kind])
    curve = attempt(lambda: kind(**arguments))
    if curve is REFUSED:
        return
    assert attempt(lambda: curves.Curve.from_dict(json.loads(json.dumps(curve.to_dict())))) == curve
    for at in (delta, 1e-6):
        found = attempt(lambda at=at: curve.epsilon(at))
        assert found is REFUSED or found >= 0
        if found is not REFUSED and 0 < found < 1e3:
            assert attempt(lambda found=found: curve.delta(found)) <= max(at, 1e-14) * (1 + 1e-6)
    for at in (epsilon, 1.0):
        found = attempt(lambda at=at: curve.delta(at))
        assert found is REFUSED or 0 <= found <= 1
    twice = attempt(lambda: compose([curve, curve]))
    assert twice is REFUSED or twice.pure() >= curve.pure()
    assert np.all(attempt(lambda: curve.renyi(np.array([1.5, 2.0, 1e6]))) >= 0)


@examples(40)
@given(
    content=st.dictionaries(one_of("kind", "value", "mu", "curve", "count", "parts"), values | one_of("Pure", "Sum"))
)
def test_curves_from_descriptions(content):
    for given_as in (content, {"kind": "Pure", **content}, {"kind": "Repeated", "curve": content, "count": 2}):
        curve = attempt(lambda given_as=given_as: curves.Curve.from_dict(given_as))
        assert curve is REFUSED or isinstance(curve, curves.Curve)


GUARANTEE = {
    "curve": one_of(curves.Pure(1.0), curves.Gaussian(1.0)),
    "at_delta": one_of(1e-6, 0.0),
    "released": "decisions",
    "theorem": "Theorem 1",
    "relation": one_of(tacit.REPLACE, tacit.ZERO_OUT, "replace"),
    "rounds_per_person": one_of(1, 2),
}


@examples(40)
@given(arguments=nearly(**GUARANTEE), other=nearly(**GUARANTEE), epsilon=values, delta=values, label=values)
def test_guarantees(arguments, other, epsilon, delta, label):
    guarantee = attempt(lambda: tacit.Guarantee(**arguments))
    second = attempt(lambda: tacit.Guarantee(**other))
    if guarantee is REFUSED:
        return
    found = attempt(lambda: guarantee.epsilon(delta))
    assert found is REFUSED or found >= 0
    found = attempt(lambda: guarantee.delta(epsilon))
    assert found is REFUSED or 0 <= found <= 1
    assert attempt(lambda: str(guarantee)).startswith("epsilon=")
    assert attempt(lambda: tacit.Guarantee.from_json(guarantee.to_json())) == guarantee
    stamped = attempt(lambda: guarantee.with_randomness(label))
    assert stamped is REFUSED or stamped.private in (True, False)
    assert "enforced" in attempt(lambda: str(guarantee.with_enforced_persons()))
    for others in ((guarantee,), (second,), (label,), ()):
        total = attempt(lambda others=others: guarantee.compose(*others))
        assert total is REFUSED or total.curve.pure() >= guarantee.curve.pure()
    assert guarantee.notion
    replaced = attempt(guarantee.as_replacement)
    assert replaced.relation == tacit.REPLACE
    assert replaced.curve.pure() >= guarantee.curve.pure()


@examples(60)
@given(
    text=st.text(max_size=40)
    | st.dictionaries(st.sampled_from([*GUARANTEE, "x"]), st.integers(-1, 2) | st.none() | st.text(max_size=3)).map(
        json.dumps
    )
    | st.sampled_from(["{}", "[]", "1", '{"curve": 1}', '{"curve": {"curve": "Pure"}}', "null", '{"curve": NaN}'])
    | values
)
def test_guarantees_from_json(text):
    assert attempt(lambda: tacit.Guarantee.from_json(text)) is REFUSED


@examples(40)
@given(epsilon=values | st.floats(0.001, 10), delta=values | st.just(1e-6))
def test_gaussian_mu(epsilon, delta):
    target = attempt(lambda: tacit.runtime.target.Target(epsilon, delta))
    if target is not REFUSED:
        mu = attempt(lambda: gaussian_mu(target.epsilon, target.delta))
        assert mu is REFUSED or curves.Gaussian(mu).delta(target.epsilon) <= target.delta


@examples(20)
@given(name=values, value=numbers)
def test_relations_and_bounds(name, value):
    assert attempt(lambda: tacit.accounting.guarantee.as_relation("test", name)) in (REFUSED, *tacit.Relation)
    bound = attempt(lambda: tacit.RegretBound(value, "formula"))
    assert isinstance(str(bound), str)
    assert repr(float(bound)) == repr(value)

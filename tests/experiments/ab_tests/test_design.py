"""Designs: what is refused by name, and what is read back."""

import json

import pytest

from experiments.ab_tests.test_promise import FOUR, design_of
from tacit.errors import InvalidInput, PrivacyError
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum, metric_from_dict, metric_from_words
from tacit_experiments.ab_tests.weights import weights

METRICS = (Conversion("bought"), Sum("revenue", 100.0))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"arms": "ab"}, "a list"),
        ({"arms": ("a",)}, "2 to 64"),
        ({"arms": ("a", "a")}, "2 to 64"),
        ({"arms": tuple(map(str, range(65)))}, "2 to 64"),
        ({"arms": ("a", "b/c")}, "arms"),
        ({"arms": ("a", " b")}, "arms"),
        ({"default": "c"}, "default"),
        ({"name": ""}, "name"),
        ({"name": "a/b"}, "name"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": 20.5}, "epsilon"),
        ({"delta": 1e-21}, "delta"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"looks": 0}, "looks"),
        ({"looks": 13}, "looks"),
        ({"looks": True}, "looks"),
        ({"shares": (0.5, 0.6)}, "shares"),
        ({"shares": (1.0, 0.0)}, "shares"),
        ({"shares": (0.5,)}, "shares"),
        ({"metrics": ()}, "1 to 16"),
        ({"metrics": tuple(Conversion(str(number)) for number in range(17))}, "1 to 16"),
        ({"metrics": (Conversion("bought"), Sum("bought", 2.0))}, "name of its own"),
        ({"metrics": (Conversion("person"),)}, "says something else"),
        ({"metrics": ("bought",)}, "made of"),
        ({"metrics": (*METRICS, Ratio("r", "revenue", "nothing"))}, "two metrics of this test"),
        (
            {"metrics": (*METRICS, Ratio("r", "revenue", "bought"), Ratio("s", "r", "bought"))},
            "two metrics of this test",
        ),
        ({"primary": "nothing"}, "primary"),
        ({"guardrails": {"bought": 0.1}}, "guardrail"),
        ({"guardrails": {"nothing": 0.1}}, "guardrail"),
        ({"guardrails": {"revenue": 0.0}}, "guardrails"),
        ({"guardrails": ["revenue"]}, "margins"),
        ({"segments": {"bought": ("a", "b")}}, "another column"),
        ({"segments": {"arm": ("a", "b")}}, "another column"),
        ({"segments": {"device": "phone"}}, "list of cells"),
        ({"segments": {"device": ()}}, "different names"),
        ({"segments": {"device": ("a", "a")}}, "different names"),
        ({"segments": {"device": tuple(map(str, range(64)))}}, "at most 64 cells"),
        ({"segments": ["device"]}, "lists of cells"),
        ({"ledger": ""}, "ledger"),
    ],
    ids=str,
)
def test_a_design_that_is_refused(changed, words):
    given = {"name": "t", "arms": ("a", "b"), "metrics": METRICS, "epsilon": 1.0} | changed
    with pytest.raises((InvalidInput, PrivacyError), match=words):
        ABTest(**given)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Conversion("bought", 0.0),
        lambda: Conversion("bought", float("nan")),
        lambda: Conversion("bought", good="up"),
        lambda: Conversion(3),
        lambda: Sum("revenue", 0.0),
        lambda: Sum("revenue", float("inf")),
        lambda: Sum("revenue", 10.0, expected=10.0),
        lambda: Sum("revenue", 10.0, spread=6.0),
        lambda: Ratio("r", "a", "a"),
        lambda: metric_from_dict({"kind": "median", "name": "x"}),
        lambda: metric_from_dict({"kind": "sum", "name": "x", "low": 1}),
        lambda: metric_from_dict("bought"),
        lambda: metric_from_words("bought"),
        lambda: ABTest.from_dict({"mode": "adapt"}),
        lambda: ABTest.from_dict({"name": "t", "colour": "red"}),
        lambda: ABTest.from_dict({"metrics": "bought"}),
    ],
)
def test_a_metric_that_is_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_designs_are_described_and_read_back():
    design = design_of(
        (*FOUR, Ratio("basket", "revenue", "bought")),
        segments={"device": ("phone", "other", "desktop")},
        guardrails={"left": 0.1},
        shares=(0.2, 0.8),
    )
    assert design.segments == {"device": ("phone", "desktop", "other")}
    assert ABTest.from_dict(json.loads(json.dumps(design.to_dict()))) == design


def test_a_ratio_shares_the_vector_with_its_two_metrics():
    plain = design_of((Conversion("bought"), *METRICS[1:]))
    with_ratio = design_of((*plain.metrics, Ratio("basket", "revenue", "bought"), Ratio("back", "bought", "revenue")))
    assert with_ratio.layout.pairs == ((0, 1),)
    assert len(weights(with_ratio)) == 4
    assert weights(with_ratio)[3] == pytest.approx(0.03)
    assert sum(weights(with_ratio)) == pytest.approx(1.0)
    alone = design_of(METRICS[1:])
    assert weights(alone)[0] <= 0.5

"""The guarantee: what it carries, how it reads, how it is stored, and what may be combined."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tacit.accounting import curves
from tacit.accounting.composition import Composition
from tacit.accounting.guarantee import EXACT, IDEALIZED, REPLACE, ZERO_OUT, Guarantee, Relation
from tacit.accounting.lazy import CappedChain, LazyChain
from tacit.accounting.objective_perturbation import GaussianAlternatives
from tacit.accounting.perturbed_minimisers import PerturbedMinimiser
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness

CHAIN = LazyChain(10, 0.5, 0.7, 0.3, curves.BoundedRange(0.6))
HALF = curves.Gaussian(0.5)


def contract(curve=HALF, at_delta=1e-6, released="every action", theorem="a proof", **fields):
    return Guarantee(curve, at_delta, released, theorem, **fields)


def test_json_round_trip():
    for fields in (
        {},
        {"relation": ZERO_OUT, "rounds_per_person": 3, "numerics": EXACT, "randomness": "replayable: x"},
    ):
        guarantee = contract(CHAIN, **fields)
        again = Guarantee.from_json(guarantee.to_json())
        assert again == guarantee
        assert isinstance(again.relation, Relation)
        assert again.epsilon() == guarantee.epsilon()


def test_a_fresh_process_reads_every_contract():
    """Contracts name the module of their curve: nothing else has to be loaded first, and nothing foreign is."""
    every = [
        CHAIN,
        CappedChain(CHAIN, 4),
        PerturbedMinimiser(1, 0.1, 0.2),
        GaussianAlternatives(0.1, (0.0, 0.5), (1, 1)),
        Composition((curves.Pure(0.1), CHAIN)),
    ]
    texts = [contract(curve).to_json() for curve in every]
    code = (
        "import json, sys; from tacit.accounting.guarantee import Guarantee\n"
        "for text in json.loads(sys.stdin.read()): assert Guarantee.from_json(text).to_json() == text\n"
    )
    subprocess.run([sys.executable, "-c", code], input=json.dumps(texts), text=True, check=True)
    for home in ("json.tool", "tacit.__main__", "tacit.nowhere", 3, None, "os; tacit.accounting.lazy"):
        with pytest.raises(InvalidInput, match="A curve must be one of"):
            curves.Curve.from_dict({"kind": "Nonsense", "home": home})


def test_str_is_the_whole_contract():
    text = str(contract(relation=ZERO_OUT, rounds_per_person=2))
    for word in (
        "epsilon=",
        "delta=1e-06",
        "Gaussian DP",
        "a proof",
        "everything one person answers in up to 2 rounds, together",
        "the limit is promised by you",
        "zero-out",
        "every action",
        "adaptive",
        "idealized",
        "computational",
    ):
        assert word in text
    assert "enforced by the store" in str(contract(rounds_per_person=2).with_enforced_persons())
    assert "what one person answers in one round;" in str(contract())
    assert "in one record;" in str(contract(unit="one record"))
    assert "(pure)" in str(contract(curves.Pure(0.5), 0.0))
    assert "epsilon=0.5 " in str(contract(curves.Pure(0.5), 0.0))
    assert str(REPLACE) == "replace"
    assert str(ZERO_OUT) == "zero-out"


def test_randomness_stamp():
    replayable = contract().with_randomness(Randomness.replayable(1).label)
    assert not replayable.private
    assert "replayable: not private" in str(replayable)
    secret = contract().with_randomness(Randomness.secret().label)
    assert secret.private
    assert contract().compose(replayable).private is False
    assert replayable.compose(contract()).private is False


def test_composition_adds_and_keeps_the_contract():
    whole = contract(curves.Gaussian(0.3), released="a").compose(
        contract(curves.Gaussian(0.4), 1e-5, released="b"), contract(curves.Gaussian(0.0), released="a")
    )
    assert whole.epsilon(1e-6) == pytest.approx(curves.Gaussian(0.5).epsilon(1e-6), rel=1e-6)
    assert whole.epsilon(1e-6) >= curves.Gaussian(0.5).epsilon(1e-6)
    assert whole.released == "a; b"
    assert whole.at_delta == pytest.approx(1.2e-5, rel=1e-12)
    assert whole.numerics == IDEALIZED
    assert contract(numerics=EXACT).compose(contract(numerics=EXACT)).numerics == EXACT
    assert contract(adversary="oblivious").compose(contract()).adversary == "oblivious"


def test_one_promised_limit_makes_the_whole_promised():
    kept = contract().with_enforced_persons()
    assert Guarantee.from_json(kept.to_json()) == kept
    assert kept.compose(kept).participation_limit == "enforced"
    assert kept.compose(contract()).participation_limit == "promised"
    with pytest.raises(InvalidInput, match="participation_limit"):
        contract(participation_limit="hoped for")


@pytest.mark.parametrize(
    "fields", [{"relation": ZERO_OUT}, {"unit": "one person"}, {"rounds_per_person": 2}], ids=lambda f: next(iter(f))
)
def test_mixing_contracts_raises(fields):
    with pytest.raises(PrivacyError, match=f"only under one {next(iter(fields))}"):
        contract().compose(contract(**fields))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("curve", 1.0),
        ("at_delta", 1.0),
        ("at_delta", -0.1),
        ("at_delta", np.nan),
        ("at_delta", True),
        ("relation", "add-one"),
        ("rounds_per_person", 0),
        ("rounds_per_person", 1.5),
    ],
)
def test_bad_fields(field, value):
    with pytest.raises(InvalidInput, match=f"'{field}'"):
        contract(**{field: value})

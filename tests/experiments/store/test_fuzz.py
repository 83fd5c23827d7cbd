"""Stores: nonsense is refused in one sentence, and nothing of it is written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
import tacit_experiments
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, nearly, one_of, values
from tacit_experiments.storage import engines

pytest.importorskip("sqlalchemy")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))
        with tacit_experiments.Store(tmp_path_factory.mktemp("store") / "decisions.db") as opened:
            opened.open("home", tacit.Experts(n=2, horizon=10**6), epsilon=1.0, delta=0.0)
            opened.ledger("people", epsilon=1.0)
            yield opened


@examples(30)
@given(key=st.none() | st.text() | values, number=one_of(0, 1, 2), feedback=st.just([0.5, 0.5]) | values)
def test_live(store, key, number, feedback):
    """Live.decide and Live.settle; whatever is asked, nothing is behind its marks."""
    live = store.open("home")
    before = store.export("home")
    decision = attempt(lambda: live.decide(key=key))
    after = store.export("home")
    if decision is REFUSED:
        assert after == before
    else:
        assert after["decisions"][decision.round]["action"] == decision.action
    if attempt(lambda: live.settle(number, feedback)) is REFUSED:
        assert store.epoch == after["store"]["epoch"]
    store.check_marks()
    assert json.dumps(store.export("home"))


@examples(30)
@given(
    name=one_of("home", "people"),
    target=nearly(problem=st.just(tacit.Experts(n=2, horizon=10**6)), epsilon=one_of(1.0, 2.0), delta=0.0),
    budget=nearly(epsilon=1.0, delta=1e-6, renews=one_of(None, "monthly")),
)
def test_store(store, name, target, budget):
    before = (store.learners, store.ledgers, store.epoch)
    if attempt(lambda: store.open(name, **target)) is REFUSED:
        assert (store.learners, store.ledgers, store.epoch) == before
    attempt(lambda: store.ledger(name, **budget))
    exported = attempt(lambda: store.export(name))
    assert exported is REFUSED or exported["name"] == name


@examples(10)
@given(where=values | st.just("mysql://x"), timeout=values)
def test_places(where, timeout):
    if not isinstance(where, str) or "://" in where:
        assert attempt(lambda: tacit_experiments.Store(where, timeout=timeout).close()) is REFUSED

"""One key in one batch: what is decided, what is dropped, and that running it again changes nothing. Without Spark."""

import sys

import numpy as np
import pandas as pd
import pytest

import tacit
from attacks import rows
from planted_bugs.fleet import CONTROLS
from tacit import Arms, Experts, InvalidInput, Randomness, Tracking
from tacit_experiments.fleet import contract, decide, explain, fleet
from tacit_experiments.fleet.deciding import Recipe, answer, name_of
from tacit_experiments.fleet.fleet import Fleet
from tacit_experiments.fleet.root import Root
from tacit_experiments.fleet.rows import MOST_MISSING, Report, ordered

KEY = bytes(range(60, 92))
SOURCE = Randomness.sealed(KEY)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
LOSSES = Randomness.replayable(4).stream("losses").random((60, 3))
PLANS = {
    "lazy": lambda: tacit.algorithms.LazyExperts(Experts(n=3, horizon=60), eta=0.5, force=0.2),
    "hedge": lambda: tacit.algorithms.HedgeOnSums.calibrate(Experts(n=3, horizon=60), **TARGET),
    "doubling": lambda: tacit.algorithms.LazyExperts.calibrate(Experts(n=3, horizon=None), **TARGET),
    "tracking": lambda: tacit.algorithms.LazyFixedShare.calibrate(Tracking(n=3, horizon=60, switches=2), **TARGET),
    "late": lambda: tacit.algorithms.LazyExperts(Experts(n=3, horizon=60, delay=3), eta=0.5, force=0.2),
}
LAZY = PLANS["lazy"]()
LATE = PLANS["late"]()


@pytest.fixture(scope="module", params=PLANS)
def plan(request):
    return PLANS[request.param]()


def step(plan, first, last, state=None, *, seal="batch", name=b"shop", order=slice(None), losses=LOSSES):
    rounds = np.arange(first, last)[order]
    return Fleet(plan, SOURCE, seal=seal).advance(name, state, rounds, losses[first:last][order])


def content(plan, state, name=b"shop"):
    return Fleet(plan, SOURCE).read(name, state).content


def test_every_round_is_decided_once(plan):
    one = step(plan, 0, 20)
    two = step(plan, 20, 59, one.state)
    assert (one.first, len(one.actions)) == (0, 21)  # the first decision needs no feedback, the last one has none
    assert (two.first, len(two.actions)) == (21, 39)
    assert one.report.empty
    assert two.report.empty


@pytest.mark.attack(rows.AGAIN)
def test_a_batch_that_is_run_again_gives_the_same_bytes(plan):
    one = step(plan, 0, 20)
    two = step(plan, 20, 40, one.state)
    backwards = step(plan, 20, 40, step(plan, 0, 20, order=slice(None, None, -1)).state, order=slice(None, None, -1))
    assert backwards == two == step(plan, 20, 40, one.state)
    assert step(plan, 0, 20, name=b"other").state != one.state


def test_arrays_decide_what_the_loop_decides(plan, monkeypatch):
    rounds, rows = np.r_[0:13, 15:30], np.r_[LOSSES[:13], LOSSES[15:30]]
    rows[4] = np.nan
    fast = Fleet(plan, SOURCE).advance(b"shop", None, rounds, rows)
    monkeypatch.setattr(fleet, "_play_now", fleet._play_late)
    slow = Fleet(plan, SOURCE).advance(b"shop", None, rounds, rows)
    assert fast.actions == slow.actions
    assert len(fast.actions) == 31


def test_sealed_by_row_batches_may_begin_anywhere(plan):
    whole = step(plan, 0, 30, seal="row")
    actions, state = [], None
    for first, last in ((0, 1), (1, 12), (12, 30)):
        part = step(plan, first, last, state, seal="row")
        state, actions = part.state, actions + part.actions
    assert actions == whole.actions
    assert state == whole.state
    assert step(plan, 0, 30).state != whole.state


@pytest.mark.parametrize(
    "control",
    [pytest.param(control, marks=pytest.mark.attack(control.row), id=control.name) for control in CONTROLS],
)
def test_other_rows_states_and_keys_have_other_noise(control):
    """The attacks that find the planted bugs find nothing here."""
    assert control.quiet()


def test_the_first_decision_is_asked_for_without_feedback(plan):
    nothing = np.full((1, 3), np.nan)
    first = Fleet(plan, SOURCE).advance(b"shop", None, np.array([-1]), nothing)
    assert (first.first, len(first.actions)) == (0, 1)
    next_one = step(plan, 0, 1, first.state)
    assert (next_one.first, len(next_one.actions)) == (1, 1)
    again = Fleet(plan, SOURCE).advance(b"shop", next_one.state, np.array([-1]), nothing)
    assert again.state == next_one.state
    assert again.actions == []
    assert again.report.late == 1


@pytest.mark.attack(rows.TWICE)
def test_duplicates_count_once():
    clean = step(LAZY, 0, 20)
    rounds, rows = np.r_[0:20, 5:9, 7], np.r_[LOSSES[:20], LOSSES[5:9], LOSSES[7:8]]
    doubled = Fleet(LAZY, SOURCE).advance(b"shop", None, rounds, rows)
    assert doubled.state == clean.state
    assert doubled.actions == clean.actions
    assert doubled.report.duplicates == 5
    assert "5 had come before" in doubled.report.text
    later = step(LAZY, 0, 20, clean.state)
    assert later.state == clean.state
    assert later.actions == []
    assert later.report.late == 20


@pytest.mark.attack(rows.ORDER)
def test_a_round_that_comes_twice_with_other_losses_counts_in_any_order_of_arrival_the_same_way():
    rounds = np.array([0, 1, 1, 1, 2])
    rows = np.array([[0.5] * 3, [0.1, 0.9, 0.9], [0.1, 0.2, 0.3], [np.nan] * 3, [0.5] * 3])
    states = set()
    for order in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [2, 0, 4, 1, 3]):
        one = Fleet(LAZY, SOURCE).advance(b"shop", None, rounds[order], rows[order])
        states.add(one.state)
        assert one.report.duplicates == 2
    assert len(states) == 1


def test_within_the_window_rows_come_in_any_order_and_beyond_it_they_are_dropped():
    start = Fleet(LATE, SOURCE).advance(b"shop", None, np.r_[0:5, 7:9], np.r_[LOSSES[:5], LOSSES[7:9]])
    assert len(start.actions) == 10
    in_time = step(LATE, 6, 7, start.state)
    assert in_time.report.empty
    assert in_time.actions == []
    assert [slot[0] for slot in content(LATE, in_time.state)["open"]] == [True, True, True, False]
    twice = step(LATE, 6, 7, in_time.state)
    assert twice.report.duplicates == 1
    assert twice.state == in_time.state
    late = step(LATE, 5, 6, start.state)
    assert late.report.late == 1
    # A row without feedback asks for decisions, and its feedback may follow.
    asked = Fleet(LATE, SOURCE).advance(b"shop", start.state, np.array([9]), np.full((1, 3), np.nan))
    assert len(asked.actions) == 1
    told = step(LATE, 9, 10, asked.state)
    assert told.report.empty
    assert told.actions == []
    assert told.state != asked.state


@pytest.mark.parametrize("bad", [[0.1, 1.5, 0.2], [0.1, np.nan, 0.2], [np.inf, 0, 0], [-0.1, 0, 0]])
def test_bad_losses_are_refused_without_telling_them_and_the_key_goes_on(bad):
    rows = LOSSES[:20].copy()
    rows[7] = bad
    one = Fleet(LAZY, SOURCE).advance(b"shop", None, np.arange(20), rows)
    rows[7] = np.nan
    missing = Fleet(LAZY, SOURCE).advance(b"shop", None, np.arange(20), rows)
    assert one.state == missing.state
    assert one.report.refused == 1
    assert (
        one.report.text == "Feedback must be 3 numbers in [0, 1] or null, from round 0 on: 1 row, the first of round 7."
    )
    assert missing.report.empty
    # With a delay the right losses may still follow.
    rows[7] = bad
    late = Fleet(LATE, SOURCE).advance(b"shop", None, np.arange(9), rows[:9])
    assert step(LATE, 7, 8, late.state).report.empty


def test_bad_rounds_are_refused():
    rows = LOSSES[:4]
    one = Fleet(LAZY, SOURCE).advance(b"shop", None, np.array([-2, 0, 60, 61]), rows)
    assert len(one.actions) == 2
    assert one.report.refused == 4  # the row of round -2 has losses, too
    assert "counted from 0" in one.report.text
    assert "60 rounds" in one.report.text
    long = tacit.algorithms.LazyExperts.calibrate(Experts(n=3, horizon=None), **TARGET)
    far = Fleet(long, SOURCE).advance(b"shop", None, np.array([0, 1, 2**40, 5]), rows)
    assert len(far.actions) == 7
    assert far.report.refused == 1
    assert f"{MOST_MISSING} rounds" in far.report.text


def test_a_key_ends_with_its_horizon(plan):
    if plan.horizon is None:
        return
    end = step(plan, 0, 60)
    assert len(end.actions) == 60
    after = Fleet(plan, SOURCE).advance(b"shop", end.state, np.array([60]), LOSSES[:1])
    assert after.actions == []
    assert after.report.refused == 1
    assert after.state == end.state


@pytest.mark.parametrize("delay", [0, 2])
def test_arms_reply_to_decisions_that_were_shown(delay):
    plan = tacit.algorithms.BatchedTsallis.calibrate(Arms(n=3, horizon=40, delay=delay), epsilon=2.0, delta=0.0)
    one = Fleet(plan, SOURCE).advance(b"shop", None, np.array([-1]), np.array([[np.nan]]))
    assert len(one.actions) == 1
    early = Fleet(plan, SOURCE).advance(b"shop", one.state, np.array([0, 1]), np.array([[0.5], [0.5]]))
    assert len(early.actions) == 2  # the row still moves the stream on, whatever it says
    assert early.report.refused == 1
    assert "follow their decisions" in early.report.text
    state, actions = one.state, list(one.actions)
    for number in range(40):
        part = Fleet(plan, SOURCE).advance(b"shop", state, np.array([number]), np.array([[0.25]]))
        state, actions = part.state, actions + part.actions
    assert len(actions) == 40
    assert set(actions) <= {0, 1, 2}


def test_other_problems_are_refused():
    plan = tacit.algorithms.PrivateFTRL.calibrate(
        tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LinearLoss(), horizon=20), **TARGET
    )
    with pytest.raises(InvalidInput, match="Experts, Tracking or Arms"):
        Fleet(plan, SOURCE)
    with pytest.raises(InvalidInput, match="Experts, Tracking or Arms"):
        contract("plan")


def test_signs_of_zero_are_one_loss():
    one, other = (ordered(LAZY.problem, 3, np.array([0]), np.array([[zero, 0.5, 1]]), Report()) for zero in (0.0, -0.0))
    assert one.content() == other.content()


@pytest.mark.attack(rows.TWO_KEYS)
def test_names_of_keys_do_not_collide():
    keys = [("1",), (1,), (True,), (b"1",), ("1", "1"), ("11",), ("1s1:1",), (1, 1), (11,), ("",), (np.int64(12),)]
    assert len({name_of(key) for key in keys}) == len(keys)
    assert name_of((np.int32(7),)) == name_of((7,))
    with pytest.raises(InvalidInput, match="no float"):
        name_of((1.5,))


@pytest.fixture
def recipe(tmp_path):
    (tmp_path / "root").write_bytes(KEY)
    return Recipe(LAZY, Root.found(f"file:{tmp_path}/root"), "batch", ("shop",))


def frame(first, last):
    return pd.DataFrame({"__round": np.arange(first, last), "__losses": list(LOSSES[first:last])})


def test_frames_of_pandas(recipe):
    state, shown = answer(recipe, ("shop",), [frame(0, 4), frame(4, 9)], None)
    assert state == Fleet(LAZY, SOURCE).advance(name_of(("shop",)), None, np.arange(9), LOSSES[:9]).state
    assert list(shown) == ["shop", "round", "action", "late", "duplicates", "refused", "problem"]
    assert shown["round"].tolist() == list(range(10))
    assert shown["problem"].isna().all()
    state, shown = answer(recipe, ("shop",), [frame(8, 11)], state)
    assert shown["round"].tolist()[:2] == [10, 11]
    assert shown["late"].tolist() == [0, 0, 1]
    assert shown.iloc[-1].isna().tolist() == [False, True, True, False, False, False, False]


@pytest.mark.attack(rows.NO_KEY)
@pytest.mark.parametrize("null", [None, float("nan"), np.float64("nan"), pd.NA], ids=str)
def test_rows_without_a_key_are_refused_and_stop_nothing(recipe, null):
    """An integer that is null comes as NaN, or NA."""
    same, shown = answer(recipe, (null,), [frame(3, 7)], None)
    assert same is None
    assert shown["refused"].tolist() == [4]
    assert shown["shop"].tolist() == [None]
    assert shown["problem"].tolist() == [
        "A key must not be null, and a text must be UTF-8: 4 rows, the first of round 3."
    ]


def test_losses_that_are_null_are_those_that_are_not_a_number(recipe):
    states = set()
    for row in ([None, None, None], np.full(3, np.nan), np.array([None, np.nan, None])):
        rows = pd.DataFrame({"__round": pd.array([0, 1], dtype="Int64"), "__losses": [LOSSES[0], row]})
        states.add(answer(recipe, ("shop",), [rows[:1], rows[1:]], None)[0])
    assert len(states) == 1


def test_another_version_goes_on_with_other_noise(monkeypatch):
    """Its draws may be made in another order: under the same keys two versions of a batch could share noise."""
    one = step(LAZY, 0, 20)
    monkeypatch.setattr(fleet, "__version__", "0.0.0")
    other = step(LAZY, 20, 40, one.state)
    monkeypatch.undo()
    assert other.first == 21
    assert other.state != step(LAZY, 20, 40, one.state).state


def test_the_contract_is_one_key_s_or_composes_several():
    comparison = tacit.plan(Experts(n=3, horizon=60), **TARGET)
    one = contract(comparison)
    assert one.epsilon() == comparison.guarantee.epsilon()
    assert one.private
    assert "parallel composition over keys" in one.theorem
    assert one.assumed == "nobody stands under two keys"
    three = contract(comparison.plan, keys_per_person=3)
    assert one.epsilon(1e-6) < three.epsilon() <= 3 * one.epsilon()
    assert three.at_delta == pytest.approx(3e-6)
    assert three.assumed == "nobody stands under more than 3 keys, in each in at most 1 round"
    assert tacit.Guarantee.from_json(three.to_json()) == three
    assert "Nobody stands under two keys" in explain(comparison)
    assert "may stand under 3 keys" in explain(comparison, keys_per_person=3)
    assert str(three) in explain(comparison, keys_per_person=3)
    with pytest.raises(InvalidInput, match="keys_per_person"):
        contract(comparison, keys_per_person=0)


def test_without_spark_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql.functions", None)
    with pytest.raises(tacit.MissingExtra, match=r"pip install 'tacit-experiments\[spark\]'"):
        decide(None, LAZY, key="shop", feedback=["a", "b", "c"], root=KEY, round="round")

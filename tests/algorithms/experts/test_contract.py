"""One contract for every learner over experts, whatever its algorithm."""

import json
from typing import ClassVar

import numpy as np
import pytest

from runtime.contract import LearnerContract, pytest_generate_tests
from runtime.contract import losses as small_losses
from tacit import Experts, Guarantee, InvalidInput, ProtocolError, Randomness
from tacit.algorithms import L2P, HedgeOnSums, LazyExperts, ScheduledExperts
from tacit.noise.running_sums import Tree

__all__ = ["pytest_generate_tests"]

SMALL = Experts(n=3, horizon=40)
WIDE = Experts(n=3, horizon=40, loss_range=(-2.0, 3.0))
OPEN = Experts(n=3, horizon=None)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
CUTS = (1, 2, 7, 600, 1023, 1024, 1025, 1030, 2048, 2299)


def step(learner, row):
    action = learner.play()
    learner.observe(row)
    return action


def loop(learner, rows):
    return np.array([step(learner, row) for row in rows])


def snapshot(learner):
    """The state, which holds nothing that has no meaning any more: rows that were already added up."""
    return learner.state_dict()


class TestContract(LearnerContract):
    """Two plans of each learner, and one of unknown horizon."""

    cases: ClassVar = {
        "lazy": lambda: (LazyExperts(WIDE, eta=0.3, force=0.1, batch=2), small_losses(3)),
        "lazy, capped": lambda: (LazyExperts(SMALL, eta=0.3, force=0.1, max_switches=4), small_losses(3)),
        "L2P": lambda: (L2P(SMALL, eta=0.3, force=0.1), small_losses(3)),
        "L2P, reference": lambda: (L2P(SMALL, eta=0.3, force=0.1, reference_force=0.1, batch=3), small_losses(3)),
        "scheduled": lambda: (ScheduledExperts(SMALL, eta=0.3), small_losses(3)),
        "scheduled, batches": lambda: (ScheduledExperts(WIDE, eta=0.3, batch=7), small_losses(3)),
        "hedge": lambda: (HedgeOnSums.calibrate(SMALL, **TARGET), small_losses(3)),
        "hedge, fresh": lambda: (HedgeOnSums.calibrate(SMALL, hold=False, **TARGET), small_losses(3)),
        "hedge, pure": lambda: (HedgeOnSums.calibrate(SMALL, epsilon=1.0, delta=0.0), small_losses(3)),
        "hedge, square root": lambda: (
            HedgeOnSums.calibrate(SMALL, mechanism=Tree(39), **TARGET),
            small_losses(3),
        ),
        "doubling": lambda: (LazyExperts.calibrate(OPEN, **TARGET), small_losses(3)),
    }


# --- playing -------------------------------------------------------------------------------------------------


def test_play_is_idempotent_and_actions_are_experts(plan, start, losses):
    learner = start()
    for row in losses[:60]:
        action = learner.play()
        assert all(learner.play() == action for _ in range(3))
        assert isinstance(action, int)
        assert 0 <= action < plan.problem.n
        learner.observe(row)
    assert learner.rounds == 60


def test_run_is_the_loop_bit_for_bit(start, losses):
    one, other = start(), start()
    wanted, got = loop(one, losses), other.run(losses)
    assert got.dtype == np.int64
    assert got.shape == (len(losses),)
    np.testing.assert_array_equal(got, wanted)
    assert other.switches == one.switches
    assert other.rounds == one.rounds == len(losses)
    assert snapshot(one) == snapshot(other)


def test_switches_count_changes_of_the_decision(plan, start, losses):
    learner = start()
    actions = learner.run(losses)
    changes = np.flatnonzero(np.diff(actions)) + 1
    if plan.horizon is None:  # a new epoch is no switch
        changes = changes[~np.isin(changes, (1024, 1024 + 2048))]
    assert learner.switches - len(changes) in (0, 1)  # one more if the decision after the last round changed


def test_split_runs_and_loops_mix(start, losses):
    wanted = start().run(losses)
    learner = start()
    parts = []
    for k, (first, last) in enumerate(zip((0, *CUTS), (*CUTS, len(losses)), strict=True)):
        if k % 4 == 1:
            learner.play()  # a round that was already begun
        parts.append(loop(learner, losses[first:last]) if k % 3 == 2 else learner.run(losses[first:last]))
    np.testing.assert_array_equal(np.concatenate(parts), wanted)


def test_run_ends_its_last_round(start, losses):
    learner = start()
    learner.play()
    learner.run(losses[:10])
    with pytest.raises(ProtocolError, match="before play"):
        learner.observe(losses[10])


def test_every_layout_and_number_type_is_the_same(plan, start, losses):
    low, high = plan.problem.loss_range
    rough = np.where(losses > (low + high) / 2, high, low)[:1100]  # exact in every type
    wanted = start().run(rough)
    strided = np.repeat(np.repeat(rough, 2, axis=0), 3, axis=1)[::2, ::3]
    frozen = rough.copy()
    frozen.flags.writeable = False
    assert not strided.flags.c_contiguous
    for matrix in (
        np.asfortranarray(rough),
        strided,
        frozen,
        rough.astype(np.float32),
        rough[:99].astype(np.float16),
        rough[:99].astype(np.int64),
        rough[:99].astype(np.int8),
        rough[:99].tolist(),
    ):
        np.testing.assert_array_equal(start().run(matrix), wanted[: len(matrix)])
        np.testing.assert_array_equal(loop(start(), matrix[:20]), wanted[:20])


def test_seeds_matter_and_repeat(start, losses):
    first = start(1).run(losses)
    np.testing.assert_array_equal(start(1).run(losses), first)
    different = any(not np.array_equal(start(seed).run(losses), first) for seed in range(2, 12))
    assert different


# --- state ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cut", "played"), [(0, True), (5, False), (1022, True), (2297, False)])
def test_state_continues_bit_for_bit(plan, start, losses, cut, played):
    learner = start()
    learner.run(losses[:cut])
    if played:
        learner.play()
    state = learner.state_dict()
    stored = json.dumps(state, allow_nan=False)
    wanted = learner.run(losses[cut:])
    finished = snapshot(learner)
    assert json.dumps(state) == stored  # going on does not touch it

    again = plan.restore(json.loads(stored))
    assert again.rounds == cut
    np.testing.assert_array_equal(again.run(losses[cut:]), wanted)
    assert snapshot(again) == finished
    again = plan.restore(state)
    np.testing.assert_array_equal(loop(again, losses[cut : cut + 50]), wanted[:50])

    elsewhere = start(77)
    elsewhere.run(losses[:13])
    elsewhere.load_state_dict(state)
    np.testing.assert_array_equal(elsewhere.run(losses[cut:]), wanted)


# --- aliasing ------------------------------------------------------------------------------------------------


def test_nothing_is_aliased(start, losses):
    wanted_learner = start()
    wanted = loop(wanted_learner, losses[:1500])
    learner = start()
    buffer = np.empty_like(losses[0])
    got = []
    for row in losses[:1500]:
        buffer[:] = row
        got.append(learner.play())
        learner.observe(buffer)
        buffer[:] = np.nan
    np.testing.assert_array_equal(got, wanted)
    assert snapshot(learner) == snapshot(wanted_learner)

    learner = start()
    matrix = losses[:700].copy()
    first = learner.run(matrix)
    kept = first.copy()
    matrix[:] = np.nan
    second = learner.run(losses[700:1500])
    np.testing.assert_array_equal(first, kept)
    first[:] = -1
    second_kept = second.copy()
    np.testing.assert_array_equal(np.concatenate([kept, second_kept]), wanted)
    np.testing.assert_array_equal(learner.run(losses[1500:]), wanted_learner.run(losses[1500:]))


def test_input_is_not_written_to(start, losses):
    kept = losses.copy()
    start().run(losses)
    loop(start(), losses[:50])
    np.testing.assert_array_equal(losses, kept)


# --- bad input -----------------------------------------------------------------------------------------------

BAD_VALUES = (np.nan, np.inf, -np.inf)


def bad_rows(plan):
    n = plan.problem.n
    low, high = plan.problem.loss_range
    good = np.full(n, low)
    for at in (0, n - 1):
        for value in (*BAD_VALUES, np.nextafter(low, -np.inf), np.nextafter(high, np.inf), 1e300, -1e300):
            row = good.copy()
            row[at] = value
            yield row
            yield row.tolist()
    both = good.copy()
    both[0], both[1] = np.inf, -np.inf
    yield both
    mixed = good.copy()
    mixed[0], mixed[1] = np.nan, high
    yield mixed
    yield np.full(n, np.float32(high) + np.float32(1))
    yield from (good[:-1], np.append(good, low), good[None, :], good[:, None], low, [], {}, "text", b"text")
    yield from (np.zeros(n, dtype=bool), [True] * n, good.astype(complex), good.astype(str), good.astype(object))
    yield from ([low] * (n - 1) + ["x"], [[low], [low, low], [low]], [None] * n, np.array(["2020"] * n, dtype="M8[s]"))
    yield from ([10**400] + [low] * (n - 1), good.astype(np.longdouble))


def one_sentence(error):
    text = str(error.value)
    assert text
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 300


def test_bad_rows_raise_and_change_nothing(plan, start, losses):
    learner, untouched = start(), start()
    learner.run(losses[:1000])
    wanted = untouched.run(losses)[1000:]
    learner.play()
    before = snapshot(learner)
    for row in bad_rows(plan):
        with pytest.raises(InvalidInput) as error:
            learner.observe(row)
        one_sentence(error)
    assert before == snapshot(learner)
    np.testing.assert_array_equal(loop(learner, losses[1000:1100]), wanted[:100])
    np.testing.assert_array_equal(learner.run(losses[1100:]), wanted[100:])


@pytest.mark.parametrize("at", [0, 950, 1299])
def test_a_bad_row_in_a_run_undoes_the_whole_run(plan, start, losses, at):
    learner = start()
    learner.run(losses[:100])
    learner.play()
    before = snapshot(learner)
    spoiled = losses[100:1400].copy()
    spoiled[at, -1] = BAD_VALUES[at % 3]
    with pytest.raises(InvalidInput, match=f"in row {at} ") as error:
        learner.run(spoiled)
    one_sentence(error)
    assert before == snapshot(learner)
    np.testing.assert_array_equal(learner.run(losses[100:1400]), start().run(losses[:1400])[100:])


def test_bad_matrices_raise_and_change_nothing(plan, start, losses):
    learner = start()
    before = snapshot(learner)
    n = plan.problem.n
    for matrix in (
        losses[0],
        losses[:, :-1],
        losses[None],
        0.0,
        None,
        "text",
        [[0.0] * n, [0.0]],
        losses > 0,
        losses.astype(complex),
        losses.astype(object),
        losses.astype(str),
    ):
        with pytest.raises(InvalidInput) as error:
            learner.run(matrix)
        one_sentence(error)
    assert before == snapshot(learner)


def test_too_many_rounds(plan, start, losses):
    learner = start()
    if plan.horizon is None:  # an unknown horizon has no end: twice as many rounds as the others are planned for
        assert len(learner.run(np.concatenate([losses, losses]))) == 2 * len(losses)
        return
    learner.run(losses[:-1])
    before = snapshot(learner)
    with pytest.raises(ProtocolError, match="1 are left, got 2") as error:
        learner.run(losses[:2])
    one_sentence(error)
    assert before == snapshot(learner)
    step(learner, losses[-1])
    before = snapshot(learner)
    for call in (learner.play, lambda: learner.run(losses[:1]), lambda: learner.observe(losses[0])):
        with pytest.raises(ProtocolError) as error:
            call()
        one_sentence(error)
        assert before == snapshot(learner)


# --- what it says about itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [5, "seed", np.random.default_rng(1)], ids=["int", "text", "generator"])
def test_other_sources_of_randomness_are_refused(plan, wrong):
    with pytest.raises(InvalidInput, match=r"Randomness\.secret"):
        plan.start(wrong)


def test_plan_reads_well_and_stores(plan, monkeypatch):
    monkeypatch.setattr("tacit.runtime.doubling.REFERENCE_ROUNDS", 1024)  # one epoch tells as much as seven
    text = plan.explain()
    for word in (plan.algorithm, "certified regret", "epsilon=", "released"):
        assert word in text
    assert Guarantee.from_json(plan.guarantee.to_json()) == plan.guarantee
    assert float(plan.regret_bound) > 0
    assert plan.regret_bound.formula in str(plan.regret_bound)
    assert plan.regret_bound.assumptions
    assert plan.expected_switches is None or plan.expected_switches <= (plan.horizon or np.inf)


def test_plan_is_frozen(plan):
    with pytest.raises(AttributeError):
        plan.problem = None


def test_mean_regret_is_under_the_certified_bound(plan, losses):
    """Twelve fixed seeds; losses of one good expert. A bound on the mean, so a margin of three standard errors."""
    total = losses.sum(axis=0)
    rounds = np.arange(len(losses))
    regrets = []
    for seed in range(12):
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[rounds, actions].sum() - total.min())
    bound = plan.regret_bound_at(len(losses)) if plan.horizon is None else plan.regret_bound
    error = np.std(regrets, ddof=1) / np.sqrt(len(regrets))
    assert np.mean(regrets) - 3 * error <= float(bound)

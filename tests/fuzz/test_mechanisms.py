"""Running sums, above threshold and selections."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt, snapshot
from fuzz.strategies import N, examples, nearly, odd_arrays, one_of, values
from tacit.algorithms.tracking.restart_on_shift import AboveThreshold
from tacit.noise.running_sums import Buffered, LaplaceTree, Tree
from tacit.noise.uniforms import Uniforms

KINDS = (Tree, Buffered, LaplaceTree)
each = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def generator():
    return tacit.Randomness.replayable(5).stream("fuzz")


@each
@examples(15)
@given(steps=values | one_of(0, 1, 7, 10**9, 10**12, 2**63 - 1), privacy=values, sensitivity=values, step=values)
def test_descriptions(kind, steps, privacy, sensitivity, step):
    mechanism = attempt(lambda: kind(steps))
    if mechanism is REFUSED:
        return
    norm = attempt(lambda: mechanism.column_norm)
    assert norm is REFUSED or 0 <= norm < math.inf
    assert attempt(lambda: mechanism.largest_row_norm) is REFUSED or mechanism.largest_row_norm >= 0
    found = attempt(lambda: mechanism.row_norm(step))
    assert found is REFUSED or 0 <= found < math.inf
    scale = attempt(lambda: mechanism.scale(privacy, sensitivity))
    assert scale is REFUSED or 0 <= scale < math.inf
    curve = attempt(lambda: mechanism.curve(privacy))
    assert curve is REFUSED or curve.epsilon(1e-6) >= 0
    assert isinstance(str(mechanism), str)


@each
@examples(25)
@given(
    arguments=nearly(dimension=N, scale=1.0),
    vectors=st.lists(st.tuples(odd_arrays(dimensions=(1, 1, 2)), values | one_of(1.0, 2.0)), max_size=4),
)
def test_running_sums(kind, arguments, vectors):
    sums = attempt(lambda: kind(3).start(noise=np.zeros, **arguments))
    if sums is REFUSED:
        return
    for vector, sensitivity in vectors:
        step = sums.step
        released = attempt(lambda vector=vector, sensitivity=sensitivity: sums.add(vector, sensitivity), sums)
        assert sums.step == step + (released is not REFUSED)
        # That vectors are finite is for the caller to enforce.
        assert (
            released is REFUSED or np.all(np.isfinite(released)) or not np.all(np.abs(sums.state_dict()["sum"]) < 1e300)
        )


@each
@examples(20)
@given(changed=one_of("step", "sensitivity", "sum", "missing", "whole"), value=values | odd_arrays())
def test_states_of_running_sums(kind, changed, value):
    sums, other = (kind(5).start(N, 1.0, np.ones) for _ in range(2))
    for _ in range(3):
        sums.add(np.ones(N))
        other.add(np.ones(N))
    state = sums.state_dict()
    if changed == "missing":
        state.pop(sorted(state)[0])
    spoiled = value if changed == "whole" else {**state, changed: value}
    if attempt(lambda: sums.load_state_dict(spoiled), sums) is REFUSED:
        assert np.array_equal(sums.add(np.ones(N)), other.add(np.ones(N)))


@examples(60)
@given(
    arguments=nearly(threshold=1, width=1, epsilon_threshold=1.0, epsilon_query=1.0),
    queries=st.lists(values, max_size=4),
    state=values | st.fixed_dictionaries({"noisy_threshold": values, "spent": values}),
)
def test_above_threshold(arguments, queries, state):
    uniforms = Uniforms.from_streams(tacit.Randomness.replayable(5), "fuzz")
    test = attempt(lambda: AboveThreshold(uniforms=uniforms, **arguments))
    if test is REFUSED:
        return
    for query in queries:
        before = snapshot(uniforms)
        answer = attempt(lambda query=query: test.test(query), test)
        assert answer in (True, False, REFUSED)
        assert answer is not REFUSED or snapshot(uniforms) == before
    attempt(lambda: test.load_state_dict(state), test)
    assert test.spent in (True, False)

"""Arrays that somebody writes to while they are read: what is used is what was checked, at every border.

For learners the contract of learners says so (`changing_memory_changes_nothing`).
"""

from contextlib import ExitStack
from multiprocessing import shared_memory

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import tacit
import tacit_models as estimators
from attacks import rows
from runtime.contract import numbers
from tacit import Randomness
from tacit.auditing.script import swapped
from tacit.noise.noisy_vectors import NoisyVectors, vector_grid
from tacit.noise.running_sums import CubeTree, LaplaceTree, Tree, best_gaussian
from tacit.noise.running_sums.accumulators import LossRecords, VectorRecords
from tacit.testing.playing import spoilt_at
from tacit.validation import BLOCK_ENTRIES, Rows, real_array
from tacit_experiments.fleet.fleet import Fleet
from tacit_models import grid_search, linear_model, statistics

LAZY = tacit.algorithms.LazyExperts(tacit.Experts(n=3, horizon=2000), eta=0.5, force=0.2)


def never_mixed(call, given, moments=100):
    """`call` sees its arrays as they were, or as they are: infinite from some event on, which it may refuse."""

    def outcome(event):
        made = []
        try:
            return spoilt_at(event, given, lambda mine: made.append(call(mine))), repr(made)
        except ValueError:
            return 0, "refused"

    events, honest = outcome(0)
    allowed = {honest, outcome(1)[1]}
    assert len(allowed) == 2
    for event in np.unique(np.linspace(2, events, min(events, moments)).astype(int)).tolist():
        assert outcome(event)[1] in allowed, f"written to at event {event} of {events}"


class Twice:
    """An object whose content is another one every time it is asked for."""

    def __init__(self, *contents):
        self.left = list(contents)

    def __array__(self, dtype=None, copy=None):
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]


@pytest.mark.attack(rows.BUFFER)
def test_objects_that_answer_twice_are_asked_once(record_property):
    record_property("attacked", LAZY.algorithm)
    fine, bad = np.full((4, 3), 0.5), np.full((4, 3), 1000.0)
    one, other = (LAZY.start(Randomness.replayable(1)) for _ in range(2))
    one.run(fine)
    other.run(Twice(fine, bad))
    one.play(), other.play()
    one.observe(fine[0])
    other.observe(Twice(fine[0], bad[0]))
    assert one.state_dict() == other.state_dict()


@pytest.mark.attack(rows.BUFFER)
def test_shared_memory_is_not_read_again(monkeypatch, record_property):
    """What another process writes after the check of a block is not summed."""
    record_property("attacked", LAZY.algorithm)
    losses = numbers(2000, 3)
    honest = LAZY.start(Randomness.replayable(1))
    honest.run(losses)
    block = shared_memory.SharedMemory(create=True, size=losses.nbytes)
    try:
        shared = np.ndarray(losses.shape, buffer=block.buf)
        shared[:] = losses
        learner = LAZY.start(Randomness.replayable(1))
        checked = type(learner)._check_block

        def then_written(self, part, first):
            made = checked(self, part, first)
            shared[first : first + len(part)] = 1000.0
            return made

        monkeypatch.setattr(type(learner), "_check_block", then_written)
        learner.run(shared)
        assert learner.state_dict() == honest.state_dict()
        del learner
    finally:
        shared = None
        block.close()
        block.unlink()


def test_long_arrays_are_read_in_blocks():
    table = np.broadcast_to(np.float32(0.5), (10**9, 100))  # 373 GB, if it were copied
    read = Rows("LazyExperts", "losses", table, 100)
    assert len(read) == 10**9
    block = next(read.blocks())
    assert block.dtype == np.float64
    assert block.size <= BLOCK_ENTRIES


@pytest.mark.parametrize("given", [np.ones(3), np.ones(3, dtype=np.float32), np.ones((3, 3)).T, [1.0, 2.0, 3.0]])
def test_arrays_are_new(given):
    for shape in (np.shape(given), None):
        made = real_array("test", "values", given, shape)
        assert made.flags.c_contiguous
        assert not np.may_share_memory(made, np.asarray(given)) or isinstance(given, list)


@pytest.mark.attack(rows.BUFFER)
@pytest.mark.parametrize("mechanism", [best_gaussian(8), Tree(8), LaplaceTree(8), CubeTree(8)], ids=str)
def test_running_sums(mechanism, record_property):
    record_property("attacked", "running sums")
    grid = mechanism.grid(1.0, LossRecords(3) if mechanism.noise == "cube" else VectorRecords(3, norm=2.0))

    def sums(x, how):
        made = mechanism.start_on(grid, Randomness.replayable(2), "noise")
        return getattr(made, how)(x)

    never_mixed(lambda x: sums(x, "add"), numbers(3))
    never_mixed(lambda x: sums(x, "add_many"), numbers(4, 3))


@pytest.mark.attack(rows.BUFFER)
def test_noisy_vectors(record_property):
    record_property("attacked", "noisy vectors")
    grid = vector_grid("gaussian", 5.0, VectorRecords(3, norm=2.0), rounds=1, batch=2)
    never_mixed(lambda x: NoisyVectors(grid, "gaussian", Randomness.replayable(2), "noise", 2).add(x), numbers(4, 3))


SCALER = estimators.PrivateStandardScaler(bounds=(0, 1))
RIDGE = estimators.PrivateRidge(data_norm=1.0, label_bound=1.0)
CLASSES = {"data_norm": 1.0, "classes": [0, 1]}
MODELS = {
    "logistic": estimators.PrivateLogisticRegression(**CLASSES),
    "pass": estimators.PrivateLogisticRegression(horizon=40, **CLASSES),
    "svc": estimators.PrivateLinearSVC(**CLASSES),
    "ridge": RIDGE,
    "scaler": SCALER,
    "pipeline": estimators.PrivatePipeline([("scale", SCALER), ("model", RIDGE)]),
    "search": estimators.PrivateGridSearch(RIDGE, {"fit_intercept": [True]}),
    "mean": estimators.PrivateMean(bounds=(0, 1)),
    "histogram": estimators.PrivateHistogram(edges=[0, 0.5, 1]),
    "quantile": estimators.PrivateQuantile(bounds=(0, 1)),
    "covariance": estimators.PrivateCovariance(),
    "score": estimators.PrivateScore(LogisticRegression().fit([[0, 0], [1, 1]], [0, 1])),
}
RELEASED = {"scaler": "mean_", "mean": "mean_", "histogram": "counts_", "quantile": "quantiles_"}
RELEASED |= {"covariance": "covariance_", "score": "score_"}


@pytest.mark.attack(rows.BUFFER)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_estimators(name, record_property):
    """Whatever is written to the caller's arrays once they are checked, the model is the same."""
    record_property("attacked", type(MODELS[name]).__name__)
    X, y = numbers(40, 2), (numbers(40) > 0.5).astype(float)

    def predicted(after=lambda *_: None):
        model = clone(MODELS[name]).set_params(ledger=estimators.Ledger(), random_state=3)
        mine, target = X.copy(), y.copy()

        def checking(honest):
            return lambda *data, **options: (honest(*data, **options), after(mine), after(target))[0]

        with ExitStack() as stack:
            for module in (linear_model, grid_search, statistics):
                stack.enter_context(swapped((module, "checked_data", checking(module.checked_data))))
            if name == "score":  # its model looks at the rows, and then they are no longer the caller's
                honest = statistics.record_errors
                stack.enter_context(swapped((statistics, "record_errors", checking(honest))))
            given = (mine[:, :1] if name == "histogram" else mine, target)
            (model.partial_fit if name == "pass" else model.fit)(*given)
        return np.asarray(getattr(model, RELEASED[name]) if name in RELEASED else model.predict(X)).tolist()

    if name == "pipeline":  # every step takes a copy of its own
        with pytest.raises(ValueError, match="infinity"):
            predicted(lambda array: array.fill(np.inf))
    else:
        assert predicted(lambda array: array.fill(np.inf)) == predicted()


@pytest.mark.attack(rows.BUFFER)
def test_fleet(record_property):
    record_property("attacked", "fleet")
    fleet = Fleet(LAZY, Randomness.sealed(bytes(range(32))))

    def refused(losses):
        step = fleet.advance(b"shop", None, np.arange(6), losses)
        if not step.report.empty:
            raise ValueError("refused")
        return step.state, step.actions

    never_mixed(refused, numbers(6, 3))

"""The loops in C: numpy's bits at every level of the processor, arguments that do not fit, sanitizers."""

import os
import subprocess
import sys
import sysconfig
from math import exp
from pathlib import Path

import mpmath
import numpy as np
import pytest

from examples.loading import load
from tacit import Convex, Experts, Randomness, kernels
from tacit.algorithms import HedgeOnSums, LazyExperts, LazyFixedShare, PrivateFTRL, ScheduledExperts
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.noise.exact_draws import COIN_MARGIN
from tacit.noise.lattice import sum_quantised, whole_losses
from tacit.noise.running_sums import Buffered
from tacit.noise.running_sums.accumulators import VectorRecords
from tacit.problems import Tracking

PACKAGE = Path(__file__).parents[1] / "packages" / "tacit"
SOURCE = PACKAGE / "src" / "tacit" / "_kernels.c"
compile_file = load(PACKAGE / "hatch_build.py").compiled
C = kernels.compiled
needs_c = pytest.mark.skipif(C is None, reason="the loops in C are not installed")
LEVELS = range((C.LEVEL if C is not None else 0) + 1)


@pytest.fixture(params=LEVELS, ids=lambda level: ("plain", "AVX2", "AVX-512")[level])
def level(request):
    """Each test on every instruction set that this processor has."""
    before = C.use(request.param)
    yield request.param
    C.use(before)


@needs_c
@pytest.mark.parametrize("n", [1, 7, 8, 64, 700])
def test_sums_are_those_of_numpy(level, n):
    rng = np.random.default_rng(n)
    rows = rng.random((30, n))
    rows[rng.random(rows.shape) < 0.2] = 1.0
    total = np.zeros(n, dtype=np.int64)
    scores = [C.add_losses(row, total, n - 1, True) for row in rows]
    np.testing.assert_array_equal(total, sum_quantised(rows))
    whole = whole_losses(rows)
    assert scores == (whole[:, -1] - whole.min(axis=1)).tolist()
    C.sum_losses(rows, total)
    np.testing.assert_array_equal(total, 2 * sum_quantised(rows))


@needs_c
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 3.0), (-1e300, 1e300)])
def test_checked_losses_are_those_of_numpy(level, low, high):
    losses = low + (high - low) * np.random.default_rng(1).random(70)
    copied = np.empty(70)
    least = C.check_losses(losses, copied, low, high)
    unit = losses if (low, high) == (0.0, 1.0) else (losses - low) / (high - low)
    np.testing.assert_array_equal(copied, unit)
    assert least == unit.min()
    for bad in (np.nan, np.inf, np.nextafter(high, np.inf), np.nextafter(low, -np.inf)):
        for place in (0, 33, 69):
            spoiled = losses.copy()
            spoiled[place] = bad
            assert C.check_losses(spoiled, copied, low, high) is None


@needs_c
def test_weights_are_within_the_margin_of_the_exact_draws(level):
    """2^-45 is what the exact decisions assume of exp; a draw never sees a weight below e^-708."""
    scores = np.append(np.arange(0, 708 * 2**20, 999_983), [708 * 2**20, 2**40, 2**62])
    weights = np.empty(scores.size)
    C.weights(scores, 2.0**-20, weights)
    with mpmath.workprec(100):
        exact = [mpmath.exp(-mpmath.mpf(int(score)) / 2**20) for score in scores[:-2]]
        errors = [abs(mpmath.mpf(weight) / wanted - 1) for weight, wanted in zip(weights, exact, strict=False)]
    assert max(errors) < 2.0**-50
    assert weights[-2:].max() <= exp(-707.9)


@needs_c
def test_every_level_draws_alike():
    scores = np.random.default_rng(2).integers(0, 2**26, 333)
    fractions = np.random.default_rng(3).random(300)
    drawn = []
    for wanted in LEVELS:
        before = C.use(wanted)
        drawn.append([C.softmax(scores, 2.0**-23, float(fraction), 2.0**-43) for fraction in fractions])
        C.use(before)
    assert all(other == drawn[0] for other in drawn)
    assert C.softmax(scores, 2.0**-23, 0.5, 2.0) == -1  # everything lies inside such a margin


PLANS = {
    "lazy": lambda: LazyExperts(Experts(n=5, horizon=900, loss_range=(-1.0, 3.0)), eta=0.3, force=0.05, batch=2),
    "lazy, late": lambda: LazyExperts(Experts(n=5, horizon=900, delay=3), eta=0.3, force=0.05),
    "scheduled": lambda: ScheduledExperts(Experts(n=70, horizon=900), eta=0.1),
    "hedge": lambda: HedgeOnSums.calibrate(Experts(n=5, horizon=900), epsilon=1.0, delta=1e-6),
    "hedge, fresh": lambda: HedgeOnSums.calibrate(Experts(n=5, horizon=900), epsilon=1.0, delta=1e-6, hold=False),
    "share": lambda: LazyFixedShare(Tracking(n=5, horizon=900, switches=3), eta=0.3, force=0.05),
    "no share": lambda: LazyFixedShare(Tracking(n=5, horizon=900, switches=0), eta=0.3, force=0.05),
}


@pytest.mark.parametrize("name", PLANS)
def test_learners_of_experts_decide_alike_both_ways(name, both_ways):
    """Round by round and in arrays, with missing feedback: decisions and states to the last bit."""
    plan = PLANS[name]()
    low, high = plan.problem.loss_range
    rows = low + (high - low) * np.random.default_rng(5).random((900, plan.problem.n))
    rows[np.random.default_rng(6).random(rows.shape) < 0.1] = high

    def played():
        learner = plan.start(Randomness.replayable(3))
        actions = []
        for number, row in enumerate(rows[:300]):
            actions.append(learner.play())
            learner.observe(None if number % 11 == 10 else row)
        middle = repr(learner.state_dict())
        actions += learner.run(rows[300:]).tolist()
        return actions, middle, repr(learner.state_dict()), learner.switches

    compiled, plain = both_ways(played)
    assert compiled == plain
    assert plain[-1] > 5


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 64, 129, 300, 700])
def test_vectors_are_shortened_alike_both_ways(n, both_ways):
    """Features and points of every length, in pairs and in arrays, to the last bit."""
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(60, n)) / np.sqrt(n) * rng.choice([1e-200, 0.5, 1.0, 2.0, 1e200], (60, 1))
    rows[::7, 0] = 0.0
    labels = rng.choice([-3.0, -0.0, 0.5, 1.0], 60)
    loss, ball = LogisticLoss(data_norm=0.9), Ball(n, radius=0.8)

    def shortened():
        one_by_one = [
            loss.pack((row, label), n, many=False)[0] for row, label in zip(rows, labels.tolist(), strict=True)
        ]
        return np.array(one_by_one).tobytes(), np.array([ball.nearest(row) for row in rows]).tobytes()

    assert len(set(both_ways(shortened))) == 1
    assert shortened()[0] == loss.pack((rows, labels), n, many=True).tobytes()


@pytest.mark.parametrize("streams", [1, 2])
def test_follow_the_leader_decides_alike_both_ways(streams, both_ways):
    rng = np.random.default_rng(8)
    plan = PrivateFTRL.calibrate(
        Convex(domain=Ball(7), loss=LogisticLoss(), horizon=200), epsilon=1.0, delta=1e-6, streams=streams
    )
    features, labels = rng.normal(size=(200, 7)), rng.choice([-1.0, 1.0], 200)

    def played():
        learner = plan.start(Randomness.replayable(3))
        points = []
        for row, label in zip(features, labels, strict=True):
            points.append(learner.play())
            learner.observe((row, float(label)))
        return np.array(points), repr(learner.state_dict())

    (compiled, state), (plain, other) = both_ways(played)
    np.testing.assert_array_equal(compiled, plain)
    assert state == other


@needs_c
def test_a_refused_record_uses_up_no_noise():
    grid = Buffered(50).grid(1.0, VectorRecords(4))
    sums = Buffered(50).start_on(grid, Randomness.replayable(1), "noise")
    sums.add(np.ones(4) / 4)
    before = repr(sums.state_dict())
    with pytest.raises(ValueError, match="finite"):
        sums.add(np.array([0.1, np.nan, 0.0, 0.0]))
    assert repr(sums.state_dict()) == before


@needs_c
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add_losses", (np.zeros(3), np.zeros(2, dtype=np.int64), 0, True)),
        ("add_losses", (np.zeros(3), np.zeros(3, dtype=np.int64), 3, True)),
        ("add_losses", (np.full(3, 1.5), np.zeros(3, dtype=np.int64), 0, True)),
        ("add_losses", (np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int64), 0, True)),
        ("sum_losses", (np.zeros((2, 3)), np.zeros(4, dtype=np.int64))),
        ("sum_losses", (np.full((2, 3), np.nan), np.zeros(3, dtype=np.int64))),
        ("softmax", (np.zeros(0, dtype=np.int64), 1.0, 0.5, 0.0)),
        ("softmax", (np.zeros(2, dtype=np.int64), np.inf, 0.5, 0.0)),
        ("softmax", (np.zeros(2, dtype=np.int64), 1.0, 1.0, 0.0)),
        ("decode", (np.zeros(2, dtype=np.uint64), np.zeros(9, dtype=np.int16), *[np.zeros(8, dtype=np.int64)] * 2)),
        ("leader", (np.zeros(3), 1.0, np.zeros(2))),
        ("tsallis", (np.zeros(2), np.ones(3), *[1.0] * 11)),
        ("nearest_in_ball", (np.ones(3), 1.0, np.zeros(2))),
        ("buffered", (np.zeros(4), np.zeros(4), np.ones(2), np.ones(2), np.zeros(4), np.zeros(5))),
        ("use", (9,)),
    ],
)
def test_arguments_that_do_not_fit_change_nothing(name, arguments):
    before = [argument.copy() for argument in arguments if isinstance(argument, np.ndarray)]
    with pytest.raises((TypeError, ValueError)):
        getattr(C, name)(*arguments)
    after = [argument for argument in arguments if isinstance(argument, np.ndarray)]
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


@needs_c
def test_a_row_that_changes_while_it_is_read_is_checked_in_the_copy():
    """The loop looks at its copy only: what the caller writes afterwards is not seen."""
    copied, block = np.empty(3), np.full((1, 3), 0.5)
    words, total = np.zeros(1, dtype=np.uint64), np.zeros(3, dtype=np.int64)
    C.play_until_lost(block, copied, 0, 0, total, words, 0.0, 1.0, 1, 1.0, 1e-9, True, COIN_MARGIN)
    np.testing.assert_array_equal(copied, block[0])
    assert not np.shares_memory(copied, block)


def test_a_process_can_do_without():
    """The variable for tests: everything runs on numpy."""
    code = "from tacit import kernels; print(kernels.compiled)"
    environment = {**os.environ, "TACIT_KERNELS": "numpy"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"


def test_without_a_compiler_the_build_says_why(monkeypatch, tmp_path):
    target = tmp_path / "x.so"
    monkeypatch.delenv("CC", raising=False)
    for compiler, reason in (
        ("no-such-compiler", "no-such-compiler"),
        ("false", "failed"),
        ("", "names no C compiler"),
    ):
        monkeypatch.setattr(sysconfig, "get_config_var", {"CC": compiler}.get)
        assert reason in compile_file(SOURCE, target)
        assert not target.exists()


@pytest.mark.slow
@pytest.mark.parametrize("sanitizer", ["address", "undefined"])
def test_no_sanitizer_finds_anything(sanitizer, tmp_path):
    """Thousands of calls that fit and that do not, in a build that stops at the first forbidden access or operation."""
    trouble = compile_file(
        SOURCE, tmp_path / "_kernels.abi3.so", f"-fsanitize={sanitizer}",
        "-fno-sanitize-recover=all", "-fno-omit-frame-pointer", "-g", "-Wall", "-Wextra", "-Werror",
    )  # fmt: skip
    library = {"address": "libasan.so", "undefined": "libubsan.so"}[sanitizer]
    found = subprocess.run(["cc", f"-print-file-name={library}"], capture_output=True, text=True, check=False).stdout
    if trouble or not Path(found.strip()).exists():
        pytest.skip(f"no sanitizer here: {trouble}")
    environment = {
        **os.environ,
        "LD_PRELOAD": found.strip(),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONPATH": str(tmp_path),
        "PYTHONMALLOC": "malloc",
    }
    command = [sys.executable, str(Path(__file__).with_name("kernel_fuzz.py")), "1", "4000"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr

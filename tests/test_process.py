"""Forks are noticed however they are made, and nothing that belongs to a process is used in another one."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import forkserver_noise
from attacks import rows
from forks import WAYS, answer_of_child, libc_fork
from tacit import Experts, Ledger, PrivacyError, ProtocolError, Randomness
from tacit.algorithms import LazyExperts, PrivateFTRL
from tacit.domains import Ball
from tacit.losses import LogisticLoss
from tacit.problems import Convex
from tacit.process import DETECTION, current_process

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
every_way = pytest.mark.parametrize("way", list(WAYS))
BELOW = ["libc", "a thread", "a fork inside a fork"]
below_python = pytest.mark.parametrize("way", BELOW if DETECTION == "library" else [*BELOW, "system call"])


def words(stream, count=2):
    return stream.integers(0, 2**63, count).tolist()


def refusal(act, kind):
    """Return the sentence with which an act is refused, or "accepted"."""
    try:
        act()
    except kind as error:
        return str(error)
    return "accepted"


@pytest.mark.attack(rows.FORK_BELOW)
@every_way
def test_children_of_every_fork_draw_noise_of_their_own(way):
    """Measured before: 200 of 200 decisions of two children that libc forked were equal."""
    secret, replayable = Randomness.secret().stream("a"), Randomness.replayable(1).stream("a")
    ours = current_process()
    answers = [WAYS[way](lambda: [current_process(), words(secret), words(replayable)]) for _ in range(3)]
    assert len({ours, *(number for number, _, _ in answers)}) == 4
    assert len({*words(secret), *(word for _, drawn, _ in answers for word in drawn)}) == 8
    assert [same for _, _, same in answers] == [words(replayable)] * 3
    assert current_process() == ours


DRAWS = {
    "random": lambda stream: stream.random(),
    "bytes": lambda stream: stream.bytes(8).hex(),
    "standard_normal": lambda stream: stream.standard_normal(),
    "permutation": lambda stream: stream.permutation(1000).tolist(),
    "random_raw": lambda stream: int(stream.bit_generator.random_raw()),
}


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.parametrize("draw", list(DRAWS))
def test_the_first_act_in_a_child_may_be_any_draw(draw):
    stream = Randomness.secret().stream("a")
    shown = [answer_of_child(lambda: DRAWS[draw](stream), libc_fork) for _ in range(2)] + [DRAWS[draw](stream)]
    assert shown[0] != shown[1] != shown[2] != shown[0]


def repeats_in_forks(way, forks):
    """Return how many words of children of one secret stream came twice."""
    stream = Randomness.secret().stream("noise")
    stream.random()
    drawn = [word for _ in range(forks) for word in WAYS[way](lambda: words(stream))]
    return 2 * forks - len(set(drawn))


@pytest.mark.slow
@pytest.mark.attack(rows.FORK_BELOW)
@every_way
def test_no_word_comes_twice_in_a_thousand_forks(way):
    assert repeats_in_forks(way, 1000) == 0


def repeats_of_fork_server(forks):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["forkserver_noise"])
    drawn = []
    for _ in range(forks):
        receiver, sender = context.Pipe(duplex=False)
        worker = context.Process(target=forkserver_noise.send, args=(sender,))
        worker.start()
        drawn.append(receiver.recv())
        worker.join()
    return forks - len(set(drawn))


@pytest.mark.slow
@pytest.mark.attack(rows.FORK_BELOW)
def test_no_word_comes_twice_in_a_thousand_forks_of_a_fork_server():
    assert repeats_of_fork_server(1000) == 0


@pytest.mark.attack(rows.FORK_BELOW)
@below_python
def test_a_learner_refuses_to_go_on_in_a_child_that_python_did_not_fork(way):
    """Measured before: two answers of PrivateFTRL differed by the private value exactly."""
    learners = [
        LazyExperts(Experts(n=3, horizon=40), eta=0.1, force=0.1).start(),
        PrivateFTRL.calibrate(
            Convex(domain=Ball(2), loss=LogisticLoss(data_norm=1.0), horizon=40), epsilon=1.0, delta=1e-6
        ).start(),
    ]
    feedback = [[0.0, 1.0, 0.5], ([0.6, 0.8], 1)]
    for learner, row in zip(learners, feedback, strict=True):
        learner.play()
        answer = WAYS[way](lambda learner=learner, row=row: refusal(lambda: learner.observe(row), ProtocolError))
        assert "another process" in answer
        learner.observe(row)


@pytest.mark.attack(rows.FORK_LEDGER)
@every_way
def test_a_ledger_in_memory_refuses_in_a_child(way):
    """Measured before: six forked workers charged epsilon 1 each to one budget of 1, and the parent said 0."""
    ledger = Ledger(epsilon=1.0)
    guarantee = LazyExperts(Experts(n=3, horizon=40), eta=0.01, force=0.1).guarantee
    acts = [
        lambda: ledger.record("a fit", guarantee),
        lambda: ledger.entries,
        lambda: ledger.spent,
        lambda: ledger.void(0, "a mistake"),
        ledger.confirm,
        ledger.to_dict,
    ]
    for answer in WAYS[way](lambda: [refusal(act, PrivacyError) for act in acts]):
        assert "stayed in the process that made it" in answer
        assert "tacit_experiments.Store('people.db').ledger('people')" in answer
    ledger.record("a fit", guarantee)
    assert len(ledger) == 1


def test_a_child_does_not_wait_for_a_lock_that_its_parent_held():
    """The lock of a generator is taken while it draws, without Python's lock: a fork may come in between."""
    stream = Randomness.secret().stream("a")
    with stream.bit_generator.lock:
        answer = answer_of_child(lambda: words(stream), libc_fork)
    assert not set(answer) & set(words(stream))


def test_programs_that_are_started_leave_the_process_as_it_is():
    ours = current_process()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    if hasattr(os, "posix_spawn"):
        os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", "pass"], os.environ), 0)
    assert current_process() == ours


WITHOUT_THE_KERNEL = """
import mmap

class Page(mmap.mmap):
    def madvise(self, *advice):
        raise OSError("no such advice")

mmap.mmap = Page
from forks import answer_of_child, libc_fork
from tacit import Randomness, process

stream = Randomness.secret().stream("a")
words = lambda: [int(word) for word in stream.integers(0, 2**63, 2)]
answers = [answer_of_child(words, libc_fork) for _ in range(2)] + [words()]
assert len({word for answer in answers for word in answer}) == 6
print(process.DETECTION, "|", Randomness.secret().label)
"""


@pytest.mark.parametrize(
    ("loops", "detection", "label"),
    [("", "library", "by the operating system"), ("numpy", "process number", "noticed by process number only")],
)
def test_without_the_kernel_forks_are_noticed_otherwise(loops, detection, label):
    from tacit import kernels

    if kernels.compiled is None and not loops:
        pytest.skip("there is no compiled file here")
    environment = {**os.environ, "TACIT_KERNELS": loops, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, "-W", "ignore", "-c", WITHOUT_THE_KERNEL]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found, _, said = done.stdout.strip().partition(" | ")
    assert found == detection
    assert said.endswith(label)


def test_marks_are_refused_that_are_no_buffer():
    from tacit import kernels

    if kernels.compiled is None:
        pytest.skip("there is no compiled file here")
    for mark in (b"read only", bytearray(), np.empty(0), 3):
        with pytest.raises((TypeError, ValueError, BufferError)):
            kernels.compiled.watch_process(mark, 1, print)
    with pytest.raises(TypeError):
        kernels.compiled.watch_process(bytearray(1))
    with pytest.raises((TypeError, BufferError)):
        kernels.compiled.clear_in_children(b"read only")
    assert current_process() == current_process()

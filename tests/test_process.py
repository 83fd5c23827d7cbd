"""Forks are noticed however they are made, and nothing that belongs to a process is used in another one."""

import json
import multiprocessing
import os
import subprocess
import sys
import threading
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import forks
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


def outcome_in_child_inside_run(learner, rows, answer):
    """Fork inside `learner.run(rows)` below Python; return what `answer` returns in the child after its run ended."""
    read, write = os.pipe()
    honest = learner._run_rows
    child = []

    def forking(*given):
        actions = honest(*given)
        child.append(libc_fork())
        return actions

    learner._run_rows = forking
    with suppress(ProtocolError):
        learner.run(rows)
    del learner._run_rows
    if not child[0]:
        try:
            os.write(write, json.dumps(answer()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(child[0], 0)
    return json.loads(text)


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.parametrize("algorithm", ["LazyExperts", "PrivateFTRL"])
def test_a_child_of_a_fork_inside_run_is_refused(algorithm):
    """Measured before: the child's run ended, and both processes went on with one learner, 8 times of 8."""
    if algorithm == "LazyExperts":
        learner = LazyExperts(Experts(n=3, horizon=40), eta=0.1, force=0.1).start()
        few, row = np.full((5, 3), 0.5), [0.0, 1.0, 0.5]
    else:
        problem = Convex(domain=Ball(2), loss=LogisticLoss(data_norm=1.0), horizon=40)
        learner = PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6).start()
        few, row = (np.full((5, 2), 0.5), np.ones(5)), ([0.6, 0.8], 1)

    def continued():
        return refusal(lambda: (learner.play(), learner.observe(row)), ProtocolError)

    assert "another process" in outcome_in_child_inside_run(learner, few, continued)
    learner.play()
    learner.observe(row)
    assert learner.rounds == 6


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.parametrize("way", ["os", "libc"])
@pytest.mark.parametrize("act", ["play", "observe", "state_dict", "run"])
def test_a_learner_does_not_wait_for_a_thread_of_the_parent(way, act, monkeypatch):
    """Measured before: every act in a child waited without end if a thread of the parent was inside a run."""
    monkeypatch.setattr(forks, "LONGEST_ANSWER", 20.0)
    learner = LazyExperts(Experts(n=3, horizon=40), eta=0.1, force=0.1).start()
    inside, go_on = threading.Event(), threading.Event()
    honest = learner._run_rows

    def waiting(*given):
        inside.set()
        go_on.wait(60)
        return honest(*given)

    learner._run_rows = waiting
    running = threading.Thread(target=learner.run, args=(np.full((5, 3), 0.5),))
    running.start()
    try:
        assert inside.wait(60)
        acts = {
            "play": learner.play,
            "observe": lambda: learner.observe([0.0, 1.0, 0.5]),
            "state_dict": learner.state_dict,
            "run": lambda: learner.run(np.full((5, 3), 0.5)),
        }
        # The parent's round may or may not be counted here: the child refuses to go on at all.
        assert "interrupted" in WAYS[way](lambda: refusal(acts[act], ProtocolError))
    finally:
        go_on.set()
        running.join()
    assert learner.rounds == 5


def in_new_process(code, **environment):
    """Return what a program prints that finds the tests' helpers."""
    given = {**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment}
    command = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LOADED_TWICE = """
import importlib, sys
from forks import answer_of_child, libc_fork
from tacit import Randomness, process

stream = Randomness.secret().stream("a")
words = lambda: [int(word) for word in stream.integers(0, 2**63, 2)]
if {purged}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tacit"]:
        del sys.modules[name]
    import tacit.process
else:
    importlib.reload(process)
answers = [answer_of_child(words, libc_fork) for _ in range(2)] + [answer_of_child(words) for _ in range(2)] + [words()]
print(len({{word for answer in answers for word in answer}}))
"""


@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.parametrize("purged", [True, False])
def test_streams_notice_forks_after_the_library_was_loaded_again(purged):
    """Measured before: all children drew the same words, since the old streams were renewed by nobody."""
    assert in_new_process(LOADED_TWICE.format(purged=purged)) == "10"


def test_a_subinterpreter_is_refused():
    """Measured before: it took the watch over, and children of the main interpreter drew the same words."""
    interpreters = next((name for name in ("_interpreters", "_xxsubinterpreters") if find_spec(name)), None)
    if interpreters is None:
        pytest.skip("there are no subinterpreters here")
    code = (
        f"import {interpreters} as interpreters\n"
        "from tacit.process import current_process\n"
        "ours = current_process()\n"
        "try:\n"
        "    failed = interpreters.run_string(interpreters.create(), 'import tacit.process')\n"
        "except Exception as error:\n"
        "    failed = error\n"
        "print('cannot be used in a subinterpreter' in str(failed), current_process() == ours)"
    )
    assert in_new_process(code) == "True True"


EQUAL_NUMBERS = """
import mmap, os

class Page(mmap.mmap):
    def madvise(self, *advice):
        raise OSError("no such advice")

mmap.mmap = Page
os.getpid = lambda: 1
from forks import answer_of_child
from tacit import Randomness, process

stream = Randomness.secret().stream("a")
words = lambda: [int(word) for word in stream.integers(0, 2**63, 2)]
answers = [answer_of_child(words) for _ in range(2)] + [words()]
print(process.DETECTION, len({word for answer in answers for word in answer}))
"""


@pytest.mark.attack(rows.FORK_BELOW)
def test_a_child_in_another_namespace_may_have_the_number_of_its_parent():
    assert in_new_process(EQUAL_NUMBERS, TACIT_KERNELS="numpy") == "process number 6"


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
    found, _, said = in_new_process(WITHOUT_THE_KERNEL, TACIT_KERNELS=loops).partition(" | ")
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

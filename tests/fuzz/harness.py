"""What a public entry point may do with nonsense: a clear error of tacit's that changes nothing, or a result.

Anything else is let through and fails the test: another exception, a warning of numpy's, a state that changed, an
argument that was written to, a call that does not come back.
"""

import signal
import threading
import warnings
from contextlib import contextmanager

import numpy as np

from tacit import TacitError

SECONDS = 30  # far more than any call here needs: only a call that hangs takes so long
REFUSED = object()


def attempt(call, *owners, also=(), expected=()):
    """The result of `call`, or REFUSED after an error of tacit's that left all `owners` as they were.

    Args:
        call: what to run.
        owners: learners and other objects that an error may not change; arrays, that nothing may change.
        also: exceptions that other conventions allow here.
        expected: kinds of warnings that are part of the answer.
    """
    before = [snapshot(owner) for owner in owners]
    try:
        with quick(), warnings.catch_warnings():
            warnings.simplefilter("error")
            for kind in expected:
                warnings.simplefilter("ignore", kind)
            result = call()
        for owner, earlier in zip(owners, before, strict=True):
            assert not isinstance(owner, np.ndarray) or snapshot(owner) == earlier, "an argument was written to"
        return result
    except TacitError as error:
        check_message(error)
    except also:
        pass
    for owner, earlier in zip(owners, before, strict=True):
        assert snapshot(owner) == earlier, f"an error changed the state of {type(owner).__name__}"
    return REFUSED


def check_message(error):
    """One sentence that can be read: it begins like one, ends like one, and is not a page long."""
    text = str(error)
    assert 10 <= len(text) <= 2000, text
    assert text[0].isupper() or text[0] in "'</0123456789" or text.split()[0].islower(), text
    assert text.rstrip()[-1] in ".)", text


def snapshot(value):
    """A state as a value that can be compared, NaN equal to NaN; learners by their `state_dict`."""
    if hasattr(value, "state_dict"):
        return {"state": snapshot(value.state_dict()), "rounds": getattr(value, "rounds", None)}
    if isinstance(value, dict):
        return {key: snapshot(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray):
        value = np.ma.getdata(value)
        content = repr(value.tolist()) if value.dtype.hasobject else value.tobytes()
        return (value.shape, value.dtype.str, content)
    if isinstance(value, list | tuple):
        return [snapshot(entry) for entry in value]
    if isinstance(value, np.random.Generator):
        return snapshot(value.bit_generator.state)
    return repr(value)


def same_as_twin(start, spoil, rows):
    """Two learners see the same good rows, one of them nonsense in between as well: they stay the same.

    A state that `state_dict` does not show is compared as well, by what it does to the decisions.

    Args:
        start: makes a fresh learner, always the same one.
        spoil: called with the spoiled learner before each good row; it may raise nothing and end no round.
        rows: good feedback.
    """
    spoiled, twin = start(), start()
    for row in rows:
        assert snapshot(spoiled.play()) == snapshot(twin.play())
        spoil(spoiled)
        spoiled.observe(row)
        twin.observe(row)
        assert snapshot(spoiled) == snapshot(twin)
    assert snapshot(spoiled.play()) == snapshot(twin.play())


@contextmanager
def quick(seconds=SECONDS):
    """Fail, rather than wait for ever, where the system has alarms."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(*_):
        raise AssertionError(f"no answer after {seconds} seconds")

    earlier = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, earlier)

"""Ways to make a child process, also such as Python does not see, and what a function returns there."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from typing import Any

LONGEST_ANSWER = 60.0
LINUX_FORK = {"x86_64": 57}  # the bare system call, which passes the C library by


def fork_at_rest(fork: Callable[[], Any]) -> int:
    """Fork below Python, holding Python's lock, while no other thread waits for that lock.

    The child would inherit the wish of such a thread, which is not there, and wait for it without end: Python's own
    handlers, which are not called here, reset the lock.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(LONGEST_ANSWER)  # whoever begins to wait now does not ask for the lock
    time.sleep(0.01)  # whoever waited before gets it
    try:
        return int(fork())
    finally:
        sys.setswitchinterval(interval)


def libc_fork() -> int:
    """Fork through the C library: no handler of Python's is called."""
    return fork_at_rest(ctypes.PyDLL(None).fork)


def system_call_fork() -> int:
    """Fork by the system call itself: no handler of the C library's is called either."""
    return fork_at_rest(lambda: ctypes.PyDLL(None).syscall(LINUX_FORK[os.uname().machine]))


def answer_of_child(answer: Callable[[], Any], fork: Callable[[], int] = os.fork) -> Any:
    """Return what `answer` returns in a child, as JSON carries it."""
    read, write = os.pipe()
    child = fork()
    if not child:
        status = 1
        try:
            os.write(write, json.dumps(answer()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read) as file:
        answered = select.select([file], [], [], LONGEST_ANSWER)[0]
        if not answered:
            os.kill(child, signal.SIGKILL)
        text = file.read()
    os.waitpid(child, 0)
    assert answered, f"the child did not answer within {LONGEST_ANSWER:g} seconds"
    return json.loads(text)


@contextmanager
def other_threads_at_rest():
    """Fork from a thread only while no other thread waits for Python's lock.

    A child that is forked below Python inherits the wish of such a thread, which is not there, and waits for it
    without end: Python's own handlers would have reset the lock.
    """
    interval = sys.getswitchinterval()
    sys.setswitchinterval(LONGEST_ANSWER)
    time.sleep(0.05)  # until the thread that started this one waits for its end
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def first_answer(answer: Callable[[], Any], attempts: int = 5) -> Any:
    """Return what `answer` returns in the first child of libc's fork that answers.

    A child that starts threads needs Python's lock as no other thread left it; where one was just waking up, the child
    hangs, which says nothing about what is tested.
    """
    global LONGEST_ANSWER
    LONGEST_ANSWER = 15.0
    for _ in range(attempts - 1):
        with suppress(AssertionError, json.JSONDecodeError):
            return answer_of_child(answer, libc_fork)
    return answer_of_child(answer, libc_fork)


def answer_of_grandchild(answer: Callable[[], Any]) -> Any:
    """Return what `answer` returns in a child of a child that asked nothing itself."""
    return answer_of_child(lambda: answer_of_child(answer, libc_fork), libc_fork)


def answer_of_thread(answer: Callable[[], Any]) -> Any:
    """Return what `answer` returns in a child that a thread forked."""
    answers: list[Any] = []

    def fork_here() -> None:
        with other_threads_at_rest():
            answers.append(answer_of_child(answer, libc_fork))

    thread = threading.Thread(target=fork_here)
    thread.start()
    thread.join()
    return answers[0]


def answer_of_multiprocessing(answer: Callable[[], Any]) -> Any:
    """Return what `answer` returns in a child that multiprocessing forked."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(answer()))
    process.start()
    result = receiver.recv()
    process.join()
    return result


WAYS: dict[str, Callable[[Callable[[], Any]], Any]] = {
    "libc": lambda answer: answer_of_child(answer, libc_fork),
    "os": answer_of_child,
    "multiprocessing": answer_of_multiprocessing,
    "system call": lambda answer: answer_of_child(answer, system_call_fork),
    "a thread": answer_of_thread,
    "a fork inside a fork": answer_of_grandchild,
}

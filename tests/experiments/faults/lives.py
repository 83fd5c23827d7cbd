"""Processes that decide and settle until they are killed, and the account of what they were promised."""

import os
import select
import signal
import threading
import time
from dataclasses import dataclass, field

from experiments.faults import world
from tacit.errors import StoreError

CLIENTS = 8


@dataclass
class Account:
    """What clients asked for and were told; it outlives every process.

    Attributes:
        asked: keys without an answer.
        decided: the answer of each key.
        unsettled: rounds whose feedback was not acknowledged.
        doubled: keys that got two answers, and rounds that were given to two keys.
        failed: calls that raised.
    """

    asked: set = field(default_factory=set)
    decided: dict = field(default_factory=dict)
    unsettled: set = field(default_factory=set)
    settled: int = 0
    doubled: int = 0
    failed: int = 0
    ready: bool = False

    def hear(self, line):
        """Take down one message of a process."""
        kind, *words = line.split()
        if kind == "asks":
            self.asked.add(words[0])
        elif kind == "told":
            key, answer = words[0], (int(words[1]), int(words[2]))
            self.asked.discard(key)
            self.doubled += self.decided.setdefault(key, answer) != answer
            if world.arrives(answer[0]):
                self.unsettled.add(answer[0])
        elif kind == "settled":
            self.settled += int(words[0]) in self.unsettled
            self.unsettled.discard(int(words[0]))
        elif kind == "failed":
            self.failed += 1
        self.ready = self.ready or kind == "ready"

    def lost(self, exported):
        """Answers that the store does not have as they were given, and rounds that two keys got."""
        there = {entry["round"]: entry["action"] for entry in exported["decisions"]}
        self.doubled += len(self.decided) - len({number for number, _ in self.decided.values()})
        return sum(there.get(number) != action for number, action in self.decided.values())


def begin(where, life, account, rounds=None):
    """Fork a process: it asks again for what was not answered, then its clients go on (for so many rounds)."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    try:
        _live(
            where, life, account, rounds, lambda *words: os.write(writing, (" ".join(map(str, words)) + "\n").encode())
        )
    finally:
        os._exit(0)


def _live(where, life, account, rounds, say):
    _, live = world.opened(where)
    say("ready")

    def ask(key):
        say("asks", key)
        try:
            decision = live.decide(key=key)
        except StoreError:
            say("failed", key)
            return
        say("told", key, decision.round, decision.action)
        if world.arrives(decision.round):
            settle(decision.round)

    def settle(number):
        try:
            live.settle(number, world.losses(number))
        except StoreError:
            say("failed", number)
            return
        say("settled", number)

    for number in sorted(account.unsettled):
        settle(number)
    for key in sorted(account.asked):
        ask(key)

    def client(name):
        number = 0
        while rounds is None or number < rounds:
            ask(f"{life}-{name}-{number}")
            number += 1

    clients = [threading.Thread(target=client, args=(name,)) for name in range(CLIENTS)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()


def follow(child, reading, account, seconds):
    """Listen to a process for so long after it is ready (None: to its end; below 0: after its start), then kill it."""
    text, account.ready, deadline = b"", False, None
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            if seconds is not None and deadline is None and (account.ready or seconds < 0):
                deadline = time.monotonic() + abs(seconds)
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if left == 0.0:
                os.kill(child, signal.SIGKILL)
                deadline, seconds = None, None
            elif not select.select([pipe], [], [], left)[0]:
                continue
            else:
                piece = pipe.read(65536)
                if not piece:
                    break
                *lines, text = (text + piece).split(b"\n")
                for line in lines:
                    account.hear(line.decode())
    os.waitpid(child, 0)

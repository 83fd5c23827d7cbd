"""Replies that wait to be sent: a bounded queue whose rows cannot hurt each other.

Each row is checked and written as JSON before it waits, so that no value can spoil a batch. One person's rows cannot
fill the queue. Every row that is dropped is counted under its version and a reason.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter, deque
from collections.abc import Iterable
from numbers import Real
from typing import NamedTuple

TOKEN = re.compile(r"([0-9a-f]{32})\.([0-9a-f]{32})\Z")
PER_PERSON = 32
"""Rows of one person and version that may wait."""
MOST_NAMED = 1000
"""Versions under which drops are counted; further ones, which somebody has invented, are counted as "other"."""


class Row(NamedTuple):
    """A reply that waits."""

    salt: str
    pid: str
    text: str


class Replies:
    """Keeps rows until they are sent, oldest first. Threads may share it.

    Args:
        capacity: how many rows may wait; beyond that the oldest is dropped for a new one.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._lock = threading.RLock()  # a signal handler may interrupt whoever holds it
        self._rows: deque[Row] = deque()
        self._waiting: Counter[tuple[str, str]] = Counter()  # by (salt, pid), rows under way included
        self._size = 0  # rows under way included
        self.sent = 0
        self._dropped: dict[str, Counter[str]] = {}  # by salt and reason

    def __len__(self) -> int:
        return self._size

    def add(self, token: object, value: object, low: float, high: float) -> bool:
        """Take one reply in, if it is a good one; return whether it was taken."""
        parts = TOKEN.match(token) if isinstance(token, str) else None
        number = _finite(value)
        with self._lock:
            if parts is None:
                self._count("", "token")
                return False
            salt, pid = parts.groups()
            if number is None or not low <= number <= high:
                self._count(salt, "value")
                return False
            if self._waiting[salt, pid] >= PER_PERSON:
                self._count(salt, "person")
                return False
            if self._size >= self._capacity:
                if not self._rows:  # all are under way
                    self._count(salt, "full")
                    return False
                self._leave([self._rows.popleft()], "full")
            self._rows.append(Row(salt, pid, json.dumps([salt, pid, number])))
            self._waiting[salt, pid] += 1
            self._size += 1
            return True

    def take(self, count: int) -> list[Row]:
        """Return up to so many of the oldest rows, which are under way from now on."""
        with self._lock:
            return [self._rows.popleft() for _ in range(min(count, len(self._rows)))]

    def put_back(self, rows: list[Row]) -> None:
        """Let rows that were taken wait again, as the oldest."""
        with self._lock:
            self._rows.extendleft(reversed(rows))

    def acknowledge(self, rows: list[Row], refused: dict[int, str]) -> None:
        """Forget rows that were answered; `refused` has a reason for each place that was not taken."""
        with self._lock:
            for place, row in enumerate(rows):
                self._leave([row], refused.get(place))
            self.sent += len(rows) - len(refused)

    def drop(self, rows: Iterable[Row], reason: str) -> None:
        """Forget rows that were not sent."""
        with self._lock:
            self._leave(rows, reason)

    def drop_waiting(self, reason: str) -> None:
        """Forget all rows that are not under way."""
        with self._lock:
            rows, self._rows = self._rows, deque()
            self._leave(rows, reason)

    def count_lost(self, token: object, reason: str) -> None:
        """Count a reply that cannot even wait."""
        parts = TOKEN.match(token) if isinstance(token, str) else None
        with self._lock:
            self._count(parts.group(1) if parts else "", reason)

    def dropped(self) -> dict[str, dict[str, int]]:
        """Return how many rows were dropped, by version and reason. The version of what is no token is ""."""
        with self._lock:
            return {salt: dict(reasons) for salt, reasons in self._dropped.items()}

    def _count(self, salt: str, reason: str) -> None:
        known = salt if salt in self._dropped or len(self._dropped) < MOST_NAMED else "other"
        self._dropped.setdefault(known, Counter())[reason] += 1

    def _leave(self, rows: Iterable[Row], reason: str | None) -> None:
        for row in rows:
            who = row.salt, row.pid
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who]
            self._size -= 1
            if reason is not None:
                self._count(row.salt, reason)


def body(rows: Iterable[Row]) -> bytes:
    """Return the body of a request that sends these rows."""
    return b'{"replies":[' + ",".join(row.text for row in rows).encode() + b"]}"


def _finite(value: object) -> float | None:
    if not isinstance(value, Real):  # a Decimal is none, True and False are 1 and 0
        return None
    try:
        number = float(value)
    except Exception:  # a number of a class of its own
        return None
    return number if math.isfinite(number) else None

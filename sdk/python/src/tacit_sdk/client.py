"""Decisions inside the caller's process, and replies in batches.

A decision is a function of a public policy and a person: no request, no lock, no wait. Two threads work beside the
caller. One asks for the policy every 30 seconds and for killed arms every two seconds; the other one sends replies.
"""

from __future__ import annotations

import atexit
import http.client
import json
import logging
import os
import random  # noqa: TID251 - for the moments of requests, nothing else
import threading
import weakref
from collections import Counter
from collections.abc import Mapping
from time import monotonic, sleep, time
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

from tacit_sdk.assignment import Assignment, PersonSecret
from tacit_sdk.connection import Connection, check_url
from tacit_sdk.policy import LONGEST, Policy, Refused
from tacit_sdk.process import new_mark
from tacit_sdk.replies import Replies, Row, body

POLICY_EVERY, KILLS_EVERY, SEND_EVERY = 30.0, 2.0, 1.0
BATCH, CAPACITY = 500, 100_000
POLL_TIMEOUT, SEND_TIMEOUT = 2.0, 10.0
SHORTEST_PAUSE, FIRST_PAUSE, LONGEST_PAUSE = 0.05, 0.5, 30.0
AGAIN = 1.0
"""Seconds until threads are started again that could not be."""
AT_EXIT = 2.0
SPLIT = (400, 413, 422)
"""Answers that no repetition changes: the batch is halved, until the row that they are about is alone."""
INFINITE = float("inf")

log = logging.getLogger("tacit_sdk")


class Decision(NamedTuple):
    """What to show one person.

    Attributes:
        arm: the arm's name.
        token: what `reply` needs; None if no reply counts.
        version: the number of the policy's version, or None.
        reason: "policy"; "frozen" (by the policy, but nothing counts); "override"; or why it is the default arm: "none"
            (no policy yet), "closed" (the policy's time is over), "killed", "person" (an empty or impossible id) and
            "opted out".
    """

    arm: str
    token: str | None
    version: int | None
    reason: str


class Client:
    """Decides for persons in one experiment, and reports what came of it.

    `decide` and `reply` neither wait nor raise; `counters()` tells what happened. Threads may share a client. After a
    fork the child's client has the policy, and not the replies, which the parent sends.

    Args:
        url: where the service is, such as "https://decisions.example.org".
        token: a token of that service with the scope `sdk`.
        experiment: the experiment's name.
        secret: the person secret, at least 16 bytes. It must be the same wherever this experiment is decided, and stay
            secret: whoever has it can tell whose pid is whose.
        default: the arm that is shown before the first policy is there.
        bootstrap: a file with a policy for the time until the first answer.
        policy_url: where else the policy is (a CDN, or a file as "file:///..."); the token is not sent there.
        overrides: the arm of a few persons, for tests by hand. Their decisions have no token.
        start: whether threads ask and send. Without them only `poll()` and `flush()` do.
    """

    def __init__(
        self,
        url: str,
        token: str,
        experiment: str,
        *,
        secret: str | bytes,
        default: str,
        bootstrap: str | os.PathLike[str] | None = None,
        policy_url: str | None = None,
        overrides: Mapping[str, str] | None = None,
        start: bool = True,
    ) -> None:
        if not (isinstance(token, str) and token.isascii() and token.isprintable() and token and " " not in token):
            raise ValueError("The token must be what `tacit token` printed.")
        for name, value in (("experiment", experiment), ("default", default)):
            if not (isinstance(value, str) and value):
                raise ValueError(f"The {name!r} of a client must be a name.")
        self._url, self._experiment = check_url(url).rstrip("/"), experiment
        self._headers = {"Authorization": f"Bearer {token}"}
        self._policy_url = None if policy_url is None else check_url(policy_url, ("http", "https", "file"))
        self._pid = PersonSecret(secret).pid
        self._default = default
        self._threads = start
        self._closed = False
        self._decisions: Counter[str] = Counter()
        self._errors: Counter[str] = Counter()
        self._policy: Policy | None = None
        self._policy_etag: str | None = None
        self._kills_etag: str | None = None
        self._killed: frozenset[str] = frozenset()
        self._killed_here: frozenset[str] = frozenset()
        self._overrides = dict(overrides or {})
        self._confirmed = monotonic()
        self._renew()
        if bootstrap is not None:
            self._read_file(bootstrap)
        _clients.add(self)

    def __repr__(self) -> str:
        return f"Client({self._url!r}, {self._experiment!r})"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For the caller: nothing here waits, nothing raises.

    def decide(self, person: str, *, opt_out: bool = False) -> Decision:
        """Return the arm of a person, at once.

        Args:
            person: whom it is for, by the id that they always have. An empty one gets the default arm.
            opt_out: whether this person objected: then it is the default arm, and nothing is sent.
        """
        _check_process()
        if not self._running and self._threads:
            self._start()
        serving = self._serving
        arm, token, reason = serving.default, None, "person"
        try:
            if opt_out:
                reason = "opted out"
            elif isinstance(person, str) and person:
                pid = self._pid(person)
                if self._overrides and person in self._overrides:
                    arm, reason = self._overrides[person], "override"
                elif serving.assignment is None:
                    reason = "none"
                elif time() >= serving.close_at:
                    reason = "closed"
                else:
                    arm, reason = serving.outcomes[serving.assignment.arm(pid)]
                    if reason == "policy":
                        token = f"{serving.salt}.{pid}"
        except Exception:  # a lone surrogate, or a text of a class of its own
            arm, token, reason = serving.default, None, "person"
        self._decisions[reason] += 1  # without a lock: threads may lose a few
        return Decision(arm, token, serving.version, reason)

    def reply(self, token: str | None, value: float) -> bool:
        """Report what came of a decision; return whether it waits to be sent.

        Args:
            token: the decision's token. A decision without one has no reply: nothing happens.
            value: a number in the experiment's range; True and False are 1 and 0. Several replies to one version count
                as the experiment says (usually: the largest).
        """
        _check_process()
        if token is None:
            return False
        if self._closed:
            self._replies.count_lost(token, "exit")
            return False
        if not self._running and self._threads:
            self._start()
        policy = self._policy
        low, high = (-INFINITE, INFINITE) if policy is None else (policy.low, policy.high)
        taken = self._replies.add(token, value, low, high)
        if len(self._replies) >= BATCH:
            self._full.set()
        return taken

    def override(self, person: str, arm: str | None) -> None:
        """Give one person an arm, for tests by hand; None takes that back."""
        changed = {name: value for name, value in self._overrides.items() if name != person}
        self._overrides = changed if arm is None else {**changed, person: arm}

    def kill(self, arm: str, *, killed: bool = True) -> None:
        """Show the default arm in place of this one, in this process, whatever the service says; or end that."""
        _check_process()
        with self._changing:
            self._killed_here = self._killed_here | {arm} if killed else self._killed_here - {arm}
            self._serve()

    def counters(self) -> dict[str, Any]:
        """Return what happened so far, for metrics. Nothing of it names a person."""
        _check_process()
        policy = self._policy
        return {
            "decisions": dict(self._decisions),
            "policy": None if policy is None else {"version": policy.version, "digest": policy.digest},
            "policy_age_seconds": monotonic() - self._confirmed,
            "killed": sorted(self._killed | self._killed_here),
            "queue": len(self._replies),
            "sent": self._replies.sent,
            "dropped": self._replies.dropped(),
            "errors": dict(self._errors),
        }

    def close(self, timeout: float = AT_EXIT) -> None:
        """Send what waits, for at most so many seconds, and count the rest as dropped.

        Decisions go on by the last policy. Later replies are counted as dropped.
        """
        _check_process()
        self._closed, self._threads = True, False
        self._end = monotonic() + timeout
        self._stop.set()
        self._full.set()
        if self._running:
            self._sender.join(max(timeout, 0.0))
        self._replies.drop_waiting("exit")

    # What the threads do; without threads, whoever calls `poll` and `flush`.

    def poll(self) -> None:
        """Ask for the policy and for killed arms. It waits for the answers, and does not raise."""
        _check_process()
        service = self._connection(POLL_TIMEOUT)
        elsewhere = self._policy_connection(service)
        self._poll_policy(elsewhere)
        self._poll_kills(service)
        elsewhere.close()
        service.close()

    def flush(self) -> bool:
        """Send what waits; return whether nothing waits any more. It waits for the answers, and does not raise."""
        _check_process()
        connection = self._connection(SEND_TIMEOUT)
        try:
            return self._send_all(connection)
        finally:
            connection.close()

    def _renew(self) -> None:
        """Make what a fork does not carry over: locks, threads, and the queue, whose rows the parent sends."""
        self._replies = Replies(CAPACITY)
        self._running, self._end, self._next_start = False, INFINITE, 0.0
        self._starting, self._changing = threading.Lock(), threading.RLock()
        self._stop, self._full = threading.Event(), threading.Event()
        self._serve()

    def _serve(self) -> None:
        """Put policy and killed arms together into what the next decisions are made from."""
        policy, killed = self._policy, self._killed | self._killed_here
        if policy is None:
            self._serving = Serving(self._default, None, "", INFINITE, None, ())
            return
        counted = "policy" if policy.counting else "frozen"
        outcomes = tuple((policy.default, "killed") if arm in killed else (arm, counted) for arm in policy.arms)
        assignment = Assignment(policy.salt, policy.upto)
        self._serving = Serving(policy.default, policy.version, policy.salt, policy.close_at, assignment, outcomes)

    def _start(self) -> None:
        if not self._starting.acquire(blocking=False):
            return  # another thread does
        try:
            if self._running or self._closed or monotonic() < self._next_start:
                return
            self._next_start = monotonic() + AGAIN
            threading.Thread(target=self._poll_on, name="tacit-sdk-poll", daemon=True).start()
            self._sender = threading.Thread(target=self._send_on, name="tacit-sdk-send", daemon=True)
            self._sender.start()
            self._running = True
        except RuntimeError:  # no thread can be started
            self._errors["thread"] += 1
        finally:
            self._starting.release()

    def _poll_on(self) -> None:
        stop, service = self._stop, self._connection(POLL_TIMEOUT)
        elsewhere = self._policy_connection(service)
        next_policy = next_kills = monotonic()
        while not stop.wait(max(0.0, min(next_policy, next_kills) - monotonic())):
            if monotonic() >= next_policy:
                self._poll_policy(elsewhere)
                next_policy = monotonic() + _jittered(POLICY_EVERY)
            if monotonic() >= next_kills:
                self._poll_kills(service)
                next_kills = monotonic() + _jittered(KILLS_EVERY)
        elsewhere.close()
        service.close()

    def _send_on(self) -> None:
        connection, pause = self._connection(SEND_TIMEOUT), FIRST_PAUSE
        while True:
            if not self._stop.is_set():
                self._full.wait(SEND_EVERY)
                self._full.clear()
            if self._send_all(connection):
                pause = FIRST_PAUSE
                if self._stop.is_set():
                    break
            elif not self._stop.wait(_jittered(pause)):
                pause = min(2 * pause, LONGEST_PAUSE)
            elif monotonic() < self._end:
                sleep(SHORTEST_PAUSE)
            else:
                break
        connection.close()

    def _connection(self, timeout: float) -> Connection:
        return Connection(f"{self._url}/v1/experiments/{quote(self._experiment, safe='')}", self._headers, timeout)

    def _policy_connection(self, service: Connection) -> Connection:
        return service if self._policy_url is None else Connection(self._policy_url, {}, POLL_TIMEOUT)

    def _poll_policy(self, connection: Connection) -> None:
        where = urlsplit(self._policy_url or "")
        if where.scheme == "file":
            self._read_file(unquote(where.path))
            return
        try:
            answer = connection.ask("GET", "" if self._policy_url else "/policy", etag=self._policy_etag, most=LONGEST)
        except (OSError, http.client.HTTPException):
            self._errors["policy: no answer"] += 1
            return
        if answer.status == 304:
            self._confirmed = monotonic()
        elif answer.status == 200:
            self._take(answer.body, answer.etag)
        else:
            self._errors[f"policy: {answer.status}"] += 1

    def _read_file(self, path: str | os.PathLike[str]) -> None:
        try:
            with open(path, "rb") as file:
                self._take(file.read(LONGEST + 1), None)
        except (OSError, ValueError):
            self._errors["policy: no file"] += 1

    def _take(self, text: bytes, etag: str | None) -> None:
        """Use a policy from now on, unless it is refused."""
        try:
            policy = Policy.parse(text)
            with self._changing:
                policy.check_after(self._experiment, self._policy)
                self._policy, self._policy_etag, self._confirmed = policy, etag, monotonic()
                self._serve()
        except Refused as refused:
            self._errors[f"policy: {refused.kind}"] += 1
            log.warning("A policy of the experiment %r was refused: %s", self._experiment, refused)

    def _poll_kills(self, connection: Connection) -> None:
        try:
            answer = connection.ask("GET", "/kills", etag=self._kills_etag, most=LONGEST)
            if answer.status == 304:
                return
            if answer.status != 200:
                self._errors[f"kills: {answer.status}"] += 1
                return
            killed = json.loads(answer.body)["killed"]
            if not (isinstance(killed, list) and all(isinstance(arm, str) for arm in killed)):
                raise ValueError
        except (OSError, http.client.HTTPException):
            self._errors["kills: no answer"] += 1
        except (ValueError, KeyError, TypeError, RecursionError):
            self._errors["kills: malformed"] += 1
        else:
            with self._changing:
                self._killed, self._kills_etag = frozenset(killed), answer.etag
                self._serve()

    def _send_all(self, connection: Connection) -> bool:
        """Send batches until nothing waits (True) or the service cannot take one now (False: its rows wait again)."""
        while rows := self._replies.take(BATCH):
            parts = [rows]
            while parts:
                part = parts.pop()
                status, refused = self._send(connection, part)
                if 200 <= status < 300:
                    self._replies.acknowledge(part, refused)
                    continue
                self._errors[f"replies: {status or 'no answer'}"] += 1
                if status not in SPLIT:
                    parts.append(part)
                    self._replies.put_back([row for waiting in reversed(parts) for row in waiting])
                    return False
                if len(part) == 1:
                    self._replies.drop(part, "refused")
                else:
                    parts += [part[len(part) // 2 :], part[: len(part) // 2]]
        return True

    def _send(self, connection: Connection, rows: list[Row]) -> tuple[int, dict[int, str]]:
        """Return the status of one request (0: no answer), and a reason for each place that was not taken."""
        try:
            answer = connection.ask("POST", "/replies", body=body(rows), most=LONGEST)
        except (OSError, http.client.HTTPException):
            return 0, {}
        refused = {}
        try:
            told = json.loads(answer.body) if 200 <= answer.status < 300 else {}
            for reason in ("closed", "malformed"):
                refused.update({place: reason for place in told.get(reason, []) if place in range(len(rows))})
        except (ValueError, AttributeError, TypeError, RecursionError):
            self._errors["replies: malformed answer"] += 1
        return answer.status, refused


class Serving(NamedTuple):
    """All that a decision reads, changed as one."""

    default: str
    version: int | None
    salt: str
    close_at: float
    assignment: Assignment | None
    outcomes: tuple[tuple[str, str], ...]


def _jittered(seconds: float) -> float:
    """Return up to a tenth less: clients that were started together drift apart, and none waits for longer."""
    return seconds * (0.9 + 0.1 * random.random())


_clients: weakref.WeakSet[Client] = weakref.WeakSet()


_mark = new_mark()
_renewing = threading.RLock()
_LONGEST_WAIT = 1.0  # seconds for a lock that a thread of the parent process may hold


def _check_process() -> None:
    """Renew all clients of a process that was forked, once, before any of them is used there."""
    if _mark[0]:
        return
    acquired = _renewing.acquire(timeout=_LONGEST_WAIT)
    try:
        if not _mark[0]:
            for client in list(_clients):
                client._renew()
            _mark[0] = 1  # last: until then every thread of a child waits here
    finally:
        if acquired:
            _renewing.release()


def _after_python_fork() -> None:
    global _renewing
    _renewing = threading.RLock()
    _mark[0] = 0  # where process numbers are compared, a child in another namespace may have the same one
    _check_process()


def _at_exit() -> None:
    _check_process()
    end = monotonic() + AT_EXIT
    for client in list(_clients):
        if not client._closed:
            client.close(max(0.0, end - monotonic()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_python_fork)
atexit.register(_at_exit)

"""A client of the service, of the standard library alone: it asks again, under the same key, until it has an answer.

An answer can be lost on its way: then nobody knows whether the round was decided. So each request for a decision has a
key, and asking again with the same key gives the same decision. Feedback is the same when it comes twice.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from dataclasses import fields, is_dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from tacit.decisions import Decision
from tacit.errors import Conflict, InvalidInput, ProtocolError, ServiceError, TacitError
from tacit.noise.randomness import secret_bytes
from tacit.process import current_process
from tacit.validation import MALFORMED, check_integer, check_positive, invalid

AGAIN = (408, 429, 502, 503, 504)
"""Answers that say: later, perhaps."""
LOST = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of TLS that say no more than that the connection is gone."""
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
NO_DEFAULT: Any = object()


class Unanswered(ServiceError):
    """The service did not answer in time."""


class Client:
    """Decisions from a service (`tacit serve`). Threads and forked processes may share it.

    Lost connections, timeouts and busy services are asked again with the same key until `patience` is over.

    Args:
        url: where the service is, such as "http://127.0.0.1:8000".
        token: a token of that service (`tacit token`); it is never shown.
        timeout: how many seconds to wait for one answer.
        patience: for how many seconds to ask again.

    >>> client = Client("http://127.0.0.1:8000", "tacit_...")
    >>> client
    Client('http://127.0.0.1:8000')
    """

    def __init__(self, url: str, token: str, *, timeout: float = 35.0, patience: float = 60.0) -> None:
        self._secure, self._host, self._prefix = _address(url)
        self._timeout = check_positive("Client", "timeout", timeout)
        self._patience = check_positive("Client", "patience", patience)
        if not (isinstance(token, str) and token.isascii() and token.isprintable() and token and " " not in token):
            raise InvalidInput("The 'token' of a Client must be what `tacit token` printed.")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._kept = threading.local()  # each thread has a connection of its own

    def decide(
        self, name: str, key: str | None = None, *, deadline: float | None = None, default: Any = NO_DEFAULT
    ) -> Decision:
        """Give the decision of the next round of a learner.

        Args:
            name: the learner.
            key: a name for this request (default: a random one): the same key gives the same decision, also after this
                program has ended.
            deadline: after so many seconds without an answer, give up (default: the client's patience). Only the search
                for the address of a host can take longer.
            default: what to do then. The decision says that it is a default (`decision.default`) and has no feedback.
                Without a default giving up raises a `ServiceError`. A refusal by the service raises in any case.
        """
        wanted = urlsafe_b64encode(secret_bytes(18)).decode() if key is None else key
        longest = self._patience if deadline is None else check_positive("decide", "deadline", deadline)
        try:
            answer = self._ask("POST", f"/v1/learners/{_quoted(name)}/decisions", {"key": wanted}, longest)
        except Unanswered:
            if default is NO_DEFAULT:
                raise
            return Decision(-1, default)
        try:
            return Decision(check_integer("decide", "round", answer["round"], at_least=0), answer["action"])
        except (*MALFORMED, InvalidInput):
            raise _strange(200) from None

    def settle(self, name: str, round: int, feedback: Any, *, person: str | None = None) -> None:
        """Report the feedback of a round.

        Args:
            name: the learner's name.
            round: the round.
            feedback: a list of numbers, a number, or None if there is none.
            person: whose feedback it is, if the learner was made with `persons=True`; needed then, refused otherwise.
        """
        if round == -1:
            raise InvalidInput("This decision was a default, which belongs to no round and has no feedback.")
        number = check_integer("settle", "round", round, at_least=0)
        content = {"feedback": feedback.tolist() if hasattr(feedback, "tolist") else feedback}
        if person is not None:
            content["person"] = person
        self._ask("POST", f"/v1/learners/{_quoted(name)}/rounds/{number}/feedback", content)

    def create(
        self, name: str, problem: Any, *, epsilon: float, delta: float = 1e-6, ledger: str | None = None, **target: Any
    ) -> dict[str, Any]:
        """Make a learner, or find that it is there: its plan, contract and comparison.

        Args:
            name: its name.
            problem: what is to be decided: a problem such as `tacit.Experts(...)`, or its description as a dictionary
                with its kind ({"kind": "experts", "n": 3, "horizon": 1000}).
            epsilon: the privacy budget of the whole run.
            delta: the failure probability of the privacy.
            ledger: the name of a ledger there, which is charged.
            **target: adversary, relation, rounds_per_person, separation, max_switches, confidence, as in `tacit.plan`;
                and `persons=True` if feedback names its person, whom the store then counts.
        """
        described = problem
        if is_dataclass(problem):
            values = {field.name: getattr(problem, field.name) for field in fields(problem)}
            described = {"kind": type(problem).__name__.lower(), **values}
        content = {"name": name, "problem": described, "epsilon": epsilon, "delta": delta, "ledger": ledger, **target}
        try:
            answer: dict[str, Any] = self._ask("POST", "/v1/learners", content)
        except ProtocolError as error:
            raise Conflict(str(error)) from None
        return answer

    def end(self, name: str) -> None:
        """End a learner for good: its state and feedback are deleted; contract, decisions and charges are kept."""
        self._ask("DELETE", f"/v1/learners/{_quoted(name)}")

    def learner(self, name: str) -> dict[str, Any]:
        """Give what is public of a learner: contract, certified regret, rounds, switches, latest decisions."""
        answer: dict[str, Any] = self._ask("GET", f"/v1/learners/{_quoted(name)}")
        return answer

    def ledger(self) -> list[dict[str, Any]]:
        """Give every budget, with the spending of that budget."""
        try:
            answer: list[dict[str, Any]] = self._ask("GET", "/v1/ledger")["ledgers"]
        except MALFORMED:
            raise _strange(200) from None
        return answer

    def close(self) -> None:
        """Let go of this thread's connection."""
        self._kept.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client('{'https' if self._secure else 'http'}://{self._host}{self._prefix}')"

    def _ask(self, method: str, path: str, content: dict[str, Any] | None = None, patience: float | None = None) -> Any:
        """The answer to a request, which is sent again until there is one."""
        body, longest = None if content is None else _written(content), patience or self._patience
        end, pause = time.monotonic() + longest, 0.0  # a connection that was kept may be closed by now: at once
        while True:
            try:
                left = max(end - time.monotonic(), 0.001) if patience else self._timeout
                status, text = self._send(method, path, body, min(left, self._timeout))
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, ssl.SSLError) and not isinstance(error, LOST):
                    raise ServiceError(f"{self!r} cannot trust the service: {error.reason}.") from None
                status, text = 0, type(error).__name__.encode()
                self.close()
            if status not in (0, *AGAIN):
                return _read(status, text)
            if time.monotonic() + pause > end:
                said = f"answered {status}" if status else f"did not answer ({text.decode()})"
                raise Unanswered(
                    f"{self!r}: the service {said} for {longest:g} seconds. Whether the request was carried out "
                    "is not known: the same one again, with the same key, finds out."
                )
            time.sleep(pause)
            pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * pause))

    def _send(self, method: str, path: str, body: bytes | None, seconds: float) -> tuple[int, bytes]:
        kept: _Kept | None = getattr(self._kept, "connection", None)
        forked = kept is not None and kept.process != current_process()
        if kept is None or forked:  # a child shares the socket, and would read others' answers
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            kept = self._kept.connection = _Kept(kind(self._host, timeout=seconds))
        connection = kept.connection
        connection.timeout = seconds
        if connection.sock is not None:
            connection.sock.settimeout(seconds)
        connection.request(method, self._prefix + path, body, self._headers)
        response = connection.getresponse()
        return response.status, response.read()


class _Kept:
    """A connection that is closed when nobody has it any more, at the latest with its thread."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self.connection = connection
        self.process = current_process()

    def __del__(self) -> None:
        self.connection.close()


def _read(status: int, text: bytes) -> Any:
    """What was answered, or the error that it tells."""
    if status == 204:
        return None
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise _strange(status) from None
    if status < 300:
        return content
    detail = str(content.get("detail") or "") if isinstance(content, dict) else ""
    kinds: dict[int, type[TacitError]] = {404: InvalidInput, 409: ProtocolError, 413: InvalidInput, 422: InvalidInput}
    raise kinds.get(status, ServiceError)(detail or f"The service answered {status}.")


def _strange(status: int) -> ServiceError:
    return ServiceError(f"The service answered {status}, and not as tacit serve does.")


def _address(url: object) -> tuple[bool, str, str]:
    """Whether it is secure, the host with its port, and what stands before every path."""
    allowed = "an address such as 'http://127.0.0.1:8000'"
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError
    except ValueError:
        raise invalid("Client", "url", allowed, "another value") from None
    if parts.username or parts.password or parts.query:  # they would be shown
        raise InvalidInput("The 'url' of a Client has no user, password or query: the token says who asks.")
    return parts.scheme == "https", parts.netloc, parts.path.rstrip("/")


def _quoted(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise invalid("Client", "name", "the name of a learner", name)
    return quote(name, safe="")


def _written(content: dict[str, Any]) -> bytes:
    try:
        return json.dumps(content, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput("What is sent must be made of finite numbers, texts, lists and dictionaries.") from None

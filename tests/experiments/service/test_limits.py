"""Bodies that are too large, clients that are too slow, answers that take too long, many at once."""

import json
import re
import socket
import threading
import time

import pytest

import tacit
from attacks import rows
from experiments.service.running import BODY, running
from tacit.errors import StoreError
from tacit_experiments.storage import engines
from tacit_experiments.store.batches import Batches
from tacit_experiments.store.live import Live
from tacit_experiments.store.store import Store

HEAD = "POST /v1/learners/home/decisions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n"


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A service with narrow limits."""
    limits = {"body": 2000, "seconds": 1.5, "patience": 0.7}
    with running(tmp_path_factory.mktemp("limits") / "a.db", quick=True, **limits) as found:
        found.store.open("home", tacit.Experts(n=3, horizon=400), epsilon=1.0, delta=1e-6)  # planned in its own time
        yield found


def talk(service, *pieces, pause=0.0, enough=None):
    """Send these pieces over one connection; everything that comes back until it is closed, or this is among it."""
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        try:
            for piece in pieces:
                connection.sendall(piece)
                time.sleep(pause)
        except ConnectionError:
            pass  # it hung up already
        answer = b""
        try:
            while (enough is None or enough not in answer) and (piece := connection.recv(65536)):
                answer += piece
        except ConnectionError:
            pass
    return answer.decode()


def granted(service, *request):
    """Ask until the service has time, of which it has little here; the status."""
    while (status := service.post(*request)[0]) == 503:
        time.sleep(0.01)
    return status


def test_a_body_whose_length_is_told(strict):
    status, headers, text = strict.ask("POST", "/v1/learners/home/decisions", {"key": "x" * 2000})
    assert (status, headers["content-type"]) == (413, "application/problem+json")
    assert "xxx" not in text


def test_a_body_in_chunks(strict):
    chunk = b"400\r\n" + b"y" * 1024 + b"\r\n"
    head = (HEAD.format(strict.token) + "Transfer-Encoding: chunked\r\n\r\n").encode()
    answer = talk(strict, head, chunk, chunk, chunk)
    assert answer.startswith("HTTP/1.1 413")
    assert "connection: close" in answer.lower()
    assert "yyy" not in answer
    assert strict.post("/v1/learners/home/decisions", {"key": "after"})[0] == 200


@pytest.mark.parametrize("length", ["-1", "a", "1" * 400])
def test_a_length_that_is_none(strict, length):
    head = (HEAD.format(strict.token) + f"Content-Length: {length}\r\n\r\n").encode()
    assert talk(strict, head, b"{}").startswith(("HTTP/1.1 400", "HTTP/1.1 413"))


def test_a_body_with_two_lengths(strict):
    """Whoever stands between believes one of them, and would take the rest for another request."""
    head = HEAD.format(strict.token) + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = talk(strict, head.encode(), b'11\r\n{"key": "hidden"}\r\n0\r\n\r\n')
    assert answer.startswith("HTTP/1.1 400")
    assert "connection: close" in answer.lower()
    assert '"round"' not in answer


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02\r\n\r\n", b"GET /healthz HTTP/1.1\r\n\r\n"], ids=["TLS", "no host"]
)
def test_what_is_no_request_is_refused_like_any_other(strict, sent):
    head, _, text = talk(strict, sent).partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 400")
    assert "content-type: application/problem+json" in head.lower()
    assert "x-content-type-options: nosniff" in head.lower()
    assert json.loads(text)["status"] == 400


def test_what_comes_after_a_refusal_is_no_defect(strict, caplog):
    head = (HEAD.format(strict.token) + "Transfer-Encoding: chunked\r\n\r\n").encode()
    answer = talk(strict, head, b"fff\r\n" + b"y" * 0xFFF + b"\r\n", b"no chunk\r\n", b"x" * 100, pause=0.1)
    assert answer.startswith("HTTP/1.1 413")
    assert not [record for record in caplog.records if record.name == "tacit_experiments.service"]


def test_a_client_that_goes_away_is_no_failure_of_the_service(strict):
    def unanswered():
        lines = strict.ask("GET", "/metrics", token="")[2].splitlines()
        return {line for line in lines if line.startswith("tacit_requests_total{") and "(none)" in line}

    before = unanswered()
    host, port = strict.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall((HEAD.format(strict.token) + "Content-Length: 20\r\n\r\n{").encode())
    while not (counted := unanswered() - before):
        time.sleep(0.02)
    assert 'status="499"' in counted.pop()


def test_a_body_that_comes_too_slowly(strict):
    head = (HEAD.format(strict.token) + "Content-Length: 20\r\n\r\n").encode()
    assert talk(strict, head, b'{"key"').startswith("HTTP/1.1 408")


def test_headers_that_come_too_slowly(strict):
    assert talk(strict, b"G", b"E", b"T", b" ", b"/ HTTP/1.1\r\n", pause=0.25) == ""
    assert talk(strict) == ""
    # Headers that come in pieces, but in time, are fine.
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    tries = (talk(strict, whole[:9], whole[9:], pause=0.05) for _ in range(9))  # a busy machine may be late
    assert any(answer.count("200 OK") == 1 for answer in tries)


def test_headers_that_are_too_large(strict):
    line = b"X-Padding: " + b"a" * 1000 + b"\r\n"
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + line * 400
    assert talk(strict, whole + b"\r\n").startswith("HTTP/1.1 400")
    answer = talk(strict, whole[:9], *[b"X: " + b"b" * 4000] * 12, pause=0.01)  # one header that does not end
    assert answer.startswith("HTTP/1.1 400") or not answer


def test_trailers_are_not_headers(strict):
    """What stands behind a body comes too late to say who asks."""
    head = "POST /v1/learners/home/decisions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    body = f'f\r\n{{"key": "tail"}}\r\n0\r\nAuthorization: Bearer {strict.token}\r\n\r\n'
    sent = (head + "Transfer-Encoding: chunked\r\n\r\n").encode(), body.encode()
    assert talk(strict, *sent, pause=0.1).startswith("HTTP/1.1 401")
    assert talk(strict, b"".join(sent)).startswith("HTTP/1.1 401")


def test_trailers_without_an_end(strict):
    head = (HEAD.format(strict.token) + "Transfer-Encoding: chunked\r\n\r\n").encode()
    answer = talk(strict, head, b'f\r\n{"key": "tail"}\r\n0\r\nX: ', *[b"y" * 4000] * 20, pause=0.01)
    assert answer.startswith(("HTTP/1.1 400", "HTTP/1.1 408")) or not answer


def test_requests_that_are_sent_at_once_are_answered_in_order(strict):
    body = b'{"key": "piped"}'
    first = (
        HEAD.format(strict.token) + f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    last = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    answer = talk(strict, (first + body) * 3 + last)
    assert answer.count("HTTP/1.1 200 OK") == 4
    assert len(set(re.findall(r'\{"round".*?\}', answer))) == 1
    assert answer.endswith('{"status":"ok"}')


def test_other_protocols_are_not_spoken(strict):
    asked = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
    assert talk(strict, asked, b"PRI * HTTP/2.0\r\n\r\n", enough=b"OK").startswith("HTTP/1.1 200 OK")


def test_an_answer_that_takes_too_long_goes_on_behind_it(strict, monkeypatch):
    make, hold = Store.make, threading.Event()

    def slow(self, *arguments, **options):
        hold.wait(60)
        return make(self, *arguments, **options)

    monkeypatch.setattr(Store, "make", slow)
    status, headers, text = strict.ask("POST", "/v1/learners", BODY | {"name": "late"})
    assert status == 503
    assert headers["retry-after"]
    assert "again" in json.loads(text)["detail"]
    assert granted(strict, "/v1/learners/home/decisions", {"key": "meanwhile"}) == 200
    hold.set()
    while "late" not in strict.store.learners:
        time.sleep(0.01)
    monkeypatch.undo()
    assert granted(strict, "/v1/learners", BODY | {"name": "late"}) == 200


def test_a_store_that_fails_is_asked_again_later(strict, monkeypatch):
    def fail(self, *arguments, **options):
        raise StoreError("The store x failed (database is locked): nothing was shown.")

    monkeypatch.setattr(Live, "decide_later", fail)
    status, headers, _ = strict.ask("POST", "/v1/learners/home/decisions", {"key": "later"})
    assert (status, headers["retry-after"]) == (503, "1")
    monkeypatch.undo()
    assert granted(strict, "/v1/learners/home/decisions", {"key": "later"}) == 200
    monkeypatch.setattr(engines.Database, "reading", lambda self: (_ for _ in ()).throw(StoreError("gone")))
    assert strict.ask("GET", "/healthz", token="")[0] == 503


@pytest.mark.attack(rows.COUNTED)
def test_a_store_that_fails_does_not_log_that_feedback_came(strict, monkeypatch, caplog):
    """Decisions that fail are logged, so that whoever runs the service knows; feedback that does is private."""

    def fail(self, *arguments, **options):
        raise StoreError("The store x failed (disk full): nothing was shown.")

    monkeypatch.setattr(Live, "decide_later", fail)
    monkeypatch.setattr(Live, "settle_later", fail)
    assert strict.post("/v1/learners/home/rounds/0/feedback", {"feedback": None})[0] == 503
    assert not caplog.records
    assert strict.post("/v1/learners/home/decisions", {"key": "fails"})[0] == 503
    assert "disk full" in caplog.text


@pytest.mark.attack(rows.QUOTED)
def test_a_defect_says_and_logs_nothing_of_what_was_sent(strict, monkeypatch, caplog):
    def fail(self, key, run):
        raise RuntimeError(f"canary {key}")

    monkeypatch.setattr(Live, "decide_later", fail)
    status, headers, text = strict.ask("POST", "/v1/learners/home/decisions", {"key": "secret"})
    assert (status, headers["content-type"]) == (500, "application/problem+json")
    assert headers["x-content-type-options"] == "nosniff"
    assert "RuntimeError in fail" in caplog.text
    assert not any(word in text + caplog.text for word in ("canary", "secret"))


def test_no_thread_waits_for_a_turn_that_is_given_in_another_thread(service, monkeypatch):
    """With all threads asleep nobody could serve them, and the service would never answer again."""
    service.made(name="turns")

    def asleep(self, work):
        raise AssertionError("a thread would sleep here")

    monkeypatch.setattr(Batches, "submit", asleep)
    assert service.post("/v1/learners/turns/decisions", {"key": "a"})[0] == 200
    assert service.post("/v1/learners/turns/rounds/0/feedback", {"feedback": None})[0] == 204
    status, shown = service.get("/v1/learners/turns")
    assert (status, shown["rounds"], shown["switches"]) == (200, 1, 0)

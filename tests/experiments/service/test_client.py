"""The client asks again under the same key, and shows its token to nobody."""

import http.server
import json
import os
import pickle
import socket
import ssl
import threading
import time
import traceback

import numpy as np
import pytest

import tacit
import tacit_experiments
from experiments.service.running import LOSSES
from forks import libc_fork
from tacit.errors import Conflict, InvalidInput, ProtocolError, ServiceError

TOKEN = "tacit_" + "s3cret" * 7


def test_a_whole_conversation(service):
    with service.client() as client:
        made = client.create("whole", tacit.Experts(n=3, horizon=300, delay=5), epsilon=1.0)
        assert made["plan"]["epsilon"] <= 1.0
        assert client.create("whole", tacit.Experts(n=3, horizon=300, delay=5), epsilon=1.0, relation="replace")
        with pytest.raises(Conflict, match="another contract"):
            client.create("whole", {"kind": "experts", "n": 3, "horizon": 200}, epsilon=1.0, ledger=None)
        first = client.decide("whole", "a")
        assert isinstance(first, tacit.Decision)
        assert client.decide("whole", key="a") == first
        assert client.decide("whole").round == 1
        client.settle("whole", 0, np.array(LOSSES))
        client.settle("whole", 0, LOSSES)
        client.settle("whole", 1, None)
        with pytest.raises(ProtocolError, match="another one"):
            client.settle("whole", 0, [0.5, 0.5, 0.5])
        with pytest.raises(InvalidInput, match="list of 3 numbers"):
            client.settle("whole", 0, 0.5)
        with pytest.raises(InvalidInput, match="no learner of this name"):
            client.decide("nobody")
        assert client.learner("whole")["rounds"] == 2
        assert isinstance(client.ledger(), list)


def test_names_with_every_kind_of_character(service):
    name = "Müller & Söhne? 100% #1 +ü"
    with service.client() as client:
        client.create(name, {"kind": "experts", "n": 2, "horizon": 20}, epsilon=1.0)
        assert client.decide(name).round == 0
        client.settle(name, 0, [0.0, 1.0])
        assert client.learner(name)["name"] == name


class Unreliable:
    """A server that does these things with the requests that come, one after the other, and remembers them."""

    def __init__(self, *deeds):
        self.requests, self.connections, deeds = [], [], list(deeds)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.connections.append(self.client_address)
                outer.requests.append((self.path, json.loads(body), self.headers["Authorization"]))
                deed = deeds.pop(0)
                if deed is None:  # the connection is lost
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                status, text = deed
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def test_what_is_lost_is_asked_again_under_the_same_key():
    place = Unreliable(None, (503, b"{}"), None, (502, b"<html>"), (200, b'{"round": 4, "action": 1}'))
    with place as url, tacit_experiments.Client(url, TOKEN) as client:
        assert client.decide("home") == (4, 1)
    assert len(place.requests) == 5
    assert len({json.dumps(request) for request in place.requests}) == 1
    assert len(place.requests[0][1]["key"]) >= 20


def test_a_connection_that_is_lost_inside_tls_is_asked_again(monkeypatch):
    answers = [ssl.SSLEOFError(8, "EOF"), ssl.SSLZeroReturnError(6, "closed"), (200, b'{"round": 4, "action": 1}')]
    bad = ssl.SSLCertVerificationError(1, "certificate verify failed")
    bad.reason = "CERTIFICATE_VERIFY_FAILED"

    def send(*_):
        found = answers.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    client = tacit_experiments.Client("https://127.0.0.1:1", TOKEN)
    monkeypatch.setattr(client, "_send", send)
    assert client.decide("home") == (4, 1)
    answers.append(bad)
    with pytest.raises(ServiceError, match="cannot trust the service"):
        client.decide("home")


def test_keys_are_never_made_twice():
    place = Unreliable(*[(200, b'{"round": 0, "action": 1}')] * 3)
    with place as url, tacit_experiments.Client(url, TOKEN) as client:
        for _ in range(3):
            client.decide("home")
    assert len({request[1]["key"] for request in place.requests}) == 3


@pytest.mark.parametrize("fork", [os.fork, libc_fork])
def test_a_forked_process_never_reads_the_answers_of_its_parent(fork):
    place = Unreliable(*[(200, b'{"round": 0, "action": 1}')] * 3)
    with place as url, tacit_experiments.Client(url, TOKEN) as client:
        client.decide("home", "parent")
        child = fork()
        if child == 0:
            os._exit(17 if client.decide("home", "child") == (0, 1) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
        client.decide("home", "parent again")
    parent, other, again = place.connections
    assert parent == again != other


@pytest.mark.parametrize(
    ("status", "text", "error", "said"),
    [
        (401, b'{"detail": "This token is not known here."}', ServiceError, "not known here"),
        (403, b'{"detail": "no"}', ServiceError, "no"),
        (500, b"[]", ServiceError, "answered 500"),
        (302, b"<a href=evil>", ServiceError, "not as tacit serve"),
        (200, b"<html>", ServiceError, "not as tacit serve"),
        (200, b"[]", ServiceError, "not as tacit serve"),
        (204, b"", ServiceError, "not as tacit serve"),
        (200, b'{"round": "x", "action": 1}', ServiceError, "not as tacit serve"),
        (200, b'{"round": 1e999, "action": 1}', ServiceError, "not as tacit serve"),
        (200, b'{"action": 1}', ServiceError, "not as tacit serve"),
        (200, b"[" * 100_000, ServiceError, "not as tacit serve"),
        (403, b'{"detail": null}', ServiceError, "answered 403"),
        (422, b'{"detail": "bad"}', InvalidInput, "bad"),
    ],
)
def test_other_answers_are_errors_at_once(status, text, error, said):
    place = Unreliable((status, text))
    with place as url, tacit_experiments.Client(url, TOKEN) as client, pytest.raises(error, match=said):
        client.decide("home")
    assert len(place.requests) == 1


def test_patience_ends_and_the_token_is_nowhere():
    place = Unreliable(*[(503, b"{}")] * 100)
    with place as url, tacit_experiments.Client(url, TOKEN, patience=0.3) as client:
        with pytest.raises(ServiceError, match="the same one again, with the same key") as caught:
            client.decide("home")
        shown = "".join(traceback.format_exception(caught.value)) + repr(client) + str(client)
        assert "s3cret" not in shown
        with pytest.raises(TypeError):
            pickle.dumps(client)
    with pytest.raises(ServiceError, match="did not answer") as caught:
        tacit_experiments.Client(url, TOKEN, patience=0.1).decide("home")
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", ["", "ftp://x", "127.0.0.1:8000", "http://", "http://x:99999", "http://[", 3])
def test_addresses_that_are_none(url):
    with pytest.raises(InvalidInput, match="'url' parameter of Client"):
        tacit_experiments.Client(url, TOKEN)


def test_what_cannot_be_sent():
    with pytest.raises(InvalidInput, match="has no user") as caught:
        tacit_experiments.Client("http://user:pass@host", TOKEN)
    assert "pass@" not in str(caught.value)
    for token in ("", "a b", "s3cret\n", "s3crét", None):
        with pytest.raises(InvalidInput, match="what `tacit token` printed") as caught:
            tacit_experiments.Client("http://127.0.0.1:1", token)
        assert "s3cr" not in str(caught.value)
    client = tacit_experiments.Client("https://host/prefix/", TOKEN)
    assert repr(client) == "Client('https://host/prefix')"
    for feedback in (float("nan"), [float("inf")], object(), {1, 2}):
        with pytest.raises(InvalidInput, match="made of finite numbers") as caught:
            client.settle("home", 0, feedback)
        assert caught.value.__suppress_context__
    with pytest.raises(InvalidInput, match="'name' parameter"):
        client.decide("")
    with pytest.raises(InvalidInput, match="'round' parameter"):
        client.settle("home", -2, None)


def test_on_the_path_of_a_request_nobody_waits_longer_than_the_deadline():
    """Before there was a deadline a service that hung took 60 seconds of whoever asked."""
    with socket.socket() as silent:  # connections are taken, and nobody answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        client = tacit_experiments.Client(f"http://127.0.0.1:{silent.getsockname()[1]}", TOKEN)
        begun = time.monotonic()
        decision = client.decide("home", deadline=0.2, default=2)
        assert (decision.action, decision.default) == (2, True)
        with pytest.raises(ServiceError, match=r"did not answer .* for 0\.2 seconds"):
            client.decide("home", deadline=0.2)
        assert time.monotonic() - begun < 30
        assert client.decide("home", deadline=0.01, default=None) == (-1, None)
        with pytest.raises(InvalidInput, match="belongs to no round"):
            client.settle("home", decision.round, LOSSES)
        with pytest.raises(InvalidInput, match="deadline"):
            client.decide("home", deadline=0.0, default=1)


def test_a_default_is_for_no_answer_and_not_for_a_refusal(service):
    with service.client() as client:
        client.create("in time", {"kind": "experts", "n": 2, "horizon": 20}, epsilon=1.0)
        assert not client.decide("in time", "a", deadline=20.0, default=7).default
        with pytest.raises(InvalidInput, match="no learner of this name"):
            client.decide("nobody", deadline=20.0, default=7)

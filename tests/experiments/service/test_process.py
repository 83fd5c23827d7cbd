"""`tacit serve` as a process: how it begins, how it ends, and that there is one of it."""

import http.client
import json
import os
import signal
import socket
import sqlite3
import sys
import time
from contextlib import ExitStack, closing, contextmanager

import pytest

import tacit
import tacit_experiments
from cli.command import refused, run_command
from experiments.service.running import start
from tacit.errors import StoreError
from tacit_experiments.commands.service import token_command
from tacit_experiments.service.server import occupied
from tacit_experiments.service.tokens import SCOPES, Tokens

PROBLEM = tacit.Experts(n=3, horizon=400, delay=50)


@pytest.fixture
def place(tmp_path):
    """A store with a learner and a token."""
    path = tmp_path / "a.db"
    with tacit_experiments.Store(path) as store:
        store.open("home", PROBLEM, epsilon=1.0, delta=1e-6)
        token = Tokens(store).make(list(SCOPES))
    return path, token


@contextmanager
def served(path, *options):
    """A process that serves a store, and its address."""
    child, url = start(path, *options)
    try:
        yield child, url
    finally:
        child.kill()
        child.communicate()


def end(child):
    """Ask a process to end; what it said."""
    child.send_signal(signal.SIGTERM)
    said = child.communicate(timeout=60)[1].decode()
    return child.returncode, said


def test_sigterm_in_mid_request_answers_what_is_in_hand(place):
    path, token = place
    with served(path) as (child, url), ExitStack() as stack:
        client = tacit_experiments.Client(url, token)
        client.settle("home", client.decide("home", "first").round, [0.0, 0.5, 1.0])
        # The database is locked by another program, so that requests are in hand when the signal comes.
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        *asked, last = (stack.enter_context(closing(http.client.HTTPConnection(url[7:], timeout=60))) for _ in range(5))
        for number, connection in enumerate(asked):
            connection.request(
                "POST", "/v1/learners/home/decisions", json.dumps({"key": f"last {number}"}).encode(), headers
            )
        for _ in range(3):  # whoever answers this has read what was sent before
            last.request("GET", "/nowhere")
            last.getresponse().read()
        child.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        other.execute("ROLLBACK")
        other.close()
        rounds = sorted(json.load(connection.getresponse())["round"] for connection in asked)
        said = child.communicate(timeout=60)[1].decode()
        assert (child.returncode, rounds) == (0, [1, 2, 3, 4])
        assert "POST /v1/learners/{name}/decisions 200" in said
        assert not any(word in said for word in (token, "last", "feedback", "home"))
    with tacit_experiments.Store(path) as store:
        assert store.export("home")["rounds"] == 5


@pytest.mark.slow
def test_it_listens_on_loopback_says_so_and_takes_tokens_at_once(tmp_path):
    with served(tmp_path / "new.db", "--quiet") as (child, url):
        assert url.startswith("http://127.0.0.1:")
        with tacit_experiments.Store(tmp_path / "new.db") as store:  # as `tacit token` does
            token = Tokens(store).make(["read"])
        assert tacit_experiments.Client(url, token).ledger() == []
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))) as idle:
            code, said = end(child)  # a connection that asks nothing does not keep it
            assert idle.recv(1) == b""
        assert (code, said) == (0, "")


def test_it_ends_in_order_as_soon_as_it_says_that_it_serves(tmp_path):
    with served(tmp_path / "new.db") as (child, _):
        assert end(child) == (0, "")


def test_a_store_that_is_served_is_free_when_its_service_is_gone(tmp_path):
    file = tmp_path / "a.db"
    with occupied(file), pytest.raises(StoreError, match="Another service has the store"), occupied(file):
        pass
    with occupied(file):
        pass
    with occupied(None), occupied(None):  # PostgreSQL: several may
        pass


def test_bad_places_are_refused_in_one_sentence(tmp_path, capsys):
    store = str(tmp_path / "a.db")
    assert "cannot listen at 256.0.0.1" in refused(
        capsys, "serve", "--store", store, "--host", "256.0.0.1", "--port", "1"
    )
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert run_command("serve", "--store", store, "--port", str(taken.getsockname()[1])) == 2
    assert capsys.readouterr().err.startswith("Error: The service cannot listen at 127.0.0.1")
    assert "There is no folder" in refused(capsys, "serve", "--store", str(tmp_path / "no" / "a.db"))


@pytest.mark.parametrize("module", ["fastapi", "uvicorn", "prometheus_client"])
def test_without_the_extra(module, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, module, None)
    assert f"This needs {module}, which is not installed: pip install 'tacit-experiments[serve]'" in refused(
        capsys, "serve", "--store", str(tmp_path / "a.db")
    )
    assert not os.listdir(tmp_path)


def test_an_older_copy_is_refused_before_anything_is_served(place, capsys):
    path, _ = place
    with tacit_experiments.Store(path) as store:
        store.open("home").decide()
    older = path.with_suffix(".old")
    with tacit_experiments.Store(path) as store:
        store.database.checkpoint()
        older.write_bytes(path.read_bytes())
        store.open("home").decide()
    path.write_bytes(older.read_bytes())
    assert "an earlier copy was put back" in refused(capsys, "serve", "--store", str(path), "--port", "0")


@pytest.mark.parametrize(
    ("store", "shown"), [("a b.db", "'a b.db'"), ("postgresql://me:secret@host/name", "ADDRESS"), (None, "ADDRESS")]
)
def test_what_to_type_for_a_token_names_the_store_and_no_password(store, shown):
    assert token_command(store) == f"tacit token --store {shown} --scopes decide,feedback"


@pytest.mark.parametrize("options", [["--list"], ["--revoke", "1"]])
def test_no_store_is_made_to_look_for_tokens(options, tmp_path, capsys):
    path = tmp_path / "none.db"
    assert "There is no store" in refused(capsys, "token", "--store", str(path), *options)
    assert not list(tmp_path.iterdir())

"""Tokens: no answer without one, none by a wrong one, and nothing of one is kept or shown."""

import hmac
import json
import socket
from datetime import timedelta

import pytest

from attacks import rows
from cli.command import run_command
from tacit.errors import InvalidInput
from tacit_experiments.service import tokens
from tacit_experiments.service.tokens import LENGTH, SCOPES, digest

ROUTES = [
    ("POST", "/v1/learners", "admin"),
    ("POST", "/v1/learners/home/decisions", "decide"),
    ("POST", "/v1/learners/home/rounds/0/feedback", "feedback"),
    ("GET", "/v1/learners/home", "read"),
    ("GET", "/v1/ledger", "read"),
    ("POST", "/v1/experiments", "admin"),
    ("GET", "/v1/experiments", "read"),
    ("GET", "/v1/experiments/home", "read"),
    ("POST", "/v1/experiments/home/start", "admin"),
    ("POST", "/v1/experiments/home/stop", "admin"),
    ("POST", "/v1/experiments/home/kill", "admin"),
    ("PATCH", "/v1/experiments/home/arms", "admin"),
    ("GET", "/v1/experiments/home/policy", "sdk"),
    ("GET", "/v1/experiments/home/kills", "sdk"),
    ("POST", "/v1/experiments/home/replies", "sdk"),
    ("GET", "/v1/experiments/home/results", "read"),
    ("GET", "/v1/experiments/home/contract", "read"),
    ("POST", "/v1/erasures", "privacy"),
    ("POST", "/v1/ledgers", "admin"),
    ("GET", "/v1/ledgers", "read"),
]


@pytest.mark.attack(rows.TOKENS)
@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
def test_every_route_wants_exactly_its_scope(service, method, path, scope):
    service.made()
    for other in SCOPES:
        status, headers, text = service.ask(method, path, {}, token=service.tokens.make([other]))
        assert (status == 403) == (other != scope), text
        assert status != 401
        if status == 403:
            assert scope in json.loads(text)["detail"]
            assert 'error="insufficient_scope"' in headers["www-authenticate"]


@pytest.mark.attack(rows.TOKENS)
@pytest.mark.parametrize(("method", "path", "scope"), ROUTES)
@pytest.mark.parametrize(
    "shown", ["", "Bearer", "Bearer ", "Basic dGFjaXQ6", "bearer tacit_", "Bearer " + "x" * LENGTH, "Bearer \xe9"]
)
def test_without_a_token_nothing_is_looked_at(service, method, path, scope, shown):
    headers = {"Authorization": shown} if shown else {}
    status, headers, text = service.ask(method, path, token="", headers=headers, raw=b"{not json")
    assert status == 401
    assert headers["content-type"] == "application/problem+json"
    assert headers["www-authenticate"].startswith("Bearer")
    assert "JSON" not in text
    assert "xxx" not in text


@pytest.mark.attack(rows.TOKENS)
@pytest.mark.parametrize("good_first", [True, False])
def test_of_two_tokens_none_is_taken(service, good_first):
    lines = [f"Authorization: Bearer {token}" for token in (service.token, "tacit_other")]
    shown = "\r\n".join(lines if good_first else lines[::-1])
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET /v1/ledger HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{shown}\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 401")


@pytest.mark.attack(rows.TOKENS)
def test_tokens_end(service, monkeypatch):
    token = service.tokens.make(["read"], days=1.0)
    assert service.get("/v1/ledger", token=token)[0] == 200
    later = tokens.now() + timedelta(days=2)
    monkeypatch.setattr(tokens, "now", lambda: later)
    assert service.get("/v1/ledger", token=token)[0] == 401


@pytest.mark.attack(rows.TOKENS)
def test_tokens_are_revoked(service, monkeypatch):
    monkeypatch.setattr("tacit_experiments.service.http.REMEMBERED", 0.0)
    token = service.tokens.make(["read"], name="gone")
    assert service.get("/v1/ledger", token=token)[0] == 200
    (number,) = [entry.number for entry in service.tokens.list() if entry.name == "gone"]
    service.tokens.revoke(number)
    assert service.get("/v1/ledger", token=token)[0] == 401
    with pytest.raises(InvalidInput, match="There is no token"):
        service.tokens.revoke(number)
    assert number not in [entry.number for entry in service.tokens.list()]


def test_a_number_is_given_once(service):
    """A token that was revoked by its number must not be another one that came later."""
    service.tokens.make(["read"], name="one")
    last = service.tokens.list()[-1].number
    service.tokens.revoke(last)
    service.tokens.make(["read"], name="two")
    assert service.tokens.list()[-1].number == last + 1


def test_only_a_hash_is_kept_and_compared_in_constant_time(service, monkeypatch):
    token = service.tokens.make(["read"])
    with service.store.database.reading() as transaction:
        kept = str(transaction.rows("SELECT * FROM tacit_tokens"))
    assert token not in kept
    assert token[6:] not in kept
    assert digest(token) in kept
    compared = []
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: compared.append((one, other)) or one == other)
    assert service.tokens.find(token).scopes == {"read"}
    assert compared == [(digest(token), digest(token))]
    monkeypatch.setattr(hmac, "compare_digest", lambda one, other: False)
    assert service.tokens.find(token) is None  # no other comparison admits it


def test_the_command(tmp_path, capsys):
    store = str(tmp_path / "a.db")
    assert run_command("token", "--store", store, "--scopes", "read, decide", "--name", "page", "--days", "3") == 0
    token = capsys.readouterr().out.strip()
    assert len(token) == LENGTH
    assert run_command("token", "--store", store, "--list", "--json") == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["scopes"], listed["name"], listed["expired"]) == (["decide", "read"], "page", False)
    assert run_command("token", "--store", store, "--list") == 0
    assert "decide,read" in (shown := capsys.readouterr().out)
    assert token not in shown
    assert run_command("token", "--store", store, "--revoke", "1") == 0
    assert run_command("token", "--store", store, "--list") == 0
    assert "There is no token." in capsys.readouterr().out
    for words in (
        (),
        ("--scopes", "all"),
        ("--scopes", ""),
        ("--list", "--revoke", "1"),
        ("--scopes", "read", "--days", "0"),
    ):
        assert run_command("token", "--store", store, *words) == 2
        assert capsys.readouterr().err.startswith("Error: ")

"""Who sees the page: tokens, cookies, forms, headers."""

import json
import time
from urllib.parse import quote

import httpx
import pytest

from attacks import rows
from experiments.service.page.world import PROBLEM, TARGET
from tacit.errors import StoreError
from tacit_experiments.service.http import COOKIE
from tacit_experiments.service.page import Watch
from tacit_experiments.service.tokens import Tokens

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture(scope="module")
def store(service):
    service.store.open("homepage", PROBLEM, **TARGET).decide()
    return service.store


@pytest.fixture(scope="module")
def tokens(store):
    kept = Tokens(store)
    return {scopes: kept.make(scopes) for scopes in ("read", "decide", "decide,feedback,read,admin")}


@pytest.fixture
def client(service, store):
    with httpx.Client(base_url=service.url) as made:
        yield made


def sign_in(client, token, **headers):
    return client.post("/sign-in", content=f"token={quote(token)}", headers=FORM | headers)


def test_without_a_token_there_is_a_form(client):
    answer = client.get("/")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert '<form method="post" action="sign-in"' in answer.text
    assert "refused" not in answer.text
    assert "homepage" not in answer.text
    assert client.get("/changes").status_code == 401


def test_a_token_in_a_header_opens_the_page(client, tokens):
    answer = client.get("/", headers={"Authorization": f"Bearer {tokens['read']}"})
    assert answer.status_code == 200
    assert "homepage" in answer.text
    assert tokens["read"] not in answer.text


def test_signing_in_and_out(client, tokens):
    answer = sign_in(client, f" {tokens['read']}\n")
    assert (answer.status_code, answer.headers["location"]) == (303, "./")
    cookie = answer.headers["set-cookie"]
    assert cookie == f"{COOKIE}={tokens['read']}; HttpOnly; Path=/; SameSite=strict"
    assert client.get("/").status_code == 200
    assert client.post("/sign-out").status_code == 303
    assert client.get("/").status_code == 401


def test_behind_tls_the_cookie_stays_there(client, tokens):
    answer = sign_in(client, tokens["read"], **{"X-Forwarded-Proto": "https"})
    assert answer.headers["set-cookie"].endswith("; Secure")


@pytest.mark.attack(rows.TOKENS)
def test_a_cookie_opens_pages_and_changes_nothing(client, tokens, store):
    sign_in(client, tokens["decide,feedback,read,admin"])
    assert client.get("/").status_code == 200
    before = store.epoch
    body = {"name": "x", "problem": {"kind": "experts", "n": 2, "horizon": 10}, "epsilon": 1, "delta": 1e-6}
    for path, content in (
        ("/v1/learners", body),
        ("/v1/learners/homepage/decisions", {"key": "a"}),
        ("/v1/learners/homepage/rounds/0/feedback", {"feedback": None}),
    ):
        assert client.post(path, json=content).status_code == 401
    assert store.epoch == before


@pytest.mark.attack(rows.TOKENS)
@pytest.mark.parametrize("token", ["nonsense", "tacit_" + "A" * 43, "", "a b", "ü", "x" * 5000, "a\r\nSet-Cookie: b=c"])
def test_a_bad_token_is_refused_and_forgotten(client, token):
    answer = sign_in(client, token)
    if answer.status_code == 303:
        answer = client.get("/")
    assert answer.status_code == 401
    assert "That token was refused." in answer.text
    assert 'aria-invalid="true"' in answer.text
    assert f'{COOKIE}=""' in answer.headers["set-cookie"]
    assert COOKIE not in client.cookies


@pytest.mark.attack(rows.TOKENS)
def test_a_token_that_may_not_read_is_refused(client, tokens):
    sign_in(client, tokens["decide"])
    answer = client.get("/")
    assert answer.status_code == 403
    assert "refused" in answer.text
    assert "homepage" not in answer.text


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_forms_of_other_sites_are_refused(client, path, site):
    answer = client.post(path, content="token=x", headers=FORM | {"Sec-Fetch-Site": site})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_nothing_is_inline_and_nothing_comes_from_elsewhere(client, tokens):
    pages = [client.get("/"), client.get("/", headers={"Authorization": f"Bearer {tokens['read']}"})]
    for answer in pages:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert " style=" not in answer.text
        assert "<style" not in answer.text
        assert "<script>" not in answer.text
        assert "//" not in answer.text
    for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript"), ("page.svg", "image/svg+xml")):
        answer = client.get(f"/{name}")
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith(kind)
        assert "http" not in answer.text.replace("http://www.w3.org/2000/svg", "")


def test_the_page_is_not_part_of_the_interface(client, tokens):
    answer = client.get("/openapi.json", headers={"Authorization": f"Bearer {tokens['read']}"})
    assert not {"/", "/changes", "/sign-in"} & set(json.loads(answer.text)["paths"])


def test_a_page_is_told_what_changed_until_its_token_ends(client, store):
    kept = Tokens(store)
    token = kept.make("read", name="viewer")
    sign_in(client, token)
    told = client.get("/changes").json()
    assert {kind for kind, _ in told["changes"]} >= {"learners"}
    store.open("homepage").decide()
    while not (later := client.get("/changes", params={"since": told["version"]}).json())["changes"]:
        time.sleep(0.05)
    assert later["changes"][0][0] == "learners"
    assert "2 of 100,000" in later["changes"][0][1]["html"]
    kept.revoke(next(entry.number for entry in kept.list() if entry.name == "viewer"))
    while client.get("/changes").status_code == 200:
        time.sleep(0.05)
    assert client.get("/changes").status_code == 401


def test_a_store_that_does_not_answer_is_told_and_forgiven(client, tokens, monkeypatch):
    sign_in(client, tokens["read"])
    monkeypatch.setattr(Watch, "look", lambda *_: (_ for _ in ()).throw(StoreError("gone")))
    answer = client.get("/changes")
    assert (answer.status_code, "gone" in answer.text) == (503, False)
    monkeypatch.undo()
    assert client.get("/changes").status_code == 200

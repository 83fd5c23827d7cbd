"""The Python SDK answers what the published vectors say, and they are what their script makes."""

import hashlib
import json
from datetime import datetime
from pathlib import Path

import make_vectors
import pytest
import tacit_sdk
import tacit_sdk.client
from tacit_sdk import Assignment, Client, PersonSecret, Policy, Refused
from tacit_sdk.policy import canonical
from tacit_sdk.replies import TOKEN

from experiments.sdk.service import document

VECTORS = json.loads(Path(make_vectors.WHERE).read_text())


def test_the_file_is_what_its_script_makes():
    assert json.loads(json.dumps(make_vectors.vectors())) == VECTORS


def test_pids():
    for case in VECTORS["pids"]:
        assert PersonSecret(bytes.fromhex(case["secret"])).pid(case["person"]) == case["pid"]
    assert PersonSecret("a secret of 32 bytes, for tests.").pid("alice") == VECTORS["pids"][0]["pid"]


def test_secrets_are_mandatory_and_stay_where_they_are():
    for secret in VECTORS["short_secrets"]:
        with pytest.raises(ValueError, match="at least 16 bytes"):
            PersonSecret(bytes.fromhex(secret))
    secret = PersonSecret(b"sixteen bytes or more")
    assert "sixteen" not in repr(secret)
    with pytest.raises(TypeError, match="not pickled"):
        secret.__reduce__()


def test_assignments():
    for case in VECTORS["assignments"]:
        assert Assignment(case["salt"], case["upto"]).arm(case["pid"]) == case["arm"]


def test_a_hundred_thousand_persons():
    many = VECTORS["many"]
    pid, arm = PersonSecret(bytes.fromhex(many["secret"])).pid, Assignment(many["salt"], many["upto"]).arm
    found = hashlib.sha256()
    for person in make_vectors.persons(many["seed"], many["count"]):
        found.update(f"{pid(person)} {arm(pid(person))}\n".encode())
    assert found.hexdigest() == many["sha256"]


def test_numbers_are_written_as_everywhere():
    for written, text in VECTORS["numbers"].items():
        assert canonical(json.loads(written)) == text


@pytest.mark.parametrize("history", VECTORS["policies"], ids=lambda history: history["about"])
def test_histories_of_policies(history):
    held = None
    for step in history["steps"]:
        try:
            new = Policy.parse(step["text"].encode())
            new.check_after("homepage", held)
            held, refused = new, None
        except Refused as error:
            refused = error.kind
        assert refused == step["refused"]


def test_what_is_no_text_at_all_is_malformed():
    for text in (
        b"\xff\xfe{",
        json.dumps(document()).encode("utf-16"),
        b"[" * 100_000,
        b"1" * 10_000,
        b" " * 2**20 + b"{}",
    ):
        with pytest.raises(Refused) as refused:
            Policy.parse(text)
        assert refused.value.kind == "malformed"


def test_decisions(monkeypatch, tmp_path):
    for case in VECTORS["decisions"]:
        path = tmp_path / f"{case['policy']}.json"
        if case["policy"]:
            path.write_text(VECTORS["served_policies"][case["policy"]])
        now = datetime.fromisoformat(case["now"].replace("Z", "+00:00")).timestamp()
        monkeypatch.setattr(tacit_sdk.client, "time", lambda now=now: now)
        client = Client(
            "http://127.0.0.1:9", "token", "homepage", secret=bytes.fromhex(case["secret"]), default="control",
            bootstrap=path if case["policy"] else None, start=False,
        )  # fmt: skip
        for arm in case["killed"]:
            client.kill(arm)
        decision = client.decide(case["person"])
        assert (decision.arm, decision.token, decision.reason) == (case["arm"], case["token"], case["reason"])
        assert client.counters()["decisions"] == {case["reason"]: 1}
        assert not client.counters()["errors"]


def test_tokens():
    assert all(TOKEN.match(token) for token in VECTORS["tokens"]["good"])
    assert not any(TOKEN.match(token) for token in VECTORS["tokens"]["bad"])

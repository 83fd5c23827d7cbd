"""Both SDKs against the service itself: the same arms, and what they send is what stands in its database."""

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import make_vectors
import pytest
from tacit_sdk import Client, PersonSecret

from experiments.service.running import running

pytest.importorskip("tacit_experiments.service.experiments", reason="this service has no experiments")
served = pytest.importorskip("tacit_experiments.policy")

VECTORS = json.loads(make_vectors.WHERE.read_text())
SECRET = make_vectors.SECRET
MODULE = make_vectors.WHERE.parent / "typescript" / "dist" / "index.js"
LEDGER = {"epsilon": 1, "renews": "monthly"}
BODY = {"arms": ["control", "short", "video"], "epsilon": 1, "days": 1, "min_share": 0.2}
PROGRAM = """
import { Client } from MODULE;
const [url, token, name, secret, people] = process.argv.slice(1);
const client = new Client({ url, token, experiment: name, secret, default: "control", start: false });
await client.poll();
const decisions = JSON.parse(people).map((person) => client.decide(person));
for (const { token: reply } of decisions) client.reply(reply, 1);
const sent = await client.flush();
console.log(JSON.stringify({ decisions, sent, counters: client.counters() }));
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("service") / "decisions.db", quick=True) as found:
        yield found


@pytest.fixture
def begun(service, request):
    """The name of an experiment that runs, and a client of it."""
    name = f"{request.node.name} & more"
    assert service.post("/v1/ledgers", LEDGER | {"name": name})[0] == 201
    assert service.post("/v1/experiments", BODY | {"name": name, "ledger": name})[0] == 201
    path = f"/v1/experiments/{name.replace(' ', '%20').replace('&', '%26')}"
    assert service.post(f"{path}/start", {})[0] == 200
    token = service.tokens.make(["sdk"])
    with Client(service.url, token, name, secret=SECRET, default="control", start=False) as client:
        client.poll()
        yield service, path, client


def test_the_service_agrees_with_the_vectors():
    for case in VECTORS["pids"]:
        assert served.pseudonym(bytes.fromhex(case["secret"]), case["person"]) == case["pid"]
    for case in VECTORS["assignments"]:
        assert served.assign(case["salt"], case["upto"], case["pid"]) == case["arm"]
    for written, text in VECTORS["numbers"].items():
        assert served.canonical(json.loads(written)).decode() == text
    for text in VECTORS["served_policies"].values():
        document = json.loads(text)
        assert served.Policy.read(document).document() == document


def test_decisions_and_replies(begun):
    service, path, client = begun
    policy = service.get(f"{path}/policy")[1]
    assert client.counters()["policy"] == {"version": policy["version"], "digest": policy["digest"]}
    for number in range(300):
        decision = client.decide(f"user-{number}")
        pid = PersonSecret(SECRET).pid(f"user-{number}")
        assert decision.arm == policy["arms"][served.assign(policy["salt"], policy["upto"], pid)]
        for value in (0.5, 1, 0):
            assert client.reply(decision.token, value)
    assert client.flush()
    assert client.counters()["sent"] == 900
    assert client.counters()["dropped"] == {}
    assert held(service, policy["salt"]) == {2**16: 300}, "one row for a person, with the largest value"
    client.poll()
    assert client.counters()["errors"] == {}


def held(service, salt):
    """How many rows of a version have each score."""
    with closing(sqlite3.connect(f"{service.store.database.file}.replies")) as database:
        found = [score for (score,) in database.execute(f"SELECT score FROM tacit_replies_{salt}")]
    return {score: found.count(score) for score in found}


def test_a_kill_reaches_everybody(begun):
    service, path, client = begun
    person = next(f"user-{number}" for number in range(100) if client.decide(f"user-{number}").arm == "video")
    assert service.post(f"{path}/kill", {"arm": "video"})[0] == 200
    client.poll()
    assert client.decide(person)[:2] == ("control", None)
    assert client.decide(person).reason == "killed"


def test_what_is_frozen_decides_and_sends_nothing(begun):
    service, path, client = begun
    token = client.decide("alice").token
    assert service.post(f"{path}/stop", {})[0] == 200
    client.poll()
    assert client.counters()["errors"] == {}
    assert client.decide("alice").reason == "frozen"
    assert client.decide("alice").token is None
    assert client.reply(token, 1), "it may still count"
    assert client.reply(f"{'ab' * 16}.{'cd' * 16}", 1)
    assert client.flush()
    assert client.counters()["dropped"]["ab" * 16] == {"closed": 1}


def test_an_older_policy_is_noticed(begun, tmp_path):
    service, path, _ = begun
    policy = service.get(f"{path}/policy")[1]
    newer = {**policy, "version": policy["version"] + 1, "previous": policy["digest"]}
    del newer["digest"]
    file = tmp_path / "policy.json"
    file.write_text(json.dumps({**newer, "digest": served.digest(newer)}))
    token, name = service.tokens.make(["sdk"]), policy["experiment"]
    witness = Client(service.url, token, name, secret=SECRET, default="control", bootstrap=file, start=False)
    witness.poll()
    assert witness.counters()["errors"] == {"policy: older": 1}


@pytest.mark.skipif(shutil.which("node") is None or not MODULE.exists(), reason="needs node, and `make test-sdk` once")
def test_typescript_decides_as_python_does(begun):
    service, path, client = begun
    people = [f"user-{number}" for number in range(100)] + [case["person"] for case in VECTORS["pids"][:15]]
    name = service.get(f"{path}/policy")[1]["experiment"]
    program = PROGRAM.replace("MODULE", json.dumps(Path(MODULE).as_uri()))
    arguments = [service.url, service.tokens.make(["sdk"]), name, SECRET.decode(), json.dumps(people)]
    command = ["node", "--input-type=module", "--eval", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert [tuple(decision.values()) for decision in found["decisions"]] == [
        tuple(client.decide(who)) for who in people
    ]
    assert found["sent"]
    assert found["counters"]["errors"] == found["counters"]["dropped"] == {}
    assert held(service, service.get(f"{path}/policy")[1]["salt"]) == {2**16: 115}

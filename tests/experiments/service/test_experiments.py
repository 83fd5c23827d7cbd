"""Experiments over HTTP: answers as described, scopes, batches whose rows do not hurt each other."""

import asyncio
import json
from types import SimpleNamespace

import jsonschema
import pytest

from experiments.service.running import running
from experiments.world import pid
from tacit_experiments.policy import assign
from tacit_experiments.service import experiments as routes

BODY = {"name": "home", "arms": ["control", "short", "video"], "ledger": "people", "epsilon": 1, "days": 1}
LEDGER = {"name": "people", "epsilon": 1, "renews": "monthly"}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with running(tmp_path_factory.mktemp("service") / "decisions.db", quick=True) as found:
        assert found.post("/v1/ledgers", LEDGER)[0] == 201
        assert found.post("/v1/experiments", BODY)[0] == 201
        assert found.post("/v1/experiments/home/start", {})[0] == 200
        yield found


@pytest.fixture(scope="module")
def interface(service):
    return service.get("/openapi.json")[1]


def fits(interface, answer, method, path, status):
    content = interface["paths"][path][method]["responses"][str(status)]["content"]["application/json"]
    jsonschema.validate(answer, {**content["schema"], "components": interface["components"]})


def test_answers_are_as_the_interface_describes_them(service, interface):
    posted = "/v1/experiments/{name}/replies"
    status, made = service.post("/v1/experiments", BODY | {"name": "other"})
    fits(interface, made, "post", "/v1/experiments", status)
    assert service.post("/v1/experiments", BODY | {"name": "other"})[0] == 409
    status, account = service.post("/v1/ledgers", LEDGER)
    fits(interface, account, "post", "/v1/ledgers", status)
    assert service.post("/v1/ledgers", LEDGER | {"epsilon": 2})[0] == 409
    policy = service.get("/v1/experiments/home/policy")[1]
    rows = [[policy["salt"], pid(number), number % 2] for number in range(20)]
    status, taken = service.post("/v1/experiments/home/replies", {"replies": rows})
    fits(interface, taken, "post", posted, status)
    assert (status, taken) == (202, {"closed": [], "malformed": []})
    for part in ("", "/policy", "/kills", "/results", "/contract"):
        status, answer = service.get(f"/v1/experiments/home{part}")
        fits(interface, answer, "get", "/v1/experiments/{name}" + part, status)
    for path in ("/v1/experiments", "/v1/ledgers", "/readyz"):
        status, answer = service.get(path)
        fits(interface, answer, "get", path, status)
    status, answer = service.post("/v1/erasures", {"person": pid(3)})
    fits(interface, answer, "post", "/v1/erasures", status)
    with pytest.raises(jsonschema.ValidationError):  # the check has teeth
        fits(interface, {"closed": "no", "malformed": []}, "post", posted, 202)


def test_a_life_over_http(service, interface):
    other = LEDGER | {"name": "second"}
    assert service.post("/v1/ledgers", other)[0] == 201
    service.post("/v1/experiments", BODY | {"name": "life", "ledger": "second"})
    status, started = service.post("/v1/experiments/life/start", {})
    fits(interface, started, "post", "/v1/experiments/{name}/start", status)
    assert (started["state"], started["acts"][-1]["act"]) == ("running", "started")
    assert started["acts"][-1]["who"]
    assert service.post("/v1/experiments/life/start", {})[0] == 409
    status, killed = service.post("/v1/experiments/life/kill", {"arm": "video"})
    fits(interface, killed, "post", "/v1/experiments/{name}/kill", status)
    assert killed["killed"] == ["video"]
    change = {"add": ["big"], "remove": ["short"], "min_share": 0.01}
    status, _, text = service.ask("PATCH", "/v1/experiments/life/arms", change)
    fits(interface, json.loads(text), "patch", "/v1/experiments/{name}/arms", status)
    status, stopped = service.post("/v1/experiments/life/stop", {"end": True, "promote": "big"})
    fits(interface, stopped, "post", "/v1/experiments/{name}/stop", status)
    assert service.get("/v1/experiments/life/policy")[1]["upto"] == [0, 0, 0, 2**32]
    for path, body in (("start", {}), ("stop", {}), ("kill", {"arm": "none"}), ("kill", {"arm": "control"})):
        assert service.post(f"/v1/experiments/life/{path}", body)[0] in (409, 422)
    for path in ("", "/policy", "/results"):
        assert service.get(f"/v1/experiments/nobody{path}")[0] == 404
    assert service.post("/v1/experiments/nobody/replies", {"replies": []})[0] == 404


def test_nothing_is_sent_that_is_known(service):
    for path in ("policy", "kills"):
        status, headers, text = service.ask("GET", f"/v1/experiments/home/{path}")
        assert status == 200
        tag = {"If-None-Match": headers["etag"]}
        assert service.ask("GET", f"/v1/experiments/home/{path}", headers=tag)[0::2] == (304, "")
        assert service.ask("GET", f"/v1/experiments/home/{path}", headers={"If-None-Match": '"no"'})[2] == text


def test_rows_that_cannot_be_read_hurt_no_others(service):
    policy = service.get("/v1/experiments/home/policy")[1]
    salt = policy["salt"]
    assert assign(salt, policy["upto"], pid(1)) in (0, 1, 2)
    good = json.dumps([salt, pid(1), 1])
    rows = [
        good,
        "null",
        "[]",
        json.dumps([salt, "\ud800", 1]),
        json.dumps([salt, pid(2), float("nan")]),
        "1e999",
        good,
    ]
    rows += [json.dumps(["ab" * 16, pid(1), 1]), json.dumps([salt, pid(1), 10**30]), "{}"]
    rows.append(f'["{salt}", "{pid(2)}", {"9" * 5000}]')  # which int() refuses to read
    sent = f'{{"replies": [{", ".join(rows)}]}}'.encode()
    status, _, text = service.ask("POST", "/v1/experiments/home/replies", raw=sent)
    assert (status, json.loads(text)) == (202, {"closed": [7], "malformed": [1, 2, 3, 4, 5, 8, 9, 10]})
    for wrong in (b"{", b"[]", b'{"replies": 1}', b'{"replies": [], "more": 1}', b"\xff"):
        assert service.ask("POST", "/v1/experiments/home/replies", raw=wrong)[0] == 422
    many = {"replies": [[]] * 10_001}
    assert service.post("/v1/experiments/home/replies", many)[0] == 422
    assert service.post("/v1/erasures", {"person": pid(1).upper()})[0] == 422


def test_nothing_of_replies_is_counted_or_logged(service, caplog):
    policy = service.get("/v1/experiments/home/policy")[1]
    caplog.set_level("DEBUG")
    caplog.clear()
    service.post("/v1/experiments/home/replies", {"replies": [[policy["salt"], pid(1), 1]]})
    service.post("/v1/erasures", {"person": pid(1)})
    assert pid(1) not in caplog.text
    assert "/replies" not in caplog.text + service.ask("GET", "/metrics", token="")[2]
    assert "/erasures" not in caplog.text + service.ask("GET", "/metrics", token="")[2]


def test_exposures_are_public_counts(service):
    salt = service.get("/v1/experiments/home/policy")[1]["salt"]
    sent = {"replies": [], "exposures": {salt: [10, 11, 9]}}
    assert service.post("/v1/experiments/home/replies", sent)[0] == 202
    assert service.get("/v1/experiments/home/results")[1]["sample_ratio"] == "fits"
    assert service.post("/v1/experiments/home/replies", {"replies": [], "exposures": {salt: [1]}})[0] == 422


def test_monitors_see_public_and_noisy_figures(service):
    text = service.ask("GET", "/metrics", token="")[2]
    assert 'tacit_experiment_info{experiment="home",state="running",version="1"} 1.0' in text
    shares = [float(line.split()[-1]) for line in text.splitlines() if line.startswith('tacit_share{arm="')]
    assert abs(sum(shares) - round(sum(shares))) < 1e-6
    assert "tacit_overdue_versions 0.0" in text
    assert "tacit_version_closes_in_seconds{" in text


def test_a_tick_that_fails_is_not_the_last_one(monkeypatch, caplog):
    """An error that nobody foresaw is logged by its kind, without its words, and the next tick comes."""
    monkeypatch.setattr(routes, "TICK", 0.001)
    ticks = []

    async def run():
        done = asyncio.Event()

        def tick():
            ticks.append(1)
            if len(ticks) < 3:
                raise ZeroDivisionError("what somebody sent")
            done.set()

        async def do(act):
            return act()

        async with routes.ticking(SimpleNamespace(work=SimpleNamespace(do=do)), SimpleNamespace(tick=tick)):
            await asyncio.wait_for(done.wait(), 10)

    asyncio.run(run())
    assert len(ticks) >= 3
    assert "ZeroDivisionError" in caplog.text
    assert "what somebody sent" not in caplog.text

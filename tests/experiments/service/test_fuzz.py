"""Whatever is sent, the answer is one of those that the interface names, and holds nothing of it.

Requests are made from the interface's own description: values that fit it, values that nearly do, and values that do
not. Some are canaries: texts and numbers that stand for what is private, which must not come back in any answer,
header, log line or metric.
"""

import copy
import http.client
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attacks import rows

pytest.importorskip("hypothesis_jsonschema")

from hypothesis_jsonschema import from_schema

from experiments.service.running import PROBLEM

TEXT, NUMBER = "canary-7f3a", 0.8414709848
ANSWERS = {
    "/v1/learners": {200, 201, 409, 422},
    "/v1/learners/{name}/decisions": {200, 404, 409, 422},
    "/v1/learners/{name}/rounds/{round}/feedback": {204, 404, 409, 422},
    "/v1/learners/{name}": {200, 404, 422},
}
MANY = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
CANARIES = st.sampled_from(
    [TEXT, NUMBER, [NUMBER] * 3, {TEXT: NUMBER}, f"{TEXT}\n{TEXT}", [TEXT], [[NUMBER, 0.5, 0.5]]]
)
PROBLEMS = st.fixed_dictionaries(
    {"kind": st.sampled_from(["experts", "tracking", "arms", "lipschitz", "chess", TEXT, None, [TEXT]])},
    optional={
        "n": st.integers(-1, 4) | CANARIES,
        "horizon": st.integers(-1, 30) | st.none() | CANARIES,
        "delay": st.integers(-1, 3) | CANARIES,
        "switches": st.integers(-1, 3) | CANARIES,
        "loss_range": st.lists(st.floats(-2, 2), max_size=3) | CANARIES,
        "dimension": st.integers(0, 2) | CANARIES,
        TEXT: CANARIES,
    },
)


def resolved(schema, whole):
    """A schema with what it refers to in its place."""
    if isinstance(schema, list):
        return [resolved(entry, whole) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        found = whole
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return resolved(found, whole)
    return {name: resolved(entry, whole) for name, entry in schema.items() if name not in ("examples", "default")}


@pytest.fixture(scope="module")
def interface(service):
    return json.loads(service.ask("GET", "/openapi.json", token="")[2])


@pytest.fixture(scope="module")
def connection(service):
    kept = http.client.HTTPConnection(service.url.removeprefix("http://"), timeout=30)
    yield kept
    kept.close()


def bodies(interface, path):
    """Bodies as the interface describes them; then with a canary in some place, or instead of all of it."""
    content = interface["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = resolved(content, interface)
    fields = {name: from_schema(field) for name, field in schema["properties"].items() if name != "problem"}
    fields |= {"problem": PROBLEMS | st.just(PROBLEM)} if "problem" in schema["properties"] else {}
    needed = {name: fields.pop(name) for name in schema["required"]}
    fitting = st.fixed_dictionaries(needed, optional=fields)

    @st.composite
    def spoilt(draw):
        body = copy.deepcopy(draw(fitting))
        for name in draw(st.lists(st.sampled_from([*schema["properties"], TEXT]), max_size=3)):
            body[name] = draw(CANARIES)
        return body

    return fitting | spoilt() | CANARIES | st.just({})


def check(service, connection, caplog, path, address, body, raw=None):
    """Send it: no other status than those there are, a problem in its form, and no canary anywhere."""
    caplog.clear()
    caplog.set_level(logging.DEBUG)
    data = json.dumps(body).encode() if raw is None else raw
    headers = {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json"}
    connection.request("POST" if body is not None or raw else "GET", address, data, headers)
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status in ANSWERS[path] | {400}, (response.status, text)
    if response.status >= 400:
        problem = json.loads(text)
        assert response.headers["content-type"] == "application/problem+json"
        assert (problem["status"], problem["detail"][-1]) == (response.status, ".")
        assert not leaks(text), text
    assert not leaks(str(response.headers.items()))
    assert not leaks(caplog.text), caplog.text
    return response.status


def leaks(text):
    return [word for word in (TEXT, "84147", "canary") if word in text]


@pytest.mark.attack(rows.QUOTED)
@MANY
@given(data=st.data())
def test_decisions(service, interface, connection, caplog, data):
    path = "/v1/learners/{name}/decisions"
    service.store.open("fuzzed") if "fuzzed" in service.store else service.made(name="fuzzed")
    body = data.draw(bodies(interface, path))
    check(service, connection, caplog, path, "/v1/learners/fuzzed/decisions", body)


@pytest.mark.attack(rows.QUOTED)
@MANY
@given(data=st.data())
def test_feedback(service, interface, connection, caplog, data):
    path = "/v1/learners/{name}/rounds/{round}/feedback"
    if "fuzzed too" not in service.store:
        service.made(name="fuzzed too")
        for number in range(3):
            service.post("/v1/learners/fuzzed%20too/decisions", {"key": str(number)})
    body = data.draw(bodies(interface, path) | st.fixed_dictionaries({"feedback": CANARIES}))
    number = data.draw(st.sampled_from(["0", "1", "2", "99", "-1", TEXT, "1" * 30, "0x1", "1.5", "%00"]))
    check(service, connection, caplog, path, f"/v1/learners/fuzzed%20too/rounds/{number}/feedback", body)


@pytest.mark.attack(rows.QUOTED)
@MANY
@given(data=st.data())
def test_new_learners(service, interface, connection, caplog, data):
    path = "/v1/learners"
    body = data.draw(bodies(interface, path))
    if isinstance(body, dict) and "epsilon" in body and data.draw(st.booleans()):
        body["epsilon"] = data.draw(st.floats(0.1, 5.0) | st.sampled_from([float("nan"), float("inf"), -1.0]))
    check(service, connection, caplog, path, path, body)


@pytest.mark.attack(rows.QUOTED)
@MANY
@given(raw=st.binary(max_size=60) | st.text(max_size=30).map(lambda text: (text + TEXT).encode(errors="replace")))
def test_what_is_no_json(service, connection, caplog, raw):
    service.store.open("fuzzed") if "fuzzed" in service.store else service.made(name="fuzzed")
    check(
        service, connection, caplog, "/v1/learners/{name}/decisions", "/v1/learners/fuzzed/decisions", None, raw or b"{"
    )


@pytest.mark.attack(rows.QUOTED)
@MANY
@given(name=st.text(min_size=1, max_size=20), query=st.text(max_size=10))
def test_names_and_queries(service, connection, caplog, name, query):
    shown = quote(name.encode(errors="replace").decode(), safe="")
    address = f"/v1/learners/{shown}?first={quote(query, safe='', errors='replace')}&limit=3&{TEXT}={TEXT}"
    check(service, connection, caplog, "/v1/learners/{name}", address, None)


@pytest.mark.attack(rows.COUNTED)
def test_no_canary_was_counted(service):
    metrics = service.ask("GET", "/metrics", token="")[2]
    assert not leaks(metrics)
    routes = {line.split('route="')[1].split('"')[0] for line in metrics.splitlines() if "route=" in line}
    known = {*ANSWERS, "/v1/ledger", "/v1/ledgers", "/readyz", "/healthz", "/metrics", "/docs", "/", "(none)"}
    assert {route for route in routes if not route.startswith(("/page.", "/sign-", "/changes", "/docs/"))} <= known

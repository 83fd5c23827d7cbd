"""The routes: what they answer, and what they refuse without changing anything."""

import json
import re
from urllib.parse import quote

import jsonschema
import pytest

import tacit
from attacks import rows
from experiments.service.running import BODY, LOSSES, PROBLEM


def test_a_learner_is_made_once(service):
    status, answer = service.post("/v1/learners", BODY | {"name": "made"})
    assert status == 201
    plan = tacit.plan(tacit.Experts(n=3, horizon=400, delay=20), epsilon=1.0, delta=1e-6)
    assert answer["comparison"] == json.loads(json.dumps(plan.to_dict()))
    assert answer["plan"] == answer["comparison"]["candidates"][0]
    assert "neighbours: replace" in answer["contract"]
    assert service.post("/v1/learners", BODY | {"name": "made"}) == (200, answer)
    status, problem = service.post("/v1/learners", BODY | {"name": "made", "epsilon": 2.0})
    assert status == 409
    assert "another contract" in problem["detail"]
    assert service.get("/v1/learners/made")[1]["rounds"] == 0


@pytest.mark.attack(rows.SEEDED)
def test_a_learner_whose_noise_is_known_is_not_the_private_one_that_is_asked_for(service):
    problem = tacit.Experts(**{name: value for name, value in PROBLEM.items() if name != "kind"})
    seeded = tacit.Randomness.replayable(3)
    service.store.open("seeded", problem, epsilon=1.0, delta=1e-6, randomness=seeded)
    status, refused = service.post("/v1/learners", BODY | {"name": "seeded"})
    assert (status, "another contract" in refused["detail"]) == (409, True)


@pytest.mark.parametrize("name", ["...", ".a", "..a", "a.", "a..", ".a.b", "é", "a b", "%2e"])
def test_names_with_points(service, name):
    service.made(name=name)
    assert service.post(f"/v1/learners/{quote(name)}/decisions", {"key": "a"})[1]["round"] == 0


@pytest.mark.attack(rows.REPEATED)
def test_the_same_key_gives_the_same_decision(service):
    service.made(name="keys")
    status, first = service.post("/v1/learners/keys/decisions", {"key": "a"})
    assert (status, first["round"]) == (200, 0)
    assert service.post("/v1/learners/keys/decisions", {"key": "a"}) == (200, first)
    assert service.post("/v1/learners/keys/decisions", {"key": "b"})[1]["round"] == 1
    shown = service.get("/v1/learners/keys")[1]
    assert shown["rounds"] == 2
    assert shown["decisions"][0] == first
    assert shown["switches"] == sum(a["action"] != b["action"] for a, b in [shown["decisions"]])
    assert shown["certified_regret"] > 0
    assert "protected:" in shown["contract"]


def test_decisions_are_shown_in_pieces(service):
    service.made(name="pieces")
    for number in range(5):
        service.post("/v1/learners/pieces/decisions", {"key": str(number)})

    def rounds(query):
        return [entry["round"] for entry in service.get(f"/v1/learners/pieces?{query}")[1]["decisions"]]

    assert rounds("limit=2") == [3, 4]
    assert rounds("first=1&limit=2") == [1, 2]
    assert rounds("first=9") == []


@pytest.mark.attack(rows.REPEATED)
@pytest.mark.parametrize("value", [LOSSES, None])
def test_feedback_is_kept_once(service, value):
    name = f"feedback {value is None}"
    service.made(name=name)
    path = "/v1/learners/{}/rounds/{}/feedback".format(name.replace(" ", "%20"), 0)
    assert service.post(path, {"feedback": value})[0] == 409  # nothing was decided
    service.post(path.replace("rounds/0/feedback", "decisions"), {"key": "a"})
    assert service.post(path, {"feedback": [0.0, 0.5]})[0] == 422
    assert service.post(path, {"feedback": value}) == (204, None)
    assert service.post(path, {"feedback": value}) == (204, None)
    status, problem = service.post(path, {"feedback": [0.25, 0.25, 0.25]})
    assert status == 409
    assert "0.25" not in json.dumps(problem)
    for number in range(PROBLEM["delay"] + 1):
        service.post(path.replace("rounds/0/feedback", "decisions"), {"key": f"more {number}"})
    status, problem = service.post(path, {"feedback": value})
    assert (status, "is closed" in problem["detail"]) == (409, True)


@pytest.mark.attack(rows.QUOTED)
@pytest.mark.parametrize(
    "bad",
    [[0.1234567, 0.5, 2.0], [0.1234567], "0.1234567", {"a": 0.1234567}, [[0.1234567] * 3], True, 0.1234567, 1e400],
)
def test_bad_feedback_changes_nothing_and_is_not_repeated(service, bad):
    service.made(name="bad")
    number = service.post("/v1/learners/bad/decisions", {"key": "only"})[1]["round"]
    path = f"/v1/learners/bad/rounds/{number}/feedback"
    status, problem = service.post(path, {"feedback": bad})
    assert status == 422
    assert "list of 3 numbers from 0 to 1" in problem["detail"]
    assert "1234567" not in json.dumps(problem)
    assert service.store.open("bad").waiting[0].round == number


@pytest.mark.attack(rows.COUNTED)
@pytest.mark.parametrize("deep", ["[{}]", '{{"tuple": {}}}'])
def test_feedback_of_any_depth_is_refused_and_not_a_defect(service, caplog, deep):
    service.made(name="deep")
    number = service.post("/v1/learners/deep/decisions", {"key": "only"})[1]["round"]
    for depth in (100, 500, 800):
        text = "1"
        for _ in range(depth):
            text = deep.format(text)
        raw = f'{{"feedback": {text}}}'.encode()
        assert service.ask("POST", f"/v1/learners/deep/rounds/{number}/feedback", raw=raw)[0] == 422
    assert not [record for record in caplog.records if record.name == "tacit_experiments.service"]


def test_the_feedback_of_arms_is_a_number_and_arms_are_deprecated(service):
    service.made(name="arms", problem={"kind": "arms", "n": 2, "horizon": 50}, delta=0.0)
    number = service.post("/v1/learners/arms/decisions", {"key": "a"})[1]["round"]
    path = f"/v1/learners/arms/rounds/{number}/feedback"
    assert service.post(path, {"feedback": [0.5]})[0] == 422
    for method, asked, body in (
        ("POST", path, {"feedback": 0.5}),
        ("POST", "/v1/learners/arms/decisions", {"key": "b"}),
        ("GET", "/v1/learners/arms", None),
    ):
        status, headers, _ = service.ask(method, asked, body)
        assert status in (200, 204)
        assert (headers["deprecation"], "/v1/experiments" in headers["link"]) == ("@1794960000", True)
    service.made(name="experts")
    assert "deprecation" not in service.ask("POST", "/v1/learners/experts/decisions", {"key": "a"})[1]


def test_a_horizon_that_is_used_up(service):
    service.made(name="short", problem={"kind": "experts", "n": 2, "horizon": 1})
    assert service.post("/v1/learners/short/decisions", {"key": "a"})[0] == 200
    status, problem = service.post("/v1/learners/short/decisions", {"key": "b"})
    assert (status, "plan a longer horizon" in problem["detail"]) == (409, True)
    assert service.post("/v1/learners/short/decisions", {"key": "a"})[0] == 200


def test_a_learner_is_ended_for_good(service):
    service.made(name="ended")
    decided = service.post("/v1/learners/ended/decisions", {"key": "a"})[1]
    assert service.ask("DELETE", "/v1/learners/ended", token=service.tokens.make("decide,feedback,read"))[0] == 403
    assert service.ask("DELETE", "/v1/learners/ended")[0] == 204
    with service.client() as client:
        client.end("ended")  # again
        with pytest.raises(tacit.InvalidInput, match="no learner of this name"):
            client.end("nobody")
    for path, body in (("decisions", {"key": "b"}), ("rounds/0/feedback", {"feedback": LOSSES})):
        status, problem = service.post(f"/v1/learners/ended/{path}", body)
        assert (status, "was ended" in problem["detail"]) == (409, True)
    assert service.get("/v1/learners/ended")[0] == 409
    assert service.store.export("ended")["decisions"] == [decided]
    assert service.post("/v1/learners", BODY | {"name": "ended"})[0] == 409


SHOWN = {"/v1/learners/{name}": "/v1/learners/schemas", "/v1/ledger": "/v1/ledger", "/healthz": "/healthz"}


def test_answers_are_as_the_interface_describes_them(service):
    interface = service.get("/openapi.json")[1]

    def fits(answer, described, status):
        (content,) = described["responses"][status]["content"].values()
        jsonschema.validate(answer, {**content["schema"], "components": interface["components"]})

    def posted(path):
        return interface["paths"][path]["post"]

    made = service.made(name="schemas")
    fits(made, posted("/v1/learners"), "201")
    fits(service.made(name="schemas"), posted("/v1/learners"), "200")
    decided = service.post("/v1/learners/schemas/decisions", {"key": "a"})[1]
    fits(decided, posted("/v1/learners/{name}/decisions"), "200")
    for path, address in SHOWN.items():
        fits(service.get(address)[1], interface["paths"][path]["get"], "200")
    with pytest.raises(jsonschema.ValidationError):  # the check has teeth
        fits(decided | {"action": "a"}, posted("/v1/learners/{name}/decisions"), "200")


def test_what_is_not_there(service):
    for path, body in (("decisions", {"key": "a"}), ("rounds/0/feedback", {"feedback": None})):
        assert service.post(f"/v1/learners/nobody/{path}", body)[0] == 404
    assert service.get("/v1/learners/nobody")[0] == 404
    for path in ("/v1/other", "/v1/ledger/", "/v1/learners/home%2F", "//evil.example"):
        assert service.get(path)[0] == 404
    assert service.ask("DELETE", "/v1/ledger")[0] == 405


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": -1.0},
        {"epsilon": "1"},
        {"epsilon": 1e-300},
        {"delta": 2.0},
        {"name": ""},
        {"name": "a/b"},
        {"name": "a\nb"},
        {"name": "."},
        {"name": ".."},
        {"name": "x" * 201},
        {"problem": {"kind": "chess"}},
        {"problem": {"kind": ["experts"]}},
        {"problem": {"kind": "experts"}},
        {"problem": PROBLEM | {"n": 0}},
        {"problem": PROBLEM | {"loss_range": "ab"}},
        {"problem": PROBLEM | {"secret": 1}},
        {"problem": []},
        {"ledger": "nobody"},
        {"rounds_per_person": 0},
        {"confidence": 0.1},
        {"numerics": "float"},
    ],
)
def test_bad_learners_are_refused(service, changed):
    status, problem = service.post("/v1/learners", BODY | {"name": "refused"} | changed)
    assert status == 422, problem
    assert problem["detail"].endswith(".")
    assert "refused" not in service.store.learners


MISFITS = {
    "/v1/learners": {
        b"{": "body is not JSON",
        b"": "body is missing",
        b"[]": "not allowed",
    },
    "/v1/learners/home/decisions": {
        b"{}": "body.key is missing",
        b'{"key": 3}': "body.key has a value",
        b'{"key": ""}': "body.key has a value",
        b'{"key": "a", "canary": 1}': "body has a field too many",
        b'{"key": "a\\nb"}': "printable text",
        b"\xff{}": "is not JSON",
        b"[" * 100_000: "is not JSON",
    },
    "/v1/learners/home/rounds/-1/feedback": {b'{"feedback": null}': "path.round has a value"},
    "/v1/learners/home/rounds/x/feedback": {b'{"feedback": null}': "path.round has a value"},
    "/v1/learners/home/rounds/9223372036854775808/feedback": {b'{"feedback": null}': "path.round has a value"},
    "/v1/learners/home/rounds/0/feedback": {b"{}": "body.feedback is missing"},
}


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [(path, text, said) for path, bodies in MISFITS.items() for text, said in bodies.items()],
)
def test_requests_that_do_not_fit(service, path, text, said):
    service.made()
    status, headers, answer = service.ask("POST", path, raw=text)
    assert status in (400, 422), answer
    assert headers["content-type"] == "application/problem+json"
    assert said in json.loads(answer)["detail"]
    assert "canary" not in answer


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_does_not_say_that_it_is_json(service, kind):
    headers = {"Content-Type": kind}
    status, _, text = service.ask("POST", "/v1/learners/home/decisions", {"key": "a"}, headers=headers)
    assert (status, "application/json" in text) == (415, True)


def test_a_ledger_is_charged_and_shown(service):
    service.store.ledger("people", epsilon=1.2, delta=1e-6)
    service.made(name="first", ledger="people")
    service.made(name="second", ledger="people")
    assert service.post("/v1/learners/first/decisions", {"key": "a"})[0] == 200
    status, problem = service.post("/v1/learners/second/decisions", {"key": "a"})
    assert (status, "budget" in problem["detail"]) == (409, True)
    ledgers = {ledger["name"]: ledger for ledger in service.get("/v1/ledger")[1]["ledgers"]}  # others may be there
    ledger = ledgers["people"]
    assert (ledger["epsilon"], [entry["name"] for entry in ledger["entries"]]) == (1.2, ["first"])
    assert 0.9 < ledger["spent"] <= 1.0
    assert service.post("/v1/learners", BODY | {"name": "keys", "ledger": "people"})[0] in (201, 409)
    service.made(name="uncharged")
    assert service.post("/v1/learners", BODY | {"name": "uncharged", "ledger": "people"})[0] == 409


def test_a_learner_that_only_a_program_can_open(service):
    problem = tacit.Convex(domain=tacit.domains.Ball(2), loss=tacit.losses.LinearLoss(), horizon=20)
    service.store.open("convex", problem, epsilon=1.0, delta=1e-6, algorithms=["PrivateFTRL"])
    service.store._lives.clear()
    for path, body in (("decisions", {"key": "a"}), ("rounds/0/feedback", {"feedback": None})):
        status, problem = service.post(f"/v1/learners/convex/{path}", body)
        assert (status, "only that program opens it" in problem["detail"]) == (409, True)
    assert service.get("/v1/learners/convex")[0] == 409


def test_health_and_metrics_need_no_token(service):
    assert service.ask("GET", "/healthz", token="")[2] == '{"status":"ok"}'
    service.made(name="counted")
    number = service.post("/v1/learners/counted/decisions", {"key": "a"})[1]["round"]
    before = service.ask("GET", "/metrics", token="")[2]
    assert 'route="/v1/learners/{name}/decisions",status="200"' in before
    for value in (LOSSES, [0.5], None):
        service.post(f"/v1/learners/counted/rounds/{number}/feedback", {"feedback": value})
        service.post(f"/v1/learners/counted/rounds/{number}/feedback/", {"feedback": value})  # misspelt, and meant
    after = service.ask("GET", "/metrics", token="")[2]
    assert "counted" not in after
    assert without_metrics_route(before) == without_metrics_route(after)  # whether feedback came is private


def without_metrics_route(text):
    return [line for line in text.splitlines() if 'route="/metrics"' not in line]


def test_the_interface_is_described_offline(service):
    status, headers, page = service.ask("GET", "/docs", token="")
    assert status == 200
    assert "http" not in page
    assert "script-src 'self';" in headers["content-security-policy"]
    for name in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert service.ask("GET", f"/{name}", token="")[0] == 200
    schema = json.loads(service.ask("GET", "/openapi.json", token="")[2])
    assert schema["paths"]["/v1/learners"]["post"]["security"] == [{"token": ["admin"]}]
    assert schema["paths"]["/v1/learners"]["post"]["description"].endswith("Scope of the token: admin.")
    assert "security" not in schema["paths"]["/healthz"]["get"]
    assert {"/v1/learners", "/v1/ledger", "/healthz", "/metrics"} <= set(schema["paths"])


def test_every_field_is_described_with_an_example_or_a_default(service):
    schema = json.loads(service.ask("GET", "/openapi.json", token="")[2])
    models = schema["components"]["schemas"]
    fields = {(name, field): about for name, model in models.items() for field, about in model["properties"].items()}
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (method, path)
            fields |= {(path, one["name"]): one | one["schema"] for one in operation.get("parameters", [])}
    for place, about in fields.items():
        assert about["description"], place
        nested = "$ref" in json.dumps(about)
        shown = {"examples", "default", "enum", "const"} & set(about) or "examples" in models.get(place[0], {})
        assert nested or shown, place


def test_headers_of_every_answer(service):
    for path in ("/healthz", "/docs", "/v1/learners/nobody", "/nothing"):
        _, headers, _ = service.ask("GET", path, headers={"Origin": "http://evil.example"})
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert "server" not in {name.lower() for name in headers}


def test_the_frameworks_own_telemetry_is_off(service):
    from tacit_experiments.service.app import create_app

    settings = getattr(create_app(service.store), "_telemetry", {})
    assert not any(settings.get(name) for name in ("tracing", "metrics", "logs", "operation_spans", "auto_configure"))


def test_a_learner_named_feedback_is_counted_like_any_other(service):
    service.made(name="feedback")
    before = service.ask("GET", "/metrics", token="")[2]
    assert service.post("/v1/learners/feedback/decisions", {"key": "a"})[0] == 200
    after = service.ask("GET", "/metrics", token="")[2]
    assert without_metrics_route(before) != without_metrics_route(after)

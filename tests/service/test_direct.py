"""The short way answers as the usual one does, and what it does not answer takes that one."""

import pytest

from service.running import LOSSES

USUAL = {"Content-Type": "application/json; charset=utf-8"}  # means the same, and is not how clients write it
KEYS = ["", "a", "a" * 200, "a" * 201, "a\nb", "\ud800", "é", 3, None, True, ["a"], {"a": 1}]
FEEDBACK = [LOSSES, None, [0.5], 0.5, "a", True, [None] * 3, {"a": 1}, [[0.5]], [1e400] * 3, [float("nan")] * 3]
ROUNDS = [
    "0",
    "00",
    "+0",
    "-0",
    "0.0",
    "1",
    "-1",
    "x",
    "%20",
    "0%20",
    "1_0",
    "9223372036854775808",
    "%D9%A0",
    "1" * 5000,
]
RAW = [b"", b"{", b"\xff{}", b"[]", b"null", b'{"key": "a"} ', b'\xef\xbb\xbf{"key": "a"}', b"[" * 100_000]


@pytest.fixture(scope="module")
def asked(service):
    """Ask by both ways; what both answered."""
    service.made(name="both")
    assert service.post("/v1/learners/both/decisions", {"key": "a"})[0] == 200

    def ask(path, body=None, raw=None, **options):
        one, other = (service.ask("POST", path, body, raw=raw, headers=way, **options) for way in ({}, USUAL))
        for headers in (one[1], other[1]):
            headers.pop("date")
        assert one == other
        return one[0]

    return ask


@pytest.mark.parametrize("extra", [{}, {"more": 1}])
@pytest.mark.parametrize("key", KEYS)
def test_keys(asked, key, extra):
    assert asked("/v1/learners/both/decisions", {"key": key} | extra) == (
        200 if isinstance(key, str) and 0 < len(key) <= 200 and key.isprintable() and not extra else 422
    )


@pytest.mark.parametrize("feedback", FEEDBACK)
def test_feedback(asked, feedback):
    assert asked("/v1/learners/both/rounds/0/feedback", {"feedback": feedback}) in (204, 409, 422)


@pytest.mark.parametrize("number", ROUNDS)
def test_rounds(asked, number):
    assert asked(f"/v1/learners/both/rounds/{number}/feedback", {"feedback": LOSSES}) in (204, 409, 422)


@pytest.mark.parametrize("raw", RAW)
def test_bodies(asked, raw):
    for path in ("decisions", "rounds/0/feedback"):
        assert asked(f"/v1/learners/both/{path}", raw=raw) in (200, 400, 422)


def test_names_and_tokens(asked):
    for name in ("nobody", "%00", "%FF", "%C3%A8"):
        assert asked(f"/v1/learners/{name}/decisions", {"key": "a"}) == 404
    assert asked("/v1/learners/both/decisions", {"key": "a"}, token="tacit_other") == 401
    assert asked("/v1/learners/both/decisions", raw=b"{", token="tacit_other") == 401


def test_both_are_counted_alike_and_feedback_is_not(service, asked):
    def counted():
        lines = service.ask("GET", "/metrics", token="")[2].splitlines()
        return [line for line in lines if ("decisions" in line and "_count" in line) or line.startswith("tacit_dec")]

    def number(line):
        return float(line.rpartition(" ")[2])

    before = counted()
    asked("/v1/learners/both/decisions", {"key": "a"})
    after = counted()
    asked("/v1/learners/both/rounds/0/feedback", {"feedback": LOSSES})
    assert [number(b) - number(a) for a, b in zip(before, after, strict=True) if "_created" not in a] == [2.0, 2.0]
    assert counted() == after


def test_ordinary_requests_go_past_the_framework(service, asked, monkeypatch):
    def fail(**_):
        raise RuntimeError

    monkeypatch.setattr("fastapi.routing.run_endpoint_function", fail)
    assert service.post("/v1/learners/both/decisions", {"key": "a"})[0] == 200
    assert service.ask("POST", "/v1/learners/both/decisions", {"key": "a"}, headers=USUAL)[0] == 500

"""The routes of every round: what they take for JSON, and whom they count."""

import pytest

from experiments.service.running import LOSSES


@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "application/problem+json"])
def test_other_ways_to_say_json(service, kind):
    service.made(name="rounds")
    assert service.post("/v1/learners/rounds/decisions", {"key": "a"}, headers={"Content-Type": kind})[0] == 200


def test_persons_are_counted_and_the_limit_is_enforced(service):
    """Until 0.2 rounds_per_person was promised by the caller and checked by nobody."""
    made = service.made(name="persons", persons=True, rounds_per_person=2)
    assert "enforced by the store" in made["contract"]
    path = "/v1/learners/persons/rounds/{}/feedback".format
    for number in range(4):
        assert service.post("/v1/learners/persons/decisions", {"key": str(number)})[0] == 200
        assert service.post(path(number), {"feedback": LOSSES})[0] == 422
        assert service.post(path(number), {"feedback": LOSSES, "person": ""})[0] == 422
        assert service.post(path(number), {"feedback": LOSSES, "person": "ada"})[0] == 204
    assert service.post("/v1/learners/rounds/rounds/0/feedback", {"feedback": LOSSES, "person": "ada"})[0] == 422

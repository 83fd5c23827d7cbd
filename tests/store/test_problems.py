"""Problems as a store describes them."""

import json

import pytest

import tacit
from tacit.errors import InvalidInput
from tacit.store.problems import problem_from_dict, problem_to_dict


@pytest.mark.parametrize(
    "problem",
    [
        tacit.Tracking(n=3, horizon=50, switches=1),
        tacit.Arms(n=3, horizon=50, loss_range=(0.0, 2.0)),
        tacit.Lipschitz(dimension=1, horizon=50),
    ],
    ids=lambda problem: type(problem).__name__,
)
def test_problems_made_of_numbers_are_described(problem):
    described = json.loads(json.dumps(problem_to_dict(problem)))
    assert problem_from_dict(described) == problem


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"kind": "guess"}, "must be one of experts"),
        ([], "must be one of experts"),
        ({"kind": "experts", "n": 2, "horizon": 9, "m": 1}, "Got 'm' instead"),
        ({"kind": "experts", "n": 2}, "lacks one of its fields"),
        ({"kind": "experts", "n": 0, "horizon": 9}, "'n' parameter of Experts"),
    ],
)
def test_other_descriptions_are_refused(content, words):
    with pytest.raises(InvalidInput, match=words):
        problem_from_dict(content)

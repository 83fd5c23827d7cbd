import pytest

from tacit.domains import Ball
from tacit.errors import InvalidInput
from tacit.losses import LogisticLoss
from tacit.problems import Stochastic


def test_a_stochastic_problem_knows_its_constants():
    problem = Stochastic(domain=Ball(3, radius=2.0), loss=LogisticLoss(), horizon=100)
    assert problem.records == 100
    assert problem.constants.smoothness == 0.25


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": None}, "horizon"),
        ({"horizon": True}, "horizon"),
        ({"domain": 3}, "domain"),
        ({"loss": abs}, "loss"),
    ],
)
def test_bad_problems_raise(changed, message):
    with pytest.raises(InvalidInput, match=message):
        Stochastic(**{"domain": Ball(3), "loss": LogisticLoss(), "horizon": 10, **changed})

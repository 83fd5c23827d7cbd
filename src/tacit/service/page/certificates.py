"""What is certified for the rounds so far, and the contract as a paragraph.

Most plans certify regret for their whole horizon; one of an unknown horizon does for any number of rounds, and no
learner can lose more in a round than the widest loss. The smallest of these is shown, and the words say which it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.learners.doubling import Doubling
from tacit.learners.plan import Plan
from tacit.privacy.guarantee import ZERO_OUT, Guarantee
from tacit.privacy.rounding import rounded_up


@dataclass(frozen=True)
class Certified:
    """A certified number and what it is about.

    Attributes:
        value: the number as it is shown, rounded up.
        scope: which rounds it is for, and what else must be said.
    """

    value: str
    scope: str


def certified(plan: Plan, rounds: int) -> Certified:
    """The smallest regret that is certified for the first `rounds` rounds, or for the horizon if that is all there is.

    >>> from tacit import Experts, HedgeOnSums
    >>> plan = HedgeOnSums.calibrate(Experts(n=3, horizon=1000), epsilon=1.0, delta=1e-6)
    >>> certified(plan, 20)
    Certified(value='20', scope='for the rounds so far, as nobody can lose more in 20 rounds; 42.51 for all 1,000')
    >>> certified(plan, 900)
    Certified(value='42.51', scope='for all 1,000 rounds')
    """
    if isinstance(plan, Doubling):
        bound = plan.regret_bound_at(max(rounds, 1))
        return Certified(_shown(float(bound)), f"for the rounds so far{_condition(bound.condition)}")
    most, bound = plan.trivial_regret * rounds / plan.rounds, plan.regret_bound
    if most < float(bound):
        many = "1 round" if rounds == 1 else f"{rounds:,} rounds"
        whole = f"{_shown(float(bound))} for all {plan.rounds:,}{_condition(bound.condition)}"
        return Certified(_shown(most), f"for the rounds so far, as nobody can lose more in {many}; {whole}")
    says = "; it says nothing, deciding blindly has no more" if plan.vacuous else ""
    return Certified(_shown(float(bound)), f"for all {plan.rounds:,} rounds{_condition(bound.condition)}{says}")


def paragraph(guarantee: Guarantee) -> str:
    """The contract in sentences: what is shown, what that gives away of whom, and on what the proof rests."""
    other = "a public constant" if guarantee.relation == ZERO_OUT else "any other"
    epsilon, many = rounded_up(guarantee.epsilon()), guarantee.rounds_per_person
    slack = f", up to a probability of delta = {rounded_up(guarantee.at_delta, 6)}" if guarantee.at_delta else ""
    thing = "record" if "record" in guarantee.unit else "round"
    sentences = [
        f"Shown: {guarantee.released}.",
        f"Had {guarantee.unit} been {other}, whatever is shown would have been at most e^epsilon times as likely, "
        f"epsilon = {epsilon}{slack}.",
        f"A person may stand in {'one' if many == 1 else f'at most {many}'} {thing}{'' if many == 1 else 's'}.",
        f"Proof: {guarantee.theorem}; it holds against {_article(guarantee.adversary)} adversary.",
        f"Numerics: {guarantee.numerics}; randomness: {guarantee.randomness}.",
    ]
    if not guarantee.private:
        sentences.insert(0, "NOT PRIVATE: whoever knows the seed can make the noise again.")
    return " ".join(sentences)


def _shown(value: float) -> str:
    return rounded_up(value, thousands=True)


def _condition(text: str) -> str:
    return f", if {text}" if text else ""


def _article(word: str) -> str:
    return f"an {word}" if word[:1] in "aeiou" else f"a {word}"

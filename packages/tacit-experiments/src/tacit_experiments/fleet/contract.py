"""The contract of a whole fleet, from that of one learner."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.accounting.guarantee import Guarantee
from tacit.noise.randomness import SEALED
from tacit.planning.comparison import Comparison
from tacit.runtime.plan import Plan
from tacit.validation import check_integer
from tacit_experiments.fleet.fleet import fleet_problem


def contract(plan: Plan | Comparison, *, keys_per_person: int = 1) -> Guarantee:
    """What all decisions of a fleet leak about one person.

    Each key's learner sees the rows of its key alone. Who stands under one key is protected by that learner's contract,
    however many keys there are (parallel composition); who may stand under several, by the composition of as many. The
    learners run at the same time and may react to each other's decisions, which composition allows: each contract
    holds against adaptive adversaries.

    Args:
        plan: what the fleet runs.
        keys_per_person: under how many keys the feedback of one person may stand; in each, in as many rounds as the
            plan's `rounds_per_person` says.
    """
    one = chosen(plan).guarantee.with_randomness(SEALED)
    count = check_integer("contract", "keys_per_person", keys_per_person)
    whole, limit = one, "nobody stands under two keys"
    theorem = "parallel composition over keys, of which a person stands under one"
    if count > 1:
        whole, rounds = one.compose(*[one] * (count - 1)), one.rounds_per_person
        limit = f"nobody stands under more than {count} keys, in each in at most {rounds} round{'s' * (rounds > 1)}"
        theorem = f"composition over the {count} keys under which a person may stand, in parallel over the others"
    return replace(
        whole,
        assumed="; ".join(text for text in (one.assumed, limit) if text),
        released=f"{one.released}; of every key, as often as a batch is run with the same rows",
        theorem=f"{theorem}: {one.theorem}",
    )


def explain(plan: Plan | Comparison, *, keys_per_person: int = 1) -> str:
    """The plan of every key in words, then the contract of the fleet."""
    one = chosen(plan)
    people = (
        "Nobody stands under two keys: the contract of one key is that of the fleet."
        if keys_per_person == 1
        else f"A person may stand under {keys_per_person} keys: the contract of the fleet composes as many."
    )
    return f"Every key: {one.explain()}\n\n{people}\n{contract(one, keys_per_person=keys_per_person)}"


def chosen(plan: Any) -> Plan:
    """The plan itself, if it can be a fleet's."""
    found = plan.plan if isinstance(plan, Comparison) else plan
    fleet_problem(found)
    assert isinstance(found, Plan)
    return found

"""Simulated people: who of them clicks in a version, for examples and demonstrations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from tacit.validation import FloatArray
from tacit_experiments.policy import assign, pseudonym


@cache
def simulated_pid(person: int) -> str:
    """Compute the pid of a simulated person."""
    return pseudonym(b"a secret of the operator's own", f"person {person}")


def clicks(
    policy: Mapping[str, Any], rates: Mapping[str, float], people: Iterable[int], coins: FloatArray
) -> list[list[Any]]:
    """Compute the replies to a policy: a person clicks if their coin, from 0 to 1, is below the rate of their arm.

    The coins are drawn before the arms are known, so that every policy meets the same people.
    """
    salt, highest, rows = policy["salt"], max(rates.values()), []
    for person, coin in zip(people, coins.tolist(), strict=True):
        if coin < highest:  # otherwise no arm gets a click
            pid = simulated_pid(person)
            if coin < rates[policy["arms"][assign(salt, policy["upto"], pid)]]:
                rows.append([salt, pid, 1])
    return rows

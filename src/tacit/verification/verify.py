"""Yes, no, or not yet: does the epsilon that a contract states follow from its plan's public numbers?"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.algorithms import ACCOUNTANTS
from tacit.verification.facts import Facts, NotVerifiable, check_agreement, epochs
from tacit.verification.leaks import DIGITS, Leak

FORMAT = "tacit contract 1"
LARGEST, LEAST, LONGEST = 1000.0, 1e-200, 10**12
_DIGITS = 1e-6  # relative: so far two accountants may round apart
YES, NO, NOT_YET = "yes", "no", "not verifiable yet"
EXIT_CODES = {YES: 0, NO: 1, NOT_YET: 2}


@dataclass(frozen=True)
class Verdict:
    """What the second accountant says of a contract.

    Attributes:
        answer: "yes", "no" or "not verifiable yet".
        reason: one sentence.
        epsilon: the recomputed epsilon at the contract's delta (None: not verifiable yet).
        private: False unless the contract itself says that its noise cannot be replayed.
    """

    answer: str
    reason: str
    epsilon: float | None = None
    private: bool = True

    @property
    def exit_code(self) -> int:
        """0 for yes, 1 for no, 2 for not verifiable yet."""
        return EXIT_CODES[self.answer]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-ready description."""
        return {"answer": self.answer, "reason": self.reason, "epsilon": self.epsilon, "private": self.private}

    def __str__(self) -> str:
        warning = "" if self.private else "\nIts noise can be replayed by whoever knows the seed: NOT private."
        return f"{self.answer}: {self.reason}{warning}"


def verify(contract: str | dict[str, Any]) -> Verdict:
    """Recompute a contract's epsilon with an accountant of its own, from the plan's public numbers.

    Args:
        contract: the JSON of `tacit.contract`, as text or as a dictionary.
    """
    facts = _read(contract)
    stated, delta = facts.number("epsilon"), facts.number("delta")
    private = facts.true("private") and not facts.text("randomness").lower().startswith("replayable")
    known = facts.part("problem").has("horizon")
    with mp.workdps(DIGITS):
        try:
            leaks = [_leak(part) for part in ([facts] if known else epochs(facts))]
            refused = [leak for leak in leaks if leak.delta(mp.mpf(stated)) > mp.mpf(delta)]
            found = max(float(leak.epsilon(mp.mpf(delta), mp.mpf(stated))) for leak in leaks)
        except NotVerifiable as reason:
            return Verdict(NOT_YET, str(reason), private=private)
        except (ArithmeticError, MemoryError):  # numbers that no plan has
            return Verdict(NOT_YET, "Numbers as large or as small as these are not recomputed.", private=private)
    at = f"at delta={delta:g}" if delta else "(pure)"
    if not refused:
        floats = ", as if floats were real numbers" if facts.text("numerics").startswith("idealized") else ""
        trust = f" Assumed: {facts.text('assumed')}." if facts.has("assumed") and facts.text("assumed") else ""
        each = "" if known else f" in every epoch so far ({len(leaks)})"
        follows = f"epsilon={stated:.6g} {at} follows{each}{floats}; recomputed: {found:.6g}.{trust}"
        return Verdict(YES, follows, found, private)
    close = found <= stated * (1 + _DIGITS) or (stated == 0 < delta)  # the last digits, or no search of its own
    if close or not all(leak.sharp for leak in refused):
        return Verdict(NOT_YET, f"the independent accountant proves only epsilon={found:.6g} {at}.", found, private)
    return Verdict(NO, f"the contract states epsilon={stated:.6g} {at}; recomputed: {found:.6g}.", found, private)


def _leak(facts: Facts) -> Leak:
    """What one plan of a known horizon leaks."""
    algorithm, delta = facts.text("algorithm"), facts.number("delta")
    if algorithm not in ACCOUNTANTS:
        raise NotVerifiable(f"{algorithm} has no independent accountant yet.")
    if facts.number("epsilon") > LARGEST:
        raise NotVerifiable(f"An epsilon above {LARGEST:g} promises nothing.")
    if 0 < delta < LEAST or facts.part("problem").integer("horizon") > LONGEST:
        raise NotVerifiable(f"A delta below {LEAST:g} or a horizon above {LONGEST:,} is not recomputed.")
    check_agreement(facts)
    return ACCOUNTANTS[algorithm](facts)


def _read(contract: str | dict[str, Any]) -> Facts:
    try:
        content = json.loads(contract) if isinstance(contract, str) else contract
    except json.JSONDecodeError as error:
        raise InvalidInput(f"This is not JSON ({error}).") from None
    facts = Facts(content, "contract")
    if not facts.has("format") or facts.text("format") != FORMAT:
        raise InvalidInput(f'A contract must say "format": "{FORMAT}": write it with tacit.contract(plan).')
    if not 0 <= facts.number("delta") < 1:
        raise InvalidInput("The 'delta' of a contract must be at least 0 and below 1.")
    return facts

"""Yes, no, not verifiable yet, or not private: does a contract follow from its plan's public numbers?

The form comes first (`schema`), then the words, then epsilon, then the curve at other deltas. Everything that the
algorithm's own parameters decide is derived here, and compared. What cannot be derived is named in the answer.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import exp
from typing import Any

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification import ab_tests, experiments
from tacit.verification.algorithms import ACCOUNTANTS
from tacit.verification.facts import Facts, NotVerifiable, contradiction, epochs
from tacit.verification.leaks import DIGITS, GaussianLeak, Leak, PureLeak, Real, grouped
from tacit.verification.schema import check_schema
from tacit.verification.statements import (
    TAKEN_AS_STATED,
    Differs,
    at_delta,
    check_form,
    check_meaning,
    check_words,
    curve_points,
    statement_of,
)

FORMAT = "tacit contract 2"
LARGEST, LEAST, LONGEST = 1000.0, 1e-200, 10**12
_ROUNDED = 1e-11  # relative: the digits of a stated epsilon that two float64 accounts of a long chain have in common
_DIGITS = 1e-6  # relative: so far two accountants may round apart
# Relative: by so much a plan may state more than follows, and by so much where what follows is pure.
_COARSER, _FINER = 0.02, 1e-4
# Where delta is as small as this, walks in float64 differ by so much either way.
_TINY, _TINY_DIGITS, _TINY_COARSER = 1e-20, 0.01, 0.1
_NEARLY = 0.9  # a statement that needs less of its delta is compared with the least epsilon that a search finds
# What probabilities in float64 may lose in all: where e^epsilon of it is delta, walks are of no use to a plan.
_LOST = 1e-14
_REPLAYED = "the noise can be replayed by whoever knows the seed."
YES, NO, NOT_YET, NOT_PRIVATE = "yes", "no", "not verifiable yet", "not private"
EXIT_CODES = {YES: 0, NO: 1, NOT_YET: 2, NOT_PRIVATE: 3}


@dataclass(frozen=True)
class Verdict:
    """What the second accountant says of a contract.

    Attributes:
        answer: "yes", "no", "not verifiable yet" or "not private".
        reason: one sentence.
        epsilon: the recomputed epsilon at the contract's delta (None: not recomputed).
        stated: the fields that were taken as stated, because no number shows them.
    """

    answer: str
    reason: str
    epsilon: float | None = None
    stated: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 for yes, 1 for no, 2 for not verifiable yet, 3 for not private."""
        return EXIT_CODES[self.answer]

    def to_dict(self) -> dict[str, Any]:
        return {"answer": self.answer, "reason": self.reason, "epsilon": self.epsilon, "stated": list(self.stated)}

    def __str__(self) -> str:
        stated = f"\nTaken as stated, and not checked: {', '.join(self.stated)}." if self.stated else ""
        return f"{self.answer}: {self.reason}{stated}"


def verify(contract: str | dict[str, Any]) -> Verdict:
    """Recompute what a contract states with an accountant of its own, from the plan's public numbers.

    Args:
        contract: the JSON of `tacit.contract`, as text or as a dictionary.
    """
    content = _content(contract)
    others = {experiments.FORMAT: _verify_experiment, ab_tests.FORMAT: _verify_test}
    form = content.get("format")
    checked = others.get(form, _verify_plan) if isinstance(form, str) else _verify_plan
    with mp.workdps(DIGITS):
        try:
            return checked(content)
        except Differs as reason:
            return Verdict(NO, str(reason))
        except (ArithmeticError, MemoryError):  # numbers that no plan has
            return Verdict(NOT_YET, "numbers as large or as small as these are not recomputed.")


def _verify_plan(content: dict[str, Any]) -> Verdict:
    if content.get("format") != FORMAT:
        raise InvalidInput(f'A contract must say "format": "{FORMAT}": write it with tacit.contract(plan).')
    check_schema(content)
    facts = Facts(content, "contract")
    replayable = facts.text("randomness").startswith("replayable")
    private = facts.has("epsilon") and not replayable
    if facts.flag("private") != private:
        raise Differs(f"the contract says private={facts.flag('private')}, and is {'' if private else 'not '}private.")
    if not facts.has("epsilon"):
        return Verdict(NOT_PRIVATE, "no finite epsilon is stated.")
    try:
        parts = [facts] if _is_one_plan(facts) else epochs(facts)
        for part in parts:
            check_form(part)
        check_words(facts, parts[0])
        found = _Account(facts, parts).check()
    except NotVerifiable as reason:
        return Verdict(NOT_PRIVATE if replayable else NOT_YET, _REPLAYED if replayable else str(reason))
    stated = _stated(parts[0])
    if replayable:
        return Verdict(NOT_PRIVATE, _REPLAYED, found, stated)
    floats = ", as if floats were real numbers" if facts.text("numerics").startswith("idealized") else ""
    trust = f" Assumed: {facts.text('assumed')}." if facts.text("assumed") else ""
    each = "" if len(parts) == 1 and parts[0] is facts else f" in every epoch so far ({len(parts)})"
    promise = f"epsilon={facts.number('epsilon'):.6g} {at_delta(facts.number('delta'))}"
    return Verdict(YES, f"{promise} follows{each}{floats}; recomputed: {found:.6g}.{trust}", found, stated)


class _Account:
    """The numbers of a contract, against what its parts leak."""

    def __init__(self, facts: Facts, parts: list[Facts]) -> None:
        self._facts, self._parts, self._epochs = facts, parts, parts[0] is not facts
        problem = parts[0].part("problem")
        # In as many rounds as there are, fewer may count: the second accountant leaves those out that do not.
        known = problem.has("horizon")
        self._crowded = known and facts.integer("rounds_per_person") >= problem.integer("horizon", at_least=1)

    def check(self) -> float:
        """Check epsilon, the words that depend on it, and the curve; return the recomputed epsilon."""
        stated, delta = self._facts.number("epsilon"), self._facts.number("delta")
        single = [_leak(part) for part in self._parts]
        several = self._facts.integer("rounds_per_person") if self._epochs else 1
        if several > 1:
            self._check_single(several)
        leaks = [grouped(leak, several, mp.mpf(delta), mp.mpf(stated)) for leak in single]
        found = max(float(leak.epsilon(mp.mpf(delta), mp.mpf(stated))) for leak in leaks)
        self._check_point(leaks, delta, stated, found)
        check_meaning(self._facts, self._parts[0], single[0])
        for point in curve_points(self._facts):
            at = point.number("delta")
            epsilon = point.number("epsilon") if point.has("epsilon") else None
            if self._epochs:
                self._check_shared(leaks[0], at, epsilon)
            elif epsilon is not None:
                self._check_point([_leak(part.at(at, epsilon)) for part in self._parts], at, epsilon)
            elif leaks[0].epsilon(mp.mpf(at), mp.mpf(stated)) < mp.inf:
                raise Differs(f"the 'curve' of this contract states no epsilon {at_delta(at)}, and there is one.")
        return found

    def _check_point(self, leaks: list[Leak], delta: float, stated: float, found: float | None = None) -> None:
        """Check that one epsilon follows from every part, and is what follows, but for what accountants may differ."""
        rounded, at = mp.mpf(stated) * (1 + mp.mpf(_ROUNDED)), at_delta(delta)
        refused = [leak for leak in leaks if leak.delta(rounded) > mp.mpf(delta)]
        if refused:
            best = (
                max(float(leak.epsilon(mp.mpf(delta), mp.mpf(stated))) for leak in refused) if found is None else found
            )
            digits = _DIGITS if delta == 0 or delta >= _TINY else _TINY_DIGITS
            close = best <= stated * (1 + digits) or stated == 0 < delta  # the last digits, or no search of its own
            if close or not all(leak.sharp for leak in refused):
                raise NotVerifiable(f"the independent accountant proves only epsilon={best:.6g} {at}.")
            raise Differs(f"the contract states epsilon={stated:.6g} {at}; recomputed: {best:.6g}.")
        walked = delta == 0 or delta >= max(_TINY, _LOST * exp(min(stated, 700.0)))
        coarser = _COARSER if walked else _TINY_COARSER

        def weak(leak: Leak) -> bool:
            less = mp.mpf(stated) / (1 + mp.mpf(_FINER if isinstance(leak, PureLeak) else coarser))
            # Far from delta another walk than the one for this epsilon may prove less, where a plan can use walks.
            loose = walked and delta > 0 and leak.delta(mp.mpf(stated)) <= mp.mpf(_NEARLY) * mp.mpf(delta)
            return bool(leak.delta(less) <= delta or (loose and leak.epsilon(mp.mpf(delta), mp.mpf(stated)) <= less))

        if stated and not self._crowded and any(map(weak, leaks)):
            raise Differs(f"the contract states epsilon={stated:.6g} {at}; less follows from its parameters.")

    def _check_single(self, several: int) -> None:
        """Check that the delta of each epoch is what the share of one round leaves at the share of epsilon."""
        target, delta = self._facts.number("epsilon"), self._facts.number("delta")
        share = GaussianLeak(_mu(target, delta) / several).delta(mp.mpf(target) / several) if delta else mp.mpf(0)
        for part in self._parts:
            if abs(part.number("delta") - share) > mp.mpf(_FINER) * share:
                raise contradiction("delta", "epochs")

    def _check_shared(self, leak: Leak, at: float, stated: float | None) -> None:
        """Check the curve that all epochs share: Gaussian, pure, or what one point says of all others."""
        target, delta = self._facts.number("epsilon"), self._facts.number("delta")
        if delta == 0:
            expected = PureLeak(mp.mpf(target)).epsilon(mp.mpf(at), mp.mpf(target))
        elif isinstance(leak, GaussianLeak):
            expected = GaussianLeak(_mu(target, delta)).epsilon(mp.mpf(at), mp.mpf(target))
        else:
            left = (mp.mpf(at) - mp.mpf(delta)) / (1 - mp.mpf(delta))
            expected = PureLeak(mp.mpf(target)).epsilon(left, mp.mpf(target)) if left >= 0 else mp.inf
        same = stated is not None and abs(stated - expected) <= mp.mpf("1e-5") * max(expected, mp.mpf("1e-5"))
        if not (same if expected < mp.inf else stated is None):
            raise Differs(f"the contract states epsilon={stated} {at_delta(at)}; recomputed: {float(expected):.6g}.")


def _mu(epsilon: float, delta: float) -> Real:
    """Find the largest mu of Gaussian noise that is (epsilon, delta)-DP."""
    low, high = mp.mpf(0), mp.mpf(64)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianLeak(middle).delta(mp.mpf(epsilon)) <= delta else (low, middle)
    return low


def _stated(facts: Facts) -> tuple[str, ...]:
    """Give what was believed, with what the contract says."""
    common = (f"{name} ({facts.text(name)})" for name in TAKEN_AS_STATED)
    own = (name for name in statement_of(facts).stated.split() if _says(facts, name))
    return (*common, "that data are cut to their range and samplers draw their laws", *own)


def _says(facts: Facts, place: str) -> bool:
    part, name = place.split(".")
    return isinstance(facts.content(part), dict) and facts.part(part).has(name)


def _is_one_plan(facts: Facts) -> bool:
    """Check whether the horizon is known, or the proof holds for any number of rounds; epochs are many plans."""
    return facts.part("problem").has("horizon") or (not facts.has("epochs") and statement_of(facts).endless)


def _leak(facts: Facts) -> Leak:
    delta, problem = facts.number("delta"), facts.part("problem")
    if facts.number("epsilon") > LARGEST:
        raise NotVerifiable(f"an epsilon above {LARGEST:g} promises nothing.")
    if 0 < delta < LEAST or (problem.has("horizon") and problem.integer("horizon") > LONGEST):
        raise NotVerifiable(f"a delta below {LEAST:g} or a horizon above {LONGEST:,} is not recomputed.")
    return ACCOUNTANTS[facts.text("algorithm")](facts)


def _verify_experiment(content: dict[str, Any]) -> Verdict:
    return _kept(content, experiments.check_experiment(content), experiments.STATED)


def _verify_test(content: dict[str, Any]) -> Verdict:
    return _kept(content, ab_tests.check_test(content), ab_tests.STATED)


def _kept(content: dict[str, Any], found: float, stated: tuple[str, ...]) -> Verdict:
    """Say yes to a contract of persons whose epsilon was recomputed."""
    promise = f"epsilon={content['epsilon']:.6g} {at_delta(content['delta'])}"
    trust = f" Assumed: {'; '.join(content['assumed'])}." if content["assumed"] else ""
    sentence = f"{promise} follows for every {content['unit']}; recomputed: {found:.6g}.{trust}"
    return Verdict(YES, sentence, found, stated)


def _content(contract: str | dict[str, Any]) -> dict[str, Any]:
    try:
        text = contract if isinstance(contract, str) else json.dumps(contract, allow_nan=False)
        content = json.loads(text, object_pairs_hook=_once)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"A contract must be JSON, as tacit.contract(plan) writes it ({error!s:.100}).") from None
    if not isinstance(content, dict):
        raise InvalidInput("A contract must be a JSON object, as tacit.contract(plan) writes it.")
    return content


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object whose names differ: of two values under one name readers may see either."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("an object says two things under one name")
    return dict(pairs)

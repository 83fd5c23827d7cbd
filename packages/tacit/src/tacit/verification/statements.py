"""What a contract must say besides numbers: a function of its algorithm, its parameters and what they leak.

The words are data (`statements.json`). Here they are chosen, and compared with those of a contract.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath as mp

from tacit.errors import InvalidInput
from tacit.verification.facts import Facts, NotVerifiable, check_agreement, contradiction, people
from tacit.verification.leaks import BestOf, GaussianLeak, Leak, Real
from tacit.verification.minimisers import lattice_extra
from tacit.verification.schema import check_schema, packaged

CURVE_DELTAS = (1e-9, 1e-6, 1e-3)
"""The deltas at which a contract states its curve, besides its own."""
_COMMON = ("relation", "rounds_per_person", "delta", "numerics")
_IDEALIZED, _UP_TO = "idealized: float64 samplers", "exact up to an extra epsilon of "
_LATTICE_SLACK = mp.mpf("1e-20")  # what lattices may add in any epoch (docs/algorithms/doubling.md)
_DIGITS = mp.mpf("1e-6")
_FLOAT = "units dimension"  # of float64 noise, or where there is nothing to hide
_UNKNOWN = mp.mpf("2e-9")  # of a difference of two epsilons that are solved for


class Differs(Exception):
    """The contract differs from what its parameters say; the words say where."""


def curve_points(contract: Facts) -> list[Facts]:
    """Give the points of a contract's curve, which stand at the deltas of every curve but for the contract's own."""
    points = contract.parts("curve")
    if [point.number("delta") for point in points] != [at for at in CURVE_DELTAS if at != contract.number("delta")]:
        raise Differs(f"the 'curve' of this contract must be stated at {', '.join(map(str, CURVE_DELTAS))}.")
    return points


def at_delta(delta: float) -> str:
    """Say at which delta an epsilon holds."""
    return f"at delta={delta:g}" if delta else "(pure)"


_STATEMENTS = packaged("statements.json")
PROMISE_NOTHING: tuple[str, ...] = tuple(_STATEMENTS["every contract"]["nothing"].split())
"""Fields of every contract that change nothing of what is promised; `Statement.nothing` has those of an algorithm."""
TAKEN_AS_STATED: tuple[str, ...] = tuple(_STATEMENTS["every contract"]["stated"].split())
"""Fields of every contract that no number shows; `Statement.stated` has those of an algorithm."""


@dataclass(frozen=True)
class Statement:
    """The words of one algorithm.

    Attributes:
        problem: the kind of problem.
        parameters: the names of its own parameters.
        released: what the proof covers.
        theorem: what proves it.
        unit: what one person contributes in one round.
        notion: the notion of privacy where delta > 0, or how to find it.
        numerics: where the extra epsilon of finite arithmetic comes from.
        noise: what is said of the noise besides its law (empty: there is none; a question mark: where it applies).
        law: of the noise (empty: the accountant reads it).
        nothing: fields that no proof reads.
        stated: fields that a proof reads, and that no number shows.
        faint: fields that a proof reads, of which many values give the same epsilon, or nearly so.
        assumed: what the proof rests on that nobody can check.
        optional: names of its own parameters that stand there only where they are not at their default.
        separates: whether the proof knows rounds of a person that are apart.
        endless: whether the proof holds for any number of rounds, so that a plan without a horizon is one plan.
    """

    problem: str
    parameters: str
    released: str
    theorem: str
    unit: str
    notion: str
    numerics: str
    noise: str = ""
    law: str = ""
    nothing: str = ""
    stated: str = ""
    faint: str = ""
    assumed: str = ""
    optional: str = ""
    separates: bool = False
    endless: bool = False


def statement_of(contract: Facts) -> Statement:
    """Find the words of a contract's algorithm, in the variant that its parameters choose."""
    name, parameters = contract.text("algorithm"), contract.content("parameters")
    if name not in _STATEMENTS["algorithms"]:
        raise NotVerifiable(f"{name:.60} has no independent accountant yet.")
    entry = dict(_STATEMENTS["algorithms"][name])
    for variant in entry.pop("variants", ()):
        if all(_chosen(contract, key) == value for key, value in variant["when"].items()):
            entry |= {key: value for key, value in variant.items() if key != "when"}
    for key in ("released", "theorem"):
        for parameter in ("noise", "releases"):
            entry[key] = entry[key].replace(f"{{{parameter}}}", str(parameters.get(parameter)))
    return Statement(**entry)


def _chosen(contract: Facts, key: str) -> Any:
    """Give what chooses a variant: a parameter, or behind "problem." a field of the problem."""
    part, _, name = key.rpartition(".")
    return contract.part(part or "parameters").content(name)


def check_form(part: Facts) -> None:
    """Check that a plan has the problem, parameters and noise of its algorithm, each with all of its fields."""
    problem, parameters = part.part("problem"), part.part("parameters")
    statement = statement_of(part)
    check_schema(part.content("parameters"), "parameters", schema={"$ref": "#/$defs/parameters"})
    # Where a person's rounds are apart, and it matters: among the algorithms whose sums charge for it.
    apart = {"separation"} if parameters.has("separation") and statement.separates else set()
    own = {*statement.parameters.split(), *(name for name in statement.optional.split() if parameters.has(name))}
    if parameters.names() != {*_COMMON, *own, *apart}:
        raise InvalidInput(f"The 'parameters' of this contract must be {statement.parameters} {' '.join(_COMMON)}.")
    kind, fields = statement.problem, _STATEMENTS["problems"][statement.problem]
    if problem.text("kind") != kind or problem.names() != {"kind", "horizon", "delay", *fields.split()}:
        raise InvalidInput(f"The 'problem' of this contract must be {kind}, with {fields} and no other fields.")
    if part.has("noise"):
        listed = _FLOAT.split() if part.part("noise").content("units") == 0 else statement.noise.split()
        needed, known = {name for name in listed if name[-1] != "?"}, {name.rstrip("?") for name in listed}
        if not listed or not needed <= part.part("noise").names() - {"law", "scale"} <= known:
            raise InvalidInput(f"The 'noise' of this contract must say {statement.noise or 'nothing'}.")
        if statement.law and part.part("noise").text("law") != statement.law:
            raise contradiction("law", "algorithm")
    check_agreement(part)


def check_words(contract: Facts, first: Facts) -> None:
    """Check the words of a contract, whose first epoch (or the contract itself) has these parameters."""
    statement, theorem = statement_of(first), statement_of(first).theorem
    if first is not contract:
        several = contract.integer("rounds_per_person")
        group = f", {several} rounds of a person as {several} single ones," if several > 1 else ""
        theorem = f"parallel composition over disjoint epochs{group} of: {theorem}"
    words = {"released": statement.released, "theorem": theorem, "unit": statement.unit, "adversary": "adaptive"}
    for name, expected in (words | {"assumed": statement.assumed}).items():
        if contract.text(name) != expected:
            raise _differs(name, contract, expected)


def check_meaning(contract: Facts, first: Facts, leak: Leak) -> None:
    """Check the notion of privacy, and the words about arithmetic, which depend on what the first part leaks."""
    epochs, notion = first is not contract, _notion(contract, first, leak)
    if contract.text("notion") != notion:
        raise _differs("notion", contract, notion)
    low, high = _extra(first, leak)
    if epochs and isinstance(leak, GaussianLeak) and high < mp.inf:
        low = high = _LATTICE_SLACK
    text = contract.text("numerics")
    expected = "exact" if high == 0 else _IDEALIZED if high == mp.inf else f"{_UP_TO}{float(high):.2g}"
    if text != expected and not (0 < high < mp.inf and is_extra(text, low, high)):
        raise _differs("numerics", contract, expected)


def _notion(contract: Facts, first: Facts, leak: Leak) -> str:
    notion = statement_of(first).notion
    if notion == "minimisers":
        logistic = first.part("problem").part("loss").text("kind") == "LogisticLoss"
        notion = "linked slope and curvature" if logistic else "Gaussian alternatives"
    if notion == "by law":
        notion = "Gaussian DP" if isinstance(leak, GaussianLeak) else "pure"
    if contract.number("delta") == 0 or first.part("parameters").content("pure") is True:
        return "pure"
    return "approximate DP" if first is not contract and notion not in ("pure", "Gaussian DP") else notion


def _extra(contract: Facts, leak: Leak) -> tuple[Real, Real]:
    """Give the bounds of the extra epsilon: 0 is exact, infinity idealized."""
    match statement_of(contract).numerics:
        case "draws" if isinstance(leak, GaussianLeak):  # of integers, to the digit; plans may count rounds beyond T
            return leak.extra, leak.extra * contract.integer("rounds_per_person") / people(contract)
        case "weights" if isinstance(leak, BestOf):  # a difference of two accounts knows it to a factor of two
            return leak.extra / 2, leak.extra * 2
        case "minimisers" if contract.part("parameters").content("pure") is not True:
            extra = lattice_extra(contract)
            return extra / 2, extra * 2 + _UNKNOWN
        case "idealized" | "minimisers":
            return mp.inf, mp.inf
    return mp.mpf(0), mp.mpf(0)


def is_extra(text: str, low: Real, high: Real) -> bool:
    """Check whether words name an extra epsilon between these, in two digits rounded up."""
    try:
        value = float(text.removeprefix(_UP_TO))
    except ValueError:
        return False
    return text == f"{_UP_TO}{value:.2g}" and bool(low * (1 - _DIGITS) <= value <= high * (mp.mpf("1.1") + _DIGITS))


def _differs(name: str, contract: Facts, expected: str) -> Differs:
    said = f"{contract.text(name)!r:.80}"
    return Differs(f"the contract says {name}={said}; by its algorithm and parameters it is {expected!r}.")

"""Problems and plans as JSON: a learner is opened by name alone, and its plan is made of its fields, not planned again.

A problem that numbers and texts describe is written as its kind and its fields. A plan is written as

    {"algorithm": "HedgeOnSums", "problem": {...}, "parameters": {"eta": 0.1, "mechanism": {"kind": "Buffered", ...}}}

with numbers, texts, tuples and arrays as in a state (`tacit.runtime.state.encode`), and running sums, problems and
inner plans as objects with their kind. The problem is null where JSON cannot describe it; whoever opens the learner
names it again. Plans of other algorithms than `tacit.algorithms` and of unknown horizons are not written.

Nothing here is trusted: the signature of a plan that was read must be the stored one, and `Row.check_same` compares the
guarantee that follows from the plan with the stored guarantee.
"""

from __future__ import annotations

import ast
import json
from contextlib import suppress
from dataclasses import fields, is_dataclass
from typing import Any

from tacit import algorithms
from tacit.accounting.guarantee import REPLACE, Relation
from tacit.errors import InvalidInput, StoreError, TacitError
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, RunningSum, Tree
from tacit.planning.comparison import Candidate, Comparison
from tacit.planning.planner import plan as planned
from tacit.problems import Arms, Experts, Lipschitz, Problem, Tracking
from tacit.runtime.plan import Plan
from tacit.runtime.state import decode, encode, same_plan
from tacit.runtime.target import Target
from tacit.validation import MALFORMED

KINDS: dict[str, type[Problem]] = {"experts": Experts, "tracking": Tracking, "arms": Arms, "lipschitz": Lipschitz}
_SUMS: dict[str, type[RunningSum]] = {kind.__name__: kind for kind in (Buffered, CubeTree, LaplaceTree, Tree)}
_CHOSEN = "what was chosen when the learner was made"


def problem_to_dict(problem: object) -> dict[str, Any] | None:
    """Write a problem as JSON can hold it; None if it has parts that JSON cannot describe, such as a loss."""
    for kind, made in KINDS.items():
        if type(problem) is made and getattr(problem, "domain", None) is None:
            return {"kind": kind, **{field.name: getattr(problem, field.name) for field in fields(problem)}}
    return None


def problem_from_dict(content: Any) -> Problem:
    """Make the problem that `problem_to_dict` described."""
    if not isinstance(content, dict) or content.get("kind") not in tuple(KINDS):
        raise InvalidInput(f"The 'kind' of a problem must be one of {', '.join(KINDS)}.")
    kind = KINDS[content["kind"]]
    given = {name: value for name, value in content.items() if name != "kind"}
    allowed = [field.name for field in fields(kind)]
    for name in given:
        if name not in allowed:
            raise InvalidInput(f"The fields of {kind.__name__} are {', '.join(allowed)}. Got {name!r} instead.")
    try:
        return kind(**given)
    except TypeError:
        raise InvalidInput(f"{kind.__name__} lacks one of its fields: {', '.join(allowed)}.") from None


def request_of(problem: object, target: dict[str, Any]) -> dict[str, Any]:
    """Write what was asked for as JSON; the problem only if it and the target can be read back from there."""
    plain = {key: value for key, value in target.items() if value is None or isinstance(value, int | float | str)}
    described = problem_to_dict(problem) if len(plain) == len(target) else None
    content: dict[str, Any] = json.loads(json.dumps({"problem": described, "text": repr(problem), "target": plain}))
    return content


def plan_to_text(plan: Plan) -> str | None:
    """Write a plan as JSON; None if it has parts that JSON cannot describe."""
    try:
        return json.dumps(_plan_to_dict(plan, inner=False), separators=(",", ":"), allow_nan=False)
    except (InvalidInput, TypeError, ValueError):
        return None


def plan_from_text(text: str, problem: Problem | None = None) -> Plan:
    """Make the plan that `plan_to_text` wrote, for this problem if JSON could not describe its own."""
    try:
        content = json.loads(text)
        return _plan_from_dict(content, problem if content["problem"] is None else None)
    except MALFORMED as error:
        if isinstance(error, TacitError):
            raise
        raise InvalidInput(f"This is not the JSON of a plan ({type(error).__name__}).") from None


def plan_again(name: str, signature: str, request: dict[str, Any], text: str | None, problem: Any = None) -> Comparison:
    """Make the plan of a learner that is in the store: of its fields, of its signature, or planned again.

    A problem is given where JSON cannot describe it, and then the request has all of the target.
    """
    if request["problem"] is not None:
        problem = problem_from_dict(request["problem"])
    elif problem is None:
        raise InvalidInput(f"To open the learner {name!r} name its problem, epsilon and delta again.")
    target, algorithm = request["target"], signature.partition("(")[0]
    own = _algorithm(algorithm)
    if text is not None:
        found = _kept(plan_from_text(text, problem), target)
        if same_plan(signature, found.plan.signature):
            return found
        if request["problem"] is not None:  # else another one may have been named
            raise StoreError(
                f"The learner {name!r} holds the fields of another plan than its signature names: nothing was shown. "
                f"Its signature: {signature}. Its fields: {found.plan.signature}."
            )
    # Nothing is chosen again: another version might choose another algorithm, or other parameters.
    with suppress(SyntaxError, RecursionError, MemoryError, *MALFORMED):  # a damaged one may be nested too deeply
        if problem.horizon is None and own is not None:  # its epochs are planned when they begin
            found = _kept(own.calibrate_for(problem, _target_of(problem, target)), target)
        else:
            found = _kept(_from_signature(signature, problem), target)
        if same_plan(signature, found.plan.signature):
            return found
    return planned(problem, **target)


def _from_signature(signature: str, problem: Problem) -> Plan:
    """Make the plan of a row of version 0.2, which has no fields: its signature names them to the last digit."""
    made: Any = ast.parse(signature, mode="eval").body
    algorithm = _algorithm(made.func.id)
    if algorithm is None:
        raise InvalidInput(f"tacit has no algorithm {made.func.id!r}.")
    named = zip(made.args[1].keys, made.args[1].values, strict=True)
    parameters = {ast.literal_eval(key): _evaluated(value) for key, value in named}
    if isinstance(problem, Arms):  # missing feedback was the middle, Tsallis rates could decrease, and noise be normal
        parameters = {"missing": 0.5, **parameters}
        parameters.pop("noise", None)
        if parameters.pop("rates", None) == "fixed":
            parameters["lowering"] = 0.0
    return algorithm(problem, **parameters)


def _evaluated(node: ast.expr) -> Any:
    """The value of a parameter in a signature."""
    if isinstance(node, ast.Call):
        return _SUMS[ast.unparse(node.func)](**{str(entry.arg): _evaluated(entry.value) for entry in node.keywords})
    if isinstance(node, ast.Name | ast.BinOp):
        return Relation(ast.unparse(node).replace(" ", ""))
    return ast.literal_eval(node)


def _kept(plan: Plan, target: dict[str, Any]) -> Comparison:
    """A plan that was chosen when its learner was made, without the others."""
    return Comparison(
        plan.problem, _target_of(plan.problem, target), [Candidate(plan.algorithm, plan)], ranked_by=_CHOSEN
    )


def _target_of(problem: Problem, target: dict[str, Any]) -> Target:
    """The target among the arguments of `tacit.plan`."""
    named = {field.name: target[field.name] for field in fields(Target) if field.name in target}
    return Target(**{**named, "relation": Relation(target.get("relation", REPLACE)), "adversary": problem.adversary})


def _plan_to_dict(plan: Plan, *, inner: bool) -> dict[str, Any]:
    """Write a plan; the problem of an inner one must be described, too."""
    if type(plan) is not _algorithm(type(plan).__name__):
        raise InvalidInput(f"{type(plan).__name__} is no algorithm of tacit, or has other fields than its parameters.")
    problem = problem_to_dict(plan.problem)
    if inner and problem is None:
        raise InvalidInput("The problem of this inner plan is not made of numbers.")
    hidden = ("problem",) if plan.printed is not None else ("problem", "printed")
    parameters = {field.name: getattr(plan, field.name) for field in fields(plan) if field.name not in hidden}
    described = {name: _written(value) for name, value in parameters.items()}
    return {"algorithm": type(plan).__name__, "problem": problem, "parameters": described}


def _plan_from_dict(content: dict[str, Any], problem: Problem | None = None) -> Plan:
    algorithm = _algorithm(content["algorithm"])
    if algorithm is None:
        raise InvalidInput(f"tacit has no algorithm {content['algorithm']!r}.")
    parameters = {name: _read(value) for name, value in content["parameters"].items()}
    return algorithm(problem_from_dict(content["problem"]) if problem is None else problem, **parameters)


def _algorithm(name: object) -> type[Plan] | None:
    """The algorithm of tacit that has this name."""
    found = getattr(algorithms, name) if isinstance(name, str) and name in algorithms.__all__ else None
    return found if isinstance(found, type) and issubclass(found, Plan) else None


def _written(value: Any) -> Any:
    if isinstance(value, Plan):
        return _plan_to_dict(value, inner=True)
    if type(value) in _SUMS.values():
        own = {field.name: _written(getattr(value, field.name)) for field in fields(value)}
        return {"kind": type(value).__name__, "fields": own}
    if is_dataclass(value):
        raise InvalidInput(f"A {type(value).__name__} is not written down.")
    return encode(value)


def _read(value: Any) -> Any:
    if isinstance(value, dict) and "algorithm" in value:
        return _plan_from_dict(value)
    if isinstance(value, dict) and "kind" in value:
        if value["kind"] not in _SUMS:
            raise InvalidInput(f"tacit has no running sum {value['kind']!r}: begin the learner again.")
        return _SUMS[value["kind"]](**{name: _read(entry) for name, entry in value["fields"].items()})
    return decode(value)

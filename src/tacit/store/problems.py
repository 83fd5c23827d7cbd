"""Problems as JSON, where numbers and texts describe them: their learners can be opened by name alone."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from tacit.errors import InvalidInput
from tacit.problems import Arms, Experts, Lipschitz, Problem, Tracking

KINDS: dict[str, type[Problem]] = {"experts": Experts, "tracking": Tracking, "arms": Arms, "lipschitz": Lipschitz}


def problem_to_dict(problem: object) -> dict[str, Any] | None:
    """The problem as JSON can hold it; None if it has parts that JSON cannot describe, such as a loss."""
    for kind, made in KINDS.items():
        if type(problem) is made:
            return {"kind": kind, **{field.name: getattr(problem, field.name) for field in fields(problem)}}
    return None


def problem_from_dict(content: Any) -> Problem:
    """The problem that `problem_to_dict` described."""
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

"""Public objects as Python expressions, which later versions of the code evaluate again.

`LazyExperts(problem=Experts(horizon=50, n=4), relation='replace', eta=0.1)` names every field of
a plan, with all digits of its numbers. Expressions name classes and fields, and no module: modules
may move. Where a class is renamed, `_names` maps its old name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, dataclass, fields, is_dataclass
from enum import Enum
from math import inf, nan
from typing import Any

import numpy as np

import tacit
from tacit import algorithms, domains, losses, problems
from tacit.algorithms import OwnMeasure, stochastic
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, Tree


def distance_of(point: Any, data: Any) -> float:
    """Return the sum of absolute differences."""
    return float(np.abs(point - data).sum())


def signs_of(point: Any, data: Any) -> Any:
    """Return the gradient of `distance_of`."""
    return np.sign(point - data)


@dataclass(frozen=True)
class Named(OwnMeasure):
    """A measure on three names with factors exp(-rate loss), drawn by one uniform number."""

    rate: float
    decisions: tuple[int, ...] = (0, 1, 2)

    @property
    def feedback_shape(self) -> tuple[int]:
        return (3,)

    @property
    def limit(self) -> float:
        return self.rate

    @property
    def neutral(self) -> Any:
        return np.full(3, 0.5)

    def log_factor(self, decision: int, feedback: Any) -> float:
        return -self.rate * float(np.clip(feedback[decision], 0.0, 1.0))

    def sample(self, history: Any, generator: Any) -> int:
        scores = -self.rate * np.clip(history, 0.0, 1.0).sum(axis=0)
        weights = np.exp(scores - scores.max())
        return int(np.searchsorted(np.cumsum(weights) / weights.sum(), generator.random()))


FUNCTIONS: tuple[Callable[..., Any], ...] = (distance_of, signs_of)


def evaluate(text: str) -> Any:
    """Return the object that an expression describes."""
    return eval(text, {"__builtins__": {}}, _names())


def expression(value: Any) -> str:
    """Return an expression for a public object: `evaluate` gives an equal one.

    Raises:
        TypeError: the object has a part that no expression describes, such as a function of a test.
    """
    if isinstance(value, Enum):
        return repr(value.value)
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    if isinstance(value, float):
        return repr(float(value))
    if isinstance(value, np.generic):
        return expression(value.item())
    if isinstance(value, np.ndarray):
        return f"array({_entries(value.tolist())})"
    if isinstance(value, list | tuple):
        return _entries(value)
    if callable(value) and value in FUNCTIONS:
        return str(value.__name__)
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, stochastic.OnlineLearner):  # its text is a call of its class
        return repr(value)
    raise TypeError(f"no expression for {value!r}")


def _entries(values: Any) -> str:
    inside = ", ".join(expression(entry) for entry in values)
    if isinstance(values, list):
        return f"[{inside}]"
    return f"({inside},)" if len(values) == 1 else f"({inside})"


LATER = {
    "printed": (),
    "selection": ("LimitedUpdates",),
    "slack": ("L2PConvex", "L2PMeasure"),
    "uphill": ("BanditFW",),
    "windows": ("RestartOnShift",),
}
"""Fields that plans of 0.3 did not have, and whose plans (empty: all); at their default they are left out."""


RENAMED = {("ObjectivePerturbation", "models"): "releases"}
"""Fields that had another name in 0.3, which is read and written here."""


def _object(value: Any) -> str:
    name = type(value).__name__
    if _names().get(name) is not type(value):
        raise TypeError(f"no expression for a {name}")
    given = [field.name for field in fields(value) if field.init and not _is_later(value, field)]
    named = [(RENAMED.get((name, field), field), getattr(value, field)) for field in given]
    inside = ", ".join(f"{field}={expression(part)}" for field, part in named)
    return f"{name}({inside})"


def _is_later(value: Any, field: Field[Any]) -> bool:
    """Return True for a field that 0.3 did not have, at its default."""
    kinds = LATER.get(field.name)
    concerned = kinds is not None and (not kinds or type(value).__name__ in kinds)
    return concerned and getattr(value, field.name) == field.default


def call(function: str, *arguments: Any, **named: Any) -> str:
    """Return the expression of a call."""
    positional = [expression(argument) for argument in arguments]
    by_name = [f"{name}={expression(argument)}" for name, argument in named.items()]
    return f"{function}({', '.join(positional + by_name)})"


def _names() -> dict[str, Any]:
    known: dict[str, Any] = {"array": np.array, "inf": inf, "nan": nan, "Named": Named}
    for module in (problems, domains, losses, stochastic, algorithms):
        for name in module.__all__:
            known[name] = getattr(module, name)
    for kind in (Buffered, CubeTree, LaplaceTree, Tree, Norm, tacit.Randomness):
        known[kind.__name__] = kind
    for function in FUNCTIONS:
        known[function.__name__] = function
    return known

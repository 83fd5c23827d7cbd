"""`decide`: a fleet on a stream or a table of Spark.

What Spark ships to its workers is the plan, which is public, the names of columns and the place of the key. A worker
reads the key once, and builds the fleet once. States are packed bytes in Spark's state store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.problems import Arms
from tacit.runtime.plan import Plan
from tacit.validation import check_choice, require
from tacit_experiments.fleet.contract import chosen
from tacit_experiments.fleet.fleet import Fleet, Step, feedback_columns, fleet_problem
from tacit_experiments.fleet.root import Root
from tacit_experiments.fleet.rows import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tacit.planning.comparison import Comparison

ANSWER = "round long, action long, late long, duplicates long, refused long, problem string"
"""The columns of a fleet's output after those of the key."""
_ANSWER_NAMES = tuple(part.split()[0] for part in ANSWER.split(", "))
_KEYS = ("string", "tinyint", "smallint", "int", "bigint", "boolean", "binary")
_WHOLE = ("tinyint", "smallint", "int", "bigint")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_ROUND, _LOSSES = "__round", "__losses"


@dataclass(frozen=True)
class Recipe:
    """Everything that a worker needs; nothing of it is secret."""

    plan: Plan
    root: Root
    seal: str
    keys: tuple[str, ...]

    def fleet(self) -> Fleet:
        """The fleet of this worker, built once."""
        made = (self.plan.signature, self.root, self.seal)
        if made not in _BUILT:
            _BUILT[made] = Fleet(self.plan, self.root.sealed(), seal=self.seal)
        return _BUILT[made]


_BUILT: dict[tuple[str, Root, str], Fleet] = {}


def decide(
    stream: DataFrame,
    plan: Plan | Comparison,
    *,
    key: str | Sequence[str],
    feedback: Sequence[str],
    root: object,
    round: str,
    seal: str = "batch",
) -> DataFrame:
    """One learner for every key of a stream (Structured Streaming, append mode) or of a table.

    A row says that round t of its key is over, and its feedback, or null where there is none yet; it asks for the
    decision of round t + 1. A row of round -1 asks for the first decision. Rounds are counted from 0 in every key, and
    rows may come up to `plan.problem.delay` rounds late; a round whose row does not come in time counts as missing.

    The result has the key and: `round` and `action`, what to do in that round, once for every decided round. Only
    these rows are covered by the contract. Where rows of a key were not counted there is one more row with an empty
    `action`: how many were `late`, `duplicates` or `refused`, and the `problem` in words. It depends on single rows,
    and is for whoever runs the job: filter on `action IS NOT NULL` before you show decisions to anybody else.

    Args:
        stream: a streaming or a static DataFrame.
        plan: for `Experts`, `Tracking` or (streams only) `Arms`.
        key: the column, or columns, that name a learner.
        feedback: the columns of the losses, one for each expert; for `Arms` the one of the arm that was played.
        root: where each worker reads the 32 bytes of the sealed source: "file:PATH" or "env:NAME". Every
            stream needs a root of its own: under a shared one, equal rows of two streams would have equal decisions,
            which tells.
        round: the column of the round's number, an integer.
        seal: "batch" (fast) or "row": decisions do not depend on where Spark cuts the stream into batches, at the
            price of one seal for each row; a table then gives the decisions of the stream.
    """
    f: Any = require("pyspark.sql.functions", "tacit-experiments[spark]")
    one = chosen(plan)
    check_choice("decide", "seal", seal, ("batch", "row"))
    keys = _checked_columns(stream, one, key, feedback, round)
    if not stream.isStreaming and isinstance(one.problem, Arms):
        raise InvalidInput(
            "Arms reply to decisions that were shown: decide takes them from a stream, not from a table."
        )
    recipe = Recipe(one, Root.found(root), seal, keys)
    # One column of arrays: what Spark does for each group costs by the column.
    losses = f.array(*(f.col(_quoted(name)).cast("double") for name in feedback)).alias(_LOSSES)
    number = f.coalesce(f.col(_quoted(round)).cast("long"), f.lit(-2)).alias(_ROUND)  # null: refused by the worker
    kinds = dict(stream.dtypes)
    named = [f.col(_quoted(name)) for name in keys]
    # Bytes that are no text stop a worker before it is asked: as null they are refused alone.
    named = [
        f.try_validate_utf8(column).alias(name) if kinds[name] == "string" else column
        for name, column in zip(keys, named, strict=True)
    ]
    rows = stream.select(*named, number, losses).groupBy(*map(_quoted, keys))
    schema = ", ".join((*(f"{_quoted(name)} {kinds[name]}" for name in keys), ANSWER))
    if not stream.isStreaming:
        return rows.applyInPandas(_on_table(recipe), schema)
    return rows.applyInPandasWithState(_on_stream(recipe), schema, "state binary", "append", "NoTimeout")


def _on_table(recipe: Recipe) -> Callable[[tuple[Any, ...], Any], Any]:
    def advance(key: tuple[Any, ...], frame: Any) -> Any:
        return answer(recipe, key, [frame], None)[1]

    return advance


def _on_stream(recipe: Recipe) -> Callable[[tuple[Any, ...], Iterable[Any], Any], Iterator[Any]]:
    def advance(key: tuple[Any, ...], frames: Iterable[Any], state: Any) -> Iterator[Any]:
        before = bytes(state.get[0]) if state.exists else None
        after, frame = answer(recipe, key, frames, before)
        if after is not None and after != before:
            state.update((after,))
        yield frame

    return advance


def answer(
    recipe: Recipe, key: tuple[Any, ...], frames: Iterable[Any], state: bytes | None
) -> tuple[bytes | None, Any]:
    """The next state of a key and its rows of the result, from its rows in pandas."""
    fleet = recipe.fleet()
    parts = [(frame[_ROUND].to_numpy(dtype=np.int64), frame[_LOSSES].tolist()) for frame in frames]
    rounds = np.concatenate([part[0] for part in parts])
    losses = np.array([row for part in parts for row in part[1]], dtype=np.float64)  # null becomes NaN
    key = tuple(None if _is_null(entry) else entry for entry in key)
    if None in key:
        step = Step(state, 0, [], Report())
        step.report.refuse(len(rounds), int(rounds.min()), "A key must not be null, and a text must be UTF-8")
    else:
        step = fleet.advance(name_of(key), state, rounds, losses.reshape(len(rounds), feedback_columns(fleet.problem)))
    return step.state, _frame(recipe.keys, key, step)


def _is_null(entry: Any) -> bool:
    """Whether a key is null. No key is a float, but pandas has NaN, or NA, where an integer is null."""
    return entry is None or isinstance(entry, float) or type(entry).__name__ == "NAType"


def name_of(key: tuple[Any, ...]) -> bytes:
    """A key as bytes that no other key has: with its types and lengths."""
    parts = []
    for entry in key:
        if isinstance(entry, str):
            kind, content = b"s", entry.encode("utf-8", "surrogatepass")
        elif isinstance(entry, bytes | bytearray | memoryview):
            kind, content = b"b", bytes(entry)
        elif isinstance(entry, bool | np.bool_):
            kind, content = b"t", b"%d" % entry
        elif isinstance(entry, int | np.integer):
            kind, content = b"i", b"%d" % int(entry)
        else:
            raise InvalidInput(
                f"The keys of a fleet are texts, integers, truth values or bytes, no {type(entry).__name__}."
            )
        parts.append(kind + b"%d:" % len(content) + content)
    return b"".join(parts)


def _frame(names: tuple[str, ...], key: tuple[Any, ...], step: Step) -> Any:
    """The rows of the result. Objects, since pandas is quickest with one block, and Spark knows the types."""
    import pandas as pd

    count, report = len(step.actions), step.report
    table = np.zeros((len(names) + len(_ANSWER_NAMES), count + (not report.empty)), dtype=object)
    for row, entry in zip(table, key, strict=False):
        row.fill(entry)
    rounds, actions, *_, problems = table[len(names) :]
    rounds[:count], actions[:count] = range(step.first, step.first + count), step.actions
    problems.fill(None)
    if not report.empty:
        last = (None, None, report.late, report.duplicates, report.refused, report.text)
        table[len(names) :, count] = last
    return pd.DataFrame(table.T, columns=[*names, *_ANSWER_NAMES], copy=False)


def _checked_columns(
    stream: DataFrame, plan: Plan, key: str | Sequence[str], feedback: Sequence[str], round: str
) -> tuple[str, ...]:
    keys = (key,) if isinstance(key, str) else tuple(key)
    taken = sorted({*_ANSWER_NAMES, _ROUND, _LOSSES})
    plain = [name.lower() for name in keys]  # Spark takes names that differ in their cases for one
    if not keys or len({*plain}) != len(keys) or {*taken} & {*plain}:
        raise InvalidInput(f"The 'key' parameter of decide must name columns, none of them {taken}.")
    wanted = feedback_columns(fleet_problem(plan))
    if isinstance(feedback, str) or len(feedback) != wanted or len({*feedback}) != wanted:
        raise InvalidInput(f"The 'feedback' parameter of decide must name {wanted} columns for this plan.")
    kinds = dict(stream.dtypes)
    for owner, names, allowed in (("key", keys, _KEYS), ("round", (round,), _WHOLE), ("feedback", feedback, _NUMBERS)):
        for name in names:
            if kinds.get(name, "").split("(")[0] not in allowed:
                has = f"has the type {kinds[name]}" if name in kinds else "does not exist"
                raise InvalidInput(
                    f"The '{owner}' of decide must be columns of the types {', '.join(allowed)}: {name!r} {has}."
                )
    return keys


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

"""What a sweep leaves on disk: a folder of Parquet files that only grows, one row for each run.

A part is written under a hidden name, flushed, and renamed, so a reader or a later sweep sees whole parts or
none, wherever the writer was killed. Any Parquet reader reads the folder as one table; a single file made from
it is read as well. `SCHEMA_VERSION` stands in every row and goes up whenever the columns change.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import FloatArray, IntArray, invalid, require


def describe(value: Any) -> str:
    """A text that names `value`: equal values have equal texts, also in another process, where `repr` will not do.

    >>> describe(np.zeros((2, 3)))
    'array(2x3 float64, 01c88af0015f7556)'
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(f"{f.name}={describe(getattr(value, f.name))}" for f in fields(value) if f.repr)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{describe(key)}: {describe(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(describe(entry) for entry in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, partial):
        return f"partial({describe(value.func)}, {describe(value.args)}, {describe(value.keywords)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value)
    text = repr(value)
    if " at 0x" in text:
        raise InvalidInput(f"A sweep must name everything it runs, and {text} has no lasting name: give it a __repr__.")
    return text


def digest(*parts: object) -> str:
    """A hash of these parts, 16 hexadecimal digits."""
    text = "\n".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _array(array: np.ndarray) -> str:
    if array.dtype == object:
        raise InvalidInput("A sweep cannot name an array of objects: use an array of numbers.")
    content = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()
    return f"array({'x'.join(map(str, array.shape))} {array.dtype}, {content})"


def _function(function: Any) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    if "<" in name:  # two lambdas of one place share a name and may differ in what they capture
        raise InvalidInput(
            f"A sweep must name everything it runs, and {name} has no lasting name: use a module's function."
        )
    return name


SCHEMA_VERSION = 3

_COLUMNS = {
    "cell": "string",  # hash of everything but the run: problem, plan, privacy, environment, seed
    "run": "int64",
    "seed": "int64",
    "tacit_schema": "int64",
    "tacit_version": "string",
    "command": "string",  # what to type to make the row again
    "kind": "string",
    "problem": "string",
    "family": "string",  # the problem without its horizon: what cells of one picture share
    "horizon": "int64",  # rounds that were played
    "n": "int64",
    "dimension": "int64",
    "algorithm": "string",
    "chosen": "bool",  # whether the planner chose it
    "epsilon": "float64",
    "delta": "float64",
    "contract": "string",
    "environment": "string",
    "world": "string",  # the environment's name without its size
    "regret": "float64",
    "regret_per_round": "float64",
    "bound": "float64",
    "bound_condition": "string",
    "vacuous": "bool",
    "floor": "float64",  # the regret that no learner escapes on some losses (null: none is proved), and why
    "floor_reason": "string",
    "switches": "int64",
    "seconds": "float64",
    "checkpoints": "list<int64>",
    "regret_curve": "list<float64>",
    "candidates": "list<string>",  # every algorithm that met the contract, with its certified regret
    "candidate_bounds": "list<float64>",
}


SHARED = ("problem", "world", "horizon", "epsilon", "delta", "algorithm", "chosen")
"""What `Sweep.to_frame` says of a cell besides what was measured."""


def schema() -> Any:
    """The Arrow schema of a row."""
    pa = require("pyarrow", "sweeps")
    kinds = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
    kinds |= {f"list<{name}>": pa.list_(kind) for name, kind in list(kinds.items())}
    return pa.schema(
        [(name, kinds[kind]) for name, kind in _COLUMNS.items()], metadata={"tacit_schema": str(SCHEMA_VERSION)}
    )


def make_table(rows: Sequence[dict[str, Any]]) -> Any:
    """An Arrow table of rows."""
    return require("pyarrow", "sweeps").Table.from_pylist(list(rows), schema=schema())


def read_tables(path: Path) -> list[Any]:
    """The whole parts of a folder, or the one file."""
    require("pyarrow", "sweeps")
    parquet = require("pyarrow.parquet", "sweeps")
    files = sorted(path.glob("part-*.parquet")) if path.is_dir() else [path]
    tables = []
    for file in files:
        try:
            table = parquet.ParquetFile(file).read()
        except (OSError, ValueError) as error:  # pyarrow's errors are of these kinds
            raise InvalidInput(f"{file} is not a Parquet file ({error}).") from None
        tables.append(_checked(table, file))
    return tables


def _checked(table: Any, file: Path) -> Any:
    if "tacit_schema" not in table.column_names:
        raise InvalidInput(f"{file} was not written by a sweep: it has no column 'tacit_schema'.")
    versions = set(table["tacit_schema"].unique().to_pylist())
    if versions - {2, SCHEMA_VERSION}:
        raise InvalidInput(f"{file} has rows of schema {sorted(versions)}; this tacit reads 2 to {SCHEMA_VERSION}.")
    missing = set(_COLUMNS) - set(table.column_names)
    if missing:
        raise InvalidInput(f"{file} lacks the columns {sorted(missing)}.")
    return table.select(list(_COLUMNS)).cast(schema())


@dataclass(frozen=True)
class Store:
    """The folder a sweep appends to."""

    path: Path

    @classmethod
    def open(cls, path: str | Path) -> Store:
        """The folder, made if it is not there."""
        if not isinstance(path, str | Path):
            raise invalid("sweep", "path", "a path", path)
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise InvalidInput(f"A sweep writes a folder of Parquet files, and {folder} is a file: name another.")
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def append(self, table: Any, name: str) -> None:
        """Add a part: whole or not at all."""
        temporary = self.path / f".{name}.{os.getpid()}.tmp"
        with temporary.open("wb") as file:
            require("pyarrow.parquet", "sweeps").write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path / f"part-{name}.parquet")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second writer, and clear away what a killed one left half written."""
        with (self.path / ".lock").open("a") as lock:
            # Record locks end with their process, however it ends, and forked workers do not inherit them.
            if sys.platform != "win32":
                import fcntl

                try:
                    fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise InvalidInput(
                        f"Another sweep is writing to {self.path}: wait for it, or name another."
                    ) from None
            for leftover in self.path.glob(".*.tmp"):
                leftover.unlink()
            yield


@dataclass(frozen=True)
class Summary:
    """The runs of one cell: what was run, and the mean of what was measured.

    Attributes:
        facts: the columns that all runs of the cell share, by name.
        runs: how many runs.
        regret: regret of each run at each checkpoint, shape (runs, k).
        checkpoints: the rounds at which regret was kept, shape (k,).
        switches: switches of each run.
        seconds: seconds of each run.
    """

    facts: dict[str, Any]
    runs: int
    regret: FloatArray
    checkpoints: IntArray
    switches: FloatArray
    seconds: FloatArray

    def __getitem__(self, name: str) -> Any:
        return self.facts[name]

    @property
    def mean(self) -> float:
        """Mean regret at the end."""
        return float(np.mean(self.regret[:, -1]))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean regret at the end (0 for a single run)."""
        return float(np.std(self.regret[:, -1], ddof=1) / np.sqrt(self.runs)) if self.runs > 1 else 0.0

    @property
    def per_round(self) -> float:
        """Mean regret per round."""
        return self.mean / int(self["horizon"])


class Sweep:
    """The rows of a sweep. `table` is the Arrow table; `summaries()` has one entry for each cell."""

    def __init__(self, table: Any, path: Path | None = None) -> None:
        self.table = table
        self.path = path

    @classmethod
    def read(cls, path: str | Path) -> Sweep:
        """Read what a sweep wrote; each run counts once."""
        if not isinstance(path, str | Path):
            raise invalid("Sweep.read", "path", "a path", path)
        target = Path(path)
        if not target.exists():
            raise InvalidInput(f"There is no file or folder {str(target)!r}.")
        tables = read_tables(target)
        if not sum(len(table) for table in tables):
            raise InvalidInput(f"{target} has no rows yet.")
        return cls(distinct(require("pyarrow", "sweeps").concat_tables(tables)), target)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"Sweep({len(self)} runs of {len(self.table['cell'].unique())} cells, path={str(self.path)!r})"

    def summaries(self) -> list[Summary]:
        """Summarise each cell, in order of problem, environment, delta, horizon, epsilon and algorithm."""
        order = ("family", "world", "delta", "horizon", "epsilon", "algorithm", "cell")
        compute = require("pyarrow.compute", "cli")
        found = []
        for cell in self.table["cell"].unique().to_pylist():
            found.append(_summary(self.table.filter(compute.equal(self.table["cell"], cell)).sort_by("run")))
        return sorted(found, key=lambda summary: tuple(summary[name] for name in order))

    def to_frame(self) -> Any:
        """Give a pandas frame with a row for each cell; `table.to_pandas()` has a row for each run."""
        records = [
            {
                **{name: s[name] for name in SHARED},
                "runs": s.runs,
                "mean_regret": s.mean,
                "standard_error": s.standard_error,
                "certified_regret": s["bound"],
                "mean_switches": float(np.mean(s.switches)),
                "mean_seconds": float(np.mean(s.seconds)),
            }
            for s in self.summaries()
        ]
        return require("pandas", "frames").DataFrame.from_records(records)


def distinct(table: Any) -> Any:
    """The table with each (cell, run) once, ordered by them."""
    keys = list(zip(table["cell"].to_pylist(), table["run"].to_pylist(), strict=True))
    first = {key: index for index, key in reversed(list(enumerate(keys)))}
    return table.take([first[key] for key in sorted(first)])


_FACTS = [name for name, kind in _COLUMNS.items() if not kind.startswith("list") and name not in ("run", "seconds")]


def _summary(table: Any) -> Summary:
    first = table.slice(0, 1).to_pylist()[0]
    return Summary(
        facts={name: first[name] for name in (*_FACTS, "candidates", "candidate_bounds")},
        runs=len(table),
        regret=np.stack([np.asarray(curve, dtype=np.float64) for curve in table["regret_curve"].to_pylist()]),
        checkpoints=np.asarray(first["checkpoints"], dtype=np.int64),
        switches=table["switches"].to_numpy().astype(np.float64),
        seconds=table["seconds"].to_numpy(),
    )

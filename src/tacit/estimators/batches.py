"""Data that do not fit into memory: batches that are seen once, from any iterator or from Parquet files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.progress import Progress, duration
from tacit.validation import check_integer, require


class ParquetBatches:
    """The rows of Parquet files as batches (features, target), or with weights, read as they are asked for.

    The number of rows is public, as it is everywhere in this package.

    Args:
        source: a file, a folder, a list of files, or a `pyarrow.dataset.Dataset`.
        target: the column of labels or targets.
        features: the columns of features (None: all others).
        weight: the column of `sample_weight` (None: there are none).
        batch_size: rows that are read at a time.

    >>> ParquetBatches("people.parquet", target="left", batch_size=10_000)
    ParquetBatches('people.parquet', target='left', batch_size=10000)
    """

    def __init__(
        self,
        source: Any,
        *,
        target: str,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        batch_size: int = 65_536,
    ) -> None:
        self.source = source
        self.target = target
        self.features = features
        self.weight = weight
        self.batch_size = check_integer("ParquetBatches", "batch_size", batch_size)

    @property
    def records(self) -> int:
        """How many rows there are, from the files' own descriptions."""
        return int(self._dataset().count_rows())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        dataset = self._dataset()
        others = [self.target] if self.weight is None else [self.target, self.weight]
        named = [name for name in dataset.schema.names if name not in others]
        columns = named if self.features is None else list(self.features)
        missing = [name for name in [*columns, *others] if name not in dataset.schema.names]
        if missing:
            raise InvalidInput(f"The Parquet files of ParquetBatches have no column {missing[0]!r}.")
        for part in dataset.to_batches(columns=[*columns, *others], batch_size=self.batch_size):
            if part.num_rows:
                table = [part.column(name).to_numpy(zero_copy_only=False) for name in columns]
                dates = [name for name, column in zip(columns, table, strict=True) if column.dtype.kind in "mM"]
                if dates:
                    raise InvalidInput(f"Column {dates[0]!r} of ParquetBatches must be numbers, not points in time.")
                yield np.column_stack(table), *(part.column(name).to_numpy(zero_copy_only=False) for name in others)

    def _dataset(self) -> Any:
        dataset = require("pyarrow.dataset", "sweeps")
        return self.source if isinstance(self.source, dataset.Dataset) else dataset.dataset(self.source)

    def __repr__(self) -> str:
        return f"ParquetBatches({self.source!r}, target={self.target!r}, batch_size={self.batch_size})"


def are_batches(X: Any) -> bool:
    """Whether these are batches and not a table."""
    return isinstance(X, Iterator | ParquetBatches)


def pass_over(owner: str, batches: Any, records: int | None, absorb: Callable[..., Any]) -> None:
    """Hand each batch to `absorb`, once, and show how far it is.

    Args:
        owner: whose pass it is.
        batches: pairs or triples of arrays.
        records: how many rows there will be (None: the batches know).
        absorb: takes features, target, weights (None: there are none) and the number of all records.
    """
    total = records if records is not None else getattr(batches, "records", None)
    if total is None:
        raise InvalidInput(f"{owner} needs 'horizon', the public number of all records, to fit an iterator of batches.")
    seen, started = 0, time.monotonic()
    with Progress(owner, None) as progress:
        for batch in batches:
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                raise InvalidInput(f"A batch of {owner} must be a pair (features, target), or with weights.")
            if not len(batch[1]):
                continue  # a filter may leave none of a batch
            absorb(batch[0], batch[1], batch[2] if len(batch) == 3 else None, total)
            seen += len(batch[1])
            left = (time.monotonic() - started) * max(0, total - seen) / seen
            progress.say(f"{seen:,} of {total:,} records, {duration(left)} left", last=seen >= total)
    if not seen:
        raise InvalidInput(f"{owner} got no batch to fit.")

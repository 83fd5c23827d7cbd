"""A fleet on a local Spark against the same job whose function hands its rows and its state through.

All four numbers of keys take about ten minutes on two quiet cores, most of them for 100,000 keys. `TACIT_KEYS=100,1000`
measures these numbers of keys only.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryProgress

import tacit
from tacit_experiments.fleet import decide
from tacit_experiments.fleet.fleet import Fleet

PACKAGES = ("pyspark", "pandas", "pyarrow", "numpy", "tacit")
ABOUT = """Both jobs read the same Parquet files as a stream, on two cores, group by key, keep a state of bytes for
every key (applyInPandasWithState) and write Parquet. "identity" gives back the key and the round of its rows and leaves
a state of the size of a learner's as it is; tacit runs a learner for N=10 experts for every key. Rates are of the
second batch, in which all keys have a state, ten rows of each key if nothing else is said; with few keys they are those
of Spark's own start of a batch. A first batch of 100 keys warms both jobs up. The bytes of the state store are what
Spark says that it holds for a key, in memory, with the versions that it keeps."""
N, BATCHES = 10, 2
KEYS = [int(count) for count in os.environ.get("TACIT_KEYS", "100,1000,10000,100000").split(",")]
LOSSES = [f"loss_{number}" for number in range(N)]
PLAN = tacit.plan(tacit.Experts(n=N, horizon=1000), epsilon=1.0, delta=1e-6).plan


def measure() -> dict[str, float]:
    results: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        Path(folder, "root").write_bytes(tacit.Randomness.fresh_key())
        compared(spark, Path(folder, "warm"), 100, 10)
        for keys in KEYS:
            for name, value in compared(spark, Path(folder, f"{keys}"), keys, 10).items():
                results[f"ten rows of each key, keys={keys}, {name}"] = value
            print(f"    {keys} keys: {name} is {value:.5g}", flush=True)
        for name, value in compared(spark, Path(folder, "long"), 1000, 100).items():
            results[f"1,000 keys, 100 rows of each: {name}"] = value
        spark.stop()
    return results | state_sizes()


def compared(spark: SparkSession, place: Path, keys: int, rows: int) -> dict[str, float]:
    """Both jobs on the same files, which are removed afterwards."""
    write(place / "events", keys, rows)
    last = {name: last_batch(spark, place, name) for name in ("identity", "tacit")}
    rates = {name: 1000 * batch.numInputRows / batch.durationMs["addBatch"] for name, batch in last.items()}
    store = last["tacit"].stateOperators[0]
    shutil.rmtree(place)
    return {
        **{f"rows/s of {name}": rate for name, rate in rates.items()},
        **{f"microseconds of {name} a row": 1e6 / rate for name, rate in rates.items()},
        "bytes of the state store a key": store.memoryUsedBytes / store.numRowsTotal,
        "ratio of rows/s, tacit / identity": rates["tacit"] / rates["identity"],
    }


def session(folder: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "3g",
        "spark.local.dir": folder,
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def write(folder: Path, keys: int, rows: int) -> None:
    folder.mkdir(parents=True)
    draws = tacit.Randomness.replayable(1).stream("losses")
    for batch in range(BATCHES):
        table = pd.DataFrame(draws.random((keys * rows, N)), columns=LOSSES)
        table.insert(0, "shop", [f"shop {number}" for number in np.repeat(np.arange(keys), rows)])
        table.insert(1, "event_id", np.tile(np.arange(batch * rows, (batch + 1) * rows), keys))
        table.to_parquet(folder / f"{batch}.parquet", index=False)
        os.utime(folder / f"{batch}.parquet", (1_700_000_000 + batch,) * 2)


def last_batch(spark: SparkSession, place: Path, name: str) -> StreamingQueryProgress:
    """What Spark says about the last batch of a job."""
    schema = spark.read.parquet(f"{place}/events").schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{place}/events")
    root = f"file:{place.parent}/root"
    jobs = {
        "identity": lambda: identity(stream),
        "tacit": lambda: decide(stream, PLAN, key="shop", feedback=LOSSES, round="event_id", root=root),
    }
    writer = jobs[name]().writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
    query = writer.option("path", f"{place}/{name}").option("checkpointLocation", f"{place}/{name} checkpoint").start()
    query.awaitTermination()
    return [progress for progress in query.recentProgress if progress.numInputRows][-1]


def identity(stream: DataFrame) -> DataFrame:
    size = len(packed(10)[1])

    def unchanged(key, frames, state):
        before = state.get[0] if state.exists else bytes(size)
        for frame in frames:
            yield frame[["shop", "event_id"]]
        state.update((before,))

    return stream.groupBy("shop").applyInPandasWithState(
        unchanged, "shop string, event_id long", "state binary", "append", "NoTimeout"
    )


def packed(rounds: int) -> tuple[str, bytes]:
    """The algorithm, and the state of a key after so many rounds."""
    fleet = Fleet(PLAN, tacit.Randomness.sealed(bytes(range(32))))
    losses = tacit.Randomness.replayable(1).stream("losses").random((rounds, N))
    state = fleet.advance(b"shop", None, np.arange(rounds), losses).state
    assert state is not None
    return PLAN.algorithm, state


def state_sizes() -> dict[str, float]:
    return {
        f"bytes of a state ({PLAN.algorithm}) after {rounds} rounds": len(packed(rounds)[1]) for rounds in (10, 900)
    }

"""A fleet of shops on a local Spark: files of events, the job, and a program that can be killed (`python shops.py`).

Nothing of Spark is imported before it is used: this file is collected where Spark is not installed.
"""

import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import tacit

SHOPS, FILES, ROUNDS, EXPERTS = 1000, 4, 5, 3
KEY = bytes(range(7, 39))
LOSSES = [f"loss_{letter}" for letter in "abc"]
COLUMNS = {"key": "shop", "feedback": LOSSES, "round": "event_id"}
PLAN = tacit.algorithms.HedgeOnSums.calibrate(tacit.Experts(n=EXPERTS, horizon=200), epsilon=1.0, delta=1e-6)


def events(file, shops=SHOPS):
    """The rows of one file: every shop's next rounds, and what goes wrong with some of them."""
    draws = tacit.Randomness.replayable(file).stream("losses")
    table = pd.DataFrame(draws.random((shops * ROUNDS, EXPERTS)), columns=LOSSES)
    table.insert(0, "shop", [f"shop {number}" for number in np.repeat(np.arange(shops), ROUNDS)])
    table.insert(1, "event_id", np.tile(np.arange(file * ROUNDS, (file + 1) * ROUNDS), shops))
    if file == 1:
        table.loc[2, "loss_b"] = 7.25  # shop 0: not allowed
        table.loc[ROUNDS + 1, LOSSES] = np.nan  # shop 1: a round without feedback
        table = table.drop(index=2 * ROUNDS + 3)  # shop 2: this row comes with the next file, too late
    if file == 2:
        late = events(1, shops).iloc[:0].copy()
        late.loc[0] = ["shop 2", ROUNDS + 3, 0.5, 0.5, 0.5]
        again = events(1, shops).query("shop == 'shop 3'")
        table = pd.concat([late, table, again, table.query("shop == 'shop 4'")])
    order = tacit.Randomness.replayable(file).stream("order").permutation(len(table))
    return table.iloc[order].astype({"event_id": int})


def write(folder, shops=SHOPS, files=FILES):
    """All files, in the order of their names and times."""
    folder = Path(folder)
    folder.mkdir(parents=True)
    for file in range(files):
        events(file, shops).to_parquet(folder / f"{file}.parquet", index=False)
        os.utime(folder / f"{file}.parquet", (1_700_000_000 + file,) * 2)


def session(folder):
    """A Spark on two cores that nobody else can reach."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    Path(folder, "log").mkdir(parents=True, exist_ok=True)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.local.dir": f"{folder}/local",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder}/log",
    }
    builder = SparkSession.builder.master("local[2,3]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def stream(spark, source, per_batch=1):
    """The files as a stream."""
    table = spark.read.parquet(f"{source}/0.parquet")
    return spark.readStream.schema(table.schema).option("maxFilesPerTrigger", per_batch).parquet(str(source))


def run(decisions, folder):
    """Run a streaming query until its source is empty; the query."""
    writer = decisions.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
    query = writer.option("path", f"{folder}/out").option("checkpointLocation", f"{folder}/checkpoint").start()
    query.awaitTermination()
    return query


if __name__ == "__main__":
    from tacit_experiments.fleet import decide

    here, events_folder, root = sys.argv[1:]
    spark = session(here)
    run(decide(stream(spark, events_folder), PLAN, root=root, **COLUMNS), here)
    spark.stop()

"""A thousand shops, each with a learner of its own, on a stream of Parquet files: one private decision a shop a day.

Every day a file arrives with the losses of all shops' offers. Spark reads it, every shop's learner absorbs its row and
decides for the next day. Nobody's purchases show in the decisions of their shop beyond epsilon, and no other shop has
seen them. A run that is stopped and started again goes on where it was. Needs `tacit-experiments[spark]` and Java.
Run: `python examples/fleet_of_shops.py [shops] [days]`.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import tacit
from tacit_experiments.fleet import decide, explain

OFFERS = ["loss_bread", "loss_fruit", "loss_coffee"]


def write_days(folder: Path, shops: int, first: int, last: int) -> None:
    """One file a day: in every shop one of the offers loses less than the others."""
    draws = tacit.Randomness.replayable(first).stream("losses")
    folder.mkdir(exist_ok=True)
    for day in range(first, last):
        best = np.arange(shops)[:, None] % len(OFFERS) == np.arange(len(OFFERS))
        losses = (draws.random((shops, len(OFFERS))) < np.where(best, 0.2, 0.7)).astype(float)
        table = pd.DataFrame(losses, columns=OFFERS)
        table.insert(0, "shop", [f"shop {number}" for number in range(shops)])
        table.insert(1, "day", day)
        table.to_parquet(folder / f"{day:04d}.parquet", index=False)


def main(shops: int = 1000, days: int = 30) -> None:
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.bindAddress", "127.0.0.1")
    builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    plan = tacit.plan(tacit.Experts(n=len(OFFERS), horizon=365), epsilon=1.0, delta=1e-6)
    print(explain(plan))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with open(place / "root", "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(tacit.Randomness.fresh_key())  # the secret of the fleet: only its workers may read it
        for first, last in ((0, days // 2), (days // 2, days)):  # the second time the fleet goes on where it was
            write_days(place / "events", shops, first, last)
            schema = spark.read.parquet(f"{place}/events").schema
            events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 5).parquet(f"{place}/events")
            made = decide(events, plan, key="shop", feedback=OFFERS, round="day", root=f"file:{place}/root")
            shown = made.where("action IS NOT NULL").select("shop", "round", "action")  # what the contract covers
            writer = shown.writeStream.format("parquet").outputMode("append").trigger(availableNow=True)
            writer = writer.option("checkpointLocation", f"{place}/checkpoint")
            writer.start(f"{place}/decisions").awaitTermination()
        table = spark.read.parquet(f"{place}/decisions").toPandas()
    right = table["action"] == table["shop"].str.removeprefix("shop ").astype(int) % len(OFFERS)
    print(f"{len(table):,} decisions for {table['shop'].nunique():,} shops")
    print(f"the best offer was decided on in {right.mean():.0%} of them, at the end in {last_day(table, right):.0%}")
    spark.stop()


def last_day(table: pd.DataFrame, right: pd.Series) -> float:
    """The share of good decisions in the last round."""
    return float(right[table["round"] == table["round"].max()].mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("shops", type=int, nargs="?", default=1000)
    parser.add_argument("days", type=int, nargs="?", default=30)
    arguments = parser.parse_args()
    main(arguments.shops, arguments.days)

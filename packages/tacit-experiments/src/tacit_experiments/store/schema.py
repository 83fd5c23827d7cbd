"""The tables of a store, and how an older store becomes a newer one.

Every migration has a number and is never changed again; a store knows the number of its last one, and is brought up
to date in the transaction that opens it. The SQL is what SQLite and PostgreSQL have in common.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable

from tacit.errors import StoreError
from tacit.noise.randomness import secret_bytes
from tacit_experiments.storage.engines import Transaction


def hashed(salt: str, what: str, text: str) -> str:
    """The hash under which a learner keeps a text of this kind; without its salt nobody finds the text."""
    return hashlib.blake2b(
        text.encode(errors="surrogatepass"), digest_size=16, key=bytes.fromhex(salt), person=what.encode()
    ).hexdigest()


def fresh_salt() -> str:
    """The salt of a new learner."""
    return secret_bytes(32).hex()


def _hash_keys(transaction: Transaction) -> None:
    """Take over the keys of version 0.2, and delete feedback that no decision can use any more.

    Where a problem is not described by numbers, its delay is not known here: keys and feedback whose windows are over
    are deleted by the learner's next decision.
    """
    for number, request, rounds in transaction.rows("SELECT id, request, rounds FROM tacit_learners"):
        salt, problem = fresh_salt(), json.loads(request)["problem"] or {}
        transaction.run("UPDATE tacit_learners SET salt = :salt WHERE id = :number", salt=salt, number=number)
        kept = transaction.rows(
            """SELECT round, request_key FROM tacit_decisions
                WHERE learner = :number AND round >= :oldest AND request_key IS NOT NULL""",
            number=number,
            oldest=rounds - 1 - problem.get("delay", rounds),
        )
        rows = [{"learner": number, "round": at, "hash": hashed(salt, "request", key)} for at, key in kept]
        transaction.run_all("INSERT INTO tacit_keys VALUES (:learner, :round, :hash)", rows)
        if problem and rounds == problem.get("horizon"):
            transaction.run("UPDATE tacit_feedback SET value = '' WHERE learner = :number", number=number)


def _name_adversaries(transaction: Transaction) -> None:
    """Name the adversary first in the problems of version 0.2, where it was their last field or an argument."""
    for number, request in transaction.rows("SELECT id, request FROM tacit_learners"):
        asked = json.loads(request)
        given = asked["target"].pop("adversary", None) or "oblivious"
        words, last = re.subn(r", adversary='(\w+)'\)$", ")", asked["text"])
        adversary = asked["text"].rpartition("adversary='")[2].removesuffix("')") if last else given
        asked["text"] = re.sub(r"\bdelay=(\d+)", rf"delay=\1, adversary={adversary!r}", words, count=1)
        if asked["problem"] is not None:
            asked["problem"] = {**asked["problem"], "adversary": adversary}
        transaction.run(
            "UPDATE tacit_learners SET request = :request WHERE id = :number", request=json.dumps(asked), number=number
        )


MIGRATIONS: tuple[tuple[str | Callable[[Transaction], None], ...], ...] = (
    (
        # What never changes about a learner stands first, then how far it is. `epoch` counts its transactions.
        """CREATE TABLE tacit_learners (
            id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, signature TEXT NOT NULL, request TEXT NOT NULL,
            guarantee TEXT NOT NULL, ledger BIGINT, epoch BIGINT NOT NULL, rounds BIGINT NOT NULL, charged TEXT)""",
        # A table of its own: a settled round changes the learner's row, and must not write its state again.
        "CREATE TABLE tacit_states (learner BIGINT PRIMARY KEY, state TEXT NOT NULL)",
        """CREATE TABLE tacit_decisions (
            learner BIGINT NOT NULL, round BIGINT NOT NULL, action TEXT NOT NULL, request_key TEXT,
            PRIMARY KEY (learner, round), UNIQUE (learner, request_key))""",
        """CREATE TABLE tacit_feedback (
            learner BIGINT NOT NULL, round BIGINT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (learner, round))""",
        """CREATE TABLE tacit_ledgers (
            id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, epsilon DOUBLE PRECISION, delta DOUBLE PRECISION NOT NULL,
            renews TEXT, epoch BIGINT NOT NULL)""",
        """CREATE TABLE tacit_charges (
            ledger BIGINT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL, guarantee TEXT NOT NULL,
            charged_at TEXT NOT NULL, period TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (ledger, number))""",
    ),
    (
        # Who may ask the service for what; of a token only its hash is kept.
        """CREATE TABLE tacit_tokens (
            id BIGINT PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL,
            made_at TEXT NOT NULL, expires_at TEXT, revoked_at TEXT)""",
    ),
    (
        # Where the database was written last, and which copies of it were continued all the same.
        "ALTER TABLE tacit_store ADD COLUMN place TEXT",
        """CREATE TABLE tacit_adoptions (
            number BIGINT PRIMARY KEY, adopted_at TEXT NOT NULL, identity TEXT NOT NULL, epoch BIGINT NOT NULL)""",
    ),
    (
        # Keys of requests are kept as hashes, under a salt of their learner, while the windows are open.
        "ALTER TABLE tacit_learners ADD COLUMN salt TEXT",
        "ALTER TABLE tacit_learners ADD COLUMN ended_at TEXT",
        """CREATE TABLE tacit_keys (
            learner BIGINT NOT NULL, round BIGINT NOT NULL, hash TEXT NOT NULL,
            PRIMARY KEY (learner, round), UNIQUE (learner, hash))""",
        _hash_keys,
        """CREATE TABLE tacit_made (
            learner BIGINT NOT NULL, round BIGINT NOT NULL, action TEXT NOT NULL, PRIMARY KEY (learner, round))""",
        "INSERT INTO tacit_made SELECT learner, round, action FROM tacit_decisions",
        "DROP TABLE tacit_decisions",
        "ALTER TABLE tacit_made RENAME TO tacit_decisions",
    ),
    (
        # What an owner says of a ledger by hand: that the clock is right, and that a charge was a mistake.
        """CREATE TABLE tacit_confirmations (
            ledger BIGINT NOT NULL, number BIGINT NOT NULL, after BIGINT NOT NULL, period TEXT NOT NULL,
            confirmed_at TEXT NOT NULL, PRIMARY KEY (ledger, number))""",
        "ALTER TABLE tacit_charges ADD COLUMN voided TEXT NOT NULL DEFAULT ''",
    ),
    (
        # In how many rounds of a learner each person stood, as hashes under its salt; who settled an open round.
        "ALTER TABLE tacit_feedback ADD COLUMN person TEXT NOT NULL DEFAULT ''",
        """CREATE TABLE tacit_persons (
            learner BIGINT NOT NULL, hash TEXT NOT NULL, rounds BIGINT NOT NULL, PRIMARY KEY (learner, hash))""",
    ),
    (_name_adversaries,),
    (
        # The fields of a learner's plan: it is not planned again when it is opened.
        "ALTER TABLE tacit_learners ADD COLUMN plan TEXT",
    ),
    (
        # Experiments: everything here is public. Replies stand in a database of their own.
        """CREATE TABLE tacit_experiments (
            id BIGINT PRIMARY KEY, name TEXT NOT NULL UNIQUE, design TEXT NOT NULL, state TEXT NOT NULL,
            incarnation BIGINT NOT NULL, ledger BIGINT NOT NULL, made_at DOUBLE PRECISION NOT NULL)""",
        # An arm keeps its place: no other one gets it.
        """CREATE TABLE tacit_experiment_arms (
            experiment BIGINT NOT NULL, place BIGINT NOT NULL, name TEXT NOT NULL, removed BIGINT NOT NULL DEFAULT 0,
            killed_at DOUBLE PRECISION, PRIMARY KEY (experiment, place), UNIQUE (experiment, name))""",
        """CREATE TABLE tacit_versions (
            salt TEXT PRIMARY KEY, experiment BIGINT NOT NULL, number BIGINT NOT NULL, incarnation BIGINT NOT NULL,
            period TEXT NOT NULL, counting BIGINT NOT NULL, close_at DOUBLE PRECISION NOT NULL, state TEXT NOT NULL,
            policy TEXT NOT NULL, UNIQUE (experiment, number))""",
        # No time of its own: how long a closing took tells how many replied.
        """CREATE TABLE tacit_releases (
            salt TEXT PRIMARY KEY, experiment BIGINT NOT NULL, number BIGINT NOT NULL, content TEXT NOT NULL,
            digest TEXT NOT NULL, head TEXT NOT NULL, UNIQUE (experiment, number))""",
        """CREATE TABLE tacit_exposures (
            salt TEXT NOT NULL, place BIGINT NOT NULL, persons BIGINT NOT NULL, PRIMARY KEY (salt, place))""",
        """CREATE TABLE tacit_acts (
            number BIGINT PRIMARY KEY, experiment BIGINT, acted_at DOUBLE PRECISION NOT NULL, who TEXT NOT NULL,
            act TEXT NOT NULL)""",
        # Which key made the noise: releases under another one would not be the same again.
        "ALTER TABLE tacit_store ADD COLUMN experiments_key TEXT",
    ),
    (
        # Which versions are open is asked at every tick, and for replies to versions that nobody knows.
        "CREATE INDEX tacit_open_versions ON tacit_versions (state, close_at)",
    ),
    (
        # Tests of arms: everything here is public. The contract has the multipliers, which no later version changes.
        """CREATE TABLE tacit_tests (
            salt TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, design TEXT NOT NULL, contract TEXT NOT NULL,
            period TEXT NOT NULL)""",
        # No time of its own: how long a look took tells how many rows there are.
        """CREATE TABLE tacit_test_releases (
            salt TEXT NOT NULL, look BIGINT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (salt, look))""",
    ),
)


def prepare(transaction: Transaction) -> tuple[str, bool]:
    """Make the tables, or bring them up to date; the identity of the store, and whether anything was done."""
    transaction.alone()
    transaction.run("CREATE TABLE IF NOT EXISTS tacit_store (version BIGINT NOT NULL, identity TEXT NOT NULL)")
    found = transaction.row("SELECT version, identity FROM tacit_store")
    version, identity = (0, fresh_identity()) if found is None else (int(found[0]), str(found[1]))
    if version > len(MIGRATIONS):
        raise StoreError(
            f"This store was written by a newer tacit: its tables have version {version}, and this one knows versions "
            f"up to {len(MIGRATIONS)}."
        )
    if found is None:
        transaction.run("INSERT INTO tacit_store (version, identity) VALUES (0, :identity)", identity=identity)
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            if isinstance(statement, str):
                transaction.run(statement)
            else:
                statement(transaction)
    if version < len(MIGRATIONS):
        transaction.run("UPDATE tacit_store SET version = :version", version=len(MIGRATIONS))
    return identity, version < len(MIGRATIONS)


def fresh_identity() -> str:
    """A name that no other store has: copies share it until they are adopted, two stores in one place do not."""
    return secret_bytes(16).hex()

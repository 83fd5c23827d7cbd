"""The tables of a store, and how an older store becomes a newer one.

Every migration has a number and is never changed again; a store knows the number of its last one, and is brought up
to date in the transaction that opens it. The SQL is what SQLite and PostgreSQL have in common.
"""

from __future__ import annotations

from tacit.errors import StoreError
from tacit.randomness import Randomness
from tacit.store.engines import Transaction

MIGRATIONS: tuple[tuple[str, ...], ...] = (
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
)


def prepare(transaction: Transaction) -> tuple[str, bool]:
    """Make the tables, or bring them up to date; the identity of the store, and whether it was made now."""
    transaction.alone()
    transaction.run("CREATE TABLE IF NOT EXISTS tacit_store (version BIGINT NOT NULL, identity TEXT NOT NULL)")
    found = transaction.row("SELECT version, identity FROM tacit_store")
    version, identity = (0, _fresh_identity()) if found is None else (int(found[0]), str(found[1]))
    if version > len(MIGRATIONS):
        raise StoreError(
            f"This store was written by a newer tacit: its tables have version {version}, and this one knows versions "
            f"up to {len(MIGRATIONS)}."
        )
    if found is None:
        transaction.run("INSERT INTO tacit_store VALUES (0, :identity)", identity=identity)
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            transaction.run(statement)
    if version < len(MIGRATIONS):
        transaction.run("UPDATE tacit_store SET version = :version", version=len(MIGRATIONS))
    return identity, found is None


def _fresh_identity() -> str:
    """A name that no other store has: copies of a store share it, two stores in one place do not."""
    return Randomness.secret().stream("identity").bytes(16).hex()

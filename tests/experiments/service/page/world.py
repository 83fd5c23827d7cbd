"""Stores full of learners that were not run."""

import tacit

PROBLEM = tacit.Experts(n=4, horizon=100_000, delay=20)
TARGET = {"epsilon": 1.0, "delta": 1e-6}
_NUMBERS = "WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < :last) "
_COLUMNS = "signature, request, guarantee, ledger, epoch, charged, salt"


def fill(store, learners, rounds, *, name="learner"):
    """So many copies of one learner, with decisions that move from expert to expert."""
    store.ledger("people-in-eu", epsilon=3.0, delta=1e-5, renews="monthly")
    store.open(f"{name} 1", PROBLEM, **TARGET, ledger="people-in-eu")
    with store.database.writing() as transaction:
        if learners > 1:
            transaction.run(
                f"INSERT INTO tacit_learners (id, name, rounds, {_COLUMNS}) {_NUMBERS.format(first=2)} "
                f"SELECT i, :name || i, 0, {_COLUMNS} FROM n, tacit_learners WHERE id = 1",
                last=learners,
                name=f"{name} ",
            )
            transaction.run(
                f"INSERT INTO tacit_states {_NUMBERS.format(first=2)} "
                "SELECT i, state FROM n, tacit_states WHERE learner = 1",
                last=learners,
            )
        if rounds:
            transaction.run(
                f"INSERT INTO tacit_decisions {_NUMBERS.format(first=0)} "
                "SELECT id, i, CAST((i / (7 + id) * 13 + i * id / :last) % 4 AS TEXT) FROM n, tacit_learners",
                last=rounds - 1,
            )
            transaction.run("UPDATE tacit_learners SET rounds = :rounds", rounds=rounds)

"""The public records of tests in a store: designs, contracts, charges and releases; all could be printed.

A test is charged once, when its first look is asked for, for all of its looks. A look has one release
for ever: the first that the witness wrote down. Where an older copy of the store was put back, the
witness knows which tests were charged since, and what they released.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.accounting.guarantee import Guarantee
from tacit.accounting.ledger import now
from tacit.errors import Conflict, InvalidInput, StoreError
from tacit.noise.randomness import Sealed, secret_bytes
from tacit_experiments.ab_tests.contract import contract_digest, contract_of
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.replies import read_key
from tacit_experiments.storage.engines import Transaction
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.store.store import Store
from tacit_experiments.witness import Witness

MONTHLY = (None, "monthly")
LOST = (
    "The witness does not know what this store released of the test: it was lost, or is another one. Nothing is "
    "released until it is put back."
)
OTHER_KEY = (
    "The key is not the one with which this store's experiments were begun: put that one back. If it is lost, "
    "`tacit experiments restore --new-key` goes on with another one."
)


@dataclass(frozen=True)
class Record:
    """A test as it stands in a store.

    Attributes:
        salt: its nonce.
        design: what was asked for.
        contract: what was promised and charged, as JSON.
        period: in which it was charged.
    """

    salt: str
    design: ABTest
    contract: dict[str, Any]
    period: str

    @property
    def promise(self) -> Promise:
        """The promise with the multipliers of the contract."""
        return Promise.from_contract(self.contract)

    @property
    def charged(self) -> dict[str, Any]:
        """What a copy of the store needs to charge for the test."""
        return {
            "design": self.design.to_dict(),
            "contract": self.contract,
            "period": self.period,
            "guarantee": self.promise.guarantee.to_json(),
        }


class Registry:
    """The tests of a store.

    Args:
        store: where everything public is.
        key: the file with the secret for noise (default: beside the store's file).
        witness: the file that remembers releases, best on another disk (default: beside the store's file).
    """

    def __init__(
        self,
        store: Store,
        *,
        key: str | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
    ) -> None:
        self._store, self._database = store, store.database
        file = self._database.file
        if file is None and (key is None or witness is None):
            raise InvalidInput("Tests of a store in PostgreSQL need key and witness: two file names.")
        self.key: Sealed = read_key(Path(key or f"{file}.key"))
        self._witness = Witness(Path(witness or f"{file}.witness"))

    def begin(self, design: ABTest) -> Record:
        """Return the test of this name; a new one is charged, and one with another design is refused."""
        if design.ledger not in self._store.ledgers:
            self._store.ledger(design.ledger, epsilon=design.epsilon, delta=design.delta, renews="monthly")
        ledger = self._store.ledger(design.ledger)
        if ledger.budget.renews not in MONTHLY:
            raise InvalidInput("The ledger of a test must renew monthly, or never.")
        contract = contract_of(design, Promise.of(design))
        self._owe()
        with self._database.writing() as transaction:
            transaction.alone()
            self._check_key(transaction)
            found = self._find(transaction, design.name)
            if found is not None:
                if found.design != design:
                    raise Conflict(
                        f"The contract of the test {design.name!r} is for another design, and nothing of it can be "
                        "changed after its start: give the new test a name of its own."
                    )
                return found
            salt = secret_bytes(16).hex()
            guarantee = Promise.from_contract(contract).guarantee
            epoch, period = ledger.charge(transaction, f"test {design.name}", guarantee, _run(salt))
            record = Record(salt, design, contract, period)
            _write(transaction, record)
        ledger.mark(epoch)
        return record

    def find(self, name: str) -> Record:
        """Return the test of this name."""
        with self._database.reading() as transaction:
            found = self._find(transaction, name)
        if found is None:
            raise InvalidInput(f"There is no test {name!r} in this store.")
        return found

    def released(self, record: Record) -> dict[int, dict[str, Any]]:
        """Return what was released of a test, by look; what the witness alone knows is published now."""
        known = {look: entry["release"] for (salt, look), entry in self._witness.looks().items() if salt == record.salt}
        with self._database.reading() as transaction:
            stored = self._releases(transaction, record)
        if not known.keys() >= stored.keys():
            raise StoreError(LOST)
        for look in sorted(known.keys() - stored.keys()):
            self._publish(record, look, known[look])
        return known

    def release(self, record: Record, look: int, content: dict[str, Any]) -> dict[str, Any]:
        """Release a look for good; return what stands, which another process may have released before."""
        first = self._witness.add_look(record.salt, look, content, record.charged)
        self._publish(record, look, first)
        return first

    def _publish(self, record: Record, look: int, content: dict[str, Any]) -> None:
        with self._database.writing() as transaction:
            transaction.run(
                "INSERT INTO tacit_test_releases VALUES (:salt, :look, :content) ON CONFLICT (salt, look) DO NOTHING",
                salt=record.salt,
                look=look,
                content=json.dumps(content),
            )

    def _owe(self) -> None:
        """Write down, and charge, what a lost copy of this store released: only the witness knows of it."""
        entries = {salt: entry["charged"] for (salt, _), entry in self._witness.looks().items()}
        for salt, charged in entries.items():
            with self._database.reading() as transaction:
                known = transaction.row("SELECT 1 FROM tacit_tests WHERE salt = :salt", salt=salt)
            if known is None:
                self._charge_again(salt, charged)

    def _charge_again(self, salt: str, charged: dict[str, Any]) -> None:
        design = ABTest.from_dict(charged["design"])
        if design.ledger not in self._store.ledgers:
            self._store.ledger(design.ledger, epsilon=design.epsilon, delta=design.delta, renews="monthly")
        ledger: StoredLedger = self._store.ledger(design.ledger)
        epoch = None
        with self._database.writing() as transaction:
            transaction.alone()
            if ledger.budget.renews is None or ledger.budget.period_at(now()) == charged["period"]:
                guarantee = Guarantee.from_json(charged["guarantee"])
                epoch, _ = ledger.charge(transaction, f"test {design.name}", guarantee, _run(salt), owed=True)
            if self._find(transaction, design.name) is None:
                _write(transaction, Record(salt, design, charged["contract"], charged["period"]))
        if epoch is not None:
            ledger.mark(epoch)

    def _check_key(self, transaction: Transaction) -> None:
        """Refuse another key than the store's: what was released could not be made again."""
        kept = transaction.row("SELECT experiments_key FROM tacit_store")[0]
        if kept is None:
            transaction.run("UPDATE tacit_store SET experiments_key = :mark", mark=self.key.fingerprint)
        elif kept != self.key.fingerprint:
            raise InvalidInput(OTHER_KEY)

    @staticmethod
    def _find(transaction: Transaction, name: str) -> Record | None:
        found = transaction.row("SELECT salt, design, contract, period FROM tacit_tests WHERE name = :name", name=name)
        if found is None:
            return None
        return Record(found[0], ABTest.from_dict(json.loads(found[1])), json.loads(found[2]), found[3])

    @staticmethod
    def _releases(transaction: Transaction, record: Record) -> dict[int, dict[str, Any]]:
        rows = transaction.rows("SELECT look, content FROM tacit_test_releases WHERE salt = :salt", salt=record.salt)
        return {int(look): json.loads(content) for look, content in rows}


def _write(transaction: Transaction, record: Record) -> None:
    transaction.run(
        "INSERT INTO tacit_tests VALUES (:salt, :name, :design, :contract, :period)",
        salt=record.salt,
        name=record.design.name,
        design=json.dumps(record.design.to_dict()),
        contract=json.dumps(record.contract),
        period=record.period,
    )


def _run(salt: str) -> str:
    """Name the charge of a test, which cannot be declared void (`StoredLedger.void`)."""
    return f"experiment test {salt}"


def digest_of(record: Record) -> str:
    """Hash the contract of a test."""
    return contract_digest(record.contract)

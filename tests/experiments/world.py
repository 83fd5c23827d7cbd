"""An experiment with a clock that is moved by hand, and people who reply."""

import hashlib
import shutil
from contextlib import suppress
from datetime import UTC, datetime
from unittest.mock import patch

import tacit_experiments
from tacit.accounting import ledger as ledgers
from tacit.errors import InvalidInput, StoreError
from tacit_experiments import experiments as module
from tacit_experiments import records
from tacit_experiments.design import Design
from tacit_experiments.experiments import Experiments
from tacit_experiments.policy import assign, pseudonym
from tacit_experiments.storage import ledgers as stored

BEGIN = datetime(2026, 11, 2, tzinfo=UTC).timestamp()
DAY = 86_400.0
SECRET = b"sixteen bytes or more of one's own"
ARMS = ("control", "short", "video")


class World:
    """Experiments of a store in a folder, with a clock."""

    def __init__(self, folder, store=None, epsilon=1.0, renews="monthly", **places):
        self.folder, self.time, self.places, self.salts = folder, BEGIN, places, 0
        self._patches = [patch.object(owner, "now", self.date) for owner in (ledgers, stored)] + [
            patch.object(module, "calendar", self.date),
            patch.object(module, "secret_bytes", self.salt),
        ]
        for patched in self._patches:
            patched.start()
        self.store = tacit_experiments.Store(folder / "decisions.db" if store is None else store)
        self.store.ledger("people", epsilon=epsilon, delta=1e-6, renews=renews)
        (folder / "decisions.db.key").write_text(hashlib.sha256(b"a key that is not secret").hexdigest())
        self.experiments = self.opened()

    def opened(self, store=None, **places):
        return Experiments(store or self.store, clock=lambda: self.time, **(self.places | places))

    def date(self):
        return datetime.fromtimestamp(self.time, UTC)

    def salt(self, count):
        """Salts that are the same in every run."""
        self.salts += 1
        return hashlib.sha256(b"%d" % self.salts).digest()[:count]

    def close(self):
        self.experiments.close()
        self.store.close()
        for patched in self._patches:
            patched.stop()

    def started(self, name="home", **changed):
        design = {"arms": ARMS, "epsilon": 1.0, "ledger": "people", "days": 1, "people_per_day": 1000.0} | changed
        self.experiments.make(Design(name, **design))
        self.experiments.start(name)
        return self.experiments.policy(name)

    def move(self, days):
        self.time += days * DAY
        return self.experiments.tick()

    def read(self, name="home"):
        """What is public of an experiment: itself, its versions and its releases."""
        with self.store.database.reading() as transaction:
            owner = records.experiment(transaction, name)
            return owner, records.versions(transaction, owner.number), records.releases(transaction, owner.number)

    def copy(self, name):
        """Copy the store to another file, as a backup does."""
        self.store.database.checkpoint()
        return shutil.copyfile(self.folder / "decisions.db", self.folder / name)

    def put_back(self, file):
        """Put an older copy of the store in the place of the newest one, and adopt it."""
        self.experiments.close()
        self.store.close()
        for companion in ("decisions.db-wal", "decisions.db-shm"):
            (self.folder / companion).unlink(missing_ok=True)
        shutil.copyfile(file, self.folder / "decisions.db")
        self.store = tacit_experiments.Store(self.folder / "decisions.db")
        with suppress(InvalidInput):  # nothing was charged since
            self.store.adopt()
        self.experiments = self.opened()

    def without_witness(self, patches):
        """Let nothing be written to the witness any more."""

        def fails(*_):
            raise StoreError("The witness is not there.")

        patches.setattr(self.experiments._witness, "add", fails)

    def sum(self, salt, arms=3):
        """The exact sums of an open version, and none if its rows are gone."""
        found = [[0, 0] for _ in range(arms)]
        for arm, score in self.rows(salt).values():
            if score >= 0:
                found[arm][0] += score
                found[arm][1] += 2**16 - score
        return found

    def rows(self, salt):
        """What stands in the private database, by the hash of the person."""
        with self.experiments._replies._database.reading() as transaction:
            found = transaction.rows(f"SELECT person, arm, score FROM tacit_replies_{salt}")
        return {bytes(person): (arm, score) for person, arm, score in found}


def pid(number):
    return pseudonym(SECRET, f"person {number}")


def replies(policy, people, value=lambda number: number % 3 / 2):
    return [[policy["salt"], pid(number), value(number)] for number in people]


def arm(policy, number):
    return assign(policy["salt"], policy["upto"], pid(number))

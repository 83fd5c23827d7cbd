"""From a file of persons to a released, charged look: the test of an arm that another system gave."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from tacit.errors import InvalidInput
from tacit_experiments.ab_tests.contract import contract_text
from tacit_experiments.ab_tests.design import ARM, PERSON, ABTest
from tacit_experiments.ab_tests.persons import PersonsFile
from tacit_experiments.ab_tests.registry import Registry, digest_of
from tacit_experiments.ab_tests.release import make_release
from tacit_experiments.ab_tests.results import read_results, results_text
from tacit_experiments.store.store import Store


@dataclass(frozen=True)
class Analysis:
    """What is known after a look, and what was promised for it.

    Attributes:
        design: the test.
        results: what is known of the arms, as JSON.
        contract: the contract as JSON, which `tacit.verify` checks.
        contract_text: the contract for people who sign it.
        release: the noisy sums of this look.
        is_new: whether this call released them; if not, the first release stands, and no file was read.
    """

    design: ABTest
    results: dict[str, Any]
    contract: dict[str, Any]
    contract_text: str
    release: dict[str, Any]
    is_new: bool

    def __str__(self) -> str:
        return results_text(self.design, self.results)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "results": self.results,
            "contract": self.contract,
            "contract_text": self.contract_text,
            "release": self.release,
            "is_new": self.is_new,
        }


def analyse(
    store: Store,
    design: ABTest,
    file: str | os.PathLike[str],
    *,
    look: int | None = None,
    person: str = PERSON,
    arm: str = ARM,
    key: str | os.PathLike[str] | None = None,
    witness: str | os.PathLike[str] | None = None,
) -> Analysis:
    """Release one look of a test from a file with one row a person, and say what is known.

    The test is charged to its ledger when it is first analysed, once for all looks. Each look has one
    release for ever: for another file, too, the first release is returned, and the file is not read.

    Args:
        store: where ledger, contract and releases stand.
        design: the test; its first analysis fixes it.
        file: a CSV with the columns of a person, an arm, each metric and each segment.
        look: which look this file is, from 1 (None: the only one).
        person: the name of the column of persons.
        arm: the name of the column of arms.
        key: the file with the secret for noise (default: beside the store's file).
        witness: the file that remembers releases (default: beside the store's file).

    Raises:
        InvalidInput: if the design or the header of the file is malformed.
        PrivacyError: if the ledger cannot afford the test; nothing is spent then.
        Conflict: if the test of this name has another design.
    """
    if look is None and design.looks > 1:
        raise InvalidInput(f"The test {design.name!r} has {design.looks} looks: say which one this file is (look=1).")
    number = 1 if look is None else look
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= design.looks:
        raise InvalidInput(f"The 'look' of the test {design.name!r} must be a number from 1 to {design.looks}.")
    persons = PersonsFile(file, design, person=person, arm=arm)
    registry = Registry(store, key=key, witness=witness)
    record = registry.begin(design)
    releases = registry.released(record)
    is_new = number not in releases
    if is_new:
        made = make_release(
            design, record.promise, number, persons.sums(), registry.key, record.salt, digest_of(record)
        )
        releases[number] = registry.release(record, number, made)
    return Analysis(
        design=design,
        results=read_results(design, record.promise, releases),
        contract=record.contract,
        contract_text=contract_text(design, record.promise),
        release=releases[number],
        is_new=is_new,
    )

"""Planted bugs in the service: who is let in, what answers quote, and whose noise is known."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from attacks import rows
from planted_bugs.catalogue import Control, planting, swap
from planted_bugs.tested import by_test, service
from tacit.accounting.ledger import Ledger
from tacit.auditing.report import Finding
from tacit_experiments.service import http, routes
from tacit_experiments.service.tokens import Token
from tacit_experiments.storage.ledgers import StoredLedger
from tacit_experiments.store.rows import Row

CANARY = "canary-84147"


def quoted() -> Finding:
    """Send a name that was chosen by the sender, and look for it in the answer."""
    with tempfile.TemporaryDirectory() as folder, service(Path(folder)) as found:
        answer = found.ask("POST", "/v1/learners", {CANARY: 1})[2]
    seen = CANARY in answer
    return Finding("canaries", "answers of the service", "breaches", 0.0, float(seen), violation=seen, check=True)


def _any_noise(honest: Any) -> Any:
    return lambda self, name, plan, randomness: honest(self, name, plan, None)


in_service = planting("service")
CONTROLS = (
    in_service("answers quote what they were sent", http, "_place", lambda honest: lambda location, kind: f"{location}",
               quoted, row=rows.QUOTED),
    in_service("tokens do not end", Token, "expired", lambda honest: property(lambda self: False),
               by_test("experiments.service.test_tokens", "test_tokens_end"), row=rows.TOKENS),
    in_service("a learner with a seed passes for a private one", Row, "check_same", _any_noise,
               by_test("experiments.service.test_routes",
                       "test_a_learner_whose_noise_is_known_is_not_the_private_one_that_is_asked_for"),
               row=rows.SEEDED),
    Control(
        "learners of any size are planned", "service", swap(routes, "check_size", lambda honest: lambda *_: None),
        by_test(
            "experiments.service.test_availability", "test_a_learner_that_would_stop_the_others_is_not_planned",
            {"kind": "experts", "n": 2, "horizon": 100, "delay": 10**9},
        ),
        row=rows.STOPPED,
    ),
    in_service("accounts are composed for every reader", StoredLedger, "to_dict",
               lambda honest: lambda self: {"name": self.name, **Ledger.to_dict(self)},
               by_test("experiments.service.test_availability",
                       "test_accounts_are_composed_once_for_all_readers_until_the_next_charge"), row=rows.STOPPED),
)  # fmt: skip

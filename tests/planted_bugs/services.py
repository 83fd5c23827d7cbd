"""Planted bugs in the service: who is let in, what answers quote, and whose noise is known."""

from __future__ import annotations

from typing import Any

import pytest

from attacks import rows
from planted_bugs.catalogue import Control, swap
from planted_bugs.tested import by_test, service
from tacit.auditing.report import Finding
from tacit.service import errors
from tacit.service.tokens import Token
from tacit.store.rows import Row

CANARY = "canary-84147"


def quoted() -> Finding:
    """Send a name that was chosen by the sender, and look for it in the answer."""
    with service() as found:
        answer = found.ask("POST", "/v1/learners", {CANARY: 1})[2]
    seen = CANARY in answer
    return Finding("canaries", "answers of the service", "breaches", 0.0, float(seen), violation=seen, check=True)


def _any_noise(honest: Any) -> Any:
    return lambda self, name, plan, randomness: honest(self, name, plan, None)


CONTROLS = (
    Control(
        "answers quote what they were sent", "service",
        swap(errors, "_place", lambda honest: lambda location, kind: f"{location}"), quoted, row=rows.QUOTED,
    ),
    Control(
        "tokens do not end", "service", swap(Token, "expired", lambda honest: property(lambda self: False)),
        by_test("service.test_tokens", "test_tokens_end", fixtures=(service, pytest.MonkeyPatch.context)),
        row=rows.TOKENS,
    ),
    Control(
        "a learner with a seed passes for a private one", "service", swap(Row, "check_same", _any_noise),
        by_test(
            "service.test_routes",
            "test_a_learner_whose_noise_is_known_is_not_the_private_one_that_is_asked_for", fixtures=(service,),
        ),
        row=rows.SEEDED,
    ),
)  # fmt: skip

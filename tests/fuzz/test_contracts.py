"""Contracts from anywhere: a verdict, or a clear error."""

from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import made
from fuzz.strategies import examples, numbers, values

NAMES = (
    "LazyExperts", "ScheduledExperts", "HedgeOnSums", "BatchedTsallis", "L2P", "LazyFixedShare", "RestartOnShift",
    "OnlineToBatch", "ObjectivePerturbation",
)  # fmt: skip
MADE = [tacit.contract(made(name)) for name in NAMES]
PLACES = [(index, part, name) for index, one in enumerate(MADE) for part in ("", "parameters", "problem", "noise")
          for name in ((one[part] or {}) if part else one)]  # fmt: skip


@examples(20)
@given(st.sampled_from(PLACES), st.one_of(values, numbers))
def test_verify(place, value):
    index, part, name = place
    changed = {key: dict(entry) if isinstance(entry, dict) else entry for key, entry in MADE[index].items()}
    (changed[part] if part else changed)[name] = value
    verdict = attempt(lambda: tacit.verify(changed))
    assert verdict is REFUSED or verdict.to_dict()["answer"] in ("yes", "no", "not verifiable yet", "not private")
    assert verdict is REFUSED or isinstance(verdict, tacit.Verdict)


@examples(15)
@given(values)
def test_contract(value):
    found = attempt(lambda: tacit.contract(value))
    assert found is REFUSED or set(found) == set(tacit.contract_schema()["required"])

"""Contracts from anywhere: a verdict, or a clear error."""

from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.strategies import examples, numbers, values

SHIFTING = tacit.Tracking(n=3, switches=1, horizon=60, adversary="stochastic")
RECORDS = tacit.Stochastic(domain=tacit.domains.Ball(2), loss=tacit.losses.LogisticLoss(), horizon=60)
PLANS = [
    tacit.algorithms.LazyExperts(tacit.Experts(n=3, horizon=60), eta=0.1, force=0.2, batch=2),
    tacit.algorithms.ScheduledExperts(tacit.Experts(n=3, horizon=60), eta=0.1),
    tacit.algorithms.HedgeOnSums.calibrate(tacit.Experts(n=3, horizon=60), epsilon=1.0, delta=1e-6),
    tacit.algorithms.BatchedTsallis.calibrate(tacit.Arms(n=3, horizon=500), epsilon=1.0, delta=0.0),
    tacit.algorithms.L2P(tacit.Experts(n=3, horizon=60), eta=0.1, force=0.2, reference_force=0.1, batch=2),
    tacit.algorithms.LazyFixedShare(tacit.Tracking(n=3, switches=1, horizon=60), eta=0.1, force=0.1),
    tacit.algorithms.RestartOnShift.calibrate(SHIFTING, epsilon=1.0, delta=0.0, adversary="stochastic"),
    tacit.algorithms.OnlineToBatch.calibrate(RECORDS, epsilon=1.0, delta=1e-6, batch=4),
    tacit.algorithms.ObjectivePerturbation.calibrate(RECORDS, epsilon=1.0, delta=1e-6),
]
MADE = [tacit.contract(plan) for plan in PLANS]
PLACES = [(index, part, name) for index, made in enumerate(MADE) for part in ("", "parameters", "problem", "noise")
          for name in ((made[part] or {}) if part else made)]  # fmt: skip


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
    made = attempt(lambda: tacit.contract(value))
    assert made is REFUSED or set(made) == set(tacit.contract_schema()["required"])

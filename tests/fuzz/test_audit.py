"""The audit's door: what is no plan, and budgets and seeds that are none."""

from numbers import Integral, Real

from hypothesis import given

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.plans import made
from fuzz.strategies import examples, values


@examples(25)
@given(value=values)
def test_audit(value):
    assert attempt(lambda: tacit.audit(value)) is REFUSED
    assert attempt(lambda: tacit.audit(made("ScheduledExperts"), seed=-1)) is REFUSED
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 1e-6 <= value <= 1000:
        assert attempt(lambda: tacit.audit(made("ScheduledExperts"), budget=value)) is REFUSED
    if not (number and value >= 0) or not isinstance(value, Integral):
        assert attempt(lambda: tacit.audit(made("ScheduledExperts"), seed=value)) is REFUSED


def test_audit_reports():
    small = tacit.algorithms.ScheduledExperts(tacit.Experts(n=2, horizon=3), eta=0.2)
    report = attempt(lambda: tacit.audit(small, budget=0.01))
    assert isinstance(report, tacit.AuditReport)
    assert report.verdict == attempt(report.to_dict)["verdict"] == "no violation found"
    assert 0 <= report.tightness <= 1
    assert report.false_alarm < 1e-3
    assert report.certified_epsilon == small.guarantee.epsilon()
    assert report.reproducer in str(report)

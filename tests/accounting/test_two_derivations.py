"""One derivation of what a chain leaks in the accounting, one in the verification: the same Renyi divergence.

The verification follows the proof pages in fifty digits and shares no code with the accounting. The accounting rounds
to the private side, by a factor of 1 + 1e-11 wherever it rounds and by 1 + 1e-9 after CTRL's quadrature: its value
is the verification's, or a hair above it.
"""

import json
from dataclasses import replace

import mpmath as mp
import numpy as np
import pytest

import tacit
from tacit.accounting.lazy import pure_bits
from tacit.algorithms import CTRL, L2P, LazyExperts, ScheduledExperts
from tacit.verification.algorithms import ACCOUNTANTS
from tacit.verification.facts import Facts

ORDERS = (1.0001, 1.5, 7.0, 30.0, 1e6)


def recomputed(plan):
    """The verification's bounds on a plan: the pure one (None: there is none), and the log moment at an order."""
    facts = Facts(json.loads(json.dumps(tacit.contract(plan))), "contract").at(0.0, 1.0)
    leak = ACCOUNTANTS[plan.algorithm](facts)
    if isinstance(plan, CTRL):
        return None, leak.ideal.log_moment
    pure, renyi = leak.leaks
    return pure.value, renyi.log_moment


def compared(plan, curve, room, orders=ORDERS):
    """Whether the accounting's divergences are the verification's, or above them by at most `room`.

    Where two parts of a moment nearly cancel, what rounding may have taken of either is added.
    """
    with mp.workdps(50):
        pure, log_moment = recomputed(plan)
        for order, value in zip(orders, curve.renyi(np.array(orders)), strict=True):
            exact = log_moment(mp.mpf(order)) / (mp.mpf(order) - 1)
            lost = 20e-15 * plan.eta * order / (order - 1)
            if not -1e-11 <= float(mp.mpf(float(value)) / exact - 1) <= room + float(lost / exact):
                return False
        return pure is None or -1e-11 <= float(mp.mpf(curve.pure()) / pure - 1) <= 1e-9


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
@pytest.mark.parametrize("people", [1, 3])
@pytest.mark.parametrize("cap", [None, 4])
@pytest.mark.parametrize(
    ("eta", "force", "batch", "rounds"), [(0.05, 0.1, 2, 1000), (0.3, 0.02, 1, 50), (0.004, 0.2, 7, 9999)]
)
def test_lazy_experts(eta, force, batch, rounds, cap, people, relation):
    person = {"relation": relation, "rounds_per_person": people, "max_switches": cap}
    plan = LazyExperts(tacit.Experts(n=5, horizon=rounds), eta=eta, force=force, batch=batch, **person)
    assert compared(plan, plan.curve, 1e-9)


@pytest.mark.parametrize("eta", [5e-17, 1e-12, 1e-6, 0.01])
@pytest.mark.parametrize("force", [1e-15, 1e-8, 0.1])
def test_tiny_coins(eta, force):
    """The coin's hazard decides, not the float 1 - p: at eta=5e-17, force=1e-15 the coin alone leaks ln 1.05."""
    plan = LazyExperts(tacit.Experts(n=2, horizon=3003), eta=eta, force=force, batch=3)
    assert compared(plan, plan.curve, 1e-7)
    assert pure_bits(plan.curve) >= eta


@pytest.mark.parametrize("reference", [0.0, 0.2])
def test_other_chains(reference):
    problem = tacit.Experts(n=3, horizon=400)
    plan = L2P(problem, eta=0.05, force=0.2, reference_force=reference, batch=4, slack=1.5)
    assert compared(plan, plan.curve, 1e-9)
    plan = ScheduledExperts(problem, eta=0.03, batch=5)
    assert compared(plan, plan.curve, 1e-9)


@pytest.mark.parametrize("relation", ["replace", "zero-out"])
@pytest.mark.parametrize("family", ["glm", "general"])
@pytest.mark.parametrize(("eta", "sigma", "force", "log_phi"), [(0.01, 60.0, 0.05, 0.15), (0.002, 300.0, 0.01, 0.03)])
def test_ctrl(eta, sigma, force, log_phi, family, relation):
    loss = tacit.losses.ConvexFamily(1.0, 1.0, family)
    problem = tacit.Convex(domain=tacit.domains.Ball(4), loss=loss, horizon=5000)
    plan = CTRL(problem, eta=eta, sigma=sigma, force=force, log_phi=log_phi, relation=relation)
    assert compared(plan, plan.certificate.chain, 3e-9, orders=(1.5, 7.0, 30.0))


def test_a_wrong_constant_is_noticed():
    """Sensitivity 1 for 2, too few forced redraws, batches left out: none of them agrees."""
    plan = LazyExperts(tacit.Experts(n=5, horizon=1000), eta=0.05, force=0.1, batch=2)
    for wrong in (replace(plan, eta=0.025), replace(plan, force=0.09), replace(plan, batch=1)):
        assert not compared(plan, wrong.curve, 1e-6)

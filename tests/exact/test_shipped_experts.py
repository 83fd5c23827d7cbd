"""The shipped expert learners have exactly the law on paper: every outcome of their coins, against recursions."""

import numpy as np
import pytest

from exact.experts_law import Batches, lazy_law, scheduled_law, two_chain_law
from tacit import Experts
from tacit.algorithms import L2P, LazyExperts, ScheduledExperts
from tacit.auditing.script import transcript_law

LOSSES = {
    (3, 1): np.array([[0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=float),
    (2, 2): np.array([[0, 1], [1, 1], [1, 0], [1, 0], [0, 1], [1, 1], [0, 1]], dtype=float),
}
settings = pytest.mark.parametrize(("n", "rounds"), list(LOSSES))


def stream_of(kinds, losses):
    """The index sequence of a stream of losses; its last batch, whole or partial, decides nothing."""
    rounds = kinds.rounds
    rows = [kinds.choices.index(tuple(row)) for row in losses]
    ends = range(rounds, len(losses), rounds)
    return np.array([[kinds.types.index(tuple(sorted(rows[end - rounds : end]))) for end in ends]])


def place(plan, transcript):
    """The column of the law on paper: keeping is 0, drawing j is 1 + j, then the bit of a reference."""
    n, shows = plan.problem.n, bool(plan.released_streams)
    actions, drawn = (transcript[::2], transcript[1::2]) if shows else (transcript, [])
    column = actions[0]
    for end in range(plan.batch, plan.rounds, plan.batch):
        if not shows:
            column = column * n + actions[end]
            continue
        redrawn, *reference = drawn[end - 1]
        column = column * (n + 1) + (1 + actions[end] if redrawn else 0)
        column = column * 2 + reference[0] if reference else column
    return column


def check(plan, losses, law):
    shipped = np.zeros(law.shape[1])
    for transcript, chance in transcript_law(plan, list(losses)).items():
        shipped[place(plan, transcript)] += chance
    np.testing.assert_allclose(shipped, law[0], atol=1e-12)


@settings
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("cap", [None, 1])
def test_shipped_lazy_experts_have_this_law(n, rounds, relative, cap):
    losses, kinds = LOSSES[n, rounds], Batches(n, rounds)
    law, _ = lazy_law(kinds, stream_of(kinds, losses), eta=0.3, force=0.3, relative=relative, cap=cap)
    problem = Experts(n=n, horizon=len(losses))
    check(LazyExperts(problem, eta=0.3, force=0.3, batch=rounds, relative=relative, max_switches=cap), losses, law)


@settings
@pytest.mark.parametrize("slack", [1.0, 2.0])
def test_shipped_l2p_has_this_law(n, rounds, slack):
    losses, kinds = LOSSES[n, rounds][: 2 * rounds + 1], Batches(n, rounds)
    chains = {"eta": 0.3, "force": 0.3, "reference_force": 0.4, "slack": slack}
    law, _ = two_chain_law(kinds, stream_of(kinds, losses), **chains)
    check(L2P(Experts(n=n, horizon=len(losses)), batch=rounds, **chains), losses, law)


@settings
def test_shipped_scheduled_experts_have_this_law(n, rounds):
    losses, kinds = LOSSES[n, rounds], Batches(n, rounds)
    law, _ = scheduled_law(kinds, stream_of(kinds, losses), eta=0.5)
    check(ScheduledExperts(Experts(n=n, horizon=len(losses)), eta=0.5, batch=rounds), losses, law)

"""The shipped expert learners have exactly the enumerated law: goodness of fit, which also rejects planted bugs."""

import numpy as np
import pytest
from scipy.stats import chi2

from exact.experts_law import Batches, lazy_law, scheduled_law, two_chain_law
from tacit import Experts, Randomness
from tacit.algorithms import L2P, LazyExperts, ScheduledExperts
from tacit.noise.exact_draws import draw_softmax
from tacit.noise.lattice import LOSS_UNITS, quantise_losses

FALSE_ALARM = 1e-6


class SharedStreams(Randomness):
    """Successive learners continue the same streams: as independent as fresh keys, and much faster."""

    __slots__ = ("open",)

    def stream(self, name):
        if not hasattr(self, "open"):
            self.open = {}
        if name not in self.open:
            self.open[name] = super().stream(name)
        return self.open[name]


def source(seed):
    return SharedStreams(Randomness.replayable(seed)._key)


def fit(counts, law):
    """p-value of a G-test; transcripts expected less than 5 times are pooled, impossible ones are fatal."""
    expected = counts.sum() * law
    if np.any(counts[law == 0]):
        return 0.0
    rare = expected < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum())
    observed, wanted = observed[wanted > 0], wanted[wanted > 0]
    seen = observed > 0
    statistic = 2 * np.sum(observed[seen] * np.log(observed[seen] / wanted[seen]))
    return chi2.sf(statistic, len(wanted) - 1)


def lazy_transcript(learner, losses):
    """The column of `lazy_law`: keep is 0, drawing j is 1 + j."""
    n, batch = learner.plan.problem.n, learner.plan.batch
    place, before = learner.play(), 0
    for t, row in enumerate(losses):
        learner.play()
        learner.observe(row)
        if (t + 1) % batch == 0 and t + 1 < len(losses):
            redrawn = learner._redraws > before
            before = learner._redraws
            place = place * (n + 1) + (1 + learner.play() if redrawn else 0)
    return place


def l2p_transcript(learner, losses):
    """The column of `two_chain_law`: as for lazy experts, then the reference's bit."""
    n, batch = learner.plan.problem.n, learner.plan.batch
    drawn = []
    sample = learner._measure.sample

    def spy(generator):
        drawn.append(generator is learner._reference_choice)
        return sample(generator)

    learner._measure.sample = spy
    place = learner.play()
    for t, row in enumerate(losses):
        learner.play()
        learner.observe(row)
        if (t + 1) % batch == 0 and t + 1 < len(losses):
            place = (place * (n + 1) + (1 + learner.play() if False in drawn else 0)) * 2 + (True in drawn)
            drawn.clear()
    return place


def scheduled_transcript(learner, losses):
    n, batch = learner.plan.problem.n, learner.plan.batch
    place = learner.play()
    for t, row in enumerate(losses):
        learner.play()
        learner.observe(row)
        if (t + 1) % batch == 0 and t + 1 < len(losses):
            place = place * n + learner.play()
    return place


def frequencies(plan, transcript, losses, columns, *, runs, seed, mutate=None):
    counts = np.zeros(columns)
    shared = source(seed)
    for _ in range(runs):
        learner = plan.start(shared)
        if mutate:
            mutate(learner)
        counts[transcript(learner, losses)] += 1
    return counts


def stream_of(kinds, losses, batches):
    """The index sequence of a stream of losses (its last, partial batch aside)."""
    rounds = kinds.rounds
    rows = [kinds.choices.index(tuple(row)) for row in losses]
    parts = [tuple(sorted(rows[s * rounds : (s + 1) * rounds])) for s in range(batches - 1)]
    return np.array([[kinds.types.index(part) for part in parts]])


LOSSES = {
    (3, 1): np.array([[0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=float),
    (2, 2): np.array([[0, 1], [1, 1], [1, 0], [1, 0], [0, 1], [1, 1], [0, 1]], dtype=float),
}


def no_forced_switch(learner):
    learner._stay = 1.0


def coin_with_double_rate(learner):
    learner._rate *= 2
    draw = learner._draw

    def at_the_right_rate():
        learner._rate /= 2
        draw()
        learner._rate *= 2

    learner._draw = at_the_right_rate


def coin_that_judges_otherwise(learner):
    learner._relative = not learner._relative


def draw_without_the_last_batch(learner):
    def late():
        learner._redraws += 1
        stale = learner._total - learner._last
        learner._move(draw_softmax(learner._choice, learner._rate, stale))

    absorb = learner._absorb

    def remember(losses):
        learner._last = quantise_losses(losses)
        absorb(losses)

    learner._absorb, learner._draw = remember, late


@pytest.mark.parametrize(("n", "rounds"), list(LOSSES))
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("cap", [None, 1])
def test_shipped_lazy_experts_have_this_law(n, rounds, relative, cap):
    losses = LOSSES[n, rounds]
    kinds = Batches(n, rounds)
    law, _ = lazy_law(kinds, stream_of(kinds, losses, 4), eta=0.3, force=0.3, relative=relative, cap=cap)
    plan = LazyExperts(
        Experts(n=n, horizon=len(losses)), eta=0.3, force=0.3, batch=rounds, relative=relative, max_switches=cap
    )
    counts = frequencies(plan, lazy_transcript, losses, law.shape[1], runs=4000, seed=1)
    assert fit(counts, law[0]) > FALSE_ALARM


def test_planted_bugs_in_lazy_experts_are_caught():
    losses = LOSSES[3, 1]
    kinds = Batches(3)
    law, _ = lazy_law(kinds, stream_of(kinds, losses, 4), eta=0.8, force=0.3, relative=False)
    plan = LazyExperts(Experts(n=3, horizon=4), eta=0.8, force=0.3, relative=False)
    for bug in (None, no_forced_switch, coin_with_double_rate, coin_that_judges_otherwise, draw_without_the_last_batch):
        counts = frequencies(plan, lazy_transcript, losses, law.shape[1], runs=4000, seed=2, mutate=bug)
        assert (fit(counts, law[0]) > FALSE_ALARM) == (bug is None)


def reversed_ratio(learner):
    honest = learner._measure.log_ratio
    learner._measure.log_ratio = lambda decision, feedback: -honest(decision, feedback)


def reference_never_moves(learner):
    learner._chains._reference_stay = 1.0


def twice_the_constant(learner):
    learner._chains._most += learner.plan.batch * LOSS_UNITS


@pytest.mark.parametrize(("n", "rounds"), list(LOSSES))
@pytest.mark.parametrize("slack", [1.0, 2.0])
def test_shipped_l2p_has_this_law(n, rounds, slack):
    losses = LOSSES[n, rounds]
    kinds = Batches(n, rounds)
    stream = stream_of(kinds, losses, 4)
    law, _ = two_chain_law(kinds, stream, eta=0.3, force=0.3, reference_force=0.4, slack=slack)
    plan = L2P(Experts(n=n, horizon=len(losses)), eta=0.3, force=0.3, reference_force=0.4, batch=rounds, slack=slack)
    counts = frequencies(plan, l2p_transcript, losses, law.shape[1], runs=4000, seed=4)
    assert fit(counts, law[0]) > FALSE_ALARM


def test_planted_bugs_in_l2p_are_caught():
    losses = LOSSES[2, 2]
    kinds = Batches(2, 2)
    law, _ = two_chain_law(kinds, stream_of(kinds, losses, 4), eta=0.5, force=0.1, reference_force=0.4)
    plan = L2P(Experts(n=2, horizon=7), eta=0.5, force=0.1, reference_force=0.4, batch=2)
    for bug in (None, reversed_ratio, reference_never_moves, twice_the_constant):
        counts = frequencies(plan, l2p_transcript, losses, law.shape[1], runs=4000, seed=5, mutate=bug)
        assert (fit(counts, law[0]) > FALSE_ALARM) == (bug is None)


@pytest.mark.parametrize(("n", "rounds"), list(LOSSES))
def test_shipped_scheduled_experts_have_this_law(n, rounds, monkeypatch):
    losses = LOSSES[n, rounds]
    kinds = Batches(n, rounds)
    law, _ = scheduled_law(kinds, stream_of(kinds, losses, 4), eta=0.5)
    plan = ScheduledExperts(Experts(n=n, horizon=len(losses)), eta=0.5, batch=rounds)
    counts = frequencies(plan, scheduled_transcript, losses, law.shape[1], runs=4000, seed=6)
    assert fit(counts, law[0]) > FALSE_ALARM
    from tacit.algorithms.experts import scheduled_experts

    monkeypatch.setattr(scheduled_experts, "draw_softmax", lambda source, rate, s: draw_softmax(source, rate, -s))
    counts = frequencies(plan, scheduled_transcript, losses, law.shape[1], runs=4000, seed=6)
    assert fit(counts, law[0]) < FALSE_ALARM

"""Exact laws of tracking learners on tiny instances, and the brute-force reduction they must agree with.

`transcript_law` runs the real learner once for every outcome of its coins: the streams are replaced by
objects that ask a script what happens and tell it with which probability. `meta_expert_law` is the paper's
Section 4 taken literally: the lazy learner over all N^T sequences of experts.
"""

import copy
import itertools
import math

import numpy as np

from tacit.learners.tracking import fixed_share
from tacit.randomness import Randomness


class Script:
    """A sequence of choices; beyond its prefix it takes the first possible outcome and notes the others."""

    def __init__(self, prefix):
        self.prefix, self.taken, self.open = prefix, [], []
        self.probability = 1.0

    def choose(self, probabilities):
        place = len(self.taken)
        possible = [k for k, p in enumerate(probabilities) if p > 0]
        choice = self.prefix[place] if place < len(self.prefix) else possible[0]
        if place >= len(self.prefix):
            self.open += [[*self.taken, other] for other in possible[1:]]
        self.taken.append(choice)
        self.probability *= probabilities[choice]
        return choice


class Clock:
    """An exponential clock: whether it rings by x is an outcome of probability 1 - e^-x."""

    def __init__(self, script):
        self.script = script

    def __le__(self, x):
        return self.script.choose([math.exp(-x), -math.expm1(-x)]) == 1


class Coin:
    """A uniform number: below p with probability p, and then anywhere below it."""

    def __init__(self, script, n):
        self.script, self.n = script, n

    def __lt__(self, p):
        return self.script.choose([1 - p, p]) == 1

    def __truediv__(self, p):
        others = self.n - 1
        return (self.script.choose([1 / others] * others) + 0.5) / others


class Stream:
    def __init__(self, script, n):
        self.script, self.n = script, n

    def standard_exponential(self):
        return Clock(self.script)

    def random(self):
        return Coin(self.script, self.n)


def transcript_law(plan, losses, monkeypatch):
    """{actions: probability}, by running the learner of `plan` once for every outcome of its coins."""
    n = plan.problem.n
    law = {}
    waiting = [[]]
    fresh = plan.start(Randomness.replayable(0))
    fresh._planned_moves()  # computed once, not for every outcome
    while waiting:
        script = Script(waiting.pop())

        def mechanism(scores, generator, script=script):
            weights = np.exp(scores - scores.max())
            return script.choose((weights / weights.sum()).tolist())

        monkeypatch.setattr(fixed_share, "exponential_mechanism", mechanism)
        learner = copy.copy(fresh)
        learner._weights = fresh._weights.copy()
        learner._action = script.choose([1 / n] * n)
        learner._streams = dict.fromkeys(learner._streams, Stream(script, n))
        actions = []
        for row in losses:
            actions.append(learner.play())
            learner.observe(row)
        law[tuple(actions)] = law.get(tuple(actions), 0.0) + script.probability
        waiting += script.open
    return law


def meta_expert_law(plan, losses):
    """The same law from the weights of all N^T paths, held and redrawn as lazy experts would."""
    losses = np.asarray(losses, dtype=float)
    rounds, n = losses.shape
    paths = np.array(list(itertools.product(range(n), repeat=rounds)))
    switches = np.count_nonzero(paths[:, 1:] != paths[:, :-1], axis=1)
    if plan.prior == "uniform":
        prior = (switches <= plan.problem.switches).astype(float)
    else:
        share = plan.paths.share
        prior = (share / (n - 1)) ** switches * (1 - share) ** (rounds - 1 - switches)
    held = losses[np.arange(rounds), paths]
    relative = held - losses.min(axis=1)
    masses = {(): prior / prior.sum()}
    for start in range(0, rounds, plan.batch):
        stop = min(rounds, start + plan.batch)
        split = {}
        for actions, mass in masses.items():
            for path in np.flatnonzero(mass):
                key = (*actions, *paths[path, start:stop].tolist())
                split.setdefault(key, np.zeros(len(paths)))[path] = mass[path]
        if stop == rounds:
            return {key: float(mass.sum()) for key, mass in split.items()}
        keep = (1 - plan.force) * np.exp(-plan.eta * relative[:, start:stop].sum(axis=1))
        fresh = prior * np.exp(-plan.eta * held[:, :stop].sum(axis=1))
        fresh /= fresh.sum()
        masses = {key: mass * keep + (mass * (1 - keep)).sum() * fresh for key, mass in split.items()}
    raise AssertionError


def hockey_stick(law, other, epsilon):
    """The exact delta at `epsilon` between two laws of transcripts."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(key, 0.0)) for key, p in law.items())


def first_above_probability(queries, answers_above, threshold_scale, query_scale):
    """P[the answers are "below" for every query, and "above" for one more if asked], threshold 0.

    Exact up to quadrature: Gauss-Legendre between the kinks of the Laplace densities.
    """
    below, above = np.asarray(queries[:-1], dtype=float), float(queries[-1])
    if not answers_above:
        below = np.asarray(queries, dtype=float)
    small, large = sorted((threshold_scale, query_scale))
    kinks = np.unique(np.concatenate([[0.0, above], below]))
    steps = np.arange(kinks[0] - 40 * large, kinks[-1] + 40 * large, small)
    edges = np.unique(np.concatenate([kinks, steps]))
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    r = (middle[:, None] + half[:, None] * nodes).ravel()
    w = (half[:, None] * weights).ravel()
    density = np.exp(-np.abs(r) / threshold_scale) / (2 * threshold_scale)
    values, counts = np.unique(below, return_counts=True)
    for value, count in zip(values, counts, strict=True):
        density = density * laplace_cdf(r - value, query_scale) ** count
    if answers_above:
        density = density * laplace_cdf(above - r, query_scale)
    return float(np.sum(w * density))


def laplace_cdf(x, scale):
    """P[Lap(scale) <= x]."""
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(x < 0, tail, 1 - tail)

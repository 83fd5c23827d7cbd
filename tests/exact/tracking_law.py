"""Exact laws of tracking learners on tiny instances, and the brute-force reduction they must agree with.

`transcript_law` runs the shipped learner through the audit's scripted streams. What is independent of it and of the
learner is `meta_expert_law`: the paper's Section 4 taken literally, the lazy learner over all N^T sequences of experts.
"""

import itertools
import math

import numpy as np

from tacit.auditing.certified_law import actions_only
from tacit.auditing.script import transcript_law as enumerated


def transcript_law(plan, losses):
    """{actions: probability}, by running the shipped learner once for every outcome of its coins (`tacit.audit`)."""
    return actions_only(plan, enumerated(plan, list(losses)))


def meta_expert_law(plan, losses):
    """The same law from the weights of all N^T paths, held and redrawn as lazy experts would."""
    losses = np.asarray(losses, dtype=float)
    rounds, n = losses.shape
    paths = np.array(list(itertools.product(range(n), repeat=rounds)))
    switches = np.count_nonzero(paths[:, 1:] != paths[:, :-1], axis=1)
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

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


def expected_moves(n, rounds, switches, eta, force, batch, losses):
    """E[number of switches] of lazy fixed share with the uniform prior: counted paths, and the law of the held one."""

    def ways(left, k):
        return sum(math.comb(left, i) * (n - 1) ** i for i in range(k + 1)) if k >= 0 else 0

    weights = {(j, 0): 1.0 for j in range(n)}  # of beginnings of paths, by last expert and switches used
    held = {(j, 0, 0.0): 1 / n for j in range(n)}  # and by the batch's relative loss
    total = 0.0
    for t in range(rounds - 1):
        weights = {key: value * math.exp(-eta * losses[t][key[0]]) for key, value in weights.items()}
        stepped = {}
        for (j, c), value in weights.items():
            for i in range(n):
                key = (i, c + (i != j))
                if key[1] <= switches:
                    stepped[key] = stepped.get(key, 0.0) + value
        weights = stepped
        left = rounds - t - 2  # transitions that remain after this one
        fresh = {key: value * ways(left, switches - key[1]) for key, value in weights.items()}
        whole = sum(fresh.values())
        law = {}

        def put(key, chance, law=law):
            law[key] = law.get(key, 0.0) + chance

        for (j, c, seen), chance in held.items():
            seen += losses[t][j] - min(losses[t])
            redraw = 0.0
            if (t + 1) % batch == 0:
                redraw = 1 - (1 - force) * math.exp(-eta * seen)
                seen = 0.0
                for (i, used), value in fresh.items():
                    put((i, used, 0.0), chance * redraw * value / whole)
                    total += chance * redraw * value / whole * (i != j)
            move = (n - 1) * ways(left, switches - c - 1) / ways(left + 1, switches - c)
            put((j, c, seen), chance * (1 - redraw) * (1 - move))
            for i in range(n):
                if i != j and move > 0:
                    put((i, c + 1, seen), chance * (1 - redraw) * move / (n - 1))
            total += chance * (1 - redraw) * move
        held = law
    return total


def hockey_stick(law, other, epsilon):
    """The exact delta at `epsilon` between two laws of transcripts."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(key, 0.0)) for key, p in law.items())

"""The exact law of what expert learners release, by enumeration of every transcript.

Written from the mathematics alone, on probabilities: no learner, no sampler, no accountant is used here.

A stream of losses is a sequence of batches, and a batch enters only through its type: its rounds' losses.
`Batches` lists all types of B rounds of N losses and tells which types are neighbours (differ in one round).
A law is computed for many streams at once: an array with one row per stream and one column per transcript.
No learner decides after the last batch, so a stream of S batches is given by its first S-1.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations, product

import numpy as np


@dataclass(frozen=True)
class Batches:
    """Every batch of `rounds` rounds whose losses come from `rows`, up to the order of the rounds."""

    n: int
    rounds: int = 1
    rows: tuple[tuple[float, ...], ...] = ()

    @cached_property
    def choices(self):
        return self.rows or tuple(product((0.0, 1.0), repeat=self.n))

    @cached_property
    def types(self):
        """The batches as sorted tuples of indices into `choices`."""
        return sorted({tuple(sorted(batch)) for batch in product(range(len(self.choices)), repeat=self.rounds)})

    @cached_property
    def losses(self):
        """Shape (types, rounds, n)."""
        return np.array([[self.choices[row] for row in batch] for batch in self.types])

    @cached_property
    def distance(self):
        """In how many rounds two types differ at least, shape (types, types)."""

        def apart(first, second):
            left = list(second)
            for row in first:
                if row in left:
                    left.remove(row)
            return len(left)

        return np.array([[apart(a, b) for b in self.types] for a in self.types])

    def streams(self, batches):
        """Every sequence of `batches` types, shape (types^batches, batches), in lexicographic order."""
        count = len(self.types)
        index = np.arange(count**batches)
        return np.stack([(index // count**k) % count for k in reversed(range(batches))], axis=1)

    def pairs(self, batches, rounds=1, first=None):
        """Indices (i, j) of all ordered pairs of different streams that differ in at most `rounds` rounds."""
        count = len(self.types)
        one = np.arange(count**batches) if first is None else np.asarray(first)
        other, left = np.zeros_like(one), np.full(len(one), rounds)
        for k in reversed(range(batches)):  # choose the other stream's batches one by one
            apart = self.distance[one // count**k % count]
            row, kind = np.nonzero(apart <= left[:, None])
            left = left[row] - apart[row, kind]
            one, other = one[row], other[row] * count + kind
        return np.stack([one, other], axis=1)[one != other]

    def representatives(self, batches):
        """One stream of each class that relabelling the experts connects."""
        streams = self.streams(batches)
        count = len(self.types)
        place = count ** np.arange(batches)[::-1]
        index = {batch: k for k, batch in enumerate(self.types)}
        row = {choice: k for k, choice in enumerate(self.choices)}
        smallest = np.arange(len(streams))
        for order in permutations(range(self.n)):
            moved = [row[tuple(choice[j] for j in order)] for choice in self.choices]
            mapped = np.array([index[tuple(sorted(moved[r] for r in batch))] for batch in self.types])
            smallest = np.minimum(smallest, mapped[streams] @ place)
        return np.flatnonzero(smallest == np.arange(len(streams)))


def weights(batches, streams, eta):
    """Exponential weights before batch 1 and after each batch, shape (streams, batches + 1, n)."""
    sums = batches.losses.sum(axis=1)[streams]
    total = np.concatenate([np.zeros((len(streams), 1, batches.n)), np.cumsum(sums, axis=1)], axis=1)
    mass = np.exp(-eta * total)
    return mass / mass.sum(axis=2, keepdims=True)


def held_losses(batches, relative):
    """What the coin sees of each type for each held expert, shape (types, n)."""
    losses = batches.losses
    if relative:
        losses = losses - losses.min(axis=2, keepdims=True)
    return losses.sum(axis=1)


def lazy_law(batches, streams, *, eta, force, relative, cap=None, bits=True):
    """Lazy experts: (actions and redraw bits) or actions alone.

    Returns the law, shape (streams, transcripts), and the actions of each transcript, shape (transcripts, S).
    """
    n = batches.n
    keep = (1 - force) * np.exp(-eta * held_losses(batches, relative))
    target = weights(batches, streams, eta)
    law = np.full((len(streams), n), 1.0 / n)
    actions = np.arange(n)[:, None]
    redraws = np.zeros(n, dtype=int)
    for s in range(streams.shape[1]):
        current = actions[:, -1]
        q = keep[streams[:, s]][:, current]
        if cap is not None:
            q = np.where(redraws >= cap, 1.0, q)
        drawn = ((1 - q) * law)[:, :, None] * target[:, s + 1][:, None, :]
        law = np.concatenate([(q * law)[:, :, None], drawn], axis=2).reshape(len(streams), -1)
        actions = _extended(actions, current, n)
        redraws = (redraws[:, None] + np.array([0] + [1] * n)).ravel()
    return (law, actions) if bits else merged(law, actions)


def two_chain_law(batches, streams, *, eta, force, reference_force, slack=1.0):
    """L2P: actions and the switch bits of both chains; the reference's values stay hidden.

    Returns the law, shape (streams, transcripts), and the actions of each transcript, shape (transcripts, S).
    """
    n, rounds = batches.n, batches.rounds
    # log ratio of x against y in each type, one clipped term a round: shape (types, x, y)
    ratio = eta * np.clip(batches.losses[:, :, None, :] - batches.losses[:, :, :, None], -1, 1).sum(axis=1)
    keep = (1 - force) * np.minimum(1.0, np.exp(ratio - slack * rounds * eta))
    target = weights(batches, streams, eta)
    count = len(streams)
    law = np.full((count, n, n), 1.0 / n**2)  # (stream, transcript, hidden reference)
    actions = np.arange(n)[:, None]
    for s in range(streams.shape[1]):
        current = actions[:, -1]
        q = keep[streams[:, s]][:, current, :]
        new = target[:, s + 1]
        kept = (q * law)[:, :, None, :]
        drawn = ((1 - q) * law)[:, :, None, :] * new[:, None, :, None]
        law = np.concatenate([kept, drawn], axis=2).reshape(count, -1, n)
        actions = _extended(actions, current, n)
        stays = (1 - reference_force) * law
        moves = reference_force * law.sum(axis=2)[:, :, None] * new[:, None, :]
        law = np.stack([stays, moves], axis=2).reshape(count, -1, n)
        actions = np.repeat(actions, 2, axis=0)
    return law.sum(axis=2), actions


def scheduled_law(batches, streams, *, eta):
    """A fresh draw for every batch: actions."""
    target = weights(batches, streams, eta)
    law, actions = target[:, 0], np.arange(batches.n)[:, None]
    for s in range(streams.shape[1]):
        law = (law[:, :, None] * target[:, s + 1][:, None, :]).reshape(len(streams), -1)
        actions = _extended(actions, actions[:, -1], batches.n)[_drawn(len(actions), batches.n)]
    return law, actions


def merged(law, actions):
    """Forget everything but the actions."""
    different, place = np.unique(actions, axis=0, return_inverse=True)
    total = np.zeros((len(law), len(different)))
    for column, target in enumerate(place.ravel()):
        total[:, target] += law[:, column]
    return total, different


def marginals(law, actions, n):
    """The law of each batch's action, shape (streams, S, n)."""
    chosen = (actions[:, :, None] == np.arange(n)).astype(float)
    return np.einsum("ko,osn->ksn", law, chosen)


def hockey_sticks(law, pairs, epsilons, chunk=1 << 17):
    """The largest hockey-stick divergence over the pairs (i, j) of rows, at each epsilon."""
    worst = np.zeros(len(epsilons))
    size = max(1, chunk // law.shape[1])
    for first in range(0, len(pairs), size):
        part = pairs[first : first + size]
        one, other = law[part[:, 0]], law[part[:, 1]]
        for k, epsilon in enumerate(epsilons):
            gap = one - np.exp(epsilon) * other
            np.maximum(gap, 0.0, out=gap)
            worst[k] = max(worst[k], gap.sum(axis=1).max())
    return worst


def _extended(actions, current, n):
    """Each transcript followed by keeping its action, then by drawing 0, 1, ..., n-1."""
    following = np.concatenate([current[:, None], np.tile(np.arange(n), (len(current), 1))], axis=1)
    return np.concatenate([np.repeat(actions, n + 1, axis=0), following.reshape(-1, 1)], axis=1)


def _drawn(count, n):
    """The rows of `_extended` that are draws."""
    return np.flatnonzero(np.arange(count * (n + 1)) % (n + 1))

"""Sizes of records that are fixed in advance: a record of step q moves later steps by s_q/s_i of their own size.

docs/algorithms/running-sums.md, growing sensitivities: the column norm is then the largest over q of the norm of
c_{i-q} s_q/s_i, i >= q; trees have lattices whose steps are whole multiples (docs/numerics.md).
"""

from __future__ import annotations

import mpmath as mp

from tacit.verification.leaks import Real

# Sizes on trees are whole multiples of the first one over this, and a last digit above it.
_FIRST_MULTIPLE = 1000
_LAST_DIGIT = mp.mpf(10) ** -11


def difference_sizes(steps: int, power: float, lipschitz: float, smoothness: float, diameter: float) -> list[Real]:
    """The largest C_1, ..., C_t of docs/algorithms/online-to-batch.md at each t, |x_t - x_{t-1}| at its largest."""
    k, steep, bent = mp.mpf(power), mp.mpf(lipschitz), mp.mpf(smoothness) * mp.mpf(diameter)
    found: list[Real] = []
    before, total, largest = mp.mpf(0), mp.mpf(0), mp.mpf(0)
    for t in range(1, steps + 1):
        weight = mp.mpf(t) ** k
        total += weight
        largest = max(largest, (weight - before) * steep + before * bent * weight / total)
        found.append(largest)
        before = weight
    return found


def whole_sizes(sizes: list[Real]) -> list[Real]:
    """The same as whole multiples, rounded up."""
    multiple = sizes[0] / _FIRST_MULTIPLE * (1 + _LAST_DIGIT)
    return [mp.ceil(size / multiple) for size in sizes]


def buffered_column(decays: list[Real], weights: list[Real], sizes: list[Real]) -> Real:
    """For c_0 = 1, c_k = sum_i omega_i theta_i^k: sums of products of two exponentials, from the last step back."""
    pairs = [(v * w, x * y) for v, x in zip(weights, decays, strict=True) for w, y in zip(weights, decays, strict=True)]
    later, worst = [mp.mpf(0) for _ in pairs], mp.mpf(0)
    for size in reversed(sizes):
        inverse = 1 / size**2
        squares = inverse + mp.fsum(weight * value for (weight, _), value in zip(pairs, later, strict=True))
        worst = max(worst, squares / inverse)
        later = [ratio * (value + inverse) for (_, ratio), value in zip(pairs, later, strict=True)]
    return mp.sqrt(worst)


def tree_column(base: int, sizes: list[Real], order: int) -> Real:
    """For a tree whose node t covers (t - b^v, t], b^v the largest power of b that divides t: l1 or l2."""
    worst = mp.mpf(0)
    for leaf, own in enumerate(sizes, start=1):
        node, total = leaf, mp.mpf(0)
        while node <= len(sizes):
            total += (own / sizes[node - 1]) ** order
            reach = base
            while node % reach == 0:
                reach *= base
            node += reach - node % reach
        worst = max(worst, total)
    return worst if order == 1 else mp.sqrt(worst)

"""How many switches a coupled chain makes, with high probability, and what a hard limit on them costs (Lemma 5).

A coin is clipped inside the algorithm, so it redraws with probability at most q_t whatever happened before and whatever
the data are. The redraws are then at most a sum of independent coins in law, and by Hoeffding (1956, Theorem 4) no
sum of independent coins with mean m is more often above a whole number c >= m than the binomial law of that mean.

A chain with a limit c tosses no coin after its c-th redraw and holds what it has. Its transcript is that of the chain
without a limit, cut off at a time that the transcript itself shows: post-processing, against adaptive adversaries too
(one who sees the cut transcript sees a function of the whole one). So the limit costs no privacy. Both chains play the
same until the first redraw that is refused, and from there on a round costs at most G D more.
"""

from __future__ import annotations

from math import ceil

from scipy.special import bdtrc

from tacit.validation import check_integer, check_number


def most_switches(tosses: int, mean: float, confidence: float) -> int:
    """The least whole number, at least the mean, that redraws exceed with probability at most 1 - confidence."""
    check_number("most_switches", "confidence", confidence, above=0.0, below=1.0)
    low, high = min(tosses, ceil(mean)), tosses
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if overrun(tosses, mean, middle) <= 1 - confidence else (middle + 1, high)
    return low


def overrun(tosses: int, mean: float, limit: int) -> float:
    """A bound on the probability with which redraws of this mean exceed the limit."""
    check_integer("overrun", "limit", limit, at_least=0)
    if limit >= tosses:
        return 0.0
    return float(bdtrc(limit, tosses, mean / tosses)) if mean <= limit else 1.0

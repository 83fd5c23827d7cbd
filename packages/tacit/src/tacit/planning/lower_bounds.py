"""Floors: the regret that no learner escapes, whatever it does. Each is a theorem with its constants, rounded down.

**Privacy, experts.** World j: loss 0 for expert j, 1 for the others, in every round. After t-1 rounds any two worlds
differ in t-1 rounds, which k = ceil((t-1)/m) people fill, so group privacy gives
P_j[A_t = j] <= e^{k epsilon} P_i[A_t = j] + delta (e^{k epsilon} - 1)/(e^epsilon - 1). Sum over j: on average over the
worlds the learner is right with probability at most e^{k epsilon}/N + delta (...), and loses 1 otherwise. Under
zero-out two worlds are two steps apart for each person. With S switches there are S+1 phases of independent worlds.

**Statistics, experts.** Fair coins: every learner loses 1/2 a round, and the best of N experts has the smallest of N
binomials; S+1 times that for S switches.

**Statistics, convex.** Losses +-G<v, x> by fair coins, v along a diameter D of the set: the learner loses nothing on
average, the better end gains G (D/2) E|sum of T signs|. Only where every linear loss is admissible.

**Arms.** min(sqrt(K T), T)/20 without privacy. Under pure epsilon, replace and one round per person, R with
R = (1/4) (T - n) e^{-epsilon n}, n = 4R/(K-1): arm 1 always costs 1/2 and the others 1; some arm is played at
most n times with probability 1/2; if it cost 0 instead, such a transcript differs in n replies at most, keeps
e^{-epsilon n} of its probability, and loses 1/2 in T - n rounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log, sqrt

import numpy as np
from scipy.special import bdtr

from tacit.accounting.guarantee import REPLACE
from tacit.accounting.rounding import rounded_down
from tacit.domains import Ball, Box, Simplex
from tacit.losses.loss import ConvexFamily
from tacit.problems import Arms, Convex, Experts, Problem
from tacit.runtime.target import Target
from tacit.validation import FloatArray

# Sums of so many terms at most: what is left out only lowers a floor.
MOST_TERMS = 10**6
MOST_CELLS = 10**4
# Rounding of the sums, special functions included.
ROUND_DOWN = 1 - 1e-9


@dataclass(frozen=True)
class LowerBound:
    """A proved lower bound on the worst expected regret of any learner.

    Attributes:
        value: the number, in units of loss; `float(floor)` gives it too.
        reason: "privacy" or "chance": what no learner can overcome.
        assumptions: what it is proved for.
    """

    value: float
    reason: str
    assumptions: str

    def __float__(self) -> float:
        return self.value

    def __format__(self, form: str) -> str:
        return format(self.value, form) if form else str(self)

    def __str__(self) -> str:
        return f"{rounded_down(self.value)} by {self.reason}: on some losses no learner has less ({self.assumptions})"


@np.errstate(under="ignore")
def floor(problem: Problem, target: Target) -> LowerBound | None:
    """The largest floor that is known for a problem at a target; None where none is proved."""
    known = [found for found in _floors(problem, target) if found.value > 0]
    return max(known, key=float, default=None)


def privacy_floor(experts: int, rounds: int, target: Target) -> float:
    """Sum over rounds of max(0, 1 - e^{k epsilon}/N - delta (e^{k epsilon} - 1)/(e^epsilon - 1))."""
    steps = 1 if target.relation is REPLACE else 2
    terms = min(MOST_TERMS, -(-(rounds - 1) // target.rounds_per_person) + 1)
    if terms * steps * target.epsilon > log(experts):  # where e^{k epsilon} exceeds N nothing is lost
        terms = min(terms, int(log(experts) / (steps * target.epsilon)) + 2)
    people = np.arange(terms, dtype=np.float64)
    far = np.minimum(people * steps * target.epsilon, 700.0)
    lost = 1 - np.exp(far) / experts - target.delta * np.expm1(far) / np.expm1(min(target.epsilon, 700.0))
    # The first round has seen nobody, a further person stands in up to m of the rounds after that.
    seen = np.clip(rounds - 1 - (people - 1) * target.rounds_per_person, 0, target.rounds_per_person)
    seen[0] = 1
    return float(np.sum(np.maximum(lost, 0.0) * seen)) * ROUND_DOWN


def chance_floor(experts: int, rounds: int) -> float:
    """E[largest of N binomials of n fair coins] - n/2, by P[largest > k] = 1 - F(k)^N."""
    # Both terms are taken at the upper end of cells, where one is smallest and the other largest. Beyond twelve
    # deviations there is less than e^-72 a step.
    middle = rounds // 2
    reach = min(rounds - middle, int(6 * sqrt(rounds)) + 2)
    cell = -(-reach // MOST_CELLS)
    ends = cell * np.arange(1.0, -(-reach // cell) + 1)
    gained = float(np.sum(-np.expm1(experts * _log_share(middle - 1 + ends, rounds))))
    lost = float(np.sum(np.exp(experts * _log_share(middle + cell - 1 - ends, rounds))))
    return max(0.0, (middle - rounds / 2 + cell * (gained - lost)) * ROUND_DOWN)


def signs_floor(rounds: int) -> float:
    """E|sum of T fair signs| = T C(T-1, floor((T-1)/2)) / 2^{T-1}."""
    n, k = rounds - 1, (rounds - 1) // 2
    return rounds * exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2)) * (1 - 1e-12 * (n + 10))


def arms_floor(arms: int, rounds: int, target: Target) -> float:
    """The larger of the two floors of arms, in units of the loss range."""
    plain = min(sqrt(arms * rounds), rounds) / 20
    if target.relation is not REPLACE or target.rounds_per_person > 1:
        return plain

    def forced(regret: float) -> bool:
        """Whether so little regret is impossible."""
        replies = 4 * regret / (arms - 1)
        return regret < max(0.0, rounds - replies) / 4 * exp(-target.epsilon * replies)

    low, high = 0.0, float(rounds)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if forced(middle) else (low, middle)
    return max(plain, low)


def _floors(problem: Problem, target: Target) -> list[LowerBound]:
    if problem.horizon is None:
        return []
    if isinstance(problem, Experts) and problem.n > 1:
        phases = problem.switches + 1
        rounds = problem.horizon // phases
        scale = problem.width * phases
        return [
            LowerBound(scale * privacy_floor(problem.n, rounds, target), "privacy", "any learner with this contract"),
            LowerBound(scale * chance_floor(problem.n, rounds), "chance", "any learner, private or not"),
        ]
    if isinstance(problem, Arms) and problem.n > 1:
        value = problem.width * arms_floor(problem.n, problem.horizon, target)
        return [LowerBound(value, "privacy and chance", "any learner with pure epsilon and this contract")]
    if isinstance(problem, Convex) and _any_slope(problem):
        value = problem.lipschitz * problem.domain.diameter / 2 * signs_floor(problem.horizon)
        return [LowerBound(value, "chance", "any learner, private or not")]
    return []


def _any_slope(problem: Convex) -> bool:
    """Whether all linear losses of the largest slope are admissible, on a set whose diameter is known exactly."""
    linear = problem.loss.family == "linear" or isinstance(problem.loss, ConvexFamily)
    return linear and problem.strong_convexity == 0 and isinstance(problem.domain, Ball | Box | Simplex)


def _log_share(counts: FloatArray, rounds: int) -> FloatArray:
    """Ln of the probability of at most so many heads among `rounds` fair coins."""
    inside = np.clip(counts, 0, rounds)
    with np.errstate(divide="ignore"):
        return np.where(counts < 0, -np.inf, np.log(bdtr(inside, rounds, 0.5)))

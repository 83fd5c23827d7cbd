"""Draw the README's picture: algorithms of five papers on one stream, light and dark, to docs/images.

`python -m scripts.docs.five_papers`. Four options for 100,000 rounds, one of them better by .3, without a shift, at
epsilon = 1 and delta = 1e-6. On the left regret of one run each, on the right excess risk of a model. The legend
says what each algorithm sees of a round.
"""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np

import tacit
from tacit.algorithms import CTRL, L2P, BanditFW, HedgeOnSums, LimitedUpdates
from tacit.algorithms.bandit import Rounds
from tacit.domains import Simplex
from tacit.environments import BernoulliGap
from tacit.losses import LinearLoss
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray

OPTIONS = 4
ROUNDS = 100_000
GAP = 0.3
SEED = 1
TARGET = {"epsilon": 1.0, "delta": 1e-6}


def losses_of_stream() -> FloatArray:
    """Return the losses of every option in every round."""
    generator = Randomness.replayable(SEED).stream("losses")
    return BernoulliGap(OPTIONS, ROUNDS, gap=GAP).losses(generator)


def source() -> Randomness:
    """Return the randomness of one learner."""
    return Randomness.replayable(SEED)


def cost_of_options(losses: FloatArray, actions: Any) -> FloatArray:
    """Return what the options that were played cost in each round."""
    return losses[np.arange(ROUNDS), actions]


def hedge(losses: FloatArray) -> FloatArray:
    """Return the costs of HedgeOnSums (paper ctrl, Theorem 15)."""
    plan = HedgeOnSums.calibrate(tacit.Experts(n=OPTIONS, horizon=ROUNDS), **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def lazy_to_private(losses: FloatArray) -> FloatArray:
    """Return the costs of L2P."""
    plan = L2P.calibrate(tacit.Experts(n=OPTIONS, horizon=ROUNDS), **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def limited_updates(losses: FloatArray) -> FloatArray:
    """Return the costs of LimitedUpdates (tracking, Algorithm 1), which counts on independent losses."""
    problem = tacit.Tracking(n=OPTIONS, horizon=ROUNDS, switches=0, adversary="stochastic")
    plan = LimitedUpdates.calibrate(problem, **TARGET)
    return cost_of_options(losses, plan.run(losses, source()))


def points(losses: FloatArray) -> FloatArray:
    """Return the costs of CTRL on the simplex; a constant in a gradient moves no decision there."""
    centred = losses - losses.mean(axis=1, keepdims=True)
    problem = tacit.Convex(domain=Simplex(OPTIONS), loss=LinearLoss(lipschitz=1.0), horizon=ROUNDS)
    chosen = CTRL.calibrate(problem, **TARGET).run(centred, source())
    return np.einsum("ij,ij->i", losses, chosen)


def bandit(losses: FloatArray) -> FloatArray:
    """Return the costs of BanditFW on the simplex, which sees one number a round."""
    problem = tacit.Bandit(domain=Simplex(OPTIONS), lipschitz=1.0, value_range=(0.0, 1.0), horizon=ROUNDS)
    costs = np.empty(ROUNDS)

    def values(chosen: FloatArray, first: int) -> FloatArray:
        shown = np.einsum("ij,ij->i", losses[first : first + len(chosen)], chosen)
        costs[first : first + len(chosen)] = shown
        return shown

    BanditFW.calibrate(problem, **TARGET).run(Rounds(values, ROUNDS, 0), source())
    return costs


LINES = (
    ("LimitedUpdates, paper 4: losses of all, counts on chance", limited_updates),
    ("HedgeOnSums, paper 1: losses of all", hedge),
    ("L2P, paper 2: losses of all, rarely switches", lazy_to_private),
    ("CTRL, paper 1: gradients, rarely switches", points),
    ("BanditFW, paper 3: one number a round", bandit),
)

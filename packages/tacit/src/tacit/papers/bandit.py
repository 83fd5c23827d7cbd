"""Projection-Free Bandit Optimization with Privacy Guarantees (2021): bandits on sets with a linear oracle."""

from __future__ import annotations

from functools import partial

from tacit.algorithms.bandit.printed_tree import PrintedTree
from tacit.domains import Ball
from tacit.environments import MovingTarget
from tacit.losses import QuadraticLoss
from tacit.papers.bandit_worlds import (
    RADIUS,
    NoisyLeader,
    OneLinearLoss,
    SquaredArms,
    SquaredGradients,
    SquaredTarget,
    UniformInBall,
    interval,
    net,
    net_dimension,
)
from tacit.papers.paper import Entry, Erratum, Paper, Result, Stream
from tacit.papers.run import run_paper
from tacit.problems import Arms, Bandit, Convex

MARGIN = 0.1
"""How far beyond the ball distances are shown on the stream of the main text; the printed zeta is .0795 at n = 2."""
LINEAR_ROUNDS = 1000
"""Rounds of the linear loss: every run is the same, and shows a factor."""


def shorter(horizon: int) -> int:
    """Return the rounds of the squared distance: a fifth, because learners that see gradients take longest."""
    return max(1, horizon // 5)


def moving(horizon: int, dimension: int, margin: float = 0.0) -> MovingTarget:
    """Return the distance to a target that jumps about, in a ball of diameter 1."""
    return MovingTarget(Ball(dimension, RADIUS), horizon, margin=margin)


BALL = Stream(
    "ball",
    lambda horizon, dimension: moving(horizon, dimension).problem,
    lambda problem, horizon: moving(horizon, problem.domain.dimension),
)
BEYOND = Stream(
    "ball and beyond",
    lambda horizon, dimension: moving(horizon, dimension, MARGIN).problem,
    lambda problem, horizon: moving(horizon, problem.domain.dimension, MARGIN),
)
UNKNOWN = Stream(
    "ball, T unknown",
    lambda horizon, dimension: Bandit(domain=Ball(dimension, RADIUS), horizon=None),
    lambda problem, horizon: moving(horizon, problem.domain.dimension),
)
VALUES = Stream(
    "squared, T/5: values",
    lambda horizon, dimension: SquaredTarget(dimension, shorter(horizon)).problem,
    lambda problem, horizon: SquaredTarget(problem.domain.dimension, shorter(horizon)),
)
GRADIENTS = Stream(
    "squared, T/5: gradients",
    lambda horizon, dimension: Convex(
        domain=Ball(dimension, RADIUS), loss=QuadraticLoss(data_norm=RADIUS), horizon=shorter(horizon)
    ),
    lambda problem, horizon: SquaredGradients(problem.domain.dimension, shorter(horizon)),
)
NET = Stream(
    "squared, T/5: net",
    lambda horizon, dimension: Arms(n=len(net(dimension)), horizon=shorter(horizon), loss_range=(0.0, 0.5)),
    lambda problem, horizon: SquaredArms(problem.n, shorter(horizon), net_dimension(problem.n)),
)
SHORT = Stream(
    "-x, T=1000, D_w=1",
    lambda horizon, dimension: interval(1.0, LINEAR_ROUNDS),
    lambda problem, horizon: OneLinearLoss(LINEAR_ROUNDS),
)
LONG = Stream(
    "-x, T=1000, D_w=1e4",
    lambda horizon, dimension: interval(1e4, LINEAR_ROUNDS),
    lambda problem, horizon: OneLinearLoss(LINEAR_ROUNDS),
)

PURE = {"delta": 0.0}
PLUS = {"line_14": "plus"}
MENDED = "line 14 with a plus"
TREE_READINGS = {
    "natural logarithms": "log T is ln T",
    "logarithms of base 2": "log T is log_2 T, the number of levels",
}
RATE_READINGS = {
    "line 1": "eta = D_w^(1/2)/(kappa T^(1/2))",
    "appendix B": "eta = 2 D_w/(kappa T^(1/2)), step (4) of the proof",
}

PAPER = Paper(
    name="bandit",
    title="Projection-Free Bandit Optimization with Privacy Guarantees",
    authors="Alina Ene, Huy L. Nguyen and Adrian Vladu",
    year=2021,
    venue="AAAI 2021",
    link="https://arxiv.org/abs/2012.12138",
    version="the preprint arXiv 2012.12138 with Appendices A to D; the text carries no version number",
    says=(
        "A learner plays a point of a convex set in each round and sees one number, the loss there.\n"
        "The set is reached through a linear oracle only: nothing is ever projected onto it.\n"
        "A value times a random direction estimates the gradient of a smoothed loss (Flaxman et al.).\n"
        "The estimates of T^(1/2) rounds make a batch, and a tree releases noisy sums of batches.\n"
        "Frank-Wolfe finds the regularised leader of a noisy sum, one oracle call a round, beside the next batch.\n"
        "Laplace noise gives (epsilon, 0)-privacy with regret of order T^(3/4) n^(3/2)/epsilon.\n"
        "Gaussian noise gives (epsilon, delta)-privacy with order (T^(3/4) n^(1/2) + T^(1/2) n)/epsilon.\n"
        "Logarithms of T, n and 1/delta are left out in both. The second rate is that of learners that project.\n"
        "NoisyOCO, mirror descent with noisy gradients, noisy sums and a rough map, is the frame of the analysis.\n"
        "Losses that are defined on the set only, and unknown horizons, are reduced to the main case."
    ),
    results=(
        Result(
            "Theorem 1.1",
            "private bandits without projections",
            "rate",
            "R_T = O~(T^(3/4) n^(3/2)/epsilon) with (epsilon, 0)-privacy, and "
            "R_T = O~((T^(3/4) n^(1/2) + T^(1/2) n) log^O(1)(1/delta)/epsilon) with (epsilon, delta)-privacy",
            plan="BanditFW",
            errata=("line_14", "values", "doubling"),
        ),
        Result(
            "Lemma 2.2",
            "smoothing",
            "rate",
            "|f - f^| <= zeta L; f^ is convex and L-Lipschitz; grad f^(x) = (n/zeta) E[f(x + zeta u) u]",
        ),
        Result(
            "Theorem 2.3",
            "TreeBasedAgg is private",
            "privacy",
            "all sums are (epsilon, 0)-private with Lap(Y_1 log T/epsilon) noise, and (epsilon, delta)-private with "
            "deviation (Y_2/epsilon) log T log(log T/delta)",
            plan=PrintedTree,
            choose={"norm": 1.0, "length": 1024, "delta": 0.0},
            readings=TREE_READINGS,
            errata=("theorem_2_3",),
        ),
        Result(
            "Algorithm 1",
            "PrivateBandit",
            "algorithm",
            "T_round = T^(1/2), T_batch = T/T_round, eta = D/(T^(3/4) n^(1/2) L), zeta = D n^(1/2)/T^(1/4); line 14: "
            "min |x|^2/2 - <eta s_(R-1), x> to precision D/T_batch^(1/2)",
            plan="BanditFW",
            errata=("line_14", "values"),
        ),
        Result(
            "Lemma 3.1",
            "regret for any noise",
            "regret",
            "R_T = O(T^(3/4) n^(1/2) L D + T^(1/4) D mu log T), mu the mean norm of a noise",
            plan="BanditFW",
            errata=("line_14",),
        ),
        Result(
            "Algorithm 2",
            "NoisyOCO",
            "algorithm",
            "eta = D_w^(1/2)/(kappa T^(1/2)); x_t = NoisyMap(-eta s_(t-1)); s_t = s_t + g_t",
            plan="NoisyOCO",
            choose={"reading": "line 1"},
            readings=RATE_READINGS,
            errata=("algorithm_2_rate",),
        ),
        Result(
            "Lemma 4.1",
            "regret of NoisyOCO",
            "regret",
            "R_T = O(T^(1/2) kappa D_w + T kappa gamma)",
            plan="NoisyOCO",
            choose={"reading": "appendix B"},
            readings=RATE_READINGS,
            errata=("algorithm_2_rate",),
        ),
        Result(
            "Lemma 5.1",
            "privacy with Laplace noise",
            "privacy",
            "Lap(0, T^(1/2) n L log T/epsilon) on each coordinate gives (epsilon, 0)-privacy",
            plan="BanditFW",
            errata=("lemma_5_1", "theorem_2_3", "values"),
        ),
        Result(
            "Lemma 5.2",
            "regret with Laplace noise",
            "regret",
            "R_T = O(T^(3/4) n^(1/2) L D + T^(3/4) n^(3/2) L D log^2 T/epsilon)",
            plan="BanditFW",
            errata=("line_14",),
        ),
        Result(
            "Lemma 5.3",
            "norm of a random combination",
            "privacy",
            "|sum_i u_i c_i| <= 10 Delta (log((n+k)/delta) + ((1 + k/n) log((n+k)/delta))^(1/2)) for all |c| <= Delta, "
            "with probability 1 - delta",
            errata=("lemma_5_4",),
        ),
        Result(
            "Lemma 5.4",
            "privacy with Gaussian noise",
            "privacy",
            "sigma = T^(1/4) n^(1/2) L log T log(T/delta)/epsilon "
            "(log((n+T)/delta) + ((1 + T^(1/2)/n) log((n+T)/delta))^(1/2)) gives (epsilon, delta)-privacy",
            plan="BanditFW",
            errata=("lemma_5_4", "values"),
        ),
        Result(
            "Lemma 5.5",
            "regret with Gaussian noise",
            "regret",
            "for delta = 1/(n+T)^O(1): R_T = O(T^(3/4) n^(1/2) L D "
            "+ T^(1/2) n L D log^2 T log(T/delta) log((n+T)/delta)/epsilon "
            "+ T^(3/4) n^(1/2) L D log^2 T log(T/delta) log((n+T)/delta)^(1/2)/epsilon)",
            plan="BanditFW",
            errata=("line_14",),
        ),
        Result(
            "Algorithm 3",
            "TreeBasedAgg, initialisation",
            "algorithm",
            "a binary tree with T leaves, noise in every node; outputs the sum of ceil(log T) noises",
            plan=PrintedTree,
            choose={"norm": 1.0, "length": 1024},
        ),
        Result(
            "Algorithm 4",
            "TreeBasedAgg, a step",
            "algorithm",
            "adds ceil(log T) - count fresh noises to the sum of `count` nodes",
            plan=PrintedTree,
            choose={"norm": 1.0, "length": 1024},
        ),
        Result(
            "Algorithm 5",
            "PrivateSum",
            "algorithm",
            "adds the vector to all ancestors of its leaf; returns the nodes that make the sum",
            plan=PrintedTree,
            choose={"norm": 1.0, "length": 1024},
            errata=("theorem_2_3",),
        ),
        Result(
            "Lemma C.1",
            "a batch's gradient has the right mean",
            "regret",
            "E g_R = grad f~_R(x_t)",
        ),
        Result(
            "Lemma C.2",
            "a batch's mean square",
            "regret",
            "E|g_R|^2 <= T_batch (L D n/zeta)^2 + T_batch^2 L^2",
        ),
        Result(
            "Lemma C.3",
            "noise and delay",
            "regret",
            "|x^_R - grad w*(-eta s_(R-2))| <= eta (ceil(log T) mu + kappa)",
        ),
        Result(
            "Lemma C.4",
            "accuracy of conditional gradient",
            "rate",
            "|x - x*| <= 20^(1/2) D/k^(1/2) after k iterations",
        ),
        Result(
            "Corollary C.5",
            "error of the map",
            "regret",
            "E|x^_R - x~_R| <= eta (ceil(log T) mu + kappa) + 20^(1/2) D/T_batch^(1/2)",
        ),
        Result(
            "Appendix D",
            "losses that are defined on the set only",
            "regret",
            "f'(x) = f((1 - zeta/r) x) adds T zeta L D/r <= T^(3/4) n^(1/2) L D^2/r",
            plan="BanditFW",
        ),
    ),
    errata=(
        Erratum(
            "theorem_2_3",
            "Theorem 2.3, replacement",
            1,
            "false",
            "A vector of norm at most Y moves by up to 2 Y: the Laplace scale gives 2 epsilon and more.",
        ),
        Erratum(
            "values",
            "Section 2, bounded values",
            1,
            "proof has a gap",
            "|f| <= L D is promised of private data, and is false where f is asked: at distance zeta outside the set.",
        ),
        Erratum(
            "line_14",
            "Algorithm 1, line 14, the sign",
            2,
            "false",
            "The leader minimises |x|^2/2 - <eta s, x> and runs uphill; the plus is right.",
        ),
        Erratum(
            "algorithm_2_rate",
            "Algorithm 2, the rate",
            2,
            "false",
            "eta = D_w^(1/2)/(kappa T^(1/2)) walks D_w^(1/2) times too slowly; D_w/(kappa T^(1/2)) is right.",
        ),
        Erratum(
            "lemma_5_1",
            "Lemma 5.1, the norm of a batch",
            3,
            "right, improved",
            "T^(1/2) n^(1/2) M is T^(3/4) n L, not T^(1/2) n L; the lemma holds all the same: one round moves less.",
        ),
        Erratum(
            "lemma_5_4",
            "Lemma 5.4, an l2 norm",
            3,
            "right, improved",
            "Lemma 5.3 wants the norm of all coefficients, up to T^(1/4) M; a bound on each of them was inserted.",
        ),
        Erratum(
            "doubling",
            "Section 2, the doubling trick",
            3,
            "loose",
            "Epochs use disjoint rounds: an unknown horizon costs no privacy, where a factor O(log T) is charged.",
        ),
    ),
    streams=(BALL, BEYOND, UNKNOWN, VALUES, GRADIENTS, NET, SHORT, LONG),
    entries=(
        Entry("still", UniformInBall, "ball", note="uniform", private=False),
        Entry("printed", "BanditFW", "ball", "Lemma 5.2", choose=PURE),
        Entry("repaired", "BanditFW", "ball", "Lemma 5.2", choose=PURE | PLUS, note=MENDED),
        Entry("calibrated", "BanditFW", "ball", choose=PURE, note="delta=0"),
        Entry("printed", "BanditFW", "ball", "Lemma 5.5"),
        Entry("repaired", "BanditFW", "ball", "Lemma 5.5", choose=PLUS, note=MENDED),
        Entry("calibrated", "BanditFW", "ball", note="leaders shrunk as in Appendix D"),
        Entry("printed", "BanditFW", "ball and beyond", "Theorem 1.1"),
        Entry("repaired", "BanditFW", "ball and beyond", "Theorem 1.1", choose=PLUS, note=MENDED),
        Entry("calibrated", "BanditFW", "ball and beyond", note=f"points up to {MARGIN:g} outside"),
        Entry("calibrated", "BanditFW", "ball, T unknown", note="restarts at doubling lengths cost no privacy"),
        Entry("repaired", "BanditFW", "squared, T/5: values", "Lemma 5.5", choose=PLUS, note=MENDED),
        Entry("calibrated", "BanditFW", "squared, T/5: values"),
        Entry("rival", "PrivateFTRL", "squared, T/5: gradients", note="sees the target"),
        Entry("rival", "PhasedArms", "squared, T/5: net", note="regret to the best point of the net"),
        Entry("rival", "BatchedTsallis", "squared, T/5: net", note="regret to the best point of the net"),
        Entry("printed", NoisyLeader, "-x, T=1000, D_w=1", "Algorithm 2", private=False),
        Entry("printed", NoisyLeader, "-x, T=1000, D_w=1e4", "Algorithm 2", private=False),
        Entry(
            "repaired", NoisyLeader, "-x, T=1000, D_w=1e4", "Algorithm 2", choose={"reading": "appendix B"},
            note="the rate of Appendix B", private=False,
        ),
    ),
    horizon=100_000,
    dimension=2,
)  # fmt: skip
run = partial(run_paper, PAPER)

"""Differentially Private Online-to-Batch for Smooth Losses (2022): any online learner makes one private pass."""

from __future__ import annotations

from functools import partial
from typing import Any

from tacit.domains import Ball
from tacit.environments import LogisticRecords
from tacit.losses import LogisticLoss, RegularisedLoss
from tacit.papers.paper import Entry, Erratum, Paper, Result, Stream
from tacit.papers.run import run_paper
from tacit.problems import Stochastic

RIDGE = 0.1
"""The regulariser of the strongly convex stream."""

LOGISTIC = Stream(
    "logistic, excess risk",
    lambda horizon, dimension: Stochastic(domain=Ball(dimension, radius=2.0), loss=LogisticLoss(), horizon=horizon),
    lambda problem, horizon: LogisticRecords(problem.domain.dimension, horizon, norm=8.0, reach=2.0),
)
"""A steep model outside of the ball, whose best model of the ball lies on its boundary."""

RIDGED = Stream(
    f"logistic with ridge {RIDGE:g}, excess risk",
    lambda horizon, dimension: Stochastic(
        domain=Ball(dimension, radius=2.0), loss=RegularisedLoss(LogisticLoss(), RIDGE), horizon=horizon
    ),
    lambda problem, horizon: LogisticRecords(problem.domain.dimension, horizon, norm=8.0, reach=2.0, ridge=RIDGE),
)
"""The same records and a strongly convex loss."""

INSIDE = Stream(
    "logistic, best model inside the ball, excess risk",
    lambda horizon, dimension: Stochastic(domain=Ball(dimension, radius=4.0), loss=LogisticLoss(), horizon=horizon),
    lambda problem, horizon: LogisticRecords(problem.domain.dimension, horizon, norm=3.0),
)
"""Where models that may leave the ball have nothing to gain by it."""

SAYS = """\
A data set of T independent records is read once, in linear time, around any online learner, which proposes w_t.
The model x_t is the average of w_1, ..., w_t with weights beta_t = t^k, so that it moves by O(1/t) of its size only.
Its gradient is the running sum of beta_t grad l(x_t, z_t) - beta_(t-1) grad l(x_(t-1), z_t), small for smooth losses.
A tree of Gaussian noise hides these sums (Algorithm 1, equation (6)); all iterates are private on any data (Theorem 3).
If regret is O(sqrt(T)), the last one has the optimal excess risk O~(1/sqrt(T) + sqrt(d)/(epsilon T)) (Theorem 4).
Optimistic learners have the deviation of gradients in place of their bound in the first term (Theorem 6).
Strongly convex losses have 1/T + d/(epsilon T)^2, with half of their curvature added to the losses (Theorem 8).
Parameter-free learners depend on the distance of the best model from the start, with high probability (Theorem 11).
Noise of density exp(-|x|) in place of the Gaussian gives pure privacy (Theorem 19).
All of it holds in norms whose squares are strongly convex; there are no experiments.
"""

RESULTS = (
    Result(
        "Theorem 1", "anytime online-to-batch (Cutkosky 2019)", "regret",
        "beta_(1:T) (L(x_T) - L(u)) <= Regret_T(u) + sum <beta_t grad L(x_t) - g_t, w_t - u>",
    ),
    Result(
        "Algorithm 1", "private online-to-batch", "algorithm",
        "g_t = g_(t-1) + beta_t grad l(x_t, z_t) - beta_(t-1) grad l(x_(t-1), z_t); the learner sees g_t + NOISE(t)",
        "OnlineToBatch", {"k": 1}, errata=("redrawn_noise", "equation_6"),
    ),
    Result(
        "Theorem 3", "privacy of all iterates", "privacy",
        "(alpha, alpha rho^2/2)-RDP with sigma_t^2 = 4(k+1)^2/rho^2 (G + H max |w_i - x_(i-1)|)^2 log2(2T) t^(2k-2)",
        "OnlineToBatch", {"k": 1}, errata=("theorem_3", "conversion", "equation_6"),
    ),
    Result(
        "Theorem 4", "excess risk", "rate",
        "(k+1) E Regret/T^(k+1) + 2 (k+1)^2 D/sqrt(lambda) ((sigma_G + D sigma_H)/sqrt(T) "
        "+ sqrt(2V) (G + D H) log2(2T)/(rho T))",
        "OnlineToBatch", {"k": 1}, errata=("conversion", "equation_6"),
    ),
    Result(
        "Theorem 6", "optimistic learners", "regret",
        "E Regret/beta_(1:T) <= O(D (G + D H) (1 + sqrt(V) log T/(sqrt(lambda) rho)) T^(-3/2))",
        "OnlineToBatch",
    ),
    Result(
        "Lemma 7", "strongly convex losses", "regret",
        "beta_(1:T) (L(x_T) - L(x*)) <= Regret + sum 2 |beta_t grad L(x_t) - g_t - gamma_t|^2/(beta_t mu), "
        "on losses with (beta_t mu/4) |w - x_t|^2 added",
        "OnlineToBatch",
    ),
    Result(
        "Theorem 8", "excess risk of strongly convex losses", "rate",
        "(k+1) E Regret/T^(k+1) + 16 (k+1)^3/(lambda mu) ((sigma_G + D sigma_H)^2/T "
        "+ 2V (G + D H)^2 log2(2T)^2/(rho^2 T^2))",
        "OnlineToBatch", {"k": 2}, errata=("theorem_8",),
    ),
    Result(
        "Theorem 10", "parameter-free learners, with high probability", "rate",
        "4/T^4 (Regret + sum xi_t (|w_t| + |x*|) + nu_t (|w_t|^2 + |x*|^2)) with probability 1 - delta",
        "OnlineToBatch", {"constant": 1.0}, errata=("theorem_10",),
    ),
    Result(
        "Theorem 11", "the same on regularised losses", "rate",
        "4 Regret/T^4 + 8 A |x*| (G + 28 |x*| H) Phi/sqrt(T) + 8 A' |x*| (G + D H) Phi log2(2T)/(rho T)",
        "OnlineToBatch", {"constant": 1.0}, errata=("theorem_10",),
    ),
    Result(
        "Lemma 13", "martingales in strongly convex norms", "regret",
        "E |sum X_t|^2 <= (2/lambda) sum E |X_t|^2",
    ),
    Result(
        "Proposition 14", "weights", "regret",
        "beta_t - beta_(t-1) <= k t^(k-1); beta_t^2/beta_(1:t) <= (k+1) t^(k-1)",
    ),
    Result(
        "Lemma 15", "gradient differences", "regret",
        "|delta_t| <= (k+1) (G + H |w_t - x_(t-1)|) t^(k-1); "
        "E |beta_t grad L(x_t) - g_t|^2 <= 4 (k+1)^2 (sigma_G^2 + D^2 sigma_H^2) t^(2k-1)/lambda",
        errata=("equation_6",),
    ),
    Result(
        "Lemma 16", "noise of a sum", "regret",
        "E |gamma_t|^2 <= 2 max sigma_i^2 log2(2t)/lambda",
    ),
    Result(
        "Algorithm 2", "composition of mechanisms whose noise follows earlier releases", "algorithm",
        "f_t = F_t(Z, f_(1:t-1)) + sigma_t zeta_t, sigma_t^2 >= Delta_t(f_(1:t-1))^2/rho_t^2",
    ),
    Result(
        "Theorem 17", "its privacy", "privacy",
        "(alpha, max_q sum over t in IN(q) of alpha rho_t^2/2)-RDP",
    ),
    Result(
        "Lemma 18", "Gaussian noise", "privacy",
        "D_alpha(N(mu, sigma^2 I) || N(mu', sigma^2 I)) = alpha |mu - mu'|^2/(2 sigma^2)",
    ),
    Result(
        "Theorem 19", "pure privacy", "privacy",
        "noise of density A exp(-|x|) in place of the Gaussian, and sigma_t of equation (6) changed correspondingly",
        "OnlineToBatch", {"delta": 0.0},
        readings={
            "equation (6)": "epsilon in place of rho",
            "log2(2T) for its root": "epsilons of the nodes of a record add up",
        },
        errata=("pure_privacy",),
    ),
    Result(
        "Lemma 20", "Theorem 1 for strongly convex losses", "regret",
        "Theorem 1 less sum beta_t mu/2 |x_t - x*|^2",
    ),
    Result(
        "Proposition 21", "gradients of squared norms", "regret",
        "every subgradient of |w - u|^2 on a domain of diameter D has norm at most 2D",
    ),
    Result(
        "Lemma 22", "norm-sub-Gaussian vectors (Jin et al. 2019)", "regret",
        "bounded by sigma: nSG(C sigma); sigma-sub-Gaussian: nSG(C sqrt(d) sigma)",
        errata=("theorem_10",),
    ),
    Result(
        "Lemma 23", "their sums (Jin et al. 2019)", "regret",
        "|sum X_i| <= C sqrt(sum sigma_i^2 (log(2d/delta) + log log(B/b))) with probability 1 - delta",
        errata=("theorem_10",),
    ),
    Result(
        "Lemma 24", "errors of the conversion are norm-sub-Gaussian", "regret",
        "2C (k+1) (G + H |w_i - x_(i-1)|) t^(k-1) and C sqrt(d) sigma_D sigma_i",
        errata=("theorem_10",),
    ),
    Result(
        "Lemma 25", "change of summation", "regret",
        "sum_i a_i sum_(j<=i) b_j = sum_i b_i sum_(j>=i) a_j, and the same for three sequences",
    ),
)  # fmt: skip

ERRATA = (
    Erratum(
        "conversion", "Section 1.1, from Renyi to (epsilon, delta)", 1, "false",
        "the conversion holds for delta <= exp(-rho^2), and fails where it is stated",
    ),
    Erratum(
        "pure_privacy", "Appendix C.2", 1, "incomplete",
        "pure epsilons of the nodes of a record add up: the scale needs their number, not its root",
    ),
    Erratum(
        "theorem_3", "Theorem 3, assumptions on the loss", 1, "right, improved",
        "Lipschitz and smooth losses are promises about private records; clipping keeps privacy without them",
    ),
    Erratum(
        "theorem_8", "Theorem 8, k = 1", 2, "incomplete",
        "the sum of t^(k-2) is ln T at k = 1, not T^(k-1): the bound has one more logarithm",
    ),
    Erratum(
        "equation_6", "Equation (6), sensitivities and nodes", 3, "loose",
        "exact differences, exact nodes and a better running sum need 5 to 6 times less noise",
    ),
    Erratum(
        "theorem_10", "Theorem 10", 3, "loose",
        "the regularisers contain an unknown constant, and at 1 they swamp the gradients up to about T = 10^7",
    ),
    Erratum(
        "redrawn_noise", "Algorithm 1, NOISE", 3, "right, improved",
        "right as printed, and rank 1 in code that draws the noise of all nodes anew at each step",
    ),
)  # fmt: skip

EXACT: dict[str, Any] = {"mechanism": "tree", "batch": 1, "power": 1.0, "learner": "subgradient"}
"""Algorithm 1 at k = 1 with the paper's tree, and noise for the exact differences and nodes."""

ENTRIES = (
    Entry("printed", "OnlineToBatch", LOGISTIC.name, "Theorem 4", {"k": 1}, "k = 1, adaptive projected descent"),
    Entry("printed", "OnlineToBatch", LOGISTIC.name, "Theorem 4", {"k": 3}, "k = 3, the same learner"),
    Entry("printed", "OnlineToBatch", LOGISTIC.name, "Theorem 6", {}, "k = 1"),
    Entry(
        "printed", "OnlineToBatch", LOGISTIC.name, "Theorem 11", {"constant": 1.0},
        "C = 1, which is not printed; the regularisers swamp the gradients",
    ),
    Entry("printed", "OnlineToBatch", LOGISTIC.name, "Theorem 19", {"delta": 0.0}, "epsilon in place of rho"),
    Entry(
        "repaired", "OnlineToBatch", LOGISTIC.name, "Theorem 19",
        {"delta": 0.0, "reading": "log2(2T) for its root"}, "epsilons of the nodes add up",
    ),
    Entry(
        "repaired", "OnlineToBatch", LOGISTIC.name, "", EXACT,
        "Theorem 4 with the tree's noise at exact differences, nodes and conversion",
    ),
    Entry("calibrated", "OnlineToBatch", LOGISTIC.name),
    Entry("calibrated", "OnlineToBatch", LOGISTIC.name, "", {"confidence": 0.95}, "in place of Theorem 11: one run"),
    Entry("rival", "AveragedFTRL", LOGISTIC.name, note="the average of private FTRL, for losses with kinks too"),
    Entry("printed", "OnlineToBatch", RIDGED.name, "Theorem 8", {"k": 2}, "k = 2"),
    Entry("calibrated", "OnlineToBatch", RIDGED.name),
    Entry("rival", "AveragedFTRL", RIDGED.name),
    Entry("calibrated", "OnlineToBatch", INSIDE.name),
    Entry("rival", "AveragedFTRL", INSIDE.name),
    Entry("rival", "PrivateDescent", INSIDE.name, note="one model, after all records"),
    Entry("rival", "ObjectivePerturbation", INSIDE.name, note="one model, after all records"),
)  # fmt: skip

PAPER = Paper(
    name="online_to_batch",
    title="Differentially Private Online-to-Batch for Smooth Losses",
    authors="Qinzi Zhang, Hoang Tran and Ashok Cutkosky",
    year=2022,
    venue="NeurIPS 2022",
    link="https://arxiv.org/abs/2210.06593",
    version="the text with Appendices A to F, Theorems 1 to 19 and Lemmas up to 25; it has no experiments",
    says=SAYS,
    results=RESULTS,
    errata=ERRATA,
    streams=(LOGISTIC, RIDGED, INSIDE),
    entries=ENTRIES,
    horizon=5_000,
    dimension=10,
)
run = partial(run_paper, PAPER)

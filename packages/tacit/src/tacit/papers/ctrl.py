"""Differentially Private and Lazy Online Convex Optimization (2023): CTRL, its lazy relatives, and Lipschitz grids."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tacit.domains import Ball
from tacit.environments import BernoulliGap, DriftingQuadratic, LogisticStream, PricingCurve, TwoPrices
from tacit.losses import LogisticLoss, QuadraticLoss
from tacit.papers.paper import Entry, Erratum, Paper, Result, Stream
from tacit.papers.run import run_paper
from tacit.problems import Convex, Experts, Lipschitz

EXPERTS = 16
LONGEST_GRID = {1: 500, 2: 64}
"""Rounds of the streams of prices, by dimension, if more are asked for: the printed grid has about (2T)^d points."""
FALSE, GAP, LOOSE = "false", "proof has a gap", "loose"

LOGISTIC = Stream(
    "logistic",
    lambda horizon, dimension: Convex(domain=Ball(dimension), loss=LogisticLoss(), horizon=horizon),
    lambda problem, horizon: LogisticStream(problem.domain.dimension, horizon),
)
QUADRATIC = Stream(
    "quadratic",
    lambda horizon, dimension: Convex(domain=Ball(dimension), loss=QuadraticLoss(), horizon=horizon),
    lambda problem, horizon: DriftingQuadratic(problem.domain.dimension, horizon, turns=0.0),
)
LINE = Stream(
    "quadratic, d=1",
    lambda horizon, dimension: Convex(domain=Ball(1), loss=QuadraticLoss(), horizon=horizon),
    lambda problem, horizon: DriftingQuadratic(1, horizon, turns=0.0),
)
OPTIONS = Stream(
    f"{EXPERTS} experts",
    lambda horizon, dimension: Experts(n=EXPERTS, horizon=horizon),
    lambda problem, horizon: BernoulliGap(problem.n, horizon),
)
PRICES = Stream(
    "prices, d=1",
    lambda horizon, dimension: prices(min(horizon, LONGEST_GRID[1]), 1),
    lambda problem, horizon: PricingCurve(problem.horizon),
)
TWO_PRICES = Stream(
    "prices, d=2",
    lambda horizon, dimension: prices(min(horizon, LONGEST_GRID[2]), 2),
    lambda problem, horizon: TwoPrices(problem.horizon),
)


def prices(horizon: int, dimension: int) -> Lipschitz:
    """Return the problem of posting one price or two."""
    world = PricingCurve(horizon) if dimension == 1 else TwoPrices(horizon)
    return Lipschitz(horizon=horizon, dimension=dimension, lipschitz=world.lipschitz)


def tenth(problem: Any) -> int:
    """Return a budget of a switch every ten rounds."""
    return max(1, int(problem.horizon) // 10)


def half(problem: Any) -> int:
    """Return a budget of a switch every two rounds."""
    return max(1, int(problem.horizon) // 2)


def neighbours(problem: Experts) -> list[list[float]]:
    """Return the matrix of differences of neighbouring experts, an example of Lemma 16's M."""
    rows = np.eye(problem.n)[1:] - np.eye(problem.n)[:-1]
    return [[float(entry) for entry in row] for row in rows]


LEMMA_16 = {"matrix": neighbours, "norm": 0.25}

RESULTS = (
    Result(
        "Algorithm 1",
        "couple the regularised leader (CTRL)",
        "algorithm",
        "Keep x_t with probability min{1, max{Phi^-2, mu_{t+1}(x_t)/(Phi mu_t(x_t))}}, unless a coin of chance p says "
        "redraw; otherwise, while fewer than B redraws were made, x_{t+1} = argmin J(l_{1:t}) + <Z_t, x>, Z_t ~ nu.",
        plan="CTRL",
        errata=("density_ratio", "barrier"),
    ),
    Result(
        "Lemma 2",
        "the density of a perturbed minimiser",
        "algorithm",
        "mu(x) = nu(-grad J(l, x)) det(hess J(l, x)).",
        plan="CTRL",
        choose={"result": "Algorithm 1"},
        errata=("density_ratio",),
    ),
    Result(
        "Theorem 4",
        "regret of CTRL",
        "regret",
        "R_T <= D^2/(2 eta) + 2 G^2 eta T + sigma sqrt(d) D + 6 G D delta T^2 + 2 G D if B is infinite; with "
        "B = 3 p~ T, 2 G D T (exp(-p~ T) + 3 delta T) in place of the fourth term.",
        plan="CTRL",
        readings={"B = 3 p~ T": "the budget of Theorem 6", "B infinite": "no budget"},
        errata=("theorem_8",),
    ),
    Result(
        "Lemma 5",
        "switches",
        "switches",
        "E[S_T] <= p~ T and P[S_T >= 3 p~ T] <= exp(-p~ T), with p~ = p + 1 - Phi^-2.",
        plan="CTRL",
        choose={"result": "Theorem 4"},
    ),
    Result(
        "Theorem 6",
        "privacy of CTRL",
        "privacy",
        "With Phi = Phi'^2, p = T^(-1/3), B = 3 p~ T: (epsilon, delta + 3 T exp(-(1 - Phi^-2) T))-private, epsilon = "
        "(3/2) epsilon' + sqrt(6 epsilon' ln(2/delta)), epsilon' = 7 ln^2(Phi) T^(2/3) + 2 ln^3(Phi) T + "
        "(2 G^2/sigma^2 + 2 eta^2 beta^2 d)^2 T^(5/3).",
        plan="CTRL",
        errata=("theorem_6", "claim_27", "hessian_difference", "density_ratio", "theorem_8"),
    ),
    Result(
        "Lemma 7",
        "density ratios, general losses",
        "privacy",
        "(Phi, delta)-close with ln Phi = eta beta d + (G^2 + 2 G sigma sqrt(2 d ln(2/delta)))/(2 sigma^2).",
        plan="CTRL",
        choose={"result": "Theorem 4"},
        errata=("lemma_21",),
    ),
    Result(
        "Theorem 8",
        "private convex optimisation",
        "privacy",
        "For epsilon <= 1, T >= 12 ln(1/delta): eta = min(D/(2 G sqrt(T)), sqrt(epsilon)/(10^3 T^(5/12) beta "
        "sqrt(d ln(T/delta))), epsilon/(10^3 T^(1/3) beta d sqrt(ln(T/delta)))), sigma = max(G sqrt(T/d), 10^3 G "
        "T^(1/3) sqrt(d ln(120 T/delta))/epsilon), the rest as in Theorem 6: (epsilon, delta)-private, regret "
        "O~(G D sqrt(T) + (G D + beta D^2 max(beta D/G, 1)) d T^(1/3) log(T/delta)/epsilon).",
        plan="CTRL",
        errata=("theorem_8", "constants_of_theorems_8_and_11"),
    ),
    Result(
        "Theorem 9",
        "lazy convex optimisation",
        "regret",
        "sigma = 12 G T sqrt(d ln T)/S, eta = min(D/(2 G sqrt(T)), S/(6 beta d T)), p = 0, B infinite: R_T <= "
        "2 G D sqrt(T) + (d T/S)(3 beta D^2 + 12 G D sqrt(ln T)) + 14 G D and E[S_T] <= S.",
        plan="LazyOCO",
        choose={"switches": tenth},
        errata=("lemma_21",),
    ),
    Result(
        "Lemma 10",
        "density ratios, generalised linear losses",
        "privacy",
        "(Phi, delta)-close with ln Phi = eta beta + (G^2 + 2 G sigma sqrt(2 ln(2/delta)))/(2 sigma^2).",
        plan="CTRL",
        choose={"result": "Theorem 4"},
        errata=("lemma_24", "theorem_11"),
    ),
    Result(
        "Theorem 11",
        "private convex optimisation, generalised linear losses",
        "privacy",
        "Theorem 8 without d in eta, sigma = max(G sqrt(T), 10^3 G T^(1/3) sqrt(ln(120 T/delta))/epsilon), regret "
        "O~(G D sqrt(T) + (G D sqrt(d) + beta D^2 max(beta D/G, 1)) T^(1/3) log(T/delta)/epsilon).",
        plan="CTRL",
        errata=("theorem_11", "theorem_8", "constants_of_theorems_8_and_11"),
    ),
    Result(
        "Theorem 12",
        "lazy convex optimisation, generalised linear losses",
        "regret",
        "Theorem 9 without d: R_T <= 2 D G sqrt(T) + (T/S)(3 beta D^2 + 12 G D sqrt(ln T)) + 14 G D and E[S_T] <= S.",
        plan="LazyOCO",
        choose={"switches": tenth},
        readings={"as printed": "the printed bound", "sqrt(d) on the noise": "the bound with what it lacks"},
        errata=("theorem_12",),
    ),
    Result(
        "Theorem 13",
        "lazy convex optimisation, strongly convex losses",
        "regret",
        "For S >= (4 beta d/lambda + 16 d ln T) ln T: sigma = 16 G sqrt(d T ln T)/S, sigma_t = sigma sqrt(t), R_T <= "
        "2 G^2 (1 + ln T)/lambda + 512 d^2 ln T (1 + ln T) T/(lambda S^2) + 14 G D and E[S_T] <= S.",
        plan="LazyOCO",
        choose={"switches": half},
        errata=("theorem_13",),
    ),
    Result(
        "Theorem 14",
        "Lipschitz losses in one or two dimensions",
        "regret",
        "Regret O(G D sqrt(T log T) + G D log(T)^2 sqrt(C_d log(1/delta))/epsilon), C_1 = 1, C_2 = O(log T): Theorem "
        "15 with Lemma 16 on the grid of ceil(log2 T) bits, in multiscale differences.",
        plan="LipschitzGrid",
        readings={
            "sigma on each node": "each node of the tree has the printed noise",
            "sigma on each sum": "each released sum has it",
            "repaired: C_d and twice the norm, sigma on each node": "what section_4 corrects",
        },
        errata=("section_4",),
    ),
    Result(
        "Theorem 15",
        "experts on noisy sums",
        "regret",
        "Regret O(sqrt(T log N) + sigma sqrt(log N)), sigma = max |l| log(T) sqrt(log(1/delta))/epsilon.",
        plan="HedgeOnSums",
        readings={
            "sigma on each node": "each node of the tree has the printed noise",
            "sigma on each sum": "each released sum has it",
        },
    ),
    Result(
        "Lemma 16",
        "noise in the coordinates of a matrix",
        "regret",
        "sigma can be replaced by |M^+|_{2 to infinity} max |M l| log(T) sqrt(log(1/delta))/epsilon.",
        plan="HedgeOnSums",
        choose=LEMMA_16,
        readings={
            "sigma on each node": "each node of the tree has the printed noise",
            "sigma on each sum": "each released sum has it",
        },
        errata=("section_4",),
    ),
    Result(
        "Lemma 20",
        "what is held keeps its law",
        "regret",
        "|q_t - mu_t|_TV <= 3 delta (t-1) if B is infinite, and exp(-p~ T) more if B = 3 p~ T.",
        plan="CTRL",
        choose={"result": "Theorem 4"},
    ),
    Result(
        "Lemma 21",
        "density ratios for noise that changes",
        "privacy",
        "Lemma 7 with eta = 1/Lambda for deviations sigma and sigma', with 2 d ln(2/delta) "
        "|sigma^2 - sigma'^2|/sigma'^2 + d ln(sigma'/sigma) more.",
        plan="LazyOCO",
        choose={"result": "Theorem 13", "switches": half},
        errata=("lemma_21",),
    ),
    Result(
        "Lemma 24",
        "density ratios for strongly convex generalised linear losses",
        "privacy",
        "(Phi, delta)-close with ln Phi = Lambda beta + (G^2 + 2 G sigma sqrt(2 ln(2/delta)))/(2 sigma^2).",
        plan="CTRL",
        choose={"result": "Theorem 4"},
        errata=("lemma_24",),
    ),
    Result(
        "Claim 27",
        "a good set of points for every history",
        "privacy",
        "For every history P[x_t in E_t] >= 1 - 3 delta' - 9 T delta' - 3 exp(-p~ T).",
        plan="CTRL",
        choose={"result": "Theorem 6"},
        errata=("claim_27",),
    ),
    Result(
        "Algorithm 2",
        "CTRL with growing noise",
        "algorithm",
        "As Algorithm 1 with p = 0, B infinite, Phi_t and Z_t ~ nu_t: keep x_t with probability min{1, max{Phi_t^-2, "
        "mu_{t+1}(x_t)/(Phi_t mu_t(x_t))}}.",
        plan="LazyOCO",
        choose={"switches": half},
        errata=("theorem_13",),
    ),
    Result(
        "Theorem 28",
        "regret of Algorithm 2",
        "regret",
        "With sigma_t = sigma sqrt(t) and eta infinite: R_T <= 2 (G^2 + d sigma^2)(1 + ln T)/lambda + "
        "6 G D delta T^2 + 2 G D.",
        plan="LazyOCO",
        choose={"switches": half},
        errata=("theorem_13",),
    ),
)

ERRATA = (
    Erratum(
        "section_4",
        "Section 4, the constants C_1 and C_2",
        1,
        FALSE,
        "A point is left out of C_1, and replacing a loss moves M l by twice its norm: the noise is up to sqrt(6) too "
        "small.",
    ),
    Erratum(
        "theorem_11",
        "Theorem 11, privacy",
        1,
        GAP,
        "Lemma 10 has one feature vector; replacing a loss compares two, and Lemma 10's Phi is exceeded.",
    ),
    Erratum(
        "claim_27",
        "Claim 27, the good set given the history",
        1,
        FALSE,
        "Given the history, a held point lies in the good set with probability 0 or 1; the proof bounds a marginal "
        "law.",
    ),
    Erratum(
        "theorem_8",
        "Theorem 8, privacy and regret",
        1,
        GAP,
        "Theorem 6 adds 3 T exp(-(1 - Phi^-2) T) to delta, hundreds at the printed parameters; and the regret bound is "
        "vacuous.",
    ),
    Erratum("theorem_12", "Theorem 12, regret", 2, FALSE, "The noise term of the regret bound lacks sqrt(d)."),
    Erratum(
        "theorem_13",
        "Theorem 13 and Algorithm 2",
        2,
        FALSE,
        "Phi_t lacks exp, so it falls below 1 and every coin keeps; its index is t-1, round 1 must redraw, G^2 is "
        "missing.",
    ),
    Erratum(
        "theorem_6",
        "Theorem 6, the sum of squares",
        3,
        FALSE,
        "B = 3 p~ T switches cost 6 ln^3(Phi) T, not 2, and the square of a sum has a cross term.",
    ),
    Erratum(
        "lemma_21",
        "Lemma 21, determinants",
        3,
        GAP,
        "The eigenvalue step divides by Lambda where an eigenvalue falls; Weyl's inequality gives (1 + beta/Lambda)^d.",
    ),
    Erratum(
        "lemma_24",
        "Lemma 24, the first term of Phi",
        3,
        FALSE,
        "Lambda beta stands for beta/Lambda. Rank 1 in code that follows the paper: Phi is far too small for Lambda < "
        "1.",
    ),
    Erratum(
        "hessian_difference",
        "Proof of Claim 26, difference of Hessians",
        3,
        GAP,
        "The difference of Hessians need not be positive; the drift is eta^2 beta^2 d, half of the print.",
    ),
    Erratum(
        "density_ratio",
        "Proof of Claim 26, the density ratio",
        3,
        FALSE,
        "2 <grad J, grad l> has the wrong sign. Rank 1 in code that follows the paper: the coins keep another law.",
    ),
    Erratum(
        "barrier",
        "Section 2, the barrier",
        3,
        FALSE,
        "The barrier scaled by G D/ln(T/2) exceeds G D on the shrunk ball, and 0 must be an interior point.",
    ),
    Erratum(
        "constants_of_theorems_8_and_11",
        "Theorems 8 and 11, the constant 10^3",
        3,
        LOOSE,
        "Priced decision by decision, 14 to 16 in place of 10^3 keeps the asked epsilon: noise 60 to 70 times smaller.",
    ),
)

NODE, SUM, REPAIRED = "sigma on each node", "sigma on each sum", "repaired: C_d and twice the norm, sigma on each node"
ENTRIES = (
    Entry("printed", "CTRL", "logistic", "Theorem 11"),
    Entry("repaired", "CTRL", "logistic", "Theorem 11", {"constant": "smallest"}),
    Entry("calibrated", "CTRL", "logistic"),
    Entry("printed", "LazyOCO", "logistic", "Theorem 12", {"switches": tenth}, private=False),
    Entry(
        "repaired",
        "LazyOCO",
        "logistic",
        "Theorem 12",
        {"switches": tenth, "reading": "sqrt(d) on the noise"},
        private=False,
        shown=False,
    ),
    Entry(
        "calibrated", "LazyOCO", "logistic", "", {"max_switches": tenth, "batches": False}, private=False, shown=False
    ),
    Entry("rival", "LazyOCO", "logistic", "", {"max_switches": tenth}, note="ours", private=False),
    Entry("rival", "L2PConvex", "logistic", note="paper l2p"),
    Entry("rival", "PrivateFTRL", "logistic", note="ours"),
    Entry("printed", "CTRL", "quadratic", "Theorem 8"),
    Entry("printed", "CTRL", "quadratic", "Theorem 4", shown=False),
    Entry("printed", "CTRL", "quadratic", "Theorem 4", {"reading": "B infinite"}, shown=False),
    Entry("printed", "CTRL", "quadratic", "Theorem 6", shown=False),
    Entry("printed", "CTRL", "quadratic", "Algorithm 1", shown=False),
    Entry("repaired", "CTRL", "quadratic", "Theorem 8", {"constant": "smallest"}),
    Entry("calibrated", "CTRL", "quadratic"),
    Entry("printed", "LazyOCO", "quadratic", "Theorem 9", {"switches": tenth}, private=False),
    Entry(
        "calibrated", "LazyOCO", "quadratic", "", {"max_switches": tenth, "batches": False}, private=False, shown=False
    ),
    Entry("rival", "PrivateFTRL", "quadratic", note="ours"),
    Entry("repaired", "LazyOCO", "quadratic, d=1", "Theorem 13", {"switches": half}, private=False),
    Entry("repaired", "LazyOCO", "quadratic, d=1", "Theorem 28", {"switches": half}, private=False, shown=False),
    Entry("repaired", "LazyOCO", "quadratic, d=1", "Algorithm 2", {"switches": half}, private=False, shown=False),
    Entry("rival", "PrivateFTRL", "quadratic, d=1", note="ours, and private"),
    Entry("printed", "HedgeOnSums", OPTIONS.name, "Theorem 15", {"reading": NODE}),
    Entry("printed", "HedgeOnSums", OPTIONS.name, "Theorem 15", {"reading": SUM}),
    Entry("printed", "HedgeOnSums", OPTIONS.name, "Lemma 16", {**LEMMA_16, "reading": NODE}),
    Entry("calibrated", "HedgeOnSums", OPTIONS.name),
    Entry("rival", "LazyExperts", OPTIONS.name, note="ours"),
    Entry("rival", "L2P", OPTIONS.name, note="paper l2p"),
    Entry("printed", "LipschitzGrid", "prices, d=1", "Theorem 14", {"reading": NODE}),
    Entry("printed", "LipschitzGrid", "prices, d=1", "Theorem 14", {"reading": SUM}),
    Entry("repaired", "LipschitzGrid", "prices, d=1", "Theorem 14", {"reading": REPAIRED}),
    Entry("calibrated", "LipschitzGrid", "prices, d=1"),
    Entry("rival", "LipschitzNet", "prices, d=1", note="ours"),
    Entry("printed", "LipschitzGrid", "prices, d=2", "Theorem 14", {"reading": NODE}),
    Entry("repaired", "LipschitzGrid", "prices, d=2", "Theorem 14", {"reading": REPAIRED}, shown=False),
    Entry("calibrated", "LipschitzGrid", "prices, d=2"),
)

PAPER = Paper(
    name="ctrl",
    title="Differentially Private and Lazy Online Convex Optimization",
    authors="Naman Agarwal, Satyen Kale, Karan Singh and Abhradeep Thakurta",
    year=2023,
    venue="COLT 2023 (Proceedings of Machine Learning Research 195)",
    link="https://proceedings.mlr.press/v195/agarwal23d.html",
    version="the text of the proceedings with Appendices A to F; it carries no version number",
    says="""\
Follow the regularised leader of all losses so far plus a random linear function <Z, x>, Z Gaussian, and a barrier.
Hold the point from round to round by rejection sampling: a coin compares the densities of consecutive leaders at it.
A coin of chance p forces redraws now and then, so that a switch is possible whatever the losses; a budget B ends them.
Theorem 8: (epsilon, delta)-private with regret O~(sqrt(T) + d T^(1/3)/epsilon) for smooth convex losses.
Theorem 11: sqrt(d) in place of d for generalised linear losses, such as logistic ones.
The leading term is that of learning without privacy once epsilon is at least d T^(-1/6), and nothing is sampled but Z.
Theorems 9 and 12: without forced redraws, at most S switches are expected, at regret O~(sqrt(T) + d T/S), or sqrt(d).
Theorem 13: with noise that grows as sqrt(t), O~(1 + d^2 T/S^2) for strongly convex losses.
Theorem 14: for Lipschitz losses in one or two dimensions, convex or not, O~(sqrt(T) + 1/epsilon), by Hedge on noisy
sums of multiscale differences on a grid (Theorem 15 for experts, and Lemma 16 for noise in other coordinates).""",
    results=RESULTS,
    errata=ERRATA,
    streams=(LOGISTIC, QUADRATIC, LINE, OPTIONS, PRICES, TWO_PRICES),
    entries=ENTRIES,
    horizon=2_000,
    dimension=3,
)
run = partial(run_paper, PAPER)

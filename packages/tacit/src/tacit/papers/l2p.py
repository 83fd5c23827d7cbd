"""Private Online Learning via Lazy Algorithms (2024): any lazy learner made private."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from tacit.algorithms import L2P
from tacit.domains import Ball
from tacit.environments import BernoulliGap, LogisticStream, Replay
from tacit.losses import LogisticLoss
from tacit.papers.paper import Entry, Erratum, Paper, Result, Stream
from tacit.papers.run import run_paper
from tacit.printed.l2p import proposition_3_3_order
from tacit.problems import Convex, Experts
from tacit.validation import FloatArray

BATCHES = (16, 64)
"""Batch sizes at which Proposition 3.3 is run."""
RATE = 1e-3
"""The learning rate of those runs."""


def turns(rounds: int, batch: int) -> FloatArray:
    """Return losses of two experts who take turns at being wrong, for `batch` rounds each."""
    wrong = np.arange(rounds) // batch % 2
    return np.stack([wrong == 0, wrong == 1], axis=1).astype(np.float64)


def batch_cost(rounds: int, eta: float, batch: int) -> float:
    """Return what holding a draw of exponential weights for `batch` rounds adds to its expected loss on `turns`."""
    losses = turns(rounds, batch)
    before = np.vstack([np.zeros(2), np.cumsum(losses, axis=0)[:-1]])
    first = 1 / (1 + np.exp(eta * (before[:, 0] - before[:, 1])))
    weights = np.stack([first, 1 - first], axis=1)
    held = weights[np.arange(rounds) // batch * batch]
    return float(np.sum((held - weights) * losses))


def batches_note(plan: L2P) -> str:
    """Return what batches cost here, beside what is printed and what tacit charges."""
    rounds = plan.rounds
    added = batch_cost(rounds, plan.eta, plan.batch)
    printed = proposition_3_3_order(rounds, plan.eta, plan.batch)
    charged = plan.eta * rounds * plan.batch / 8
    return (
        f"batches of {plan.batch} add {added:.3g} in expectation; printed: O(T B^2 eta^2), which is {printed:.3g} "
        f"here; eta T B/8 = {charged:.3g}"
    )


def taking_turns(batch: int) -> Stream:
    """Return the stream of two experts whose turns last one batch."""
    return Stream(
        f"two experts, turns of {batch}",
        lambda horizon, dimension: Experts(n=2, horizon=horizon),
        lambda problem, horizon: Replay(turns(horizon, batch)),
    )


EXPERTS = Stream(
    "experts, one better by .1",
    lambda horizon, dimension: Experts(n=dimension, horizon=horizon),
    lambda problem, horizon: BernoulliGap(problem.n, horizon),
)
LOGISTIC = Stream(
    "logistic, d=1",
    lambda horizon, dimension: Convex(domain=Ball(1), loss=LogisticLoss(data_norm=1.0), horizon=horizon),
    lambda problem, horizon: LogisticStream(1, horizon),
)
TURNS = tuple(taking_turns(batch) for batch in BATCHES)

OWN: dict[str, Any] = {"eta": 1e-3, "force": 0.05, "batch": 2}
"""Parameters with which results that print none are shown."""
FORCES = {
    "p = eta/epsilon": "as Theorem 3.12 prints it",
    "p = 2 eta/epsilon": "the least p with eta/p <= epsilon/2, the first constraint in the proof of Theorem 3.12",
    "p = eta B ln(1/delta_1)": "the least p that Theorem 3.2 allows; above 1 at small epsilon, and then it cannot run",
    "repaired": "eta as large, and batches as long, as what is proved allows; p of 1, 2, 4 or 8 eta/epsilon",
}

RESULTS = (
    Result(
        "Algorithm 1",
        "L2P",
        "algorithm",
        "Keep x with probability (1 - p) min(1, nu_s(x) nu_{s-1}(y) / (e^{2 B eta} nu_{s-1}(x) nu_s(y))), else draw it "
        "from nu_s; draw y from nu_s with probability p. Play x for B rounds.",
        plan="L2P",
        choose=OWN,
        errata=("algorithm_1_slack",),
    ),
    Result(
        "Theorem 3.2",
        "privacy and regret of L2P",
        "privacy",
        "epsilon = 2 eta/p + eta + 3 T eta^2 p ln(1/delta_1)/(2B) + sqrt(6 T eta^2 p ln^2(1/delta_1)/B), "
        "delta = 2T (2/eta + ln(1/delta_1)/p) e B delta_0 + 2T delta_1, if eta B ln(1/delta_1)/p <= 1 and T p/B >= 1; "
        "regret that of the measure + O(T B^2 eta^2 + delta_0 T^2 ln(1/delta_1)/eta).",
        plan="L2P",
        readings={
            "": "the eta, p and B of smallest certified regret among those whose printed epsilon is what is asked; or, "
            "with eta, force and batch, parameters of one's own at the epsilon that is printed for them",
        },
        errata=("equation_5", "switch_bit", "lemma_3_8", "proposition_3_3"),
    ),
    Result(
        "Proposition 3.3",
        "regret of batches",
        "regret",
        "Batches of B rounds add O(T B^2 eta^2 + delta_0 T^2 ln(1/delta_1)/eta) to the regret of the measure.",
        plan="L2P",
        choose={"eta": RATE, "batch": BATCHES[0]},
        errata=("proposition_3_3",),
    ),
    Result(
        "Lemma 3.4",
        "law of a held decision",
        "regret",
        "|law of x_s - nu_s|_TV <= 3 (s - 1) (2e + ln(1/delta_1)/p) B delta_0; in the proof of Proposition 3.3 the 2e "
        "is 2/eta.",
    ),
    Result(
        "Lemma 3.5",
        "coupling",
        "regret",
        "Variables with a common base measure have a coupling with Pr[X != Y] <= 2 TV/(1 + TV) for every two of them.",
    ),
    Result(
        "Lemma 3.6",
        "price of a draw",
        "privacy",
        "One changed loss moves the law of a draw by at most 2 eta, up to 4 delta_0.",
        errata=("equation_5",),
    ),
    Result(
        "Lemma 3.7",
        "range of the coin",
        "privacy",
        "The ratio of the coin lies in [e^{-2 B eta}, e^{2 B eta}] with probability at least "
        "1 - (2/eta + ln(1/delta_1)/p) e B delta_0 - delta_1.",
    ),
    Result(
        "Lemma 3.8",
        "composition given good events",
        "privacy",
        "Mechanisms that are (eps_i, delta_i)-indistinguishable given good sets of probability 1 - lambda_i compose to "
        "the epsilon of Lemma A.3 and 1 - (1 - delta) prod (1 - delta_i) + 2 sum lambda_i.",
        errata=("lemma_3_8",),
    ),
    Result(
        "Lemma 3.9",
        "exponential weights change slowly",
        "privacy",
        "The measure exp(-eta sum of losses) changes by at most eta in a round, with delta_0 = 0.",
    ),
    Result(
        "Theorem 3.10",
        "experts",
        "rate",
        "With B = 1/epsilon and eta = min(T^{-1/4} ln^{3/4} d, epsilon)^{2/3}/T^{1/3} it is (epsilon, delta)-private, "
        "with regret O(sqrt(T ln d) + T^{1/3} ln(d)/epsilon^{2/3}). No p is printed.",
        plan="L2P",
        readings=FORCES,
        errata=("theorem_3_10_privacy", "theorem_3_10_regret", "equation_5", "switch_bit", "lemma_3_8"),
    ),
    Result(
        "Lemma 3.11",
        "regularised weights change slowly",
        "privacy",
        "exp(-beta (sum of losses + lambda |x|^2)) changes by at most 2 beta L^2/lambda + sqrt(8 beta L^2 "
        "ln(2/delta_0)/lambda) in a round, up to delta_0.",
    ),
    Result(
        "Theorem 3.12",
        "convex losses",
        "rate",
        "With B = 1/(2 epsilon ln(1/delta)), eta = epsilon^{2/3}/(T^{1/3} ln(T/delta)), p = eta/epsilon, lambda = "
        "(L/D) max(sqrt(T), sqrt(d ln T)/eta) and beta = eta^2 lambda/(20 L^2) it is (epsilon, delta)-private, with "
        "regret L D O(sqrt(T) + T^{1/3} sqrt(d ln T) ln(T/delta)/epsilon^{2/3}).",
        plan="L2PConvex",
        readings={"repaired": "a smaller number in place of ln(T/delta), as small as what is proved allows"},
        errata=("theorem_3_12", "equation_5", "switch_bit", "lemma_3_8", "proposition_3_3"),
    ),
    Result(
        "Theorem 4.2",
        "no lazy private learner has less regret",
        "lower bound",
        "An epsilon^2-concentrated private learner that holds draws (Condition 4.1) has regret "
        "Omega(sqrt(T) + T^{1/3}/epsilon^{2/3}) if epsilon >= 100 ln^{3/2}(dT)/T. No constant is printed.",
    ),
    Result(
        "Lemma A.2",
        "group privacy",
        "privacy",
        "An (epsilon, delta)-private algorithm gives k epsilon and k e^{(k-1) epsilon} delta to data that differ in k "
        "rounds.",
    ),
    Result(
        "Lemma A.3",
        "advanced composition",
        "privacy",
        "epsilon = sum eps_t + min(sqrt(2 sum eps_t^2 ln(e + sqrt(sum eps_t^2)/delta)), "
        "sqrt(2 sum eps_t^2 ln(1/delta))), with 1 - (1 - delta) prod (1 - delta_t).",
    ),
    Result(
        "Lemma A.4",
        "pointwise ratios",
        "privacy",
        "Laws with D_infinity^delta at most epsilon/2 have ratios in [e^{-epsilon}, e^epsilon] with probability at "
        "least 1 - 6 delta/epsilon, for epsilon <= 1/10.",
    ),
    Result(
        "Lemma A.5",
        "concentrated privacy is approximate privacy",
        "privacy",
        "rho-concentrated privacy with rho <= 1 is (3 sqrt(rho ln(1/delta)), delta)-privacy for delta < 1/4.",
    ),
    Result(
        "Lemma B.1",
        "range of the coin for fresh draws",
        "privacy",
        "For x and y drawn independently from nu_t and B eta <= 1/20 the coin's ratio lies in [e^{-2 B eta}, "
        "e^{2 B eta}] with probability at least 1 - 6 e B eta delta_0/eta.",
    ),
    Result(
        "Lemma C.1",
        "draws share the budget",
        "lower bound",
        "The Renyi divergences of the draws of an epsilon^2-concentrated private learner sum to at most "
        "alpha epsilon^2.",
    ),
    Result(
        "Lemma C.2",
        "constant losses",
        "lower bound",
        "Against one random loss that is played T times, with epsilon <= 1/T, the expected loss is at least "
        "T (1/2 - T epsilon/2) - T^2 d delta/2.",
    ),
)

ERRATA = (
    Erratum(
        "theorem_3_10_privacy",
        "Theorem 3.10, privacy",
        1,
        "false",
        "no p is printed; at every p from .01 to 20 eta/epsilon the decisions alone leak more than delta",
    ),
    Erratum(
        "equation_5",
        "proof of Theorem 3.2, Equation (5)",
        1,
        "false",
        "a draw costs up to 2 eta and a step has two of them, where eta is charged",
    ),
    Erratum(
        "switch_bit",
        "proof of Theorem 3.2, Equation (5)",
        1,
        "false",
        "given that one of the two chains moved, which one it was depends on the changed loss",
    ),
    Erratum(
        "lemma_3_8",
        "Lemma 3.8",
        1,
        "false",
        "leaving the other data set's good event costs e^epsilon lambda, not lambda",
    ),
    Erratum(
        "theorem_3_12",
        "Theorem 3.12, privacy",
        1,
        "proof has a gap",
        "p = eta/epsilon makes the first term of Theorem 3.2 alone 2 epsilon; what runs at small d is private all the "
        "same, by another proof",
    ),
    Erratum(
        "proposition_3_3",
        "Proposition 3.3",
        2,
        "false",
        "batches cost up to eta T B/8, which no multiple of T B^2 eta^2 bounds as eta falls",
    ),
    Erratum(
        "theorem_3_10_regret",
        "Theorem 3.10, regret",
        2,
        "false",
        "with B = 1/epsilon every learner has regret of order sqrt(T/epsilon) against losses that hold for a batch",
    ),
    Erratum(
        "algorithm_1_slack",
        "Algorithm 1",
        3,
        "loose",
        "e^{B eta} is enough for e^{2 B eta}, and one chain is enough for two",
    ),
)

PAPER = Paper(
    name="l2p",
    title="Private Online Learning via Lazy Algorithms",
    authors="Hilal Asi, Tomer Koren, Daogao Liu and Kunal Talwar",
    year=2024,
    venue="NeurIPS 2024",
    link="https://arxiv.org/abs/2406.03620",
    version="the proceedings of NeurIPS 2024 (doi 10.52202/079017-3561), with Appendices A to C",
    says="""\
A learner that draws each decision from a measure, and whose measure changes slowly, can be made private.
It holds a decision x and flips a coin after every batch of B rounds: keep x, or draw it afresh.
The chance to keep x is the ratio of the new measure to the old one at x.
A second, independent chain y divides that ratio, so that one changed loss moves one coin only.
With probability p the decision is redrawn whatever the data say, which hides the coin.
Long batches have fewer coins, hence less privacy loss, and are said to cost little regret (Proposition 3.3).
For experts, on exponential weights: regret sqrt(T ln d) + T^(1/3) ln(d)/epsilon^(2/3) (Theorem 3.10).
For convex losses, on regularised weights: sqrt(T) + T^(1/3) sqrt(d)/epsilon^(2/3) (Theorem 3.12).
Both are smaller than what was known where epsilon is small.
A lower bound says that no private learner of this kind has less regret, in order (Theorem 4.2).""",
    results=RESULTS,
    errata=ERRATA,
    streams=(EXPERTS, LOGISTIC, *TURNS),
    entries=(
        Entry("printed", "L2P", EXPERTS.name, "Theorem 3.2"),
        Entry("printed", "L2P", EXPERTS.name, "Theorem 3.10"),
        Entry("printed", "L2P", EXPERTS.name, "Theorem 3.10", {"reading": "p = 2 eta/epsilon"}),
        Entry("repaired", "L2P", EXPERTS.name, "Theorem 3.10", {"reading": "repaired"}),
        Entry("calibrated", "L2P", EXPERTS.name),
        Entry("rival", "LazyExperts", EXPERTS.name, note="ours: one chain"),
        Entry("rival", "HedgeOnSums", EXPERTS.name, note="paper ctrl, Theorem 15, calibrated"),
        Entry("printed", "L2PConvex", LOGISTIC.name, "Theorem 3.12"),
        Entry("repaired", "L2PConvex", LOGISTIC.name, "Theorem 3.12", {"reading": "repaired"}),
        Entry("calibrated", "L2PConvex", LOGISTIC.name),
        Entry("rival", "PrivateFTRL", LOGISTIC.name, note="ours"),
        *(
            Entry(
                "printed",
                "L2P",
                stream.name,
                "Proposition 3.3",
                {"eta": RATE, "batch": batch},
                note=batches_note,
                private=False,
            )
            for stream, batch in zip(TURNS, BATCHES, strict=True)
        ),
    ),
    horizon=10_000,
    dimension=10,
)
run = partial(run_paper, PAPER)

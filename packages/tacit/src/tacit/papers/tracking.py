"""Tracking the Best Expert Privately (2025): dynamic regret against three kinds of adversaries."""

from __future__ import annotations

from functools import partial

from tacit.algorithms import LimitedUpdates, NoisyMirrorDescent
from tacit.environments import BernoulliGap
from tacit.environments.named import named_environment
from tacit.environments.tracking import FingerprintPhases, PenaliseHeld, ShiftingBernoulli
from tacit.papers.paper import Entry, Erratum, Paper, Result, Stream
from tacit.papers.run import run_paper
from tacit.printed.tracking import theorem_5_1_order
from tacit.problems import Experts, Tracking
from tacit.runtime.plan import Plan

SWITCHES = 3
"""Of the comparator and of the shifting streams."""
ROUNDS_OF_SEQUENCES, ROUNDS_OF_REACTIONS, ROUNDS_OF_FINGERPRINTS = 300, 2000, 400
"""Streams that are expensive a round are no longer than this."""
LITTLE, MUCH = 0.01, 30.0
"""Epsilons on both sides of sqrt(S/T), at which Theorem 5.1 says something and nothing."""
FAILURE = 0.05
"""Probability with which the bound of Theorem 3.1 may fail, beta."""


def changing(horizon: int, n: int, adversary: str) -> Tracking:
    """Return the problem with as many switches as the streams have shifts."""
    return Tracking(n=n, horizon=horizon, switches=min(SWITCHES, horizon - 1), adversary=adversary)


def shifts(problem: Tracking, horizon: int) -> ShiftingBernoulli:
    """Return evenly spaced shifts of gap .3, as many as the comparator may follow."""
    found = named_environment("shifting", problem, horizon)
    assert isinstance(found, ShiftingBernoulli)
    return found


def fingerprints(horizon: int, dimension: int) -> Tracking:
    """Return the smallest problem of two phases that Theorem 5.1's construction takes; N follows T."""
    rounds = max(2, min(ROUNDS_OF_FINGERPRINTS, horizon))
    return Tracking(n=2 * -(-rounds // 2) + 2, horizon=rounds, switches=1, adversary="adaptive")


STATIONARY = Stream(
    "one distribution, gap .1",
    lambda horizon, dimension: Experts(n=dimension, horizon=horizon, adversary="stochastic"),
    lambda problem, horizon: BernoulliGap(problem.n, horizon),
)
SHIFTING = Stream(
    "three shifts of gap .3",
    lambda horizon, dimension: changing(horizon, dimension, "stochastic"),
    shifts,
)
HOSTILE = Stream(
    "three shifts of gap .3, bounds for adaptive adversaries",
    lambda horizon, dimension: changing(horizon, dimension, "adaptive"),
    shifts,
)
SEQUENCES = Stream(
    f"two experts, one shift, at most {ROUNDS_OF_SEQUENCES} rounds",
    lambda horizon, dimension: Tracking(n=2, horizon=max(2, min(ROUNDS_OF_SEQUENCES, horizon)), switches=1),
    lambda problem, horizon: shifts(problem, problem.horizon),
)
REACTING = Stream(
    f"the expert just played costs 1, at most {ROUNDS_OF_REACTIONS:,} rounds",
    lambda horizon, dimension: changing(min(ROUNDS_OF_REACTIONS, horizon), dimension, "adaptive"),
    lambda problem, horizon: PenaliseHeld(problem.n, problem.horizon),
)
FINGERPRINT = Stream(
    f"fingerprinting, N above T, at most {ROUNDS_OF_FINGERPRINTS} rounds",
    fingerprints,
    lambda problem, horizon: FingerprintPhases(problem.n, problem.horizon, problem.switches),
)


def sure_note(plan: LimitedUpdates) -> str:
    """Return what is certified with the probability of the printed bound, which ours states in expectation."""
    ours = float(plan.window_regret(plan.rounds, confidence=1 - FAILURE))
    return f"printed for probability {1 - FAILURE:g}, bound in expectation; certified for that probability {ours:,.0f}"


def times_experts(plan: NoisyMirrorDescent) -> str:
    """Return how much noise the repair has."""
    return f"noise times N = {plan.problem.n}: Lap(N/epsilon)"


def floor_note(plan: Plan) -> str:
    """Return the lower bound of Theorem 5.1 for an epsilon, without its constant."""
    printed = plan.printed
    epsilon = plan.guarantee.epsilon() if printed is None or printed.epsilon is None else printed.epsilon
    order = theorem_5_1_order(plan.rounds, plan.problem.switches, epsilon)  # type: ignore[attr-defined]
    return (
        f"Theorem 5.1 at epsilon={epsilon:.3g}: every private learner has regret of the order of {order:,.3g} at least"
    )


RESULTS = (
    Result(
        "Table 1",
        "upper and lower bounds",
        "rate",
        "Shifting stochastic: sqrt(ST log N) + S log N/epsilon, lower sqrt(ST log N) + S log(N/S)/epsilon. Oblivious: "
        "sqrt(ST log N) + S T^(1/3) log N/epsilon^(2/3), the same lower bound. Adaptive: sqrt(ST) log^1.5 N/epsilon + "
        "S log N/epsilon, lower sqrt(ST log N) + S/(epsilon log(T/(S+1)))^2. Logarithms of T and 1/delta left out.",
        errata=("theorem_5_1",),
    ),
    Result("Lemma 2.2", "Laplace mechanism", "privacy", "f + Lap(Delta/epsilon) is epsilon-DP; Delta is l1."),
    Result(
        "Lemma 2.3",
        "report-noisy-max",
        "privacy",
        "The largest of 1-sensitive counts after Lap(2/epsilon) on each is epsilon-DP.",
    ),
    Result(
        "Lemma 2.4",
        "AboveThreshold",
        "privacy",
        "An epsilon-DP test of T queries of sensitivity 1 against 0 is right up to 8 (ln T + ln(2/beta))/epsilon "
        "with probability 1 - beta.",
        errata=("algorithm_2_queries",),
    ),
    Result(
        "Algorithm 1",
        "limited updates",
        "algorithm",
        "At t = 2^l, l >= 1, take the expert of least loss in rounds t/2 to t - 1 after Lap(2/epsilon) on each sum, "
        "and play it until 2t.",
        plan="LimitedUpdates",
        errata=("order_of_play",),
    ),
    Result(
        "Theorem 3.1",
        "adaptive regret of Algorithm 1",
        "regret",
        "epsilon-DP; for i.i.d. losses, with probability 1 - beta, regret in any window of w rounds at most "
        "16 ln(NT/beta) ln(T)/epsilon + 9 sqrt(w ln(TN/beta)).",
        plan="LimitedUpdates",
        errata=("lemma_b_2",),
    ),
    Result(
        "Algorithm 2",
        "restart where a sparse vector test sees a shift",
        "algorithm",
        "Algorithm 1 with epsilon/2; after each round test every window that ends there: its regret less Reg_w, alpha "
        "and 1, alpha = 16 (2 ln T + ln(2/beta))/epsilon, by AboveThreshold with epsilon/2. If one is above, start "
        "again from this round.",
        plan="RestartOnShift",
        errata=("algorithm_2_queries", "algorithm_2_restart", "order_of_play", "algorithm_2_thresholds"),
    ),
    Result(
        "Theorem 3.2",
        "dynamic regret of Algorithm 2",
        "regret",
        "With beta = 1/T, epsilon-DP and, for a distribution that shifts S times, "
        "O(sqrt(ST ln(NT)) + S ln(NT) ln(T)/epsilon).",
        plan="RestartOnShift",
        errata=("algorithm_2_queries", "algorithm_2_restart", "algorithm_2_thresholds"),
    ),
    Result(
        "Section 3",
        "lower bound for shifting adversaries",
        "lower bound",
        "S log(N/S)/epsilon: S phases with N/S experts each, each with the static lower bound.",
    ),
    Result(
        "Theorem 4.1",
        "static regret over sequences is dynamic regret",
        "regret",
        "An (epsilon, delta)-DP learner with regret R(T, N) for losses fixed in advance gives one with dynamic regret "
        "R(T, (NT)^(2S)), by running it on all sequences with at most S switches.",
        plan="SwitchingSequences",
        errata=("theorem_4_1", "section_4"),
    ),
    Result(
        "Proposition 4.2",
        "the black box",
        "regret",
        "An (epsilon, delta)-DP learner has R(T, N) = O(sqrt(T ln N) + T^(1/3) ln(T/delta) ln(N)/epsilon^(2/3)); it is "
        "that of paper l2p.",
    ),
    Result(
        "Corollary 4.3",
        "dynamic regret for losses fixed in advance",
        "regret",
        "O(sqrt(ST ln(NT)) + S T^(1/3) ln(T/delta) ln(NT)/epsilon^(2/3)), (epsilon, delta)-DP.",
        plan="SwitchingSequences",
        readings={"p = eta/epsilon": "the black box is that of Theorem 3.10 of paper l2p, which prints no p"},
        errata=("theorem_4_1", "section_4"),
    ),
    Result(
        "Theorem 5.1",
        "adaptive adversaries: lower bound",
        "lower bound",
        "For N >= 2T/S, epsilon <= 1 and delta <= (S+1)^3/T^3, dynamic regret is "
        "Omega(min(T, S/(epsilon ln(T/(S+1)))^2)).",
        errata=("theorem_5_1",),
    ),
    Result(
        "Algorithm 3",
        "mirror descent on noisy losses",
        "algorithm",
        "Weights of at least S/(NT), moved each round by mirror descent with entropy on losses plus Lap(1/epsilon) on "
        "each coordinate.",
        plan="NoisyMirrorDescent",
        errata=("algorithm_3",),
    ),
    Result(
        "Theorem 5.2",
        "adaptive adversaries: upper bound",
        "regret",
        "With epsilon in (0, 1) and eta = epsilon sqrt(S/(T ln(NT))), Algorithm 3 is epsilon-DP and has dynamic regret "
        "O(sqrt(ST) ln^1.5(NT)/epsilon + S ln(NT)/epsilon).",
        plan="NoisyMirrorDescent",
        errata=("algorithm_3", "theorem_5_2", "theorem_5_2_rate"),
    ),
    Result("Lemma A.1", "basic composition", "privacy", "T mechanisms of epsilon each are (epsilon T)-DP together."),
    Result("Lemma A.2", "basic composition, printed again", "privacy", "The same words as Lemma A.1."),
    Result(
        "Lemma A.3",
        "advanced composition",
        "privacy",
        "epsilon' <= (3/2) sum epsilon_t^2 + sqrt(6 sum epsilon_t^2 ln(1/delta')).",
    ),
    Result("Lemma A.4", "post-processing", "privacy", "What is made of an (epsilon, delta)-DP output is as private."),
    Result(
        "Lemma B.1",
        "averages of all windows are near their means",
        "regret",
        "With probability 1 - beta, every expert's loss in every window of w rounds is within sqrt(2w ln(TN/beta)) of "
        "its mean.",
    ),
    Result(
        "Lemma B.2",
        "regret of a stationary stretch",
        "regret",
        "With probability 1 - 3 beta, at most 16 ln(NT/beta) ln(T)/epsilon + 7 sqrt(w ln(TN/beta)) against the least "
        "mean, in every window.",
        errata=("lemma_b_2",),
    ),
    Result("Lemma B.3", "an alarm means a shift", "regret", "With probability 1 - 2 beta."),
    Result(
        "Lemma B.4",
        "no alarm means little regret",
        "regret",
        "With probability 1 - beta, a window without an alarm has regret at most Reg_w + 2 alpha + 1.",
    ),
    Result(
        "Theorem C.1",
        "oblivious regret bounds adaptive regret",
        "regret",
        "For learners whose law in a round depends on earlier losses only (Cesa-Bianchi and Lugosi, Exercise 4.1).",
        errata=("theorem_5_2",),
    ),
    Result(
        "Theorem C.2",
        "Algorithm 3 for losses fixed in advance",
        "regret",
        "O(eta ln^2(NT) T/epsilon^2 + S ln(NT)/eta + S ln(NT)/epsilon); the proof ends with "
        "2S ln(NT)/eta + 10 eta T ln^2(NT)/epsilon^2 + 4S ln(NT)/epsilon + 1.",
        plan="NoisyMirrorDescent",
        errata=("algorithm_3", "theorem_5_2_rate"),
    ),
    Result(
        "Lemma C.3",
        "largest of Laplace vectors",
        "regret",
        "Some |Z_t|_infinity^2 is at least 10 lambda^2 ln^2(NT) with probability at most 1/T.",
    ),
    Result(
        "Proposition D.1",
        "adaptive adversaries: static lower bound",
        "lower bound",
        "For N >= 2T, epsilon <= 1 and delta <= 1/T^3, regret is Omega(min(T, 1/(epsilon ln T)^2)).",
    ),
)

ERRATA = (
    Erratum(
        "algorithm_3",
        "Algorithm 3 and Theorem 5.2, privacy",
        1,
        "false",
        "Lap(1/epsilon) on N coordinates: the l1 sensitivity of a loss vector is N, not 1.",
    ),
    Erratum(
        "algorithm_2_queries",
        "Algorithm 2, the queries",
        1,
        "false",
        "The regret of a window moves by 2 when a loss is replaced, not by 1: the test costs .75 epsilon, not .5.",
    ),
    Erratum(
        "algorithm_2_restart",
        "Algorithm 2, the restart",
        1,
        "proof has a gap",
        "The loss of the restarting round is used by both epochs: composition allows 1.5 epsilon.",
    ),
    Erratum(
        "theorem_5_2",
        "Theorem 5.2, adaptive adversaries",
        2,
        "proof has a gap",
        "Theorem C.1 is for laws that depend on losses only; those of Algorithm 3 depend on its noise, which plays "
        "reveal.",
    ),
    Erratum(
        "order_of_play",
        "Algorithms 1 and 2, order and clock",
        2,
        "proof has a gap",
        "Algorithm 2 plays after the loss is seen; and in global time a restarted instance selects from stale rounds, "
        "or never.",
    ),
    Erratum(
        "algorithm_2_thresholds",
        "Algorithm 2, the thresholds",
        3,
        "loose",
        "The thresholds mix epsilon and epsilon/2, T^2 queries and T, and cannot be reached in short runs.",
    ),
    Erratum(
        "theorem_4_1",
        "Theorem 4.1, no switches",
        3,
        "false",
        "At S = 0 the theorem runs (NT)^0 = 1 expert and promises its regret, 0; (NT)^(S+1) is right.",
    ),
    Erratum(
        "theorem_5_1",
        "Theorem 5.1, no switches",
        3,
        "loose",
        "S in place of S + 1 makes the lower bound 0 at S = 0, where Proposition D.1 has a positive one.",
    ),
    Erratum(
        "theorem_5_2_rate",
        "Theorem 5.2, the learning rate",
        3,
        "loose",
        "Noise enters by its variance, not by its largest entry: a rate ln(NT) times larger is better by as much.",
    ),
    Erratum(
        "lemma_b_2",
        "Lemma B.2, the constants",
        3,
        "proof has a gap",
        "The sum of 4 sqrt(2)/sqrt(i) is not below 6 sqrt(w): 7 becomes 10.7, and 9 in Theorem 3.1 becomes 12.1.",
    ),
    Erratum(
        "section_4",
        "Section 4, 'not efficient'",
        3,
        "right, improved",
        "Exponential weights over all N^T sequences are a forward recursion on N numbers: no enumeration is needed.",
    ),
)

PAPER = Paper(
    name="tracking",
    title="Tracking the Best Expert Privately",
    authors="Hilal Asi, Vinod Raman and Aadirupa Saha",
    year=2025,
    venue="ICML 2025, PMLR 267",
    link="https://arxiv.org/abs/2503.09889",
    version="the text of the ICML 2025 proceedings with Appendices A to D; it carries no version number",
    says="""\
The comparator is the best sequence of experts with at most S switches: dynamic regret.
One replaced loss vector is to be hidden, from an adversary who may react to the decisions.
Losses from one distribution: one private selection at each power of two (Algorithm 1) has
regret of the order of sqrt(w) + log(T)/epsilon in every window of w rounds.
Distributions that shift S times: a sparse vector test of the learner's own regret restarts it
(Algorithm 2), for sqrt(ST) + S/epsilon up to logarithms, which a lower bound nearly meets.
Losses fixed in advance: a learner of a fixed expert, run on all sequences, is enough (Theorem 4.1);
it takes time exponential in S, and has sqrt(ST) + S T^(1/3)/epsilon^(2/3) up to logarithms.
Adaptive adversaries: below epsilon = sqrt(S/T) regret is linear (Theorem 5.1); above it mirror
descent on losses with Laplace noise has sqrt(ST)/epsilon up to logarithms (Algorithm 3).""",
    results=RESULTS,
    errata=ERRATA,
    streams=(STATIONARY, SHIFTING, HOSTILE, SEQUENCES, REACTING, FINGERPRINT),
    entries=(
        Entry("printed", "LimitedUpdates", STATIONARY.name, "Theorem 3.1", {"failure": FAILURE}, note=sure_note),
        Entry("calibrated", "LimitedUpdates", STATIONARY.name, note=sure_note),
        Entry("rival", "TrackingOnSums", STATIONARY.name, note="ours"),
        Entry("rival", "HedgeOnSums", STATIONARY.name, note="paper ctrl, Theorem 15"),
        Entry("rival", "L2P", STATIONARY.name, note="paper l2p"),
        Entry("printed", "RestartOnShift", SHIFTING.name, "Theorem 3.2"),
        Entry(
            "repaired",
            "RestartOnShift",
            SHIFTING.name,
            "Theorem 3.2",
            {"noise": 1.5},
            note="all noise times 1.5, which pays for moves of 2 and for the round that two epochs use",
        ),
        Entry(
            "calibrated",
            "RestartOnShift",
            SHIFTING.name,
            choose={"thresholds": "certified"},
            note="thresholds='certified': false alarms are provably rare",
        ),
        Entry(
            "calibrated", "RestartOnShift", SHIFTING.name, note="thresholds='tuned': the bound holds up to S restarts"
        ),
        Entry("rival", "RecentLeader", SHIFTING.name, note="ours"),
        Entry("rival", "TrackingOnSums", SHIFTING.name, note="ours"),
        Entry("rival", "LazyFixedShare", SHIFTING.name, note="ours: Section 4 made efficient"),
        Entry("rival", "LimitedUpdates", SHIFTING.name, note="Algorithm 1 without restarts: learns once", fixed=True),
        Entry("rival", "HedgeOnSums", SHIFTING.name, note="paper ctrl, Theorem 15: learns a fixed expert", fixed=True),
        Entry("rival", "L2P", SHIFTING.name, note="paper l2p: learns a fixed expert", fixed=True),
        Entry("printed", "NoisyMirrorDescent", HOSTILE.name, "Theorem 5.2"),
        Entry(
            "repaired",
            "NoisyMirrorDescent",
            HOSTILE.name,
            "Theorem 5.2",
            {"noise": lambda problem: float(problem.n)},
            note=times_experts,
        ),
        Entry("calibrated", "NoisyMirrorDescent", HOSTILE.name),
        Entry(
            "calibrated",
            "NoisyMirrorDescent",
            HOSTILE.name,
            choose={"epsilon": lambda problem: float(problem.n)},
            note="at epsilon=N, which the printed noise costs at epsilon=1",
        ),
        Entry("printed", "SwitchingSequences", SEQUENCES.name, "Corollary 4.3"),
        Entry(
            "repaired",
            "SwitchingSequences",
            SEQUENCES.name,
            "Corollary 4.3",
            {"box_result": "Theorem 3.2"},
            note="the black box has the parameters of Theorem 3.2 of paper l2p, which keep their epsilon",
        ),
        Entry("calibrated", "SwitchingSequences", SEQUENCES.name, note="black box L2P, calibrated"),
        Entry("rival", "LazyFixedShare", SEQUENCES.name, note="ours: all sequences, in time N a round"),
        Entry("printed", "NoisyMirrorDescent", REACTING.name, "Theorem 5.2"),
        Entry("calibrated", "NoisyMirrorDescent", REACTING.name),
        Entry("rival", "LazyFixedShare", REACTING.name, note="ours, certified for losses fixed in advance only"),
        Entry("printed", "NoisyMirrorDescent", FINGERPRINT.name, "Theorem 5.2", note=floor_note),
        Entry("calibrated", "NoisyMirrorDescent", FINGERPRINT.name, note=floor_note),
        Entry(
            "calibrated",
            "NoisyMirrorDescent",
            FINGERPRINT.name,
            choose={"epsilon": LITTLE},
            note=floor_note,
        ),
        Entry(
            "calibrated",
            "NoisyMirrorDescent",
            FINGERPRINT.name,
            choose={"epsilon": MUCH},
            note=floor_note,
        ),
        Entry("rival", "LazyFixedShare", FINGERPRINT.name, note="ours, certified for losses fixed in advance only"),
    ),
    horizon=20_000,
    dimension=10,
)
run = partial(run_paper, PAPER)

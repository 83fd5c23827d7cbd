"""Numbers that pages state, each with what produces it: the part of the claims ledger that is checked by value.

A pattern finds the numbers on its page; a function computes them anew, or reads them from the benchmarks' results. A
number agrees if it is the computed one, rounded to the digits that are shown.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import ceil, exp, log, sqrt
from pathlib import Path

import numpy as np
from scripts import mironov
from scripts.errata import bandit, lazy_to_private

import tacit
from tacit.cli.demo import digits_models
from tacit.floors import arms_floor
from tacit.learners.stochastic.weighting import paper_weighted_noise, weighted_noise
from tacit.learners.target import Target
from tacit.mechanisms.running_sums import Buffered, SquareRoot, Tree
from tacit.privacy.calibration import gaussian_mu
from tacit.randomness import Randomness
from tacit.simulation.comparators import best_switching_sequence

ROOT = Path(__file__).parents[2]
BENCHMARKS = json.loads((ROOT / "benchmarks" / "latest.json").read_text())["results"]
TARGET = {"epsilon": 1.0, "delta": 1e-6}
CELL = r"\s*([\d.,]+)\s*\|"


@dataclass(frozen=True)
class Stated:
    """Numbers of one sentence or row of a page.

    Attributes:
        page: the page, from the project's folder.
        pattern: finds them exactly once; one group for each number.
        values: computes them, in the same order.
        agree: (stated text, computed value) -> whether the page may say this.
        slow: whether computing them takes more than a few seconds.
    """

    page: str
    pattern: str
    values: Callable[[], Sequence[float]]
    agree: Callable[[str, float], bool] | None = None
    slow: bool = False

    def problems(self, text: str | None = None) -> list[str]:
        """What is wrong on the page (or in this text instead of it)."""
        found = re.findall(self.pattern, (ROOT / self.page).read_text() if text is None else text)
        if len(found) != 1:
            return [f"{self.page} has {len(found)} places like {self.pattern!r} instead of one"]
        numbers = found[0] if isinstance(found[0], tuple) else (found[0],)
        values = list(self.values())
        if len(values) != len(numbers):
            return [f"{self.page}: {len(numbers)} numbers are stated and {len(values)} are computed"]
        agree = self.agree or rounded
        return [
            f"{self.page} says {shown}, computed is {value:.6g}"
            for shown, value in zip(numbers, values, strict=True)
            if not agree(shown, float(value))
        ]


def number(shown: str) -> float:
    """The number that a page shows as 3,954 or .0204."""
    return float(shown.replace(",", ""))


def rounded(shown: str, value: float) -> bool:
    """Whether the value, rounded to the digits shown, is what is shown."""
    decimals = len(shown.partition(".")[2])
    return abs(value - number(shown)) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


def near(shown: str, value: float) -> bool:
    """The same up to a part in five thousand: the last digits of a search may differ between machines."""
    return rounded(shown, value) or abs(value / number(shown) - 1) <= 2e-4


def at_most(shown: str, value: float) -> bool:
    """Whether the value is at most what is shown."""
    return value <= number(shown)


def just_above(shown: str, value: float) -> bool:
    """Whether what is shown is not below the value, and by a fortieth above it at most."""
    return value <= number(shown) <= 1.025 * value


# Certified regret ------------------------------------------------------------------------------------------


def expert_bounds(rounds: int, n: int, epsilon: float) -> list[float]:
    """No privacy, Theorem 3.2 with its best parameters, lazy experts, Hedge on sums."""
    problem = tacit.Experts(n=n, horizon=rounds)
    plans = [
        tacit.L2P.calibrate(problem, epsilon=epsilon, delta=1e-6, calibration="paper"),
        tacit.LazyExperts.calibrate(problem, epsilon=epsilon, delta=1e-6),
        tacit.HedgeOnSums.calibrate(problem, epsilon=epsilon, delta=1e-6),
    ]
    return [2 * sqrt(rounds * log(n) / 8), *(float(plan.regret_bound) for plan in plans)]


def convex_bounds(family: str, dimension: int, rounds: int) -> list[float]:
    """CTRL and private FTRL."""
    loss = tacit.ConvexFamily(1.0, 1.0, family)
    problem = tacit.Convex(domain=tacit.Ball(dimension), loss=loss, horizon=rounds)
    return [float(plan.calibrate(problem, **TARGET).regret_bound) for plan in (tacit.CTRL, tacit.PrivateFTRL)]


@cache
def tsallis_bound(n: int, epsilon: float) -> float:
    """Of 100,000 rounds."""
    problem = tacit.Arms(n=n, horizon=100_000)
    return float(tacit.BatchedTsallis.calibrate(problem, epsilon=epsilon, delta=0.0).regret_bound)


@cache
def phased_bound(epsilon: float) -> float:
    """Of 20 arms and 100,000 rounds."""
    problem = tacit.Arms(n=20, horizon=100_000, adversary="stochastic")
    return float(tacit.PhasedArms.calibrate(problem, epsilon=epsilon, delta=0.0).regret_bound)


def floors() -> list[float]:
    """What no learner of 20 arms escapes in 100,000 rounds."""
    return [arms_floor(20, 100_000, Target(epsilon, 0.0)) for epsilon in (1.0, 0.1, 0.01)]


def measured_ratios() -> list[float]:
    """The regret of BatchedTsallis over that of PhasedArms: least and largest of the streams of `make bench-peers`."""
    results = json.loads((ROOT / "benchmarks" / "peers.json").read_text())["arms"]["results"]
    phased = {key: value for key, value in results.items() if key.endswith("tacit PhasedArms") and "regret" in key}
    ratios = [results[key.replace("PhasedArms", "BatchedTsallis")] / value for key, value in phased.items()]
    return [min(ratios), max(ratios)]


def arm_bounds() -> list[Stated]:
    page, phased, tsallis = "docs/arms.md", "docs/algorithms/phased-arms.md", "docs/algorithms/batched-tsallis.md"

    def both(epsilon: float) -> list[float]:
        return [phased_bound(epsilon), tsallis_bound(20, epsilon)]

    rows = [
        Stated(page, r"\| certified, K = 20, T = 1e5, epsilon = 1 \|" + 2 * CELL, partial(both, 1.0), just_above),
        Stated(page, r"\| certified, epsilon = \.1 \|" + 2 * CELL, partial(both, 0.1), just_above),
        Stated(page, r"(\d+) at K = 20, T = 1e5, epsilon = 1, (\d+) at\s+epsilon = \.1, (\d+) at \.01", floors),
        Stated(page, r"measured regret was ([\d.]+) to ([\d.]+) times smaller", measured_ratios),
    ]
    rows += [
        Stated(phased, rf"\| 20 \| 1e5 \| {shown} \|" + CELL, lambda e=epsilon: [phased_bound(e)], just_above)
        for shown, epsilon in (("1", 1.0), (r"\.1", 0.1))
    ]
    rows += [
        Stated(tsallis, rf"\| {n} \| 1e5 \| \d+ / (\d+) / \d+ \|", lambda n=n: [tsallis_bound(n, 1.0)], just_above)
        for n in (10, 20, 100)
    ]
    return rows


def interval_bounds() -> list[float]:
    """Certified regret on the unit interval, epsilon = 1: both kinds of differences at two horizons."""
    return [
        float(
            tacit.LipschitzGrid.calibrate(
                tacit.Lipschitz(horizon=rounds), coordinates=coordinates, **TARGET
            ).regret_bound
        )
        for rounds in (10**4, 10**5)
        for coordinates in ("differences", "multiscale")
    ]


def leader_bounds(rounds: int, dimension: int, epsilon: float) -> list[float]:
    """Private FTRL against adaptive adversaries; two streams and no projection, beta = 1 and .25; no privacy."""
    found = []
    for proper, adversary, betas in ((True, "adaptive", (1.0,)), (True, None, (1.0, 0.25)), (False, None, (1.0, 0.25))):
        for beta in betas:
            family = tacit.ConvexFamily(1.0, beta, "glm")
            problem = tacit.Convex(domain=tacit.Ball(dimension), loss=family, horizon=rounds, proper=proper)
            target = {"epsilon": epsilon, "delta": 1e-6, "adversary": adversary or "oblivious"}
            found.append(float(tacit.PrivateFTRL.calibrate(problem, **target).regret_bound))
    return [*found, sqrt(rounds)]


def held_decisions() -> list[float]:
    """How often CTRL changes its decision, d = 10, T = 1e5."""
    family = tacit.ConvexFamily(1.0, 1.0, "glm")
    problem = tacit.Convex(domain=tacit.Ball(10), loss=family, horizon=100_000)
    return [float(tacit.CTRL.calibrate(problem, **TARGET).expected_switches or 0)]


def mirror_bounds(n: int, switches: int, rounds: int) -> list[float]:
    """Noisy mirror descent, pure: losses fixed in advance, adaptive adversaries."""
    problems = [
        tacit.Tracking(n=n, horizon=rounds, switches=switches, adversary=adversary)
        for adversary in ("oblivious", "adaptive")
    ]
    return [float(tacit.NoisyMirrorDescent.calibrate(p, epsilon=1.0, delta=0.0).regret_bound) for p in problems]


def recent_bounds(n: int) -> list[float]:
    """The recent leader and noisy mirror descent, pure."""
    problem = tacit.Tracking(n=n, horizon=100_000, switches=3, adversary="stochastic")
    kinds = (tacit.RecentLeader, tacit.NoisyMirrorDescent)
    return [float(kind.calibrate(problem, epsilon=1.0, delta=0.0).regret_bound) for kind in kinds]


def stationary_bounds(n: int) -> list[float]:
    """Limited updates, lazy experts and Hedge on sums, pure."""
    problem = tacit.Experts(n=n, horizon=100_000)
    kinds = (tacit.LimitedUpdates, tacit.LazyExperts, tacit.HedgeOnSums)
    return [float(kind.calibrate(problem, epsilon=1.0, delta=0.0).regret_bound) for kind in kinds]


MIRROR_ROWS = [(5, 2, 100_000), (10, 3, 20_000), (10, 3, 100_000), (12, 3, 200_000)]
EXPERT_ROWS = [("1e4", "10", "1"), ("1e5", "100", "1"), ("1e5", "100", r"\.1"), ("1e6", "1000", "1")]
LEADER_ROWS = [("1e4", 5, "1"), ("1e5", 1, "1"), ("1e5", 10, "1"), ("1e6", 10, "1"), ("1e5", 10, r"\.1")]
CONVEX_ROWS = [("general", 1), ("general", 10), ("generalised linear", 10)]


def certified() -> list[Stated]:
    rows = [
        Stated(
            "docs/errata/lazy-to-private.md",
            rf"\| {rounds} \| {n} \| {epsilon} \|" + 4 * CELL,
            partial(expert_bounds, int(float(rounds)), int(n), float(epsilon.replace("\\", ""))),
            near,
        )
        for rounds, n, epsilon in EXPERT_ROWS
    ]
    pair = r"\s*(\d+) \((\d+)\)\s*\|"
    rows += [
        Stated(
            "docs/algorithms/private-ftrl.md",
            rf"\| {rounds}, {dimension}, {epsilon} \|" + CELL + 2 * pair + CELL,
            partial(leader_bounds, int(float(rounds)), dimension, float(epsilon.replace("\\", ""))),
            near,
        )
        for rounds, dimension, epsilon in LEADER_ROWS
    ]
    interval = r"regret of (\d+) instead of (\d+) at T = 1e4, and of (\d+) instead of (\d+) at T = 1e5"
    rows.append(Stated("docs/algorithms/lipschitz-grid.md", interval, interval_bounds))
    for page in ("docs/how-to-choose.md", "docs/algorithms/ctrl.md"):
        rows.append(Stated(page, r"at most ([\d,]+) (?:times|changes)", held_decisions, near))
    for n, switches, rounds in MIRROR_ROWS:
        rows.append(
            Stated(
                "docs/algorithms/noisy-mirror-descent.md",
                rf"\| N = {n}, S = {switches}, T = {rounds:,} \|" + 2 * r"\s*([\d,]+) \(\d+\)\s*\|",
                partial(mirror_bounds, n, switches, rounds),
                near,
            )
        )
    for n in (10, 1000):
        rows.append(
            Stated(
                "docs/algorithms/limited-updates.md", rf"\| {n:,} \|" + 3 * CELL, partial(stationary_bounds, n), near
            )
        )
    for n in (10, 100, 1000):
        rows.append(
            Stated("docs/algorithms/recent-leader.md", rf"\| N = {n:,} \|" + 2 * CELL, partial(recent_bounds, n), near)
        )
    for family, dimension in CONVEX_ROWS:
        for rounds in ("1e5", "1e6"):
            name = "general" if family == "general" else "glm"
            rows.append(
                Stated(
                    "docs/errata/ctrl.md",
                    rf"\| {family} \| {dimension} \| {rounds} \|" + 2 * CELL,
                    partial(convex_bounds, name, dimension, int(float(rounds))),
                    near,
                    slow=(family, rounds) != ("generalised linear", "1e5"),
                )
            )
    return rows


# Benchmarks ------------------------------------------------------------------------------------------------


def bandit_row(n: int, rounds: int) -> list[float]:
    """Measured, pure, printed noise (from the benchmarks); certified."""
    measured = [
        BENCHMARKS["bandit"][f"n={n} T={rounds:.0e} regret{kind}"] for kind in ("", ", pure", ", printed noise")
    ]
    problem = tacit.Bandit(domain=tacit.Ball(n, 0.5), horizon=rounds, value_range=(0, 1), lipschitz=1)
    return [*measured, float(tacit.BanditFW.calibrate(problem, **TARGET).regret_bound) / rounds]


def accuracies(relation: str, model: str) -> list[float]:
    """Test accuracy on three data sets at three epsilons."""
    return [
        BENCHMARKS["estimators"][f"{data}, epsilon={epsilon}, {relation}, {model}"]
        for data in ("breast cancer", "digits", "synthetic")
        for epsilon in ("0.1", "1", "3")
    ]


def few_positives() -> list[float]:
    """Balanced accuracy of logistic regression at epsilon=1, without and with public class weights."""
    results = json.loads((ROOT / "benchmarks" / "peers.json").read_text())["diffprivlib"]["results"]
    key = "balanced test accuracy on 5% positives, epsilon=1, tacit logistic (replace)"
    return [results[key], results[f"{key}; class weights"]]


TRIPLE = r"\s*([\d.]+) / ([\d.]+) / ([\d.]+)\s*\|"
ESTIMATORS = {
    "`PrivateLogisticRegression`": ("zero-out", "logistic"),
    "`PrivateLinearSVC`": ("zero-out", "svc"),
    "logistic, replace": ("replace", "logistic"),
    "SVC, replace": ("replace", "svc"),
}


def benchmarked() -> list[Stated]:
    rows = [
        Stated("docs/bandit.md", rf"\| {n} \| {rounds} \|" + 4 * CELL, partial(bandit_row, n, int(float(rounds))))
        for n, rounds in ((2, "1e5"), (2, "1e6"), (10, "1e6"))
    ]
    rows += [
        Stated("docs/one-pass.md", rf"\| {name} \|" + 3 * TRIPLE, partial(accuracies, *source))
        for name, source in ESTIMATORS.items()
    ]
    rows.append(Stated("docs/one-pass.md", r"balanced accuracy of ([\d.]+), and ([\d.]+)\s", few_positives))
    return rows


# Measured in simulations -----------------------------------------------------------------------------------


def shifting_regret(rounds: int) -> list[float]:
    """Mean dynamic regret a round of RestartOnShift over 20 seeds, three shifts of gap .3."""
    problem = tacit.Tracking(n=10, horizon=rounds, switches=3, adversary="stochastic")
    plan = tacit.RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0)
    changes = tuple(rounds * k // 4 for k in (1, 2, 3))
    world = tacit.ShiftingBernoulli(10, rounds, changes, gap=0.3)
    regrets = []
    for seed in range(20):
        losses = world.losses(Randomness.replayable(seed).stream("losses"))
        actions = plan.start(Randomness.replayable(seed)).run(losses)
        regrets.append(losses[np.arange(rounds), actions].sum() - best_switching_sequence(losses, 3)[0])
    return [float(np.mean(regrets)) / rounds]


def start_picture() -> list[float]:
    """Regret at epsilon = 1 and without privacy, 20 runs; the bound."""
    _, losses = digits_models()
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    plans = [tacit.plan(problem, epsilon=epsilon, delta=1e-6) for epsilon in (1.0, 1e4)]
    found = [tacit.simulate(plan, tacit.Replay(losses), runs=20, progress=False).mean[-1] for plan in plans]
    return [*map(float, found), float(ceil(plans[0].regret_bound))]  # a certified number is shown from above


def simulated() -> list[Stated]:
    picture = r"about (\d+) with epsilon = 1 and about (\d+) without privacy, .*bound of (\d+)"
    place = r"has dynamic regret (\.\d+) a round\s+at T = 2e4"
    return [
        Stated("docs/tracking.md", place, partial(shifting_regret, 20_000), slow=True),
        Stated("docs/tracking.md", r"and (\.\d+) at T = 2e5", partial(shifting_regret, 200_000), slow=True),
        Stated("docs/index.md", picture, start_picture, slow=True),
        Stated("docs/bandit.md", r"Uniform play pays (\.\d+)", lambda: [float(bandit.line_14()["uniform play"])]),
    ]


# Noise, and constants of the algorithms ----------------------------------------------------------------------


def batch_noise(rounds: int, power: int) -> list[float]:
    """Weighted noise of the conversion: ours, equation (6)."""
    unit = {"lipschitz": 1.0, "smoothness": 1.0, "diameter": 1.0}
    ours = weighted_noise(Buffered(rounds - 1), gaussian_mu(1.0, 1e-6), power=power, **unit)
    return [ours, paper_weighted_noise(rounds, power, 1.0, 1e-6, **unit)]


def above_square_root() -> list[float]:
    """How much more noise the buffered sum has at its last step, in percent."""
    steps = 100_000
    buffered, root = Buffered(steps), SquareRoot(steps)
    last = [kind.column_norm * float(kind.row_norms()[-1]) for kind in (buffered, root)]
    return [100 * (last[0] / last[1] - 1)]


def crowded() -> list[float]:
    """What 2, 10 and 100 rounds of a person move, over as many times one."""
    return [SquareRoot(100_000).crowding(people) for people in (2, 10, 100)]


def tree_over_buffered() -> list[float]:
    """The noise of the tree over that of the buffered sum, mean and largest."""
    tree, buffered = (kind.standard_deviations(kind.scale(1.0, 1.0)) for kind in (Tree(100_000), Buffered(100_000)))
    return [float(tree.mean() / buffered.mean()), float(tree.max() / buffered.max())]


def shares() -> list[float]:
    """How RestartOnShift splits epsilon."""
    problem = tacit.Tracking(n=2, horizon=1000, switches=1, adversary="stochastic")
    return list(tacit.RestartOnShift.calibrate(problem, epsilon=1.0, delta=0.0).shares)


def committed_regret() -> list[float]:
    """The regret of a committed learner over sqrt(B T): least, and for many batches."""
    found = lazy_to_private.proposition_3_3()
    least, many = (value for label, value in found.items() if "sqrt(B T)" in label or "many batches" in label)
    return [float(least), float(many)]


def best_guess(epsilon: float) -> list[float]:
    """The share of releases that Mironov's attack decides, and the best guess that epsilon-DP allows, in percent."""
    return [100 * mironov.success(epsilon, 1000, seed=1)[0], 100 / (1 + exp(-epsilon))]


def computed() -> list[Stated]:
    rows = [
        Stated(
            "docs/errata/online-to-batch.md",
            rf"\| {rounds} \| {power} \|" + 2 * CELL,
            partial(batch_noise, int(float(rounds)), power),
        )
        for rounds, power in (("1e3", 1), ("1e5", 1), ("1e5", 3))
    ]
    rows += [
        Stated("docs/floating-point.md", rf"\| {epsilon} \| (\d+)% \|.*right ([\d.]+)%", partial(best_guess, epsilon))
        for epsilon in (0.1, 0.5, 1)
    ]
    sums = "docs/algorithms/running-sums.md"
    times = r"`Buffered` has ([\d.]+) to ([\d.]+) times less noise than the tree at 1e5 steps"
    split = r"e_a, e1, e2 are (\.\d+), (\.\d+) and (\.\d+) of epsilon"
    factor = r"sqrt\(1 \+ 1/a\) is ([\d.]+)\."
    committed = r"regret at least (\.\d+) sqrt\(B T\), about (\.\d+) sqrt\(B T\)"
    return [
        *rows,
        Stated(sums, r"within ([\d.]+)% of the square\s+root", above_square_root, at_most),
        Stated(sums, r"m = 2, 10, 100 it is (\.\d+), (\.\d+), (\.\d+) for the square root", crowded),
        Stated(sums, times, tree_over_buffered, lambda shown, value: abs(value - number(shown)) < 0.1),
        Stated("docs/algorithms/restart-on-shift.md", split, shares),
        Stated("docs/algorithms/online-to-batch.md", factor, lambda: [1.4 * sqrt(1 + 1 / 0.8)]),
        Stated("docs/errata/lazy-to-private.md", committed, committed_regret),
    ]


def late_bounds(algorithm: type[tacit.Plan], make: Callable[[int], tacit.Plan], epsilon: float = 1.0) -> list[float]:
    """Certified with feedback 0, 10, 100 and 1000 rounds late."""
    delta = 0.0 if algorithm in (tacit.BatchedTsallis, tacit.PhasedArms) else 1e-6
    plans = [algorithm.calibrate(make(delay), epsilon=epsilon, delta=delta) for delay in (0, 10, 100, 1000)]
    return [float(plan.regret_bound) for plan in plans]


def late() -> list[Stated]:
    """The table of late feedback."""
    family = tacit.ConvexFamily(lipschitz=1.0)
    experts = {n: partial(tacit.Experts, n=n, horizon=100_000) for n in (10, 100)}
    ball = partial(tacit.Convex, domain=tacit.Ball(10), loss=family, horizon=100_000)
    arms = partial(tacit.Arms, n=20, horizon=100_000, adversary="stochastic")
    rows = [
        ("`HedgeOnSums`, N = 10", tacit.HedgeOnSums, experts[10]),
        ("`LazyExperts`, N = 10", tacit.LazyExperts, experts[10]),
        ("`HedgeOnSums`, N = 100", tacit.HedgeOnSums, experts[100]),
        ("`LazyExperts`, N = 100", tacit.LazyExperts, experts[100]),
        ("`PrivateFTRL`, d = 10, G = R = 1, any convex losses", tacit.PrivateFTRL, ball),
        ("`BatchedTsallis`, K = 20, pure", tacit.BatchedTsallis, arms),
        ("`PhasedArms`, K = 20, pure", tacit.PhasedArms, arms),
    ]
    return [
        Stated(
            "docs/delays.md",
            rf"\| {re.escape(name)} \|" + 4 * CELL,
            partial(late_bounds, algorithm, lambda delay, make=make: make(delay=delay)),
            near,
            slow=algorithm in (tacit.BatchedTsallis, tacit.PhasedArms),
        )
        for name, algorithm, make in rows
    ]


def one_pass(horizon: int, loss: tacit.losses.RowLoss, learner: str, share: float | None = None) -> float:
    """Certified excess risk on the unit ball of five dimensions; deviations of `share` of the constants."""
    domain = tacit.Ball(5)
    known, declared = loss.constants(domain), {}
    if share is not None:
        declared = {"gradient_deviation": share * known.lipschitz, "hessian_deviation": share * known.smoothness}
    problem = tacit.Stochastic(domain=domain, loss=loss, horizon=horizon, **declared)
    return float(tacit.OnlineToBatch.calibrate(problem, learner=learner, **TARGET).regret_bound)


@cache
def confident_pass(horizon: int) -> tacit.OnlineToBatch:
    """A pass with a certificate for a single run."""
    problem = tacit.Stochastic(domain=tacit.Ball(5), loss=tacit.LogisticLoss(), horizon=horizon)
    return tacit.OnlineToBatch.calibrate(problem, confidence=0.95, **TARGET)


def passes() -> list[Stated]:
    page, horizons = "docs/algorithms/online-to-batch.md", (20_000, 100_000, 1_000_000)
    quadratic, logistic = tacit.QuadraticLoss(), tacit.LogisticLoss()
    steepest = logistic.constants(tacit.Ball(5)).lipschitz

    def near_start(distance: float) -> list[float]:
        found = [float(confident_pass(horizon).risk_within(distance)) for horizon in (100_000, 1_000_000)]
        return [*found, steepest * distance]

    def along(loss: tacit.losses.RowLoss, learner: str, share: float | None = None) -> Callable[[], list[float]]:
        return lambda: [one_pass(horizon, loss, learner, share) for horizon in horizons]

    rows = [
        Stated(page, rf"\| {shown} \|" + 3 * CELL, partial(near_start, distance), just_above)
        for shown, distance in ((r"\.01", 0.01), (r"\.1", 0.1), ("1", 1.0))
    ]
    return [
        *rows,
        Stated(page, r"quadratic loss, strongly convex \|" + 3 * CELL, along(quadratic, "strongly-convex"), just_above),
        Stated(page, r"logistic loss, optimistic \|" + 3 * CELL, along(logistic, "optimistic"), just_above),
        Stated(page, r"\.1 G and \.1 H declared \|" + 3 * CELL, along(logistic, "optimistic", 0.1), just_above),
    ]


STATED = [*certified(), *passes(), *arm_bounds(), *benchmarked(), *simulated(), *computed(), *late()]

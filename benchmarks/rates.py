"""What a larger rate than the certified one gives away and gains: Hedge on noisy sums, and private FTRL.

The rate may be anything that is computed from released sums: privacy is not at stake. A rate r times as large as the
certified one has a larger certificate, and on easy streams less regret; "leader" follows the noisy leader, the limit of
large rates and of all that adapt. Regret is in expectation over the expert that is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import tacit
from tacit import Randomness
from tacit.data import digits_models
from tacit.validation import FloatArray

RATES = (1.5, 4.0, float("inf"))
RUNS = 5


def measure() -> dict[str, float]:
    """Certificates and regrets over those at the certified rate."""
    results: dict[str, float] = {}
    for n, rounds, epsilon in ((10, 10**4, 1.0), (10, 10**5, 1.0), (100, 10**4, 1.0), (10, 10**4, 0.1)):
        for name, losses in worlds(n, rounds, easy=epsilon < 1):
            results |= compared(f"{name} N={n} T={rounds:.0e} epsilon={epsilon:g}".replace("e+0", "e"), losses, epsilon)
    digits = digits_models()[1]
    results |= compared("digits epsilon=1", digits, 1.0)
    return {**results, "AdaHedge on what was released, times Hedge, digits epsilon=1": adaptive(digits), **leaders()}


def worlds(n: int, rounds: int, *, easy: bool) -> Iterator[tuple[str, FloatArray]]:
    coins = Randomness.replayable(0).stream("coins").random((rounds, n))
    for gap in (0.05, 0.1, 0.3):
        yield f"one expert better by {gap:g}", (coins < 0.5 - gap * (np.arange(n) == 0)).astype(float)
    if easy:  # noise this large drowns the turns: regret near 0, and no ratio
        return
    turning = np.full((rounds, n), 0.5)
    turning[:, 0] = np.arange(rounds) % 2
    turning[:, 1] = 1 - turning[:, 0]
    yield "two experts take turns", turning


def noisy_sums(plan: tacit.algorithms.HedgeOnSums, losses: FloatArray, run: int) -> FloatArray:
    sums = plan.mechanism.start_on(plan.grid, Randomness.replayable(run), "noise")
    return np.vstack([np.zeros(losses.shape[1]), sums.add_many(losses[:-1])])


def compared(row: str, losses: FloatArray, epsilon: float) -> dict[str, float]:
    """Regret at larger rates over that at the certified one, and the same for the certificates."""
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    plan = tacit.algorithms.HedgeOnSums.calibrate(problem, epsilon=epsilon, delta=1e-6)
    paid = np.zeros(1 + len(RATES))
    for run in range(RUNS):
        noisy = noisy_sums(plan, losses, run)
        paid += [hedge_regret(noisy, losses, plan.eta * rate) / RUNS for rate in (1.0, *RATES)]
    found = {}
    for rate, regret in zip(RATES, paid[1:], strict=True):
        column = f"rate={'leader' if rate == float('inf') else f'{rate:g}'}"
        found[f"regret of Hedge over that at the certified rate, {column}, {row}"] = float(regret / paid[0])
        if rate < float("inf"):
            certificate = float(replace(plan, eta=plan.eta * rate).regret_bound) / float(plan.regret_bound)
            found[f"regret of Hedge over that at the certified rate, {column}, certificate"] = certificate
    return found


def hedge_regret(noisy: FloatArray, losses: FloatArray, eta: float) -> float:
    behind = noisy - noisy.min(axis=1, keepdims=True)
    weights = np.exp(-min(eta, 1e9) * behind)
    return float(((weights * losses).sum(axis=1) / weights.sum(axis=1)).sum() - losses.sum(axis=0).min())


def adaptive(losses: FloatArray) -> float:
    """AdaHedge (de Rooij et al., 2014), which reads its rate off the increments of the noisy sums."""
    problem = tacit.Experts(n=losses.shape[1], horizon=losses.shape[0])
    plan = tacit.algorithms.HedgeOnSums.calibrate(problem, epsilon=1.0, delta=1e-6)
    total = fixed = 0.0
    for run in range(RUNS):
        noisy = noisy_sums(plan, losses, run)
        fixed += hedge_regret(noisy, losses, plan.eta)
        gap, paid = 1e-9, 0.0
        for t, increment in enumerate(np.diff(noisy, axis=0, append=noisy[-1:])):
            eta = np.log(problem.n) / gap
            weights = np.exp(-eta * (noisy[t] - noisy[t].min()))
            weights /= weights.sum()
            paid += float(weights @ losses[t])
            least = increment.min()
            gap += max(0.0, weights @ increment - least + np.log(weights @ np.exp(-eta * (increment - least))) / eta)
        total += paid - losses.sum(axis=0).min()
    return total / fixed


def leaders() -> dict[str, float]:
    """Certified and measured regret of private FTRL on a logistic stream."""
    dimension, rounds = 5, 10**4
    stream = tacit.environments.LogisticStream(dimension, rounds)
    problem = tacit.Convex(domain=tacit.domains.Ball(dimension), loss=stream.loss, horizon=rounds)
    certified = tacit.algorithms.PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6)
    plans = {
        "one stream": tacit.algorithms.PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, streams=1),
        "two streams": certified,
        "two streams, rate x 1.3": replace(certified, eta=1.3 * certified.eta),
        "practical rate": tacit.algorithms.PrivateFTRL.calibrate(problem, epsilon=1.0, delta=1e-6, rate="practical"),
        "not projected": tacit.algorithms.PrivateFTRL.calibrate(
            replace(problem, proper=False), epsilon=1.0, delta=1e-6
        ),
    }
    found = {}
    for name, plan in plans.items():
        found[f"FTRL on logistic losses d=5 T=1e4, regret=certified, {name}"] = float(plan.regret_bound)
        result = tacit.simulate(plan, stream, runs=RUNS, progress=False)
        found[f"FTRL on logistic losses d=5 T=1e4, regret=measured, {name}"] = float(result.mean[-1])
    return found


if __name__ == "__main__":
    for name, value in measure().items():
        print(f"{name}: {value:.4g}")

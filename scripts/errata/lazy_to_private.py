"""Errata of "Private Online Learning via Lazy Algorithms" (NeurIPS 2024), in numbers.

Run: `python scripts/errata/lazy_to_private.py`.
"""

import sys
from itertools import product
from math import exp, expm1, log, sqrt
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from scripts.errata.evidence import FALSE, GAP, LOOSE, Errata, Numbers, verdict
from scripts.reproduce.table1_lazy import batch_regret

import tacit

errata = Errata()
table = errata.table


def weights(losses: np.ndarray, eta: float) -> np.ndarray:
    """Exponential weights after each prefix of the losses, shape (rounds, experts)."""
    before = np.vstack([np.zeros(losses.shape[1]), np.cumsum(losses, axis=0)[:-1]])
    raw = np.exp(-eta * (before - before.min(axis=1, keepdims=True)))
    return raw / raw.sum(axis=1, keepdims=True)


@errata
def proposition_3_3() -> Numbers:
    """Batching costs eta T B/8, not a multiple of T B^2 eta^2: two experts that take turns for B rounds."""
    batch, rounds = 10, 20_000
    found: Numbers = {}
    shares = []
    for eta in (1e-2, 1e-3, 1e-4):
        turns = np.repeat(np.arange(rounds // batch) % 2, batch)
        losses = np.stack([1.0 - turns, 1.0 * turns], axis=1)
        laws = weights(losses, eta)
        every_round = float(np.sum(laws * losses))
        held = np.repeat(laws[::batch], batch, axis=0)
        gap = float(np.sum(held * losses)) - every_round
        found[f"eta = {eta:g}: loss added by batching"] = gap
        found[f"eta = {eta:g}: divided by T B^2 eta^2"] = gap / (rounds * (batch * eta) ** 2)
        shares.append(gap / (eta * rounds * batch / 8))
    found["divided by eta T B/8, all three"] = f"{min(shares):.4f} to {max(shares):.4f}"
    steps = [batch_regret(batch * n, batch) / (batch * sqrt(n)) for n in (1, 2, 3, 4, 100, 10_000)]
    found["turns at random: least regret of any committed learner / sqrt(B T)"] = min(steps)
    found["the same for many batches"] = steps[-1]
    growth = float(found["eta = 0.0001: divided by T B^2 eta^2"]) / float(found["eta = 0.01: divided by T B^2 eta^2"])
    return found | verdict(FALSE, printed=growth < 2, corrected=max(shares) <= 1 and min(steps) >= 0.35)


@errata
def theorem_3_10_regret() -> Numbers:
    """At B = 1/epsilon the forced regret outgrows the claim, and the corrected rate is kept."""
    found: Numbers = {}
    over, kept = [], []
    for batch in (10, 100, 1000):
        rounds = batch**4
        claim = sqrt(rounds * log(2)) + rounds ** (1 / 3) * log(2) * batch ** (2 / 3)
        over.append(batch_regret(rounds, batch) / claim)
        found[f"T = {rounds:g}, epsilon = 1/{batch}: forced regret / claimed rate"] = over[-1]
    for rounds in (10**4, 10**5):
        epsilon = rounds**-0.3
        plan = tacit.algorithms.LazyExperts.calibrate(tacit.Experts(n=2, horizon=rounds), epsilon=epsilon, delta=1e-6)
        rate = sqrt(rounds * log(2)) + rounds**0.4 * log(2) ** 0.8 / epsilon**0.6
        kept.append(float(plan.regret_bound) / rate)
        found[f"T = {rounds:g}, epsilon = T^-.3: LazyExperts' bound / corrected rate"] = kept[-1]
    return found | verdict(
        FALSE, printed=over[-1] < 1.5 * over[0], corrected=max(kept) < 10 and kept[-1] < 1.1 * kept[0]
    )


def actions_delta(rounds: int, epsilon: float, factor: float) -> float:
    """A lower bound on delta of the actions alone, N = 2, Theorem 3.10 with p = factor eta/epsilon.

    One loss of the first batch is (1, 0) or (0, 1), all other losses are 0. Then both coins keep with the same
    probability, and how many batches were played by the first expert is a function of the actions.
    """
    batch = round(1 / epsilon)
    eta = min(rounds**-0.25 * log(2) ** 0.75, epsilon) ** (2 / 3) / rounds ** (1 / 3)
    keep = (1 - factor * eta / epsilon) * exp(-2 * batch * eta)
    laws = []
    for one in (1 / (1 + exp(eta)), 1 / (1 + exp(-eta))):  # the weight of the first expert after the change
        law = np.zeros((2, rounds // batch))
        law[0, 1], law[1, 0] = one, 1 - one
        for _ in range(rounds // batch - 2):
            stay, gone = (keep + (1 - keep) * one) * law[0], (1 - keep) * one * law[1]
            other = (keep + (1 - keep) * (1 - one)) * law[1] + (1 - keep) * (1 - one) * law[0]
            law[0, 1:], law[0, 0] = (stay + gone)[:-1], 0.0
            law[1] = other
        laws.append(law)
    return max(float(np.sum(np.maximum(a - exp(epsilon) * b, 0))) for a, b in (laws, laws[::-1]))


@errata
def theorem_3_10_privacy() -> Numbers:
    """No p is given; with p = c eta/epsilon the actions alone leak, and no p satisfies the paper's own bound."""
    rounds, epsilon, delta = 10**5, 0.05, 1e-6
    found: Numbers = {f"delta at p = {c} eta/epsilon is at least": actions_delta(rounds, epsilon, c) for c in (1, 10)}
    least = min(float(value) for value in found.values())
    eta = epsilon ** (2 / 3) / rounds ** (1 / 3)
    forces = np.geomspace(1e-4, 1, 4001)
    spread = rounds * eta**2 * forces * epsilon
    own = 2 * eta / forces + eta + 1.5 * spread * log(1 / delta) + np.sqrt(6 * spread) * log(1 / delta)
    found["epsilon promised"] = epsilon
    found["smallest epsilon that Theorem 3.2 gives over all p, delta_1 = 1e-6"] = float(own.min())
    problem = tacit.Experts(n=2, horizon=rounds)
    plan = tacit.algorithms.L2P.as_printed(problem, epsilon=epsilon, delta=delta, result="Theorem 3.10")
    return found | verdict(FALSE, printed=least <= delta, corrected=plan.printed_status == "refuted")


@errata
def theorem_3_12() -> Numbers:
    """With p = eta/epsilon the first term of Theorem 3.2 alone is 2 epsilon."""
    epsilon, rounds, delta = 0.1, 10**6, 1e-6
    eta = epsilon ** (2 / 3) / (rounds ** (1 / 3) * log(rounds / delta))
    coin = 2 * eta / (eta / epsilon)
    loss = tacit.losses.LogisticLoss(data_norm=1.0)
    problem = tacit.Convex(domain=tacit.domains.Ball(1), loss=loss, horizon=rounds)
    plan = tacit.algorithms.L2PConvex.as_printed(problem, epsilon=epsilon, delta=delta, work_limit=None)
    return {
        "epsilon promised": epsilon,
        "first term 2 eta/p of Theorem 3.2 at p = eta/epsilon": coin,
        "the proof's own condition eta/p <= epsilon/2: left side": eta / (eta / epsilon),
        "right side": epsilon / 2,
        "proved by tacit in one dimension, by another proof": plan.guarantee.epsilon(delta),
        **verdict(GAP, printed=coin <= epsilon, corrected=plan.printed_status == "kept"),
    }


@errata
def equation_5() -> Numbers:
    """A draw costs up to 2 eta and the two draws of a step 4 eta, where eta is charged."""
    eta, n = 0.05, 1000
    laws = []
    for first in (0.0, 1.0):
        losses = np.full(n, 1 - first)
        losses[0] = first
        raw = np.exp(-eta * losses)
        laws.append(raw / raw.sum())
    ratio = np.log(laws[0] / laws[1])
    largest, width = float(np.max(np.abs(ratio))), float(np.ptp(ratio))
    return {
        "charged for one step, eta": eta,
        "largest log ratio of one draw": largest,
        "largest log ratio of the two draws of a step": 2 * largest,
        "range of the log ratio of one draw": width,
        "corrected: range of one draw, 2 eta": 2 * eta,
        **verdict(FALSE, printed=2 * largest <= eta, corrected=width <= 2 * eta * (1 + 1e-12)),
    }


@errata
def switch_bit() -> Numbers:
    """Given the merged bit, which chain moved depends on the changed loss; two bits are priced apart."""
    eta, force = 0.05, 0.05
    keeps = (1 - force) * exp(-4 * eta), (1 - force) * exp(-2 * eta)  # e^{-2 B eta} ratio, B = 1, ratio e^{-2 eta} or 1
    merged = [1 - keep * (1 - force) for keep in keeps]
    only_y = [keep * force / one for keep, one in zip(keeps, merged, strict=True)]
    after = abs(log(only_y[0] / only_y[1]))
    coin = max(abs(log(keeps[0] / keeps[1])), abs(log((1 - keeps[0]) / (1 - keeps[1]))))
    bound = max(2 * eta, log(1 + max(keeps) * -expm1(-2 * eta) / (1 - max(keeps))))
    return {
        "charged for the step after the change, eta": eta,
        "both draws at their true price, 4 eta": 4 * eta,
        "log ratio of 'y moved, x did not' given the merged bit": after,
        "the bit of x alone, exactly": coin,
        "its price in tacit": bound,
        **verdict(FALSE, printed=after <= 4 * eta, corrected=coin <= bound * (1 + 1e-12)),
    }


@errata
def algorithm_1_slack() -> Numbers:
    """e^{B eta} keeps the probability below 1 for exponential weights, and one chain is enough."""
    eta, batch = 0.1, 3
    largest = 0.0
    for x, y in product(product((0, 1), repeat=batch), repeat=2):
        largest = max(largest, eta * (sum(y) - sum(x)))
    problem = tacit.Experts(n=10, horizon=2_000)
    printed = tacit.algorithms.L2P.calibrate(problem, epsilon=1.0, delta=1e-6, slack=2.0)
    needed = tacit.algorithms.L2P.calibrate(problem, epsilon=1.0, delta=1e-6)
    single = tacit.algorithms.LazyExperts.calibrate(problem, epsilon=1.0, delta=1e-6)
    bounds = [float(plan.regret_bound) for plan in (printed, needed, single)]
    return {
        "printed: ln of the divisor, 2 B eta": 2 * batch * eta,
        "largest log ratio over all 0/1 losses": largest,
        "certified regret with e^{2 B eta}, two chains": bounds[0],
        "with e^{B eta}, two chains": bounds[1],
        "one chain (LazyExperts)": bounds[2],
        **verdict(
            LOOSE, printed=2 * batch * eta <= largest, corrected=largest <= batch * eta and bounds[2] < min(bounds[:2])
        ),
    }


@errata
def lemma_3_8() -> Numbers:
    """Conditioning on both good sets costs e^epsilon times lambda, not 2 lambda."""
    epsilon, chance, slack = 2.0, 0.01, 1e-9
    # Step 1 says a with probability lambda or e^epsilon lambda, else b. Step 2 tells the data after a, nothing after b.
    # Good sets {b} and {a, b}: each has probability at least 1 - lambda on its own side.
    law = {("a", 0): chance, ("b", 0): 1 - chance}
    other = {("a", 1): exp(epsilon) * chance, ("b", 0): 1 - exp(epsilon) * chance}
    outcomes = law.keys() | other.keys()
    # For every epsilon, however large: the outcome (a, 1) is impossible on the other side.
    true = sum(other.get(outcome, 0.0) for outcome in outcomes if law.get(outcome, 0.0) == 0.0)
    step = max(log(other["a", 1] / chance), log((1 - chance) / other["b", 0]))
    return {
        "step 1 is epsilon-DP with": step,
        "the counterexample needs e^epsilon above": 2.0,
        "claimed delta, delta~ + 2 lambda": slack + 2 * chance,
        "true delta, at every epsilon": true,
        "corrected: (1 + e^epsilon) lambda": (1 + exp(epsilon)) * chance,
        **verdict(FALSE, printed=true <= slack + 2 * chance, corrected=true <= (1 + exp(epsilon)) * chance),
    }


if __name__ == "__main__":
    errata.print_all()

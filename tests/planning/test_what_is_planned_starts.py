"""Whatever the planner offers can start: every candidate plays two rounds, or is a row with its reason."""

import numpy as np

import tacit
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness


class OwnLink(tacit.losses.LinkLoss):
    """Nobody checked it."""

    label_range = (-1.0, 1.0)

    def link(self, margins, labels):
        return np.logaddexp(0.0, -labels * margins)

    def slope(self, margins, labels):
        return -labels / (1 + np.exp(labels * margins))

    def curvature(self, margins, labels):
        return labels**2 / (2 + 2 * np.cosh(margins))

    def link_constants(self, largest_margin):
        return 1.0, 0.25


LOSSES = {
    "logistic": lambda d: tacit.losses.LogisticLoss(),
    "squared": lambda d: tacit.losses.SquaredLoss(),
    "huber": lambda d: tacit.losses.HuberLoss(),
    "smoothed hinge": lambda d: tacit.losses.SmoothedHingeLoss(),
    "hinge": lambda d: tacit.losses.HingeLoss(),
    "absolute": lambda d: tacit.losses.AbsoluteLoss(),
    "quantile": lambda d: tacit.losses.QuantileLoss(level=0.8),
    "linear": lambda d: tacit.losses.LinearLoss(),
    "quadratic": lambda d: tacit.losses.QuadraticLoss(),
    "own link": lambda d: OwnLink(),
    "custom": lambda d: tacit.losses.CustomLoss(lambda x, z: abs(x[0]), lambda x, z: np.sign(x) / 9, lipschitz=1.0),
}
SETS = {
    "ball": lambda d: tacit.domains.Ball(d, radius=2.0),
    "box": lambda d: tacit.domains.Box(np.linspace(-1, 0, d), np.linspace(0.5, 1, d)),
    "simplex": lambda d: tacit.domains.Simplex(d + 1),
    "l1 ball": lambda d: tacit.domains.L1Ball(d),
    "polytope": lambda d: tacit.domains.Polytope(np.vstack([np.eye(d), -np.ones((1, d))]), np.ones(d + 1)),
    "k-subsets": lambda d: tacit.domains.KSubsets(d + 1, 1),
}


def rounds_of(loss, dimension):
    """The data of two rounds."""
    vectors = np.array([np.linspace(-1, 1, dimension), np.full(dimension, 3.0)])
    return [(vector, 1.0) for vector in vectors] if loss.family == "glm" else list(vectors)


def functions():
    return [lambda points: np.abs(points[:, 0] - 0.2), lambda points: 9 * points[:, -1] ** 2]


def drawn(seed):
    """A problem with the data of two rounds, and a target."""
    draw = Randomness.replayable(seed).stream("problems")
    d, horizon = int(draw.integers(1, 4)), int(draw.choice([2, 9, 40]))
    domain = SETS[draw.choice(list(SETS))](d)
    target = {"epsilon": 1.0, "delta": float(draw.choice([1e-6, 1e-6, 0.0]))}
    kind = draw.choice(["convex", "convex", "stochastic", "lipschitz"])
    if kind == "lipschitz" and isinstance(domain, tacit.domains.KSubsets):
        kind = "convex"
    if kind == "lipschitz":
        inside = domain if domain.hull_dimension <= 2 else None
        return tacit.Lipschitz(domain=inside, dimension=min(d, 2), horizon=horizon), functions(), target
    name = draw.choice(list(LOSSES))
    loss = LOSSES[name](domain.dimension)
    if kind == "stochastic":
        problem = tacit.Stochastic(domain=domain, loss=loss, horizon=horizon)
    else:
        adversary = str(draw.choice(["oblivious", "adaptive"]))
        problem = tacit.Convex(domain=domain, loss=loss, horizon=horizon, adversary=adversary)
    return problem, rounds_of(loss, domain.dimension), target


def drawn_options(seed):
    """A choice among a few options, late or not, with the data of as many rounds as it may have."""
    draw = Randomness.replayable(seed).stream("options")
    n, horizon, delay = int(draw.choice([1, 2, 3])), int(draw.choice([1, 2, 3, 9])), int(draw.choice([0, 1, 3]))
    asked = {"epsilon": float(draw.choice([0.01, 1.0, 10.0])), "delta": float(draw.choice([1e-6, 0.0]))}
    asked["relation"] = str(draw.choice(["replace", "zero-out"]))
    asked["rounds_per_person"] = int(draw.choice([1, 1, 2]))
    adversary = str(draw.choice(["stochastic", "oblivious", "adaptive"]))
    kind = draw.choice(["experts", "tracking", "tracking", "arms"])
    rows = [np.linspace(0, 1, n)] * min(horizon, 4)
    if kind == "experts":
        return tacit.Experts(n=n, horizon=horizon, delay=delay, adversary=adversary), rows, asked
    if kind == "tracking":
        switches = int(draw.integers(0, min(horizon, 3)))
        problem = tacit.Tracking(n=n, horizon=horizon, delay=delay, switches=switches, adversary=adversary)
        return problem, rows, asked
    fixed = "oblivious" if adversary == "adaptive" else adversary
    return tacit.Arms(n=n, horizon=horizon, delay=delay, adversary=fixed), [0.5] * len(rows), asked


def check(seed, drawn=drawn):
    problem, data, target = drawn(seed)
    refusal, candidates, started = "", (), 0
    try:
        candidates = tacit.plan(problem, **target, progress=False).candidates
    except PrivacyError as error:
        refusal = str(error)
    assert candidates or refusal.startswith("No algorithm meets this target. ")  # and every row has its reason
    for candidate in candidates:
        if candidate.plan is None:
            assert candidate.reason
            continue
        learner = candidate.plan.start(Randomness.replayable(seed))
        for feedback in data:
            learner.play()
            learner.observe(feedback)
        started += 1
    assert started or refusal
    return started


def test_every_candidate_starts_or_says_why_not():
    assert sum(check(seed) for seed in range(20, 32)) > 12


def test_every_candidate_among_options_starts_or_says_why_not():
    """68 of them start; the catalogue has two algorithms for experts fewer than when it was above 80."""
    assert sum(check(seed, drawn_options) for seed in range(40)) > 60

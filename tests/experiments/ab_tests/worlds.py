"""Persons who come back, in worlds that break tests: what they do by week, and what is true of a lift."""

from dataclasses import dataclass

import numpy as np

from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Randomness
from tacit_experiments.ab_tests import inference
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.inference import ALPHA, alpha_of, compare, estimate
from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.release import Block, read_release
from tacit_experiments.ab_tests.vector import LATTICE
from tacit_experiments.ab_tests.weights import levels

WEEKS = 4
METRICS = (
    Conversion("bought", 0.05),
    Sum("orders", 10, 0.07, 0.3),
    Sum("revenue", 400, 3.0, 18.0),
    Sum("views", 100, 8.0, 8.0),
    Sum("clicks", 20, 0.8, 1.3),
    Conversion("left", 0.03),
    Ratio("revenue per order", "revenue", "orders"),
    Ratio("clicks per view", "clicks", "views"),
)
NAMES = [metric.name for metric in METRICS]


@dataclass(frozen=True)
class World:
    """How persons come and act."""

    spread: float = 0.7  # of the logarithm of visits a week
    single: bool = False  # one visit each
    shape: float = 2.0  # of a person's own taste: small is uneven
    order_rate: float = 0.03  # a visit
    arrivals: tuple[float, ...] = (0.25, 0.25, 0.25, 0.25)
    fading: float = 1.0  # of the lift, from week to week
    lost: float = 0.0  # of what was done
    doubled: float = 0.0
    bots: float = 0.0
    devices: float = 0.0  # persons with a second identifier
    shares: tuple[float, float] = (0.5, 0.5)


WORLDS = {
    "one visit each": World(single=True),
    "heavy-tailed visits": World(spread=1.5),
    "strong persons": World(shape=0.4),
    "novelty": World(fading=0.5),
    "growing traffic": World(arrivals=(0.1, 0.2, 0.3, 0.4)),
    "lost 10%, doubled 20%": World(lost=0.1, doubled=0.2),
    "bots 2%": World(bots=0.02),
    "two devices 30%": World(devices=0.3),
    "rate 20%": World(order_rate=0.2),
    "shares .2/.8": World(shares=(0.2, 0.8)),
}


def persons(world, people, lift, generator):
    """What each identifier adds by week without the lift, and because of it: two arrays (people, weeks, measures).

    The third array says which identifiers are second ones, whose persons act by the arm of the first.
    """
    draw = generator
    start = draw.choice(WEEKS, size=people, p=world.arrivals)
    weeks = np.arange(WEEKS)
    rate = draw.lognormal(-(world.spread**2) / 2, world.spread, people)
    taste = draw.gamma(world.shape, 1 / world.shape, people)[:, None]
    visits = draw.poisson(rate[:, None] * np.ones(WEEKS))
    visits = np.where(weeks > start[:, None], visits, 0)
    if world.single:
        visits = np.zeros_like(visits)
    visits[np.arange(people), start] += 1
    is_bot = draw.random(people) < world.bots
    visits[is_bot] *= 50
    effect = lift * world.fading**weeks
    views = draw.poisson(3.0 * visits)
    buying = np.where(is_bot[:, None], 0.0, visits * world.order_rate * taste)
    clicking = 0.1 * views * np.where(is_bot[:, None], 1.0, taste)
    base, more = np.zeros((2, people, WEEKS, 6))
    for rates, place in ((buying, 1), (clicking, 4)):
        base[:, :, place] = draw.poisson(rates)
        more[:, :, place] = draw.poisson(rates * effect)
    left = draw.random((people, WEEKS)) > 0.99**visits
    base[:, :, 3], base[:, :, 5] = views, left
    if world.lost:
        base, more = (draw.binomial(array.astype(int), 1 - world.lost).astype(float) for array in (base, more))
    if world.doubled:
        base, more = (array + draw.binomial(array.astype(int), world.doubled) for array in (base, more))
    for array in (base, more):
        orders = array[:, :, 1].astype(int).ravel()
        prices = draw.lognormal(np.log(50) - 0.5, 1.0, orders.sum())
        owners = np.repeat(np.arange(orders.size), orders)
        array[:, :, 2] = np.bincount(owners, prices, orders.size).reshape(people, WEEKS)
    second = np.zeros(people, dtype=bool)
    if world.devices:
        twice = draw.random(people) < world.devices
        there = draw.random((twice.sum(), WEEKS)) < 0.5
        other, other_more = base[twice] * there[:, :, None], more[twice] * there[:, :, None]
        base[twice] -= other
        more[twice] -= other_more
        base, more = np.concatenate([base, other]), np.concatenate([more, other_more])
        second = np.arange(len(base)) >= people
        start = np.concatenate([start, start[twice]])
    return base, more, second, start, np.flatnonzero(twice) if world.devices else None


def scaled(done):
    """Values in [0, 1] of rows, by look: cumulated over weeks, cut."""
    total = done.cumsum(axis=1)
    total[:, :, 0] = total[:, :, 1] > 0
    highs = np.array([1, 10, 400, 100, 20, 1])
    return np.clip(total / highs, 0, 1)


def true_lifts(world, lift, seed=99, people=300_000):
    """The lift of each metric at each look, of everybody exposed by then, from the same persons in both arms."""
    base, more, second, start, _ = persons(world, people, lift, np.random.default_rng(seed))
    default, arm = scaled(base), scaled(base + more)
    if second.any():  # half of the second identifiers' persons act by the other arm, whatever this arm is
        mixed = 0.5 * (default[second] + arm[second])
        default[second], arm[second] = mixed, mixed
    found = np.zeros((WEEKS, len(METRICS)))
    for look in range(WEEKS):
        there = start <= look
        means = [values[there, look].mean(axis=0) for values in (default, arm)]
        quotients = [np.array([*mean, mean[2] / mean[1], mean[4] / mean[3]]) for mean in means]
        found[look] = quotients[1] / quotients[0] - 1
    return found


def run(world, runs, lift, seed, epsilons=(None, 1.0, 0.3), people=20_000):
    """Intervals by epsilon and look: of each metric at the level of one test, and of its family."""
    generator = np.random.default_rng(seed)
    designs = {
        epsilon: ABTest("world", ("a", "b"), METRICS, epsilon=epsilon or 1.0, shares=world.shares)
        for epsilon in epsilons
    }
    promises = {epsilon: Promise.of(design) for epsilon, design in designs.items()}
    layout = designs[epsilons[0]].layout
    noise = DiscreteGaussian.from_streams(Randomness.replayable(seed), "worlds")
    released = {epsilon: np.zeros((runs, WEEKS, 2, layout.size)) for epsilon in epsilons}
    for number in range(runs):
        sums = _sums(world, people, lift, generator, layout)
        for epsilon in epsilons:
            for look in range(WEEKS):
                used = promises[epsilon].looks[look].total
                exact = [layout.weighted(row, used) for row in sums[look]]
                drawn = noise.draw(2 * layout.size).reshape(2, layout.size) if epsilon else 0
                released[epsilon][number, look] = np.array(exact, dtype=float) + drawn
    return {
        epsilon: _read(designs[epsilon], promises[epsilon], released[epsilon], is_noisy=epsilon is not None)
        for epsilon in epsilons
    }


def _sums(world, people, lift, generator, layout):
    base, more, second, start, twice = persons(world, people, lift, generator)
    first = (generator.random(people) >= world.shares[0]).astype(int)
    arm, acting = first, first
    if twice is not None:
        other = (generator.random(second.sum()) >= world.shares[0]).astype(int)
        arm, acting = np.concatenate([first, other]), np.concatenate([first, first[twice]])
    values = scaled(base + np.where(acting[:, None, None] == 1, more, 0.0))
    lattice = np.rint(values * LATTICE).astype(np.int64)
    found = []
    for look in range(WEEKS):
        there = start <= look
        features = layout.features(lattice[there, look])
        found.append([features[arm[there] == place].sum(axis=0).tolist() for place in (0, 1)])
    return found


def _read(design, promise, released, *, is_noisy):
    looks = []
    for look in range(WEEKS):
        blocks = []
        for row in released[:, look]:
            blocks.append(read_release(design, promise, look + 1, row.ravel().tolist()).total)
        covariance = blocks[0].noise if is_noisy else np.zeros_like(blocks[0].noise)
        block = Block(np.stack([each.moments for each in blocks]), covariance)
        level = levels(WEEKS)[look]
        found = {}
        for metric in METRICS:
            estimates = estimate(design, metric, block)
            found[metric.name] = tuple(
                compare(estimates, 0, inference.critical(alpha, level)) for alpha in (ALPHA, alpha_of(design, metric))
            )
        looks.append(found)
    return looks


def calls(looks, name, family=0):
    """For each run the first look that calls a difference (the number of looks: none)."""
    flags = np.stack([look[name][family].larger[:, 1] | look[name][family].smaller[:, 1] for look in looks])
    return np.where(flags.any(axis=0), flags.argmax(axis=0), len(looks))


def type_one(looks):
    """By metric, the share of runs in which any look calls a difference; and of any secondary metric, corrected."""
    single = {name: float((calls(looks, name) < WEEKS).mean()) for name in NAMES}
    family = np.stack([calls(looks, name, family=1) < WEEKS for name in NAMES[1:]]).any(axis=0)
    return single, float(family.mean())


def coverage(looks, truth):
    """By metric, the share of runs whose interval at the first call, or at the end, contains the true lift."""
    found = {}
    for place, name in enumerate(NAMES):
        stop = np.minimum(calls(looks, name), WEEKS - 1)
        low = np.stack([look[name][0].low[:, 1] for look in looks])[stop, np.arange(len(stop))]
        high = np.stack([look[name][0].high[:, 1] for look in looks])[stop, np.arange(len(stop))]
        true = truth[stop, place]
        found[name] = float((np.isnan(low) | ((low <= true) & (true <= high))).mean())
    return found

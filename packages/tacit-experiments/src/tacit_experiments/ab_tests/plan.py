"""How long a test must be: power by the joint law of its looks, beside the classical lengths.

All inputs are public guesses, and nothing is charged. At look j of J an arm has the share j/J of
its persons. Estimates of later looks contain those of earlier ones, so sums of persons move like a
Brownian motion that is looked at J times, each time behind noise of its own. A recursion over the
looks gives the chance that some look says "better" (docs/algorithms/tests.md, Power).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import ndtr

from tacit.accounting.calibration import gaussian_epsilon, gaussian_mu
from tacit.errors import InvalidInput
from tacit.validation import FloatArray, check_integer, check_number, check_positive
from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.inference import ALPHA, DEVIATIONS, alpha_of, critical
from tacit_experiments.ab_tests.metrics import Conversion, Measure, Metric, Ratio, Sum
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.release import read_release
from tacit_experiments.ab_tests.weights import levels

WEEK, LONGEST = 7, 56
WINDOW = 24.0
"""Hours after the last new person in which acts still count; then comes the last look."""
POINTS, REACH = 601, 8.0
MOST_PERSONS = 2.0**33
SECONDARY: tuple[Metric, ...] = (
    Conversion("secondary 1", 0.2),
    Sum("secondary 2", 1.0, 0.003, sqrt(0.0006)),
    Conversion("secondary 3", 0.1),
)
"""What stands for further metrics of which only the number is known: a rate of 20%, revenue, a rate of 10%."""


@dataclass(frozen=True)
class Cost:
    """What one metric costs and how exactly it is released.

    Attributes:
        metric: its name.
        noise: the standard deviation of the noise in its sum at the last look, beside that in the number of persons
            times its mean, in its own units (of a conversion: persons; of a ratio: those of the metric above the line).
        length: how many persons an arm the test needs, over what it needs without this metric (1: nothing).
    """

    metric: str
    noise: float
    length: float


@dataclass(frozen=True)
class ABTestPlan:
    """What is known of a test before it starts.

    Attributes:
        design: the test.
        lift: the lift of the primary metric that is to be found.
        power: the chance with which it is found.
        people_per_day: new persons a day, in all arms.
        classical: persons in the default arm for a test of fixed length, without privacy and looks.
        sequential: the same with as many looks (O'Brien-Fleming spending).
        persons: persons in the default arm for this test.
        used: the mean share of the length until some look says better or worse, if the lift is real.
        days: the length, in whole weeks.
        look_days: the days of the looks.
        lift_in_days: the lift that is found in `days` (or in 56, if these are fewer) with the same power.
        costs: what each metric costs.
        in_reach: whether the test is at most 56 days long.
    """

    design: ABTest
    lift: float
    power: float
    people_per_day: float
    classical: int
    sequential: int
    persons: int
    used: float
    days: int
    look_days: tuple[float, ...]
    lift_in_days: float
    costs: tuple[Cost, ...]
    in_reach: bool

    @property
    def ratio(self) -> float:
        """The length over that of the classical test."""
        return self.persons / self.classical

    def days_of(self, persons: float) -> float:
        """Return how long it takes until so many persons are in the default arm."""
        return persons / self.design.arm_shares[self.design.default_place] / self.people_per_day

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "design": self.design.to_dict(),
            "lift": self.lift,
            "power": self.power,
            "people_per_day": self.people_per_day,
            "persons_an_arm": {
                "classical": self.classical,
                "classical_sequential": self.sequential,
                "private": self.persons,
            },
            "over_classical": self.ratio,
            "mean_length_used": self.used,
            "days": self.days,
            "look_days": list(self.look_days),
            "lift_found_in_days": self.lift_in_days,
            "in_reach": self.in_reach,
            "costs": [
                {"metric": cost.metric, "noise_of_sum": cost.noise, "length_over_without": cost.length}
                for cost in self.costs
            ],
        }

    def __str__(self) -> str:
        looks, epsilon = self.design.looks, self.design.epsilon
        several = f"{looks} looks" if looks > 1 else "1 look"
        names = ("classical, fixed", f"classical, {several}", f"epsilon = {epsilon:g}, {several}")
        width = max(map(len, names)) + 2
        lines = [
            f"{name:{width}}{persons:>11,} persons an arm {self.days_of(persons):8.1f} days"
            for name, persons in zip(names, (self.classical, self.sequential, self.persons), strict=True)
        ]
        if looks > 1:
            lines[-1] += f", {self.used * self.days_of(self.persons):.1f} on average if the lift is real"
        when = ", ".join(f"{day:g}" for day in self.look_days)
        lines.append(f"  -> {self.days} days (whole weeks), looks on day {when} (window {WINDOW:g} h)")
        within = min(self.days, LONGEST)
        lines.append(f"in {within} days found with probability {self.power:g}: a lift of {self.lift_in_days:.1%}")
        if not self.in_reach:
            lines.append(
                f"Not in reach: {self.days} days are more than {LONGEST}. Take more people, a larger lift, or "
                "fewer metrics."
            )
        lines.append("noise at the last look, and what each metric costs:")
        for cost in self.costs:
            more = "" if cost.length == 1 else f"; without it the test is {cost.length - 1:.1%} shorter"
            lines.append(f"  {cost.metric}: +- {cost.noise:.3g} in the sum of an arm{more}")
        return "\n".join(lines)


def plan_test(design: ABTest, lift: float, people_per_day: float, *, power: float = 0.8) -> ABTestPlan:
    """Plan how long a test must be to find a lift of its primary metric.

    Args:
        design: the test; `expected` and `spread` of its metrics are guesses.
        lift: the lift that is to be found: .05 is five per cent more (or less, where less is good).
        people_per_day: new persons a day, in all arms.
        power: the chance with which it is found if it is there.

    >>> from tacit_experiments.ab_tests.metrics import Conversion
    >>> design = ABTest("checkout", ("control", "short"), (Conversion("bought", 0.03),), epsilon=1)
    >>> plan = plan_test(design, 0.05, 20_000)
    >>> plan.classical, plan.days, round(plan.ratio, 2)
    (207935, 28, 1.03)
    """
    check_number("plan_test", "lift", lift, above=-1.0)
    check_positive("plan_test", "people_per_day", people_per_day)
    check_number("plan_test", "power", power, above=0.05, below=0.999)
    if lift == 0:
        raise InvalidInput("The 'lift' parameter of plan_test must be a number that is not 0.")
    promise = Promise.of(design)
    world = _World.of(design, promise, lift)
    classical, sequential = world.classical(power), world.sequential(power)
    persons = world.persons(power)
    share = design.arm_shares[design.default_place]
    days = max(WEEK, WEEK * ceil(round(persons / share / people_per_day / WEEK, 9)))
    within = share * people_per_day * min(days, LONGEST)
    looks = [days * number / design.looks for number in range(1, design.looks)]
    return ABTestPlan(
        design=design,
        lift=lift,
        power=power,
        people_per_day=people_per_day,
        classical=round(classical),
        sequential=round(sequential),
        persons=ceil(persons),
        used=world.used(persons),
        days=days,
        look_days=(*looks, days + WINDOW / 24),
        lift_in_days=_lift_found(lambda size: _World.of(design, promise, size).power(within), lift, power),
        costs=tuple(_cost(design, promise, world, metric, persons, power, lift) for metric in design.metrics),
        in_reach=days <= LONGEST,
    )


@dataclass(frozen=True)
class _World:
    """The laws of the planner: everything about the difference of an arm and the default, by persons in the default.

    Attributes:
        difference: of the two values.
        sampling: the variance of the difference, times the number of persons in the default arm.
        noise: the variance of the noise of the difference at each look, times the square of that number.
        deviations: how many deviations each look asks for.
        persons_noise: the variance of the noise in an arm's number of persons at each look.
        relative: persons of the arm for each person of the default.
    """

    difference: float
    sampling: float
    noise: tuple[float, ...]
    deviations: tuple[float, ...]
    persons_noise: tuple[float, ...]
    relative: float

    @staticmethod
    def of(design: ABTest, promise: Promise, lift: float) -> _World:
        """Compute the laws for the primary metric, and the smallest arm beside the default."""
        metric = next(metric for metric in design.metrics if metric.name == design.primary)
        shares = list(design.arm_shares)
        default = shares.pop(design.default_place)
        relative = min(shares) / default  # persons of the arm for each person of the default
        here, there = _values(design, metric, lift)
        if not 0 < there[0] < 1 and isinstance(metric, Conversion):
            raise InvalidInput("The 'lift' must leave the expected rate of the primary metric between 0 and 1.")
        noises = _noises(design, promise, metric)
        return _World(
            difference=abs(there[0] - here[0]),
            sampling=here[1] + there[1] / relative,
            noise=tuple(at(here[0]) + at(there[0]) / relative**2 for at in noises),
            deviations=tuple(critical(alpha_of(design, metric), level) for level in levels(design.looks)),
            persons_noise=tuple(float(_noise_of(design, promise, look)[0, 0]) for look in range(1, design.looks + 1)),
            relative=relative,
        )

    def classical(self, power: float) -> float:
        """Return the persons of a two-sided test of fixed length without noise."""
        sum_of = NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(power)
        return sum_of**2 * self.sampling / self.difference**2

    def sequential(self, power: float) -> float:
        """Return the persons of a classical test with as many looks."""
        looks = len(self.noise)
        if looks == 1:
            return self.classical(power)
        none = (0.0,) * looks
        classical = replace(self, noise=none, deviations=spending_boundary(looks, ALPHA), persons_noise=none)
        return classical.persons(power)

    def found(self, persons: float) -> tuple[float, ...]:
        """Return the chances that each look is the first that finds a difference, on either side."""
        looks = len(self.noise)
        times = [number / looks for number in range(1, looks + 1)]
        noise = [noise / persons**2 for noise in self.noise]
        shift = self.difference / sqrt(self.sampling / persons)
        # Sums in units of the last look's sampling deviation: time * shift + a Brownian motion at time.
        unit = self.sampling / persons
        behind = [sqrt(each / unit) for each in noise]
        bounds = [c * sqrt(time + extra**2) for c, time, extra in zip(self.deviations, times, behind, strict=True)]
        known = [
            _chance_known(persons * time, noise) * _chance_known(persons * self.relative * time, noise)
            for time, noise in zip(times, self.persons_noise, strict=True)
        ]
        return crossing_chances(times, shift, bounds, behind, known)

    def power(self, persons: float) -> float:
        """Return the chance that some look finds the difference."""
        return sum(self.found(persons))

    def persons(self, power: float) -> float:
        """Return the fewest persons with this power."""
        low = self.classical(power) / 4
        high = 2 * low
        while self.power(high) < power:
            low, high = high, 2 * high
            if high > MOST_PERSONS:
                raise InvalidInput("A lift as small as this is not found with 2**33 persons: look for a larger one.")
        while high > low * (1 + 1e-6):
            middle = (low + high) / 2
            low, high = (low, middle) if self.power(middle) >= power else (middle, high)
        return high

    def used(self, persons: float) -> float:
        """Return the mean share of the length until a look finds the difference, or the end."""
        chances = self.found(persons)
        looks = len(chances)
        return 1 - sum(chance * (looks - number) / looks for number, chance in enumerate(chances, start=1))


def epsilon_of_each(epsilon: float, delta: float, tests: int) -> float:
    """Return the epsilon that each of so many tests may have on one monthly budget, if everybody is in all of them.

    Squares of their mu add up, so that each has 1/sqrt(tests) of the budget's.

    >>> [round(epsilon_of_each(1.0, 1e-6, tests), 2) for tests in (1, 2, 4, 10, 20, 30)]
    [1.0, 0.69, 0.48, 0.29, 0.2, 0.16]
    """
    check_integer("epsilon_of_each", "tests", tests, at_least=1, at_most=10_000)
    return gaussian_epsilon(gaussian_mu(epsilon, delta) / sqrt(tests), delta)


def crossing_chances(
    times: Sequence[float],
    shift: float,
    bounds: Sequence[float],
    behind: Sequence[float],
    known: Sequence[float],
) -> tuple[float, ...]:
    """Compute for each look the chance that it is the first one outside of its bounds.

    A Brownian motion with drift `shift` is seen at `times` behind independent normal noise.

    Args:
        times: of the looks, increasing.
        shift: the drift.
        bounds: a look is outside beyond this, on either side.
        behind: the standard deviation of the noise at each look.
        known: the chance that a look may speak at all.
    """
    chances = []
    weights = np.ones(1)  # the chance to be at each point and not to have crossed
    for number, (time, bound, noise, part) in enumerate(zip(times, bounds, behind, known, strict=True)):
        points, step, kernel = _transition(times[number - 1] if number else 0.0, time)
        points = points + time * shift
        arriving = kernel @ weights
        blurred = sqrt(noise**2 + step**2 / 12)  # of a point's cell: a sharp bound lies inside of one
        outside = ndtr((points - bound) / blurred) + ndtr((-bound - points) / blurred)
        inside = 1 - part * outside
        chances.append(float(arriving @ (1 - inside)))
        weights = arriving * inside
    return tuple(chances)


@lru_cache(maxsize=64)
def _transition(before: float, time: float) -> tuple[FloatArray, float, FloatArray]:
    """Return the points of a look around its drift, their distance, and the chances to come there."""
    start = np.zeros(1) if before == 0 else np.linspace(-REACH * sqrt(before), REACH * sqrt(before), POINTS)
    points = np.linspace(-REACH * sqrt(time), REACH * sqrt(time), POINTS)
    step = float(points[1] - points[0])
    spread = sqrt(time - before)
    kernel = np.exp(-0.5 * ((points[:, None] - start[None, :]) / spread) ** 2)
    return points, step, kernel * (step / (spread * sqrt(2 * np.pi)))


@lru_cache(maxsize=64)
def spending_boundary(looks: int, alpha: float) -> tuple[float, ...]:
    """Return how many deviations each of so many equally far looks asks for: O'Brien-Fleming spending, no noise."""
    quantile = NormalDist().inv_cdf(1 - alpha / 4)
    times = [number / looks for number in range(1, looks + 1)]
    found: list[float] = []
    for number, time in enumerate(times):
        goal = 4 * (1 - NormalDist().cdf(quantile / sqrt(time)))  # on both sides together

        def spent(bound: float, upto: int = number + 1) -> float:
            bounds = [c * sqrt(at) for c, at in zip((*found, bound), times, strict=False)]
            return sum(crossing_chances(times[:upto], 0.0, bounds, [0.0] * upto, [1.0] * upto))

        low, high = 0.0, 12.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if spent(middle) > goal else (low, middle)
        found.append(high)
    return tuple(found)


def _values(design: ABTest, metric: Metric, lift: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the guessed value and the variance of one person in the default arm and in the other one."""
    if isinstance(metric, Ratio):
        over, under = (design.measures[place] for place in design.places(metric))
        quotient = over.mean / under.mean
        variance = (over.variance + quotient**2 * under.variance) / under.mean**2
        return (quotient, variance), (quotient * (1 + lift), variance * (1 + lift) ** 2)
    there = metric.mean * (1 + lift)
    return (metric.mean, metric.variance), (there, _lifted_variance(metric, there))


def _lifted_variance(metric: Measure, mean: float) -> float:
    """Return the variance of a lifted metric: of a sum, as if more persons had it and nobody more of it."""
    return mean * (1 - mean) if metric.binary else metric.variance * mean / metric.mean


def _noises(design: ABTest, promise: Promise, metric: Metric) -> list[Callable[[float], float]]:
    """Return for each look the variance of the noise of an arm's value, times the square of its persons."""
    found = []
    for look in range(1, design.looks + 1):
        noise = _noise_of(design, promise, look)
        if isinstance(metric, Ratio):
            over, under = design.places(metric)
            scale = 1 / design.measures[under].mean ** 2
            found.append(_along(noise, 1 + over, 1 + under, scale))
        else:
            found.append(_along(noise, 1 + design.measures.index(metric), 0, 1.0))
    return found


def _along(noise: FloatArray, place: int, below: int, scale: float) -> Callable[[float], float]:
    """Return the variance of S_place - value S_below as a function of the value."""

    def variance(value: float) -> float:
        direction = np.zeros(len(noise))
        direction[place] = 1.0
        direction[below] = -value
        return float(direction @ noise @ direction) * scale

    return variance


def _noise_of(design: ABTest, promise: Promise, look: int) -> FloatArray:
    blocks = 1 + sum(len(cells) for cells in design.segments.values())
    empty = [0] * (blocks * len(design.arms) * promise.layout.size)
    return read_release(design, promise, look, empty).total.noise


def _chance_known(persons: float, noise: float) -> float:
    """Return the chance that so many persons of an arm stand out from the noise in their number."""
    spread = sqrt(noise + persons / 2)  # half of them, roughly, by the coins of the arms
    return float(ndtr((persons - max(1.0, DEVIATIONS * sqrt(noise))) / spread))


def _lift_found(power_of: Callable[[float], float], start: float, power: float) -> float:
    """Find the lift, of the same sign as `start`, that is found with this power."""
    sign, low, high = (1 if start > 0 else -1), 0.0, abs(start)
    limit = 0.999 if sign < 0 else 1e4

    def reached(size: float) -> bool:
        try:
            return power_of(sign * size) >= power
        except InvalidInput:  # a rate above 1
            return True

    while not reached(high):
        low, high = high, 2 * high
        if high >= limit:
            return sign * limit
    while high > low * (1 + 1e-4) + 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return sign * high


def _cost(
    design: ABTest, promise: Promise, world: _World, metric: Metric, persons: float, power: float, lift: float
) -> Cost:
    value = _values(design, metric, lift)[0][0]
    if isinstance(metric, Ratio):
        over, under = (design.measures[place] for place in design.places(metric))
        scale = over.high * under.mean
    else:
        scale = metric.high
    noise = sqrt(_noises(design, promise, metric)[-1](value)) * scale
    needed = metric.name == design.primary or any(metric.name in (ratio.over, ratio.under) for ratio in design.ratios)
    if needed:
        return Cost(metric.name, noise, 1.0)
    fewer = replace(
        design,
        metrics=tuple(other for other in design.metrics if other.name != metric.name),
        guardrails={name: margin for name, margin in design.guardrails.items() if name != metric.name},
    )
    without = _World.of(fewer, Promise.of(fewer), lift).persons(power)
    return Cost(metric.name, noise, persons / without)

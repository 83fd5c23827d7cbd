"""Attacks on learners that draw from densities in several dimensions: CTRL, and L2P on regularised weights.

The density of a draw and the probability of a coin are known (claimed_laws.py), so transcripts of the
shipped learner give sharp answers:

- `law`: do draws and coins have the law that the certificate assumes? Draws become standard normal vectors, coins are
  bet on; the tests are exact for finite samples. This sees a wrong sampler, a wrong clock and a wrong objective.
- `release`: is the noise there that covers inexact minimisation, and is the minimiser as close as was certified?

What they cannot see, at the default budget and with probability near one: noise that is wrong by less than about 8
(CTRL) or 5 (L2P) per cent, a law of coordinates that is nearer than about 0.05 (0.03) to the claimed one, a clock that
moves keep probabilities by less than about 0.05 (`keep_probabilities` reads the probabilities themselves, exactly);
errors that need a longer stream or more dimensions than the instance has, or that are rarer than that; and whatever the
claim shares with the learner: losses, barriers and parameters.
"""

from __future__ import annotations

import numpy as np

from tacit.algorithms.convex.ctrl.ctrl import CTRL
from tacit.auditing.attacks import neighbours, random_stream
from tacit.auditing.claimed_laws import PerturbedMinimiser, Reading, claim_of, read, surprises, transcript
from tacit.auditing.instances import Instance
from tacit.auditing.report import Finding
from tacit.auditing.statistics import FAILURE, normal_surprises, worst_surprise
from tacit.noise.randomness import Randomness
from tacit.validation import FloatArray

# Rounds that are played of a longer horizon, where barriers weigh less and losses bend more.
ROUNDS = 8


def law(instance: Instance, source: Randomness, *, draws: int) -> Finding:
    """Run until `draws` points were drawn after the start, and test them, their coins and the first draws."""
    plan = instance.plan
    stream = random_stream(instance, source.stream("neighbours"))[:ROUNDS]
    claim, reading = claim_of(plan, stream), Reading()
    later = run = 0
    while later < draws:
        before = len(reading.draws)
        total = read(claim, transcript(plan, stream, source.child(run)), reading)
        later += sum(draw.finished > 0 for draw in reading.draws[before:])
        run += 1
        if total == -np.inf:
            break
    # A chain draws once at its start and at most once after each round: so many first draws there always are.
    first = draws // (len(stream) - 1)
    worst, limit = worst_surprise(surprises(claim, reading, first, draws, claim.transform_error), FAILURE)
    error = claim.draw_error * len(reading.draws)
    broken = total == -np.inf or worst.value > limit
    return Finding(
        "law", instance.label, "-log10 of the probability of what was seen", limit,
        float("inf") if total == -np.inf else worst.value, broken, FAILURE + error,
        f"{worst.name}: {len(reading.draws)} draws and {len(reading.tosses)} coins of {run} runs do not have the "
        "claimed law", stream=tuple(stream), check=True,
    )  # fmt: skip


def release(instance: Instance, source: Randomness, *, draws: int) -> Finding:
    """Measure how far CTRL's minimisers are from exact, and the noise that was added before their release."""
    plan = instance.plan
    assert isinstance(plan, CTRL)
    stream = neighbours(instance, source.stream("neighbours"), 0)[0][:ROUNDS]
    claim = PerturbedMinimiser(plan, stream)
    added: list[FloatArray] = []
    farthest, run = 0.0, 0
    while len(added) < draws:
        seen = transcript(plan, stream, source.child(run))
        run += 1
        moved = np.any(np.diff(seen.points, axis=0) != 0, axis=1)
        finished = [0, *(np.flatnonzero(moved) + 1).tolist()]
        # A draw after the last round that is played here is never seen.
        for (noise, point), t in zip(seen.minima, finished, strict=False):
            gradient, hessian = claim.objective(point, t)
            # One Newton step measures the distance from the exact minimiser.
            step = np.linalg.solve(hessian, gradient + noise)
            farthest = max(farthest, float(np.linalg.norm(step)) / plan.certificate.accuracy)
            added.append((plan.domain.to_hull(seen.points[t]) - point) / plan.certificate.release_scale)
    worst, limit = worst_surprise(normal_surprises(np.array(added[:draws]), "release noise"), FAILURE)
    if farthest > 1:
        return Finding(
            "release", instance.label, "distance from the minimiser over the certified one", 1.0, farthest, True,
            detail="a minimiser is not as close as was certified", stream=tuple(stream), check=True,
        )  # fmt: skip
    return Finding(
        "release", instance.label, "-log10 of the probability of what was seen", limit, worst.value,
        worst.value > limit, FAILURE, f"{worst.name}: {len(added)} draws", stream=tuple(stream), check=True,
    )  # fmt: skip

"""Could a neighbour have released this very float? Sums in float64 often say no; sums on a lattice never do.

The attack asks for each released coordinate whether any noise at all would have given it on the neighbour's data. One
coordinate with no answer excludes the neighbour with certainty, whatever epsilon says.
"""

import numpy as np
import pytest

from attacks import rows
from tacit.algorithms.convex import PrivateFTRL
from tacit.domains import Ball
from tacit.losses import LinearLoss
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums import Buffered, LaplaceTree
from tacit.noise.running_sums.accumulators import LossRecords
from tacit.problems import Convex

RELEASES = 60
NEAR = np.arange(-12, 13.0)[:, None]


def excluded(released, near):
    """Whether some coordinate of `released` is none of the candidates, of shape (candidates, dimension)."""
    return not (near == released).any(axis=0).all()


def float_candidates(data, scale, released):
    """data + scale * z in float64 for the floats z around the one that would do in real numbers."""
    centre = (released - data) / scale
    noise = centre + NEAR * np.spacing(np.abs(centre))
    return data + scale * noise


def lattice_candidates(steps, step, released):
    """(data + draw) * step for the integer draws around the one that would do in real numbers."""
    draws = np.rint(released / step - steps) + NEAR
    return (steps + draws) * step


@pytest.mark.attack(rows.DIGITS)
@pytest.mark.parametrize("dimension", [10, 200, 1000])
def test_noisy_sums(dimension):
    mechanism, found = Buffered(3), {"exact": 0, "float": 0}
    for numerics in found:
        grid = mechanism.grid(0.3, LossRecords(dimension), numerics=numerics)
        for seed in range(RELEASES):
            sums = mechanism.start_on(grid, Randomness.replayable(seed), "noise")
            released = sums.add(np.zeros(dimension))
            for row, self_check in ((np.zeros(dimension), True), (np.ones(dimension), False)):
                if numerics == "float":
                    near = float_candidates(row - 0.5, grid.scale, released)
                else:
                    near = lattice_candidates(grid.records.quantised(row, grid.units, 1.0), grid.step, released)
                gone = excluded(released, near)
                assert not (self_check and gone), "what was released is possible on its own data"
                found[numerics] += gone
    assert found["exact"] == 0
    assert found["float"] > 0.7 * RELEASES


@pytest.mark.attack(rows.DIGITS)
@pytest.mark.parametrize(("dimension", "least"), [(10, 0.05), (200, 0.9), (1000, 0.99)])
def test_points_of_private_ftrl(dimension, least):
    problem = Convex(domain=Ball(dimension, radius=1e6), loss=LinearLoss(), horizon=3)
    gradient = np.full(dimension, 1 / np.sqrt(dimension) * (1 - 1e-12))
    found = {}
    for numerics in ("exact", "float"):
        plan = PrivateFTRL(problem, eta=0.01, mechanism=Buffered(2), privacy=0.3, numerics=numerics)
        grid, gone = plan.grid, 0
        for seed in range(RELEASES):
            learner = plan.start(Randomness.replayable(seed))
            learner.play()
            learner.observe(gradient)
            released = learner.play()
            noisy = released / -plan.eta
            noisy = noisy + NEAR * np.spacing(np.abs(noisy))  # all sums that could have become this point
            noisy = noisy[(-plan.eta * noisy == released).argmax(axis=0), np.arange(dimension)]
            for row in (gradient, -gradient):
                if numerics == "float":
                    targets = [noisy + k * np.spacing(noisy) for k in (-2, -1, 0, 1, 2)]
                    near = np.concatenate([float_candidates(row, grid.scale, target) for target in targets])
                else:
                    near = lattice_candidates(grid.records.quantised(row, grid.units, 1.0), grid.step, noisy)
                impossible = excluded(released, -plan.eta * near)
                assert row is not gradient or not impossible
                gone += impossible
        found[numerics] = gone
    assert found["exact"] == 0
    assert found["float"] >= least * RELEASES, found


@pytest.mark.attack(rows.DIGITS)
def test_laplace_trees():
    mechanism = LaplaceTree(3, 2)
    grid = mechanism.grid(0.5, LossRecords(10))
    for seed in range(RELEASES):
        sums = mechanism.start_on(grid, Randomness.replayable(seed), "noise")
        released = sums.add(np.zeros(10))
        near = lattice_candidates(grid.records.quantised(np.ones(10), grid.units, 1.0), grid.step, released)
        assert not excluded(released, near)

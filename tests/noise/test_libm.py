"""exp and log of this machine against mpmath: 10,000 points each, and the 64 that are compared at first use."""

import math

import mpmath
import numpy as np
import pytest

from noise.keyed import uniforms
from tacit.errors import PrivacyError
from tacit.noise import uniforms as libm

ALLOWED = 2.0**-48


def points(rng):
    """Points of exp in -[0, 700] and of log in (0, 1], dense near 0 and 1."""
    small = np.ldexp(rng.random(5000) + 0.5, rng.integers(-60, 10, 5000))
    exponents = np.concatenate([-700 * rng.random(5000), -np.minimum(small, 700.0)])
    near_one = 1.0 - np.ldexp(rng.random(3000), -rng.integers(1, 50, 3000))
    near_zero = np.ldexp(rng.random(3000) + 0.5, -rng.integers(1, 54, 3000))
    return exponents, np.concatenate([1.0 - rng.random(4000), near_one, near_zero])


def worst(function, reference, arguments, values):
    with mpmath.workprec(120):
        return max(
            float(abs(mpmath.mpf(value) / reference(mpmath.mpf(argument)) - 1))
            for argument, value in zip(arguments.tolist(), values, strict=True)
            if argument != 1.0
        )


def test_ten_thousand_points_each(rng):
    exponents, arguments = points(rng)
    assert worst(np.exp, mpmath.exp, exponents, np.exp(exponents).tolist()) < ALLOWED
    assert worst(math.exp, mpmath.exp, exponents, [math.exp(x) for x in exponents]) < ALLOWED
    assert worst(np.log, mpmath.log, arguments, np.log(arguments).tolist()) < ALLOWED


def test_stored_values_are_right():
    with mpmath.workprec(200):
        assert tuple(float(mpmath.exp(x)) for x in libm.EXP_POINTS) == libm.EXP_VALUES
        assert tuple(float(mpmath.log(x)) for x in libm.LOG_POINTS) == libm.LOG_VALUES
    assert len(libm.EXP_VALUES) + len(libm.LOG_VALUES) == 64


@pytest.mark.parametrize("place", range(3))
def test_a_bad_library_is_refused_at_first_use(place, monkeypatch):
    honest, where, values = libm.FUNCTIONS[place]

    def bad(x):
        return honest(x) * (1 + 2.0**-46)

    functions = [*libm.FUNCTIONS]
    functions[place] = (bad, where, values)
    monkeypatch.setattr(libm, "FUNCTIONS", functions)
    libm.check_libm.cache_clear()
    with pytest.raises(PrivacyError, match="off by more than 2"):
        uniforms()
    monkeypatch.undo()
    uniforms()

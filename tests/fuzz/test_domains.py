"""Sets: made or refused; oracles, projections, membership, hulls and barriers at any vector."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tacit
from fuzz.harness import REFUSED, attempt
from fuzz.sets import MAKERS, SETS
from fuzz.strategies import examples, odd_arrays, values

made = cache(lambda name: SETS[name]())
SIZES = ("inner_radius", "radius", "diameter")


@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__qualname__)
@examples(10)
@given(data=st.data())
def test_sets_are_made_or_refused(maker, data):
    arguments = data.draw(MAKERS[maker])
    # What a function of the user's raises is the user's.
    also = (TypeError, ValueError) if maker is tacit.domains.OracleSet else ()
    domain = attempt(lambda: maker(**arguments), also=also)
    if domain is REFUSED:
        return
    assert domain.dimension >= 1
    sizes = [attempt(lambda size=size: getattr(domain, size)) for size in SIZES]
    assert all(0 < size < math.inf for size in sizes)
    assert sizes[0] <= sizes[1] * (1 + 1e-9)
    centre = attempt(lambda: domain.centre)
    assert centre.shape == (domain.dimension,)
    assert attempt(lambda: domain.contains(centre, 1e-9 * max(1.0, sizes[1])))
    assert domain == domain
    assert hash(domain) == hash(domain)
    assert isinstance(repr(domain), str)


@pytest.mark.parametrize("name", SETS)
@examples(10)
@given(data=st.data(), tolerance=values)
def test_points_and_directions(name, data, tolerance):
    domain = made(name)
    point = data.draw(odd_arrays(columns=domain.dimension, dimensions=(1, 1, 2)))
    inputs = [point] if isinstance(point, np.ndarray) else []
    slack = 1e-6 * max(1.0, domain.radius)
    vertex = attempt(lambda: domain.minimize_linear(point), *inputs)
    if vertex is not REFUSED:
        assert domain.contains(vertex, slack)
    if hasattr(domain, "project"):
        nearest = attempt(lambda: domain.project(point), *inputs)
        reach = 1.0 if nearest is REFUSED else float(np.abs(np.asarray(point)).max())
        assert nearest is REFUSED or domain.contains(nearest, slack * min(max(1.0, reach), 1e25))
    assert attempt(lambda: domain.contains(point), *inputs) in (True, False, REFUSED)
    inside = attempt(lambda: domain.member("fuzz", "point", point), *inputs)
    assert inside is REFUSED or domain.contains(inside)
    assert attempt(lambda: domain.contains(domain.centre, tolerance)) in (True, False, REFUSED)


@pytest.mark.parametrize("name", SETS)
@examples(10)
@given(data=st.data())
def test_hull_coordinates(name, data):
    domain = made(name)
    for method, length in (
        ("to_hull", domain.dimension),
        ("restrict", domain.dimension),
        ("from_hull", domain.hull_dimension),
        ("lift", domain.hull_dimension),
    ):
        vector = data.draw(odd_arrays(columns=length, dimensions=(1, 1, 2)))
        answer = attempt(lambda method=method, vector=vector: getattr(domain, method)(vector))
        if answer is not REFUSED:
            other = domain.hull_dimension if length == domain.dimension else domain.dimension
            assert answer.shape[-1] == (other if method != "restrict" else domain.hull_dimension)


@pytest.mark.parametrize("name", [name for name in SETS if hasattr(SETS[name]().__class__, "barrier")])
@examples(10)
@given(data=st.data())
def test_barriers(name, data):
    domain = made(name)
    for barrier, length in ((domain.barrier, domain.dimension), (domain.hull_barrier, domain.hull_dimension)):
        point = data.draw(odd_arrays(columns=length, dimensions=(1, 1, 2)))
        value = attempt(lambda barrier=barrier, point=point: barrier.value(point))
        assert value is REFUSED or value >= -1e-9 or (length > domain.hull_dimension and not domain.contains(point))
        for method in ("gradient", "hessian"):
            answer = attempt(lambda barrier=barrier, method=method, point=point: getattr(barrier, method)(point))
            assert answer is REFUSED or answer.shape[-1] == length

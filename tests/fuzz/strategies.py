"""Nonsense, and what is nearly right: the strategies that every fuzz test draws from."""

import math
import os

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

N = 3
_MORE = int(os.environ.get("TACIT_FUZZ", "1"))  # this many times the examples: TACIT_FUZZ=10 pytest tests/fuzz


def examples(count):
    """The settings of every fuzz test: always the same examples, never judged by the clock."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
    return settings(
        derandomize=True, deadline=None, max_examples=count * _MORE, database=None, suppress_health_check=slow
    )


ODD_NUMBERS = (
    0.0, -0.0, 1.0, 0.5, -1.0, 2.0, 1e308, -1e308, 1e160, 1e-160, 5e-324, 1e-300, math.inf, -math.inf, math.nan,
    1 + 1e-12,
)  # fmt: skip
numbers = st.sampled_from(ODD_NUMBERS) | st.floats(-2, 2)
ODD_OBJECTS = (
    None, True, False, "1", "", "\ud800", b"x", [], (), {}, 1j, object, object(), np.float32(0.5), np.int8(1), 2**63,
    10**400, np.bool_(True), np.array(1.0), np.array(["a"]), np.float64("nan"), [0.5], [[1, 2], [3]], {1}, range(3),
    lambda *_: math.nan, np.datetime64("2020-01-01"), (0.0, 1.0), {"a": 1}, [None, None], float,
)  # fmt: skip
objects = st.sampled_from(ODD_OBJECTS)
whole = st.integers(-5, 5) | st.sampled_from([10**6, 10**9, 10**12, 2**62, 2**63 - 1, 2**63, -(2**63)])
values = st.integers(0, 3).flatmap(lambda kind: (numbers, numbers, objects, whole)[kind])
dtypes = st.sampled_from(["f8", "f4", "f2", "i8", "u1", "?", "c16", "O", "U3", "S1", ">f8", "M8[s]", "V8", "g"])


@st.composite
def odd_arrays(draw, columns=N, dimensions=(1, 2), odd=values):
    """Arrays of many shapes, types and layouts; often nearly right."""
    ndim = draw(st.sampled_from(dimensions))
    good = draw(st.integers(0, 2)) > 0
    width = columns if good else draw(st.integers(0, 5))
    shape = (width,) if ndim == 1 else (draw(st.integers(0, 4)), width)
    if not good and draw(st.integers(0, 5)) == 0:
        shape = (*shape, 1)
    entries = st.floats(0, 1) if draw(st.booleans()) else numbers
    array = draw(arrays.arrays(np.float64, shape, elements=entries))
    kind = draw(st.integers(0, 8))
    if kind == 0:
        return _cast(array, draw(dtypes))
    if kind == 1:
        array.setflags(write=False)
    if kind == 2:
        return np.repeat(array, 2, axis=-1)[..., ::2]  # not contiguous
    if kind == 3:
        return array.tolist()
    if kind == 4:
        return draw(odd)
    if kind == 5:
        return np.asfortranarray(array)[..., ::-1]
    if kind == 6:
        return np.ma.masked_array(array, mask=array > 0.5)
    return array


def _cast(array, dtype):
    if dtype in ("f4", "f2"):
        array = np.clip(array, -1, 1)
    if dtype in ("i8", "u1", "M8[s]"):
        array = np.where(np.isfinite(array), np.clip(array, 0, 1), 0)
    if dtype == "V8":
        return array.view("V8") if array.flags.c_contiguous else array
    return array.astype(dtype)


@st.composite
def nearly(draw, odd=values, /, **good):
    """Keyword arguments of a call: good ones, of which at most two are replaced by nonsense."""
    arguments = {
        name: draw(choice) if isinstance(choice, st.SearchStrategy) else choice for name, choice in good.items()
    }
    for name in draw(st.lists(st.sampled_from(sorted(good)), max_size=2)):
        arguments[name] = draw(odd)
    return arguments


def one_of(*choices):
    """One of these values."""
    return st.sampled_from(choices)


privacy = nearly(
    epsilon=one_of(1.0, 0.1, 5.0),
    delta=one_of(1e-6, 0.0, 1e-3),
    relation=one_of("replace", "zero-out"),
    rounds_per_person=one_of(1, 1, 2),
    max_switches=one_of(None, None, 5),
    confidence=one_of(None, None, None, 0.9),
)

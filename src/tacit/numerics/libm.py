"""exp and log of this machine are within 2^-45: what the float comparisons of `decisions` and `geometric` assume.

`check_libm` compares 64 stored values at the first use in a process; the tests compare 20,000 with mpmath.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tacit.errors import PrivacyError
from tacit.validation import FloatArray

ALLOWED_ERROR = 2.0**-48  # eight times better than what the proofs need
# Made without powers or logarithms, so that every machine has the same points.
EXP_POINTS = -np.ldexp(0.68359375, np.arange(-21, 11))
LOG_POINTS = np.concatenate([np.ldexp(0.7, -3 * np.arange(16)), 1.0 - np.ldexp(0.7, -1 - 3 * np.arange(16))])
EXP_VALUES = (
    0.9999996740371521, 0.9999993480744103, 0.9999986961492455, 0.9999973923001911,
    0.9999947846071824, 0.999989569241565, 0.9999791385919308, 0.99995827761906,
    0.999916556978877, 0.9998331209204918, 0.9996662696896108, 0.9993326507551417,
    0.998665746865298, 0.9973332739620233, 0.9946736593518082, 0.989375688608317,
    0.9788642532091816, 0.9581752262107687, 0.9180997641240577, 0.8429071768846503,
    0.7104925088436513, 0.5047996051229459, 0.2548226413322821, 0.0649345785355609,
    0.004216499489590926, 1.777886794572054e-05, 3.1608814543136926e-10, 9.991171568224243e-20,
    9.982350930569248e-39, 9.964733010103672e-77, 9.92959039626498e-153, 9.85967654375977e-305,
)  # fmt: skip
LOG_VALUES = (
    -0.35667494393873245, -2.436116485618568, -4.515558027298404, -6.59499956897824,
    -8.674441110658076, -10.753882652337913, -12.833324194017749, -14.912765735697583,
    -16.99220727737742, -19.071648819057256, -21.151090360737093, -23.230531902416928,
    -25.309973444096762, -27.3894149857766, -29.468856527456435, -31.548298069136273,
    -0.4307829160924542, -0.044735893841391414, -0.005483758356256353, -0.0006838275067434006,
    -8.545286974245474e-05, -1.0681209387619483e-05, -1.3351449342965556e-06, -1.6689301934214186e-07,
    -2.0861625866785972e-08, -2.607703167914477e-09, -3.259629233730039e-10, -4.0745407049178265e-11,
    -5.0931481254808756e-12, -6.366018823202674e-13, -7.960299086562689e-14, -9.99200722162646e-15,
)  # fmt: skip


def largest_error(function: Callable[[Any], Any], points: FloatArray, values: tuple[float, ...]) -> float:
    """The largest relative error of `function`, called with the array and with each number."""
    wanted = np.array(values)
    alone = np.array([function(float(point)) for point in points])
    together = np.asarray(function(points)) if isinstance(function, np.ufunc) else alone
    return float(np.max(np.abs(np.stack([alone, together]) / wanted - 1.0)))


FUNCTIONS = (
    (np.exp, EXP_POINTS, EXP_VALUES),
    (math.exp, EXP_POINTS, EXP_VALUES),
    (np.log, LOG_POINTS, LOG_VALUES),
)


@cache
def check_libm() -> None:
    """Refuse a machine whose exp or log is too far off for exact decisions."""
    for function, points, values in FUNCTIONS:
        if not largest_error(function, points, values) <= ALLOWED_ERROR:
            raise PrivacyError(
                f"{function.__name__} on this machine is off by more than 2^-48, and exact decisions assume less: use "
                "a numpy and a C library whose exp and log are right to the last places."
            )

"""Enclosures of e^{-x} and -ln u by integers, to as many digits as a comparison needs.

mpmath computes them; it is imported when the first doubtful comparison asks for it. Its directed roundings are not
always right in the last place, so values are computed with 16 more bits than are used and widened by one unit.
"""

from __future__ import annotations

from fractions import Fraction
from math import floor

_SPARE = 16


def exponential(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Integers (low, high) with low <= 2^bits e^{-exponent} <= high, at most 3 apart, and equal for exponent 0.

    The exponent is at least 0 and a dyadic rational: a product of float64 numbers and integers.

    >>> low, high = exponential(Fraction(1, 2), 20)
    >>> low <= 635994 <= high
    True
    """
    from mpmath import libmp

    if exponent == 0:
        return 1 << bits, 1 << bits
    if exponent >= bits:  # e^{-x} < 2^{-x}
        return 0, 1
    places = exponent.denominator.bit_length() - 1
    # e^{-x} has floor(x / ln 2) zeros after the point, and those need not be computed.
    precision = max(bits - floor(exponent * Fraction(36, 25)), 0) + _SPARE
    value = libmp.mpf_exp(libmp.from_man_exp(-exponent.numerator, -places), precision, "n")
    middle = int(libmp.to_int(libmp.mpf_shift(value, bits), "f"))
    return max(middle - 1, 0), middle + 2


def minus_log(numerator: int, bits: int) -> tuple[Fraction, Fraction]:
    """Rationals below and above -ln(numerator / 2^bits), 0 < numerator <= 2^bits, about 2^-bits apart."""
    from mpmath import libmp

    if numerator == 1 << bits:
        return Fraction(0), Fraction(0)
    value = libmp.mpf_log(libmp.from_man_exp(numerator, -bits), bits + 2 * _SPARE, "n")
    logarithm = -Fraction(*libmp.to_rational(value))
    # -ln u is below bits, so that 2^-bits of it is far above its own last place.
    error = Fraction(bits, 1 << (bits + _SPARE))
    return logarithm - error, logarithm + error

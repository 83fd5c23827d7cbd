"""Numbers that are certified, on their safe side, and the contract's words about arithmetic.

An extra epsilon is the difference that finite arithmetic makes to the certified epsilon, rounded up; the curve already
contains it. In a composition extras add up, and one idealized part makes the whole idealized.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from math import fsum, inf, isnan, nextafter

from tacit.validation import check_number, invalid


def rounded_up(value: float, digits: int = 4, *, thousands: bool = False) -> str:
    """`value` in so many significant digits, never below it.

    Args:
        value: a bound on a loss, a regret or a probability; what is not a number is shown as infinite.
        digits: how many significant digits.
        thousands: whether commas part the thousands.

    >>> rounded_up(1234.21, 5), rounded_up(999.96), rounded_up(1e-5), rounded_up(0.1)
    ('1234.3', '1000', '1e-05', '0.1')
    """
    if isnan(value) or value == inf:
        return "inf"
    # From the digits that name the float: 0.1 is shown as 0.1, though the float is a little above it.
    shown = float(Context(prec=digits, rounding=ROUND_CEILING).plus(Decimal(repr(float(value)))))
    return f"{shown:,.{digits}g}" if thousands else f"{shown:.{digits}g}"


def rounded_down(value: float, digits: int = 3, *, thousands: bool = False) -> str:
    """`value` in so many significant digits, never above it: for what is certified from below.

    >>> rounded_down(24.69), rounded_down(396.99), rounded_down(0.00399, 2)
    ('24.6', '396', '0.0039')
    """
    return rounded_up(-value, digits, thousands=thousands).removeprefix("-")


def sum_up(values: Iterable[float]) -> float:
    """The sum, exact if a float can be, and otherwise the next float above it."""
    listed = list(values)
    try:
        total = fsum(listed)
    except OverflowError:  # finite numbers whose sum is none
        return inf
    if total == inf or isnan(total):
        return inf
    return nextafter(total, inf) if fsum((*listed, -total)) > 0 else total


EXACT = "exact"
IDEALIZED = "idealized: float64 samplers"
_UP_TO = "exact up to an extra epsilon of "


def exact_up_to(extra: float) -> str:
    """The words for arithmetic that costs at most this much epsilon.

    >>> exact_up_to(1.53e-23), exact_up_to(0.0)
    ('exact up to an extra epsilon of 1.6e-23', 'exact')
    """
    extra = check_number("exact_up_to", "extra", extra, above=0.0, closed_low=True)
    return EXACT if extra == 0 else f"{_UP_TO}{rounded_up(extra, 2)}"


def extra_epsilon(numerics: str) -> float:
    """The extra epsilon that these words admit: 0 if exact, infinite if idealized."""
    if numerics in (EXACT, IDEALIZED):
        return 0.0 if numerics == EXACT else float("inf")
    try:
        if not (isinstance(numerics, str) and numerics.startswith(_UP_TO)):
            raise ValueError
        return check_number("Guarantee", "numerics", float(numerics.removeprefix(_UP_TO)), above=0.0)
    except ValueError:
        raise invalid("Guarantee", "numerics", f"'{EXACT}', '{_UP_TO}<number>' or '{IDEALIZED}'", numerics) from None


def composed_numerics(parts: Iterable[str]) -> str:
    """Idealized if any part is, else exact up to the sum of the extras."""
    extra = sum_up(extra_epsilon(part) for part in parts)
    return IDEALIZED if extra == float("inf") else exact_up_to(extra)

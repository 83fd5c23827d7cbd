"""Numbers that are certified, on their safe side: shown and added up without losing a digit downwards."""

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from math import fsum, inf, isnan, nextafter


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

"""The contract's words about arithmetic: exact, exact up to an extra epsilon, or idealized.

The extra is the difference that finite arithmetic makes to the certified epsilon, rounded up; the curve already
contains it. In a composition extras add up, and one idealized part makes the whole idealized.
"""

from __future__ import annotations

from collections.abc import Iterable

from tacit.privacy.rounding import rounded_up, sum_up
from tacit.validation import check_number, invalid

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

"""Checks of public arguments: one sentence that names the value and what is allowed.

Comparisons are written so that NaN fails them, and bool is never taken for a number.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields
from functools import cached_property
from importlib import import_module
from numbers import Integral, Real
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import InvalidInput, MissingExtra
from tacit.packages import install_command

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
LARGEST_INTEGER = 2**63 - 1
LARGEST_DIMENSION = 10**7
LARGEST_TABLE = 5 * 10**8
# Rows of numbers are processed in blocks that stay in cache; about this many entries at a time.
BLOCK_ENTRIES = 1 << 18
# Positive numbers stay between these, so that formulas may square, multiply and divide them.
SMALLEST, LARGEST = 1e-60, 1e60
# Divided by instead of a length of 0, so that the zero vector stays what it is: the smallest float is 2e-308.
NO_LENGTH = 1e-300
# What reading a malformed state or description can raise.
MALFORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError)
_T = TypeVar("_T")


def invalid(owner: str, name: str, allowed: str, got: object) -> InvalidInput:
    """The one template for a rejected argument."""
    return InvalidInput(f"The '{name}' parameter of {owner} must be {allowed}. Got {got!r} instead.")


def plain_fields(instance: Any) -> None:
    """Make Python's own numbers of all others in a frozen dataclass (numpy's overflow or are longer), and 0 of -0."""
    for field in fields(instance):
        value = getattr(instance, field.name)
        if isinstance(value, np.bool_ | np.integer):
            value = value.item()
            object.__setattr__(instance, field.name, value)
        elif issubclass(type(value), Real) and not issubclass(type(value), int) and type(value) is not float:
            value = _as_float(value)
            object.__setattr__(instance, field.name, value)
        if isinstance(value, float) and value == 0.0:
            object.__setattr__(instance, field.name, 0.0)


def without_caches(instance: Any) -> dict[str, Any]:
    """Give the attributes of an instance that are not cached properties: what a pickle of it holds."""
    kind = type(instance)
    kept = vars(instance).items()
    return {name: value for name, value in kept if not isinstance(getattr(kind, name, None), cached_property)}


def _as_float(value: Any) -> Any:
    """The nearest float64; what has none is left to whoever checks it."""
    try:
        return float(value)
    except OverflowError:
        return value


def check_number(
    owner: str,
    name: str,
    value: object,
    *,
    above: float = -np.inf,
    below: float = np.inf,
    closed_low: bool = False,
    closed_high: bool = False,
) -> float:
    """Return `value` as a finite float inside the interval from `above` to `below`."""
    if type(value) is float and above < value < below:  # the hot path of searches: finite, and no end
        return value
    allowed = (above, below, closed_low, closed_high)
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise invalid(owner, name, _interval(*allowed), value)
    try:
        number = float(value)
    except OverflowError:
        raise invalid(owner, name, _interval(*allowed), value) from None
    inside_low = number >= above if closed_low else number > above
    inside_high = number <= below if closed_high else number < below
    if not (np.isfinite(number) and inside_low and inside_high):
        raise invalid(owner, name, _interval(*allowed), value)
    return number


def _interval(above: float, below: float, closed_low: bool, closed_high: bool) -> str:
    """The numbers of an interval in words; the ends that only keep formulas finite stand in brackets."""
    if (above, below) == (SMALLEST, LARGEST):
        return f"a positive number ({SMALLEST:g} to {LARGEST:g})"
    if below >= LARGEST and above > -LARGEST:
        at_most = f" (and at most {LARGEST:g})" if below == LARGEST else ""
        return f"a finite number {'of at least' if closed_low else 'above'} {above:g}{at_most}"
    if (above, below) == (-np.inf, np.inf):
        return "a finite number"
    left, right = "[" if closed_low else "(", "]" if closed_high else ")"
    return f"a finite number in {left}{above:g}, {below:g}{right}"


def check_positive(owner: str, name: str, value: object) -> float:
    """Return `value` as a float above zero whose squares, products and quotients are floats as well."""
    return check_number(owner, name, value, above=SMALLEST, below=LARGEST, closed_low=True, closed_high=True)


def check_level(owner: str, name: str, value: object, *, at_least: float = -LARGEST) -> float:
    """Return `value` as a float of at least `at_least` that is not too large to be squared."""
    return check_number(owner, name, value, above=at_least, below=LARGEST, closed_low=True, closed_high=True)


def check_range(owner: str, name: str, value: Any) -> tuple[float, float]:
    """Return `value` as a pair of floats, the second larger than the first by a number that `check_positive` takes."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise invalid(owner, name, "a pair (low, high)", value) from None
    bottom = check_level(owner, f"{name}[0]", low)
    top = check_number(owner, f"{name}[1]", high, above=bottom, below=LARGEST, closed_high=True)
    if top - bottom < SMALLEST:
        raise invalid(owner, name, f"a pair (low, high) that differs by at least {SMALLEST:g}", value)
    return bottom, top


def check_dimension(owner: str, name: str, value: object, *, at_least: int = 1) -> int:
    """Return `value` as a number of coordinates that a vector in memory can have."""
    return check_integer(owner, name, value, at_least=at_least, at_most=LARGEST_DIMENSION)


def check_table(owner: str, rows: int, columns: int) -> None:
    """Refuse to make an array that no memory would hold."""
    if rows * columns > LARGEST_TABLE:
        raise InvalidInput(
            f"{owner} would make {rows} x {columns} numbers at once, and at most {LARGEST_TABLE} are allowed: "
            "shorten the stream, or the delay."
        )


def check_integer(owner: str, name: str, value: object, *, at_least: int = 1, at_most: int | None = None) -> int:
    """Return `value` as an int of at least `at_least` (and at most `at_most`)."""
    if type(value) is int and at_least <= value <= (LARGEST_INTEGER if at_most is None else at_most):
        return value
    allowed = f"a whole number of at least {at_least} (and below 2**63)"
    if at_most is not None:
        allowed = f"a whole number from {at_least} to {at_most}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise invalid(owner, name, allowed, value)
    number = int(value)
    if number < at_least or number > (LARGEST_INTEGER if at_most is None else at_most):
        raise invalid(owner, name, allowed, value)
    return number


def check_choice(owner: str, name: str, value: _T, allowed: Collection[_T]) -> _T:
    """Return `value` if it is one of `allowed`."""
    if isinstance(value, bool | np.ndarray) or value not in tuple(allowed):
        *others, last = (repr(choice) for choice in allowed)
        raise invalid(owner, name, f"{', '.join(others)} or {last}" if others else last, value)
    return value


def check_privacy(owner: str, epsilon: object, delta: object) -> tuple[float, float]:
    """Return (epsilon, delta) with epsilon > 0 and 0 <= delta < 1."""
    return (
        check_positive(owner, "epsilon", epsilon),
        check_number(owner, "delta", delta, above=0.0, below=1.0, closed_low=True),
    )


def check_flag(owner: str, name: str, value: object) -> bool:
    """Return `value`, True or False."""
    if not isinstance(value, bool):
        raise invalid(owner, name, "True or False", value)
    return value


def real_array(owner: str, name: str, values: ArrayLike, shape: tuple[int | None, ...] | None) -> FloatArray:
    """Return `values` as a new float64 array of the given shape (None: any).

    Copies first: memory of the caller's may be shared, mapped, or written to by another thread, and what passes a
    check must be what is used. So whoever takes numbers from outside calls this function, checks its result, and never
    reads `values` again. For arrays of rounds, `Rows` does the same block by block.

    Integers and smaller floats are converted; text, booleans, complex numbers and objects are not.
    Whether the entries are finite is left to the caller, who knows their range.
    """
    # Solvers ask for vectors of any length thousands of times a second: `_real` would find nothing to refuse.
    if type(values) is np.ndarray and values.dtype == np.float64 and (shape is None or values.shape == shape):
        return values.copy()
    array = _real(owner, name, values, shape)
    return array.astype(np.float64, order="C")  # a copy, whatever it was


class Rows:
    """Numbers of many rounds, one row each, in the memory of the caller: whatever is read of them is a copy.

    Type and shape are checked at once. Entries are checked by whoever reads them, in the copy: a block at a time, so
    that a long array is never in memory twice.
    """

    def __init__(self, owner: str, name: str, values: ArrayLike, width: int) -> None:
        self._rows = _real(owner, name, values, (None, width))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, part: slice) -> "Rows":
        """A stretch of these rows, not read yet."""
        stretch = type(self).__new__(type(self))
        stretch._rows = self._rows[part]
        return stretch

    def read(self) -> FloatArray:
        """All of these rows, as a new contiguous array."""
        return self._rows.astype(np.float64, order="C")

    def shared(self) -> FloatArray:
        """All of these rows for a loop in C that copies each one before it looks at it: a copy only if it must be."""
        rows = self._rows
        plain = type(rows) is np.ndarray and rows.dtype == np.float64 and rows.flags.c_contiguous and rows.flags.aligned
        return rows if plain else self.read()

    def blocks(self) -> Iterator[FloatArray]:
        """All of these rows in order, read in blocks that stay in cache."""
        size = max(1, BLOCK_ENTRIES // max(1, self._rows.shape[1]))
        for first in range(0, len(self), size):
            yield self[first : first + size].read()

    def __iter__(self) -> Iterator[FloatArray]:
        for block in self.blocks():
            yield from block


def _real(owner: str, name: str, values: ArrayLike, shape: tuple[int | None, ...] | None) -> NDArray[Any]:
    """Give numbers of that shape as an array, perhaps in the caller's memory; nothing but type and shape is read."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError) as error:
        raise InvalidInput(f"The '{name}' of {owner} must be a rectangular array of numbers ({error}).") from None
    if array.dtype == object and not isinstance(values, np.ndarray) and all(map(_fits_a_float, array.flat)):
        array = array.astype(np.float64)  # whole numbers that are too large for int64
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise InvalidInput(f"The '{name}' of {owner} must be numbers. Got an array with masked entries instead.")
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise InvalidInput(f"The '{name}' of {owner} must be real numbers. Got dtype {array.dtype} instead.")
    if shape is not None and (
        array.ndim != len(shape)
        or any(want is not None and have != want for have, want in zip(array.shape, shape, strict=True))
    ):
        wanted = "(" + ", ".join("any" if want is None else str(want) for want in shape) + ")"
        raise InvalidInput(f"The '{name}' of {owner} must have shape {wanted}. Got {array.shape} instead.")
    return array


def _fits_a_float(entry: object) -> bool:
    return type(entry) is float or (type(entry) is int and abs(entry) < 10**308)


def first_position(array: FloatArray, bad: Callable[[FloatArray], Any]) -> tuple[int, ...]:
    """The index of the first entry for which `bad` holds."""
    return tuple(int(i) for i in np.argwhere(bad(array))[0])


def require(module: str, requirement: str) -> ModuleType:
    """Import an optional dependency.

    Args:
        module: what is imported.
        requirement: the package and extra that installs it, such as "tacit[plots]".

    Raises:
        MissingExtra: if it is not installed; the message says what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"This needs {module.split('.')[0]}, which is not installed: {install_command(requirement)}."
        ) from error

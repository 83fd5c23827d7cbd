"""Ranges that stand in annotations: the check, the sentence of the error and the JSON schema.

    @dataclass(frozen=True)
    class Coin:
        force: Share
        limit: Positive
        batch: Count = 1
        cap: Number | None = None

        def __post_init__(self) -> None:
            check_fields(self)

A field may also be a truth value, one of several words (`Literal`), an object of a class, or a
tuple of any of these. `Field` reads an annotation once for all three.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import inf, nextafter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from tacit.validation import (
    LARGEST,
    LARGEST_INTEGER,
    SMALLEST,
    check_choice,
    check_flag,
    check_integer,
    check_number,
    invalid,
)


@dataclass(frozen=True)
class Range:
    """The finite numbers that a field can have; an end is included unless it is open.

    Attributes:
        low: lower end.
        high: upper end (None: there is none).
        open_low: whether the lower end is excluded.
        open_high: whether the upper end is excluded.
    """

    low: float = 0.0
    high: float | None = None
    open_low: bool = False
    open_high: bool = False

    def schema(self) -> dict[str, float]:
        """Return the range in the words of JSON schema."""
        ends = {"exclusiveMinimum" if self.open_low else "minimum": self.low}
        if self.high is not None:
            ends["exclusiveMaximum" if self.open_high else "maximum"] = self.high
        return ends


Positive = Annotated[float, Range(SMALLEST, LARGEST)]
"""A positive number whose squares, products and quotients are floats as well."""
Rate = Annotated[float, Range(0.0, open_low=True)]
"""Any finite number above 0."""
Size = Annotated[float, Range(0.0)]
Probability = Annotated[float, Range(0.0, 1.0, open_high=True)]
"""The probability of an event that is not certain."""
Share = Annotated[float, Range(0.0, 1.0)]
Count = Annotated[int, Range(1)]
Number = Annotated[int, Range(0)]

_WORDS: Mapping[type, str] = {bool: "boolean", str: "string", int: "integer", float: "number"}


@dataclass(frozen=True)
class Field:
    """The annotation of a field.

    Attributes:
        name: name of the field.
        kind: int, float, bool, str, tuple, or the class of an object.
        range: range of a number (None: not declared).
        words: the words that a text can be (None: any).
        items: what a tuple has in it.
        length: the length of a tuple (None: any).
        others: further classes that an object can be of.
        optional: whether None is allowed.
    """

    name: str
    kind: type
    range: Range | None = None
    words: tuple[str, ...] | None = None
    items: Field | None = None
    length: int | None = None
    others: tuple[type, ...] = ()
    optional: bool = False

    @classmethod
    def of(cls, name: str, hint: Any) -> Field:
        """Read an annotation."""
        origin = get_origin(hint)
        if origin in (Union, UnionType):
            parts = [part for part in get_args(hint) if part is not NoneType]
            first = cls.of(name, parts[0])
            others = tuple(cls.of(name, part).kind for part in parts[1:])
            optional = len(parts) < len(get_args(hint))
            return cls(**{**vars(first), "others": others, "optional": optional})
        if origin is Annotated:
            kind, limits = get_args(hint)[:2]
            return cls(name, kind, range=limits)
        if origin is Literal:
            return cls(name, str, words=get_args(hint))
        if origin is tuple:
            parts = list(get_args(hint))
            length = None if parts[-1] is Ellipsis else len(parts)
            return cls(name, tuple, items=cls.of(name, parts[0]), length=length)
        return cls(name, origin or hint)

    def check(self, owner: str, value: Any) -> Any:
        """Return the value as it is stored.

        Raises:
            InvalidInput: the value is not in the declared range.
        """
        if value is None and self.optional:
            return None
        if self.kind is float or self.kind is int:
            return self._number(owner, value)
        if self.kind is bool:
            return check_flag(owner, self.name, value)
        if self.words is not None:
            return check_choice(owner, self.name, value, self.words)
        if self.items is not None:
            return self._tuple(owner, self.items, value)
        if not isinstance(value, (self.kind, *self.others)):
            names = " or ".join(kind.__name__ for kind in (self.kind, *self.others))
            raise invalid(owner, self.name, f"of the kind {names}", value)
        return value

    def _number(self, owner: str, value: Any) -> float:
        limits = self.range or Range(-inf)
        if self.kind is int:
            most = None if limits.high is None else int(limits.high)
            return check_integer(owner, self.name, value, at_least=int(limits.low), at_most=most)
        high = inf if limits.high is None else limits.high
        closed = limits.high is not None and not limits.open_high
        return check_number(
            owner,
            self.name,
            value,
            above=limits.low,
            below=high,
            closed_low=not limits.open_low,
            closed_high=closed,
        )

    @property
    def largest(self) -> float:
        """The largest number that is stored as it is."""
        return LARGEST_INTEGER if self.kind is int else inf

    @property
    def is_object(self) -> bool:
        """Whether values are objects of a class, all of which are allowed."""
        return self.kind not in (int, float, bool, str, tuple)

    def _tuple(self, owner: str, items: Field, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, tuple | list):
            raise invalid(owner, self.name, "a tuple", value)
        if self.length is not None and len(value) != self.length:
            raise invalid(owner, self.name, f"a tuple of {self.length} entries", value)
        return tuple(items.check(owner, item) for item in value)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the values."""
        found = self._schema()
        if not self.optional:
            return found
        if "type" in found:
            return {**found, "type": [found["type"], "null"]}
        return {"anyOf": [found, {"type": "null"}]}

    def _schema(self) -> dict[str, Any]:
        if self.words is not None:
            return {"enum": list(self.words)}
        if self.items is not None:
            ends = {} if self.length is None else {"minItems": self.length, "maxItems": self.length}
            return {"type": "array", "items": self.items.schema(), **ends}
        if self.kind in _WORDS:
            limits = {} if self.range is None else self.range.schema()
            return {"type": _WORDS[self.kind], **limits}
        kinds = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in (self.kind, *self.others)]
        return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


@cache
def fields_of(kind: type) -> tuple[Field, ...]:
    """Return the declared fields of a dataclass, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    listed: Any = kind
    names = [field.name for field in fields(listed)] if is_dataclass(kind) else []
    return tuple(Field.of(name, hints[name]) for name in names)


@cache
def _quick_of(kind: type) -> tuple[tuple[str, type, float, float, set[type], Field], ...]:
    """Return what is looked at first: the plain type and the closed ends of each field.

    The set holds the classes of values that need no further look: None where it is allowed, and
    the classes of objects that were checked before.
    """
    listed = []
    for field in fields_of(kind):
        low, high = -inf, inf
        if field.range is not None:
            limits = field.range
            low = nextafter(limits.low, inf) if limits.open_low else limits.low
            high = min(field.largest, inf if limits.high is None else limits.high)
            high = nextafter(high, -inf) if limits.open_high or high == inf else high
        plain = field.kind if field.kind in (int, float, bool) else Nowhere
        known: set[type] = {NoneType} if field.optional else set()
        listed.append((field.name, plain, low, high, known, field))
    return tuple(listed)


class Nowhere:
    """The type of no value."""


def check_fields(value: Any, owner: str = "") -> None:
    """Check every field of a frozen dataclass, and store what is checked.

    Args:
        value: the object, in its `__post_init__`.
        owner: the name that errors say (empty: that of the class).

    Raises:
        InvalidInput: a field is not in its declared range.
    """
    kind: Any = type(value)
    content = vars(value)
    for name, plain, low, high, known, field in _quick_of(kind):
        given = content[name]
        its = type(given)
        if (its is plain and low <= given <= high) or its in known:  # the hot path of searches
            continue
        checked = field.check(owner or kind.__name__, given)
        if checked is not given:
            object.__setattr__(value, name, checked)
        elif field.is_object:
            known.add(its)


def schema_of(kind: type, without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the JSON schema of a dataclass, whose JSON also has its name under `kind`.

    Args:
        kind: the dataclass.
        without: names of fields that are not written.
    """
    properties: dict[str, Any] = {"kind": {"const": kind.__name__}}
    for field in fields_of(kind):
        if field.name not in without:
            properties[field.name] = field.schema()
    return {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": properties,
    }

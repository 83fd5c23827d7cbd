"""A stable name for anything public: the same text, and so the same hash, in every process and on every machine.

`repr` will not do: it shortens large arrays and shows memory addresses. `describe` writes dataclasses field by
field and arrays by shape and content hash, and refuses what it cannot name.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.errors import InvalidInput


def describe(value: Any) -> str:
    """A text that names `value`: equal values have equal texts, also in another process.

    >>> describe(np.zeros((2, 3)))
    'array(2x3 float64, 01c88af0015f7556)'
    """
    if isinstance(value, np.ndarray):
        return _array(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(f"{f.name}={describe(getattr(value, f.name))}" for f in fields(value) if f.repr)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{describe(key)}: {describe(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list | tuple):
        inside = ", ".join(describe(entry) for entry in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, partial):
        return f"partial({describe(value.func)}, {describe(value.args)}, {describe(value.keywords)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return _function(value)
    text = repr(value)
    if " at 0x" in text:
        raise InvalidInput(f"A sweep must name everything it runs, and {text} has no lasting name: give it a __repr__.")
    return text


def digest(*parts: object) -> str:
    """A hash of these parts, 16 hexadecimal digits."""
    text = "\n".join(str(part) for part in parts)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _array(array: np.ndarray) -> str:
    if array.dtype == object:
        raise InvalidInput("A sweep cannot name an array of objects: use an array of numbers.")
    content = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=8).hexdigest()
    return f"array({'x'.join(map(str, array.shape))} {array.dtype}, {content})"


def _function(function: Any) -> str:
    name = f"{function.__module__}.{function.__qualname__}"
    if "<" in name:  # two lambdas of one place share a name and may differ in what they capture
        raise InvalidInput(
            f"A sweep must name everything it runs, and {name} has no lasting name: use a module's function."
        )
    return name

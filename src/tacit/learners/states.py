"""Saved states as text: what `Learner.state_dict` gives and `load_state_dict` reads.

A state is a dictionary that `json.dumps` writes and `json.loads` reads back to the last bit: arrays are base64 text
with their type and shape, nothing is pickled. It carries a digest of all its entries, so that a state that was cut,
edited or mixed from two is refused before anything of it is used.

Secret or replayable? That is never an entry which could be edited. A replayable learner saves where its streams stand,
and continues there: whoever has the state can make the draws again, so the learner is stamped as not private. A
state without positions continues under fresh keys of the operating system, which nobody knows: secret. Taking the
positions out of a replayable state breaks the digest. The digest has no key: it finds accidents and careless edits, not
somebody who can write states and computes it anew; but a state is as private as the data, and whoever can
write one could as well write the data, or the program.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from math import isfinite
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import MALFORMED

STATE_WARNING = "PRIVATE: holds raw sums and noise that is still in use; store it like the data itself"
STATE_VERSION = 3
_KINDS = "biuf"  # booleans, integers and floats; nothing that could hold objects


def sealed(plan: str, content: dict[str, Any]) -> dict[str, Any]:
    """The state of a learner of this plan, as text and numbers, with its digest."""
    state = _headed(plan, content)
    return {**state, "digest": _digest(state)}


def sealed_text(plan: str, content: dict[str, Any]) -> str:
    """The same as JSON, written only once: what is digested is the text itself."""
    text = _text(_headed(plan, content))
    return f'{text[:-1]},"digest":"{_digest_of(text)}"}}'


def opened(algorithm: str, plan: str, state: Any, needed: set[str]) -> dict[str, Any]:
    """The content of a state, if it is one of a learner of this plan and was not changed."""
    missing = {"version", "plan", "digest", *needed} - set(state) if isinstance(state, dict) else needed
    if missing:
        raise InvalidInput(f"This is not the state of a {algorithm} learner: it lacks {sorted(missing)}.")
    if type(state["version"]) is not int or state["version"] != STATE_VERSION:
        raise InvalidInput(f"State version {state['version']!r} cannot be read; this is version {STATE_VERSION}.")
    if not isinstance(state["plan"], str) or state["plan"] != plan:
        raise InvalidInput(f"This state was saved by another plan. Saved: {state['plan']}. Here: {plan}.")
    if not isinstance(state["digest"], str) or state["digest"] != _digest(
        {name: entry for name, entry in state.items() if name != "digest"}
    ):
        raise InvalidInput("This state was changed after it was saved, and cannot be continued.")
    around = ("warning", "version", "plan", "digest")
    try:
        content: dict[str, Any] = decode({name: entry for name, entry in state.items() if name not in around})
    except MALFORMED as error:
        raise InvalidInput(f"This is not the state of a {algorithm} learner ({error!r}).") from None
    return content


def encode(value: Any) -> Any:
    """A value as JSON can hold it, to the last bit."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):  # a long double stays one
        return encode(value.item())
    if type(value) is np.ndarray and value.dtype.kind in _KINDS:
        fortran = value.flags.f_contiguous and not value.flags.c_contiguous
        plain = value.astype(value.dtype.newbyteorder("<"), copy=False)
        data = b64encode(plain.tobytes("F" if fortran else "C")).decode()
        return {"array": data, "dtype": plain.dtype.str, "shape": list(value.shape), "order": "F" if fortran else "C"}
    if isinstance(value, list | tuple):
        entries = [encode(entry) for entry in value]
        return entries if isinstance(value, list) else {"tuple": entries}
    if isinstance(value, dict):
        return {str(name): encode(entry) for name, entry in value.items()}
    raise InvalidInput(
        f"A state holds numbers, texts, arrays, lists and dictionaries. Got a {type(value).__name__} instead."
    )


def decode(value: Any) -> Any:
    """What `encode` was given."""
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        dtype = np.dtype(value["dtype"])
        if dtype.kind not in _KINDS:
            raise InvalidInput(f"The arrays of a state hold numbers. Got the type {value['dtype']!r} instead.")
        flat = np.frombuffer(b64decode(value["array"], validate=True), dtype=dtype)
        return np.array(flat.reshape(value["shape"], order=value["order"]), dtype.newbyteorder("="), order="K")
    if "tuple" in value:
        return tuple(decode(value["tuple"]))
    return float(value["float"]) if "float" in value else {name: decode(entry) for name, entry in value.items()}


def fitting(current: Any, saved: Any, *, any_shape: bool = False) -> Any:
    """`saved`, if it can stand where `current` stands: the same kind, type and shape, finite, counters not negative."""
    if isinstance(current, np.ndarray) and not (saved is None and any_shape):
        same = isinstance(saved, np.ndarray) and saved.dtype == current.dtype and saved.ndim == current.ndim
        if not (same and (any_shape or saved.shape == current.shape) and np.isfinite(saved).all()):
            raise TypeError(f"finite array of shape {current.shape} expected")
        return saved
    if isinstance(current, float) and isinstance(saved, float | int) and not isinstance(saved, bool):
        if not isfinite(saved):
            raise TypeError("finite number expected")
        return float(saved)
    if type(saved) is not type(current) and not (current is None and any_shape):
        raise TypeError(f"{type(current).__name__} expected, got {type(saved).__name__}")
    if isinstance(saved, np.ndarray) and not np.isfinite(saved).all():
        raise TypeError("finite array expected")
    if isinstance(saved, int) and saved < 0:
        raise TypeError("count expected, got a negative number")
    return saved


def alike(current: Any, saved: Any) -> None:
    """Refuse the state of a part that has other entries than the part itself, or entries that are not finite."""
    if isinstance(current, dict):
        if isinstance(saved, dict) and not (current and saved):
            return  # a source of draws: secret on one side, replayable on the other; it checks its state itself
        if not isinstance(saved, dict) or set(saved) != set(current):
            raise TypeError(f"the entries {sorted(current)} expected")
        for name, entry in current.items():
            alike(entry, saved[name])
    elif isinstance(current, list) and isinstance(saved, list):
        for entry in saved:
            fitting(entry, entry)
    else:
        fitting(current, saved, any_shape=True)


def _headed(plan: str, content: dict[str, Any]) -> dict[str, Any]:
    return {"warning": STATE_WARNING, "version": STATE_VERSION, "plan": plan, **encode(content)}


def _digest(entries: dict[str, Any]) -> str:
    return _digest_of(_text(entries))


def _digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _text(entries: dict[str, Any]) -> str:
    try:
        return json.dumps(entries, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            "A state is made of texts, numbers, lists and dictionaries, as state_dict gave it."
        ) from None

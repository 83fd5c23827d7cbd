"""What a learner remembers between two rounds, and the one form in which it is written down: docs/states.md.

A `State` is the signature of a plan and a dictionary of numbers, texts, arrays, lists and dictionaries. `encode` makes
JSON of it that `decode` reads back to the last bit; nothing is pickled. A digest of all entries refuses a state that
was cut, edited or mixed from two before anything of it is used. Bytes carry a tag under the key of a sealed source
instead.

Secret or replayable? That is never an entry which could be edited. A replayable learner saves where its streams stand,
and is stamped as not private. A state without positions continues under fresh keys: secret. Taking the positions out
breaks the digest. It has no key: whoever can write states can write the data, or the program.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from math import isclose, isfinite
from typing import Any

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.noise.randomness import Sealed
from tacit.validation import MALFORMED

STATE_WARNING = "PRIVATE: holds raw sums and noise that is still in use; store it like the data itself"
STATE_VERSION = 3
_KINDS = "biuf"  # booleans, integers and floats; nothing that could hold objects


_AROUND = ("warning", "version", "plan", "digest")
# Bytes: the head, a digest of the plan, a trace of the past, the JSON, a tag.
PACK_VERSION = 3
_NAME = b"tacit"
_HEAD = _NAME + bytes((PACK_VERSION, STATE_VERSION))
_PLAN, _PAST, _TAG = 16, 16, 16
_CONTENT = len(_HEAD) + _PLAN + _PAST


@dataclass(frozen=True)
class State:
    """What a learner of a plan remembers between two rounds. PRIVATE: keep it as safe as the data.

    Attributes:
        plan: the signature of the plan.
        content: counts, sums, noise in use, open rounds with their feedback, and of replayable learners the positions
            of their streams.
    """

    plan: str
    content: dict[str, Any]

    def entries(self) -> dict[str, Any]:
        """Give the state as text and numbers that JSON can hold, with its digest."""
        state = self._headed()
        return {**state, "digest": _digest_of(_text(state))}

    def text(self) -> str:
        """Give the same as JSON, written only once: what is digested is the text itself."""
        text = _text(self._headed())
        return f'{text[:-1]},"digest":"{_digest_of(text)}"}}'

    def packed(self, source: Sealed, name: bytes, past: bytes = bytes(_PAST)) -> bytes:
        """Give the state as bytes for an engine that keeps a million of them, sealed for the learner of this name.

        `past`: of the batch that led to the state, so that no other past leads to the same bytes. The state of a
        replayable learner, which holds the keys of its streams, is refused.
        """
        if "streams" in self.content:
            raise ProtocolError(
                "Only the state of a private learner is packed: that of a replayable one holds the keys of its streams."
            )
        body = _HEAD + _plan_digest(self.plan) + past + _text(encode(self.content)).encode()
        return body + source.tag(name, body)

    @classmethod
    def read(cls, algorithm: str, plan: str, state: Any, needed: set[str]) -> State:
        """Read what `entries` gave, or `text` as JSON, if it is of a learner of this plan and was not changed."""
        missing = {"version", "plan", "digest", *needed} - set(state) if isinstance(state, dict) else needed
        if missing:
            raise InvalidInput(f"This is not the state of a {algorithm} learner: it lacks {sorted(missing)}.")
        if type(state["version"]) is not int or state["version"] != STATE_VERSION:
            raise InvalidInput(f"State version {state['version']!r} cannot be read; this is version {STATE_VERSION}.")
        if not same_plan(state["plan"], plan):
            raise InvalidInput(f"This state was saved by another plan. Saved: {state['plan']}. Here: {plan}.")
        if not isinstance(state["digest"], str) or state["digest"] != _digest_of(
            _text({name: entry for name, entry in state.items() if name != "digest"})
        ):
            raise InvalidInput("This state was changed after it was saved, and cannot be continued.")
        try:
            return cls(plan, decode({name: entry for name, entry in state.items() if name not in _AROUND}))
        except MALFORMED as error:
            raise InvalidInput(f"This is not the state of a {algorithm} learner ({error!r}).") from None

    @classmethod
    def unpacked(cls, state: bytes, plan: str, source: Sealed, name: bytes) -> State:
        """Read what `packed` gave, here or in 0.2, if it is of this plan, key and learner and was not changed."""
        if not isinstance(state, bytes) or not state.startswith(_NAME) or len(state) < _CONTENT + _TAG:
            raise InvalidInput("This is not the packed state of a learner.")
        if state[5] not in _READERS or state[6] != STATE_VERSION:
            raise InvalidInput(
                f"A packed state of version {state[5]}.{state[6]} cannot be read; this is version "
                f"{PACK_VERSION}.{STATE_VERSION}."
            )
        if state[len(_HEAD) : len(_HEAD) + _PLAN] not in map(_plan_digest, (plan, _in_0_2(plan))):
            raise InvalidInput("This packed state was saved by another plan.")
        body = state[:-_TAG]
        if source.tag(name, body) != state[-_TAG:]:
            raise InvalidInput("This packed state was sealed under another key or for another learner, or was changed.")
        try:
            content = _READERS[state[5]](body[_CONTENT:])
        except (*MALFORMED, struct.error, RecursionError):
            raise InvalidInput("This is not the packed state of a learner.") from None
        if not isinstance(content, dict):
            raise InvalidInput("This is not the packed state of a learner.")
        return cls(plan, content)

    def _headed(self) -> dict[str, Any]:
        return {"warning": STATE_WARNING, "version": STATE_VERSION, "plan": self.plan, **encode(self.content)}


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


# Parameters that plans have had since then, at the values that change nothing, and what 0.2 had in their place: missing
# feedback was the middle, Tsallis rates could decrease, and only PhasedArms named its noise.
_SINCE = {
    "'matrix': None, 'norm': None, ": "",
    "'lowering': 0.0, ": "'rates': 'fixed', ",
    "'missing': 0.5, ": "",
    ", 'missing': 0.5": "",
    "'linear': False, ": "",
    "'smoothing': 0.0, ": "",
    "'rate': 'certified', 'batch': 1, ": "'rate': 'certified', ",
}


# Epochs are planned when they begin, and the last digits of a learning rate depend on the processor. Numbers that shape
# noise must agree to the last digit: sums in a state are in units of them.
_RATE = re.compile(r"'eta': ([0-9]+\.?[0-9]*(?:e-?[0-9]+)?)(?=[,}])")
_SAME_RATE = 1e-12


def same_plan(saved: Any, signature: str) -> bool:
    """Say whether a state was saved by the plan of this signature, here, on another machine or in version 0.2."""
    if not isinstance(saved, str):
        return False
    rates, others = _RATE.findall(saved), _RATE.sub("'eta'", saved)
    for known in (signature, _in_0_2(signature)):
        if saved == known:
            return True
        own = _RATE.findall(known)
        if others == _RATE.sub("'eta'", known) and len(rates) == len(own):
            pairs = zip(rates, own, strict=True)
            return all(isclose(float(one), float(other), rel_tol=_SAME_RATE) for one, other in pairs)
    return False


def _in_0_2(signature: str) -> str:
    """Give the signature that version 0.2 had for a plan: its problem named no adversary, or named it last."""
    moved = r"((?:Arms|Tracking)\(horizon=\w+, delay=\d+)(, adversary='\w+')([^()]*\([^()]*\)[^()]*)\)"
    known = re.sub(r"(delay=\d+), adversary='\w+'", r"\1", re.sub(moved, r"\1\3\2)", signature))
    known = re.sub(r"('norm': Norm\(power=[^)]*\), )", r"\1'scheduled': False, ", known)
    for added, before in _SINCE.items():
        known = known.replace(added, before)
    return re.sub(r"('level': [^,]+), 'relation'", r"\1, 'noise': 'geometric', 'relation'", known)  # of PhasedArms


def _plan_digest(signature: str) -> bytes:
    return hashlib.blake2b(signature.encode(), digest_size=_PLAN).digest()


def _digest_of(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _text(entries: dict[str, Any]) -> str:
    try:
        return json.dumps(entries, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise InvalidInput(
            "A state is made of texts, numbers, lists and dictionaries, as state_dict gave it."
        ) from None


def _of_0_2(body: bytes) -> Any:
    """Read the form of version 0.2: a letter for the kind of each value, then its length and its bytes."""
    content, end = _read(body, 0, 0)
    if end != len(body):
        raise ValueError("longer than its content")
    return content


_READERS: dict[int, Callable[[bytes], Any]] = {2: _of_0_2, PACK_VERSION: lambda body: decode(json.loads(body))}
_LENGTH, _NUMBER = struct.Struct("<I"), struct.Struct("<d")
_DEEPEST = 32


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    """The value that begins at this byte, and where it ends."""
    kind, at = data[at : at + 1], at + 1
    match kind:
        case b"N":
            return None, at
        case b"T" | b"F":
            return kind == b"T", at
        case b"D":
            return _NUMBER.unpack_from(data, at)[0], at + 8
        case b"A":
            return _read_array(data, at)
    count, at = _LENGTH.unpack_from(data, at)[0], at + 4
    if count > len(data) - at or depth > _DEEPEST:
        raise ValueError("longer than the state")
    match kind:
        case b"I":
            return int.from_bytes(data[at : at + count], "little", signed=True), at + count
        case b"S":
            return data[at : at + count].decode(), at + count
        case b"L" | b"U":
            entries = []
            for _ in range(count):
                entry, at = _read(data, at, depth + 1)
                entries.append(entry)
            return (entries if kind == b"L" else tuple(entries)), at
        case b"M":
            content = {}
            for _ in range(count):
                name, at = _read(data, at, depth + 1)
                content[name], at = _read(data, at, depth + 1)
            return content, at
    raise ValueError("unknown kind")


def _read_array(data: bytes, at: int) -> tuple[Any, int]:
    letters, fortran, dimensions = data[at : at + 3]
    start = at + 3 + letters
    dtype = np.dtype(data[at + 3 : start].decode())
    shape = struct.unpack_from(f"<{dimensions}Q", data, start)
    start += 8 * dimensions
    end = start + dtype.itemsize * int(np.prod(shape, dtype=np.uint64))
    if dtype.kind not in _KINDS or end > len(data):
        raise ValueError("not an array of numbers")
    flat: Any = np.frombuffer(data[start:end], dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C").astype(dtype.newbyteorder("=")), end

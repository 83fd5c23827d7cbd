"""A learner's state as bytes: what an engine keeps for each of a million learners. Nothing is pickled.

The content is that of `Learner.state_dict`: counts, sums, noise in use, open rounds with their feedback, and no keys. A
packed state begins with the versions, a digest of the plan and a trace of its past, and ends with a tag. Under a sealed
source the tag is a code that nobody without the key can make, and it names the learner: a state that was edited, cut,
or put under another learner is refused. PRIVATE: keep it as safe as the data.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np

from tacit.errors import InvalidInput, ProtocolError
from tacit.learners.learner import Learner
from tacit.learners.states import STATE_VERSION
from tacit.randomness import Sealed
from tacit.validation import MALFORMED

PACK_VERSION = 2
_HEAD = b"tacit" + bytes((PACK_VERSION, STATE_VERSION))
_PLAN, _PAST, _TAG = 16, 16, 16
_CONTENT = len(_HEAD) + _PLAN + _PAST
_KINDS = "biuf"
_LENGTH, _NUMBER = struct.Struct("<I"), struct.Struct("<d")
_DEEPEST = 32


def pack(learner: Learner, digest: bytes, source: Sealed, name: bytes, past: bytes = bytes(_PAST)) -> bytes:
    """The state of the learner of this name.

    Args:
        learner: between two rounds.
        digest: that of its plan.
        source: seals it.
        name: which learner it is.
        past: of the batch that led to it, so that no other past leads to the same bytes.

    Raises:
        ProtocolError: for a replayable learner, whose state holds the keys of its streams.
    """
    with learner._lock:
        if learner._process is None or not learner._private:
            raise ProtocolError(
                f"Only a private {learner.plan.algorithm} learner between two rounds is packed: the state of a "
                "replayable one holds the keys of its streams."
            )
        content = learner._gather()
    parts: list[bytes] = [_HEAD, digest, past]
    _write(content, parts)
    body = b"".join(parts)
    return body + source.tag(name, body)


def plan_digest(signature: str) -> bytes:
    """Which plan a state is of."""
    return hashlib.blake2b(signature.encode(), digest_size=_PLAN).digest()


def unpack(state: bytes, digest: bytes, source: Sealed, name: bytes) -> dict[str, Any]:
    """The content of a packed state, if it is of this version, plan, key and learner, and was not changed."""
    if not isinstance(state, bytes) or not state.startswith(b"tacit") or len(state) < _CONTENT + _TAG:
        raise InvalidInput("This is not the packed state of a learner.")
    if not state.startswith(_HEAD):
        raise InvalidInput(
            f"A packed state of version {state[5]}.{state[6]} cannot be read; this is version "
            f"{PACK_VERSION}.{STATE_VERSION}."
        )
    if state[len(_HEAD) : len(_HEAD) + _PLAN] != digest:
        raise InvalidInput("This packed state was saved by another plan.")
    body = state[:-_TAG]
    if source.tag(name, body) != state[-_TAG:]:
        raise InvalidInput("This packed state was sealed under another key or for another learner, or was changed.")
    try:
        content, end = _read(body, _CONTENT, 0)
    except (*MALFORMED, struct.error, UnicodeDecodeError):
        raise InvalidInput("This is not the packed state of a learner.") from None
    if end != len(body) or not isinstance(content, dict):
        raise InvalidInput("This is not the packed state of a learner.")
    return content


def load(learner: Learner, content: dict[str, Any]) -> None:
    """Let a learner of the same plan, just started, go on from unpacked content."""
    try:
        learner._scatter(content)
    except (*MALFORMED, KeyError):
        raise InvalidInput(f"This is not the state of a {learner.plan.algorithm} learner.") from None
    if not learner._consistent():
        raise InvalidInput(f"This state of a {learner.plan.algorithm} learner contradicts itself.")


def _write(value: Any, parts: list[bytes]) -> None:
    if isinstance(value, np.generic) and not isinstance(value.item(), np.generic):
        value = value.item()
    if value is None:
        parts.append(b"N")
    elif value is True or value is False:
        parts.append(b"T" if value else b"F")
    elif isinstance(value, int):
        size = value.bit_length() // 8 + 1
        parts += (b"I", _LENGTH.pack(size), value.to_bytes(size, "little", signed=True))
    elif isinstance(value, float):
        parts += (b"D", _NUMBER.pack(value))
    elif isinstance(value, str):
        text = value.encode()
        parts += (b"S", _LENGTH.pack(len(text)), text)
    elif type(value) is np.ndarray and value.dtype.kind in _KINDS:
        _write_array(value, parts)
    elif isinstance(value, list | tuple):
        parts += (b"L" if isinstance(value, list) else b"U", _LENGTH.pack(len(value)))
        for entry in value:
            _write(entry, parts)
    elif isinstance(value, dict):
        parts += (b"M", _LENGTH.pack(len(value)))
        for name, entry in value.items():
            _write(str(name), parts)
            _write(entry, parts)
    else:
        raise InvalidInput(f"A state holds numbers, texts, arrays, lists and dictionaries, no {type(value).__name__}.")


def _write_array(value: np.ndarray[Any, Any], parts: list[bytes]) -> None:
    fortran = value.flags.f_contiguous and not value.flags.c_contiguous
    plain = value.astype(value.dtype.newbyteorder("<"), copy=False)
    kind, shape = plain.dtype.str.encode(), value.shape
    parts += (b"A", bytes((len(kind), fortran, len(shape))), kind, struct.pack(f"<{len(shape)}Q", *shape))
    parts.append(plain.tobytes("F" if fortran else "C"))


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

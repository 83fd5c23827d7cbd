"""Policies: who gets which arm is a pure function of a public document and a pseudonym.

A version is named by a random nonce, its salt. With it every program, in any language, computes the same arm:

    pid = hex of the first 16 bytes of HMAC-SHA-256(secret, "tacit/person/1" 00 utf8(id))
    d   = SHA-256("tacit/assign/1" 00 salt 00 pid),   u = uint32be(d[0:4])
    arm = number of entries of `upto` that are at most u

Only integers and SHA-256 are used. Salts are fresh for each version, so that nobody can choose an arm, and the same
person may get another arm in the next version. Policies form a hash chain: each names the digest of the one before.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tacit.errors import InvalidInput

FORMAT = "tacit-policy/1"
WHOLE = 2**32
FOREVER = datetime(9999, 12, 31, tzinfo=UTC).timestamp()
"""When policies end that do not count: a service that is down changes nothing for users."""
NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
FEWEST_SECRET_BYTES = 16


def pseudonym(secret: bytes, person: str) -> str:
    """Compute the pid of a person: 32 hex digits, which nobody undoes without the operator's secret.

    >>> pseudonym(b"a secret of the operator's own", "alice") == pseudonym(b"a secret of the operator's own", "Alice")
    False
    """
    if not isinstance(secret, bytes) or len(secret) < FEWEST_SECRET_BYTES:
        raise InvalidInput(f"The secret for pseudonyms must be at least {FEWEST_SECRET_BYTES} bytes of your own.")
    if not isinstance(person, str) or not person:
        raise InvalidInput("A person must be a text that is not empty: nobody else may stand for those without a name.")
    try:
        name = person.encode()
    except UnicodeEncodeError:
        raise InvalidInput("A person must be a text of Unicode characters, without lone surrogates.") from None
    return hmac.new(secret, b"tacit/person/1\x00" + name, hashlib.sha256).digest()[:16].hex()


def is_pid(value: object) -> bool:
    """Tell whether a value is a pid or a salt in its one canonical form."""
    return isinstance(value, str) and NONCE.fullmatch(value) is not None


def assign(salt: str, upto: Sequence[int], pid: str) -> int:
    """Compute the arm of a person in a version.

    >>> assign("00" * 16, [2**31, 2**32], "49fbe7eafdfc5af770082a244f9b0c41")
    0
    """
    digest = hashlib.sha256(f"tacit/assign/1\0{salt}\0{pid}".encode()).digest()
    return bisect_right(upto, int.from_bytes(digest[:4], "big"))


@dataclass(frozen=True)
class Policy:
    """What is public of a version before it begins."""

    experiment: str  # its name
    incarnation: int  # how often the experiment was restored from a copy, plus one
    version: int  # its number, which grows over all incarnations
    counting: bool  # whether replies count; there is a charge if and only if they do
    salt: str  # its nonce
    arms: tuple[str, ...]  # the names of all arms that there ever were: an arm keeps its place
    upto: tuple[int, ...]  # cumulative shares as integers, the last one 2^32
    default: str  # the arm of those who have no policy
    serve_from: float  # when it begins, in seconds
    serve_until: float  # when the next one may take over
    close_at: float  # when replies stop to count
    low: float  # the value that stands for silence
    high: float  # the largest value
    contract: str  # the digest of the contract
    head: str  # the head of the chain of releases that the shares were computed from ("": none)
    previous: str  # the digest of the policy before it ("": none)

    @property
    def shares(self) -> tuple[float, ...]:
        """The share of each arm, as it is served."""
        before = (0, *self.upto[:-1])
        return tuple((end - start) / WHOLE for start, end in zip(before, self.upto, strict=True))

    def document(self) -> dict[str, Any]:
        """Write the document that is served, with its digest."""
        content: dict[str, Any] = {
            "format": FORMAT,
            **{field.name: getattr(self, field.name) for field in fields(self)},
        }
        content |= {name: iso(content[name]) for name in ("serve_from", "serve_until", "close_at")}
        content |= {"arms": list(self.arms), "upto": list(self.upto)}
        content["value"] = {"low": content.pop("low"), "high": content.pop("high")}
        return {**content, "digest": digest(content)}

    @staticmethod
    def read(document: dict[str, Any]) -> Policy:
        """Read a document that `document` wrote; another digest than its own is refused."""
        content = dict(document)
        stated, form = content.pop("digest", None), content.pop("format", None)
        if form != FORMAT or stated != digest({"format": form, **content}):
            raise InvalidInput("This is not a policy: its format or its digest is another one.")
        value = content.pop("value")
        content |= {name: seconds(content[name]) for name in ("serve_from", "serve_until", "close_at")}
        content |= {"arms": tuple(content["arms"]), "upto": tuple(content["upto"])}
        return Policy(**content, low=value["low"], high=value["high"])


def canonical(content: object) -> bytes:
    """Write JSON in the one form that is hashed, RFC 8785, for names in ASCII and numbers below 2^53.

    >>> canonical({"b": [1.0, 0.5, 1e-05, 1e-07], "a": "\N{GREEK SMALL LETTER PI}"}).decode()
    '{"a":"\N{GREEK SMALL LETTER PI}","b":[1,0.5,0.00001,1e-7]}'
    """
    return _canonical(content).encode()


def _canonical(content: object) -> str:
    if isinstance(content, dict):
        return "{" + ",".join(f"{_canonical(name)}:{_canonical(content[name])}" for name in sorted(content)) + "}"
    if isinstance(content, list | tuple):
        return "[" + ",".join(map(_canonical, content)) + "]"
    if not isinstance(content, float):
        return json.dumps(content, ensure_ascii=False)
    if content == int(content):
        return str(int(content))
    shortest = Decimal(repr(content))  # the digits are ECMAScript's, the place of the point is not always
    if abs(content) >= 1e-6:
        return f"{shortest:f}"
    digits = "".join(map(str, shortest.as_tuple().digits))
    mantissa = digits[0] + ("." + digits[1:] if digits[1:] else "")
    return f"{'-' if content < 0 else ''}{mantissa}e{shortest.adjusted()}"


def digest(content: object) -> str:
    """Hash JSON."""
    return f"sha256:{hashlib.sha256(canonical(content)).hexdigest()}"


def iso(moment: float) -> str:
    """Write a time in UTC, to the millisecond where it is not a whole second."""
    written = datetime.fromtimestamp(moment, UTC)
    return written.isoformat(timespec="milliseconds" if written.microsecond else "seconds").replace("+00:00", "Z")


def seconds(written: str) -> float:
    """Read what `iso` wrote."""
    return datetime.fromisoformat(written).timestamp()


def period_of(moment: float) -> str:
    """Name the calendar month of a time, in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m")

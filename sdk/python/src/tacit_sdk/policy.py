"""The public document that says how one version of an experiment decides, and when a new one is refused.

Policies are a hash chain. A client that has seen one refuses an older one and another one of the same number: after a
backup was restored by accident, the clients are the witnesses.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from hashlib import sha256
from typing import Any

FORMAT = "tacit-policy/1"
WHOLE = 2**32
LARGEST = 2**53 - 1
"""Integers beyond are not the same number in every language."""
LONGEST = 2**20
"""Bytes that a policy may have."""
DEEPEST = 16
HEX = re.compile(r"[0-9a-f]{32}\Z")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}\Z")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z\Z", re.ASCII)


class Refused(ValueError):
    """A policy that is not taken.

    Attributes:
        kind: "malformed", "digest" (it is not that of the content), "experiment" (another one), "older", "altered" (the
            same number, another content) or "chain" (it does not follow the one before it).
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Policy:
    """One version's policy, checked. All times are seconds since 1970 in UTC."""

    experiment: str
    incarnation: int
    version: int
    salt: str
    counting: bool
    arms: tuple[str, ...]
    upto: tuple[int, ...]
    default: str
    low: float
    high: float
    close_at: float
    previous: str
    digest: str

    @classmethod
    def parse(cls, text: str | bytes) -> Policy:
        """Read and check a policy; whatever is wrong with it raises `Refused`."""
        if len(text) > LONGEST:
            raise Refused("malformed", f"A policy has at most {LONGEST} bytes.")
        try:
            document = json.loads(text.decode() if isinstance(text, bytes) else text, parse_constant=_no_number)
            computed = digest(document)
            policy = cls._checked(document)
        except Refused:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
            raise Refused("malformed", "The policy is not what the specification describes.") from None
        if computed != policy.digest:
            raise Refused("digest", "The digest of the policy is not that of its content.")
        return policy

    @classmethod
    def _checked(cls, document: Any) -> Policy:
        arms, upto, value = document["arms"], document["upto"], document["value"]
        _require(document["format"] == FORMAT, f"The format of a policy is {FORMAT!r}.")
        _require(
            isinstance(arms, list) and isinstance(upto, list) and bool(arms), "A policy has arms and their shares."
        )
        _require(all(isinstance(arm, str) and arm for arm in arms), "Each arm has a name.")
        _require(len(set(arms)) == len(arms) == len(upto), "Each arm has one name and one share.")
        bounds = tuple(_integer(entry, 0, WHOLE) for entry in upto)
        _require(list(bounds) == sorted(bounds) and bounds[-1] == WHOLE, "Cumulative shares rise to 2**32.")
        low, high = _number(value["low"]), _number(value["high"])
        _require(low < high, "Values range from low to a larger high.")
        default, counting, previous = document["default"], document["counting"], document["previous"]
        _require(isinstance(default, str) and default in arms, "The default arm is one of the arms.")
        _require(isinstance(counting, bool), "'counting' is true or false.")
        _require(previous == "" or _matches(DIGEST, previous), "'previous' is a digest, or empty.")
        _require(_matches(DIGEST, document["digest"]), "'digest' is the SHA-256 of the content.")
        _require(_matches(HEX, document["salt"]), "A version is named by 32 hex digits.")
        experiment = document["experiment"]
        _require(isinstance(experiment, str) and experiment != "", "A policy names its experiment.")
        serve_from, serve_until, close_at = (
            _time(document[name]) for name in ("serve_from", "serve_until", "close_at")
        )
        _require(serve_from < serve_until <= close_at, "A version is served, then closed.")
        return cls(
            experiment=experiment,
            incarnation=_integer(document["incarnation"], 0, LARGEST),
            version=_integer(document["version"], 0, LARGEST),
            salt=document["salt"],
            counting=counting,
            arms=tuple(arms),
            upto=bounds,
            default=default,
            low=low,
            high=high,
            close_at=close_at,
            previous=previous,
            digest=document["digest"],
        )

    def check_after(self, experiment: str, held: Policy | None) -> None:
        """Raise `Refused` if this policy is not one of this experiment, or cannot come after one that is held."""
        if self.experiment != experiment:
            raise Refused("experiment", "The policy is that of another experiment.")
        if held is None:
            return
        mine, theirs = (self.incarnation, self.version), (held.incarnation, held.version)
        if mine < theirs:
            raise Refused("older", "The policy is older than the one held: was a backup restored?")
        if mine == theirs and self.digest != held.digest:
            raise Refused("altered", "The policy has the number of the one held and another content.")
        follows = self.incarnation == held.incarnation and self.version == held.version + 1
        if follows and self.previous != held.digest:
            raise Refused("chain", "The policy does not name the one held as the one before it.")


def digest(document: Any) -> str:
    """Return the digest of a policy: SHA-256 of its canonical JSON (RFC 8785) without the member `digest`."""
    content = {name: value for name, value in document.items() if name != "digest"}
    return "sha256:" + sha256(canonical(content).encode()).hexdigest()


def canonical(value: Any, depth: int = 0) -> str:
    """Return the canonical JSON (RFC 8785) of a value whose numbers are at most 2**53 - 1."""
    if depth > DEEPEST:
        raise ValueError("This is nested too deeply.")
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: str(name).encode("utf-16-be"))
        members = (f"{canonical(name)}:{canonical(value[name], depth + 1)}" for name in names)
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(canonical(entry, depth + 1) for entry in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _shortest(_number(value))
    return json.dumps(value, ensure_ascii=False)


def _shortest(number: float) -> str:
    """Return a number as ECMAScript prints it; its magnitude is at most 2**53 - 1."""
    if number == int(number):
        return str(int(number))
    sign, text = ("-", repr(-number)) if number < 0 else ("", repr(number))
    if "e" not in text:
        return sign + text
    mantissa, exponent = text.split("e")
    digits, places = mantissa.replace(".", ""), -int(exponent)
    if places <= 6:
        return f"{sign}0.{'0' * (places - 1)}{digits}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e-{places}"


def _number(value: Any) -> float:
    _require(isinstance(value, (int, float)) and not isinstance(value, bool), "This is not a number.")
    _require(-LARGEST <= value <= LARGEST, "Numbers are at most 2**53 - 1.")
    return float(value)


def _integer(value: Any, least: int, most: int) -> int:
    number = _number(value)  # 1.0 and 1 are the same number in JSON
    _require(number == int(number) and least <= number <= most, f"This is not an integer from {least} to {most}.")
    return int(number)


def _time(value: Any) -> float:
    _require(_matches(TIME, value), "Times are written as 2026-11-17T00:00:00Z.")
    moment = value[:-1] if "." in value else value[:-1] + ".0"
    return datetime.strptime(moment, "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=timezone.utc).timestamp()


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.match(value) is not None


def _no_number(name: str) -> float:
    raise Refused("malformed", f"{name} is not JSON.")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise Refused("malformed", message)

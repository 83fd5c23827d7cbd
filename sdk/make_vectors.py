"""Write vectors.json: what every SDK, in any language, must answer. `python sdk/make_vectors.py` from the clone.

The vectors come from the specification and the standard library, not from an SDK: hmac, hashlib, and canonical numbers
that are spelled out by hand.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any

WHERE = Path(__file__).with_name("vectors.json")
WHOLE = 2**32
SECRET = b"a secret of 32 bytes, for tests."
PERSONS = [
    "alice",
    "Alice",
    "user-4711",
    "Zo\u00eb",  # one character for e with its dots
    "Zoe\u0308",  # two: ids are not normalised
    "\u0416\u0443\u043a",
    "\u6f22\u5b57",
    "\U0001f600",
    "\U0001d518\U0010ffff",
    "\u0000",
    "\ue000\uffff",
    " spaces are kept ",
    "a" * 40,
    "a" * 41,  # the last id whose hash has one block more
    "x" * 1000,
]
IMPOSSIBLE = ["", "\ud800", "a\udc00b", "\udc00\ud800", "ends with \udbff"]
SALTS = ["0f" * 16, "2bd806c97f0e00af1a1fc3276fa763c4"]
# ECMAScript's spelling, by hand: JSON text, canonical text.
NUMBERS = {
    "0": "0", "-0": "0", "-0.0": "0", "1.0": "1", "1e3": "1000", "0.1": "0.1", "-2.50": "-2.5", "1e-5": "0.00001",
    "1.5e-6": "0.0000015", "0.000001": "0.000001", "1e-7": "1e-7", "-1.25e-7": "-1.25e-7", "5e-324": "5e-324",
    "0.30000000000000004": "0.30000000000000004", "123456789.125": "123456789.125",
    "9007199254740991": "9007199254740991", "1e15": "1000000000000000", "1e-400": "0",
}  # fmt: skip
MANY, SEED = 100_000, 20_261_117


def main() -> None:
    """Write the file."""
    WHERE.write_text(json.dumps(vectors(), indent=1) + "\n")


def vectors() -> dict[str, Any]:
    """Return all of them."""
    return {
        "format": "tacit-vectors/1",
        "pids": [
            {"secret": secret.hex(), "person": person, "pid": pid(secret, person)}
            for secret in (SECRET, b"k" * 16, b"K" * 64, b"K" * 65)
            for person in (PERSONS if secret == SECRET else PERSONS[:4])
        ],
        "impossible_persons": IMPOSSIBLE,
        "short_secrets": ["", (b"k" * 15).hex()],
        "assignments": list(assignments()),
        "numbers": NUMBERS,
        "policies": policies(),
        "served_policies": {"served": json.dumps(SERVED), "frozen": json.dumps(document(counting=False))},
        "decisions": list(decisions()),
        "tokens": tokens(),
        "many": {
            "secret": SECRET.hex(),
            "salt": SALTS[1],
            "upto": [WHOLE // 3, WHOLE // 2, WHOLE],
            "seed": SEED,
            "count": MANY,
            "sha256": many(),
        },
    }


def pid(secret: bytes, person: str) -> str:
    """Return the pid of a person."""
    return hmac.new(secret, b"tacit/person/1\0" + person.encode(), "sha256").hexdigest()[:32]


def point(salt: str, who: str) -> int:
    """Return u, the point of a pid between 0 and 2^32."""
    return int.from_bytes(hashlib.sha256(f"tacit/assign/1\0{salt}\0{who}".encode()).digest()[:4], "big")


def assignments() -> Iterator[dict[str, Any]]:
    """Give arms to all persons, also by shares that end exactly at u, and just after it."""
    for salt in SALTS:
        for person in PERSONS:
            who = pid(SECRET, person)
            u = point(salt, who)
            for upto in ([2**31, 3 * 2**30, WHOLE], [u, WHOLE], [0, u + 1, u + 1, WHOLE]):
                yield {"salt": salt, "upto": upto, "pid": who, "u": u, "arm": bisect_right(upto, u)}


def document(**changed: Any) -> dict[str, Any]:
    """A policy; what is None is left out, and the digest fits unless it is given."""
    content = {
        "format": "tacit-policy/1",
        "experiment": "homepage",
        "incarnation": 1,
        "version": 17,
        "counting": True,
        "salt": SALTS[0],
        "arms": ["control", "short", "video"],
        "upto": [2**31, 3 * 2**30, WHOLE],
        "default": "control",
        "serve_from": "2026-11-17T00:00:00Z",
        "serve_until": "2026-11-18T00:00:00Z",
        "close_at": "2026-11-19T00:05:00Z",
        "value": {"low": 0, "high": 1},
        "contract": "sha256:" + "77aa" * 16,
        "head": "sha256:" + "51c0" * 16,
        "previous": "sha256:" + "9f2c" * 16,
    } | changed
    content = {name: value for name, value in content.items() if value is not None}
    return content if "digest" in content else {**content, "digest": digest(content)}


def canonical(value: Any) -> str:
    """Canonical JSON (RFC 8785) of what has no numbers but integers."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def digest(content: dict[str, Any]) -> str:
    """Return the digest that fits a content."""
    return "sha256:" + hashlib.sha256(canonical(content).encode()).hexdigest()


def spelled(written: str, canonical_text: str) -> str:
    """A policy with a number that is written in one way, and has the digest of its canonical text."""
    content = document(unknown="NUMBER", digest="")
    del content["digest"]
    fits = hashlib.sha256(canonical(content).replace('"NUMBER"', canonical_text).encode()).hexdigest()
    return json.dumps({**content, "digest": f"sha256:{fits}"}).replace('"NUMBER"', written)


def policies() -> list[dict[str, Any]]:
    """Histories: what a client is shown one after the other, and whether it takes it."""
    first = document()
    second = document(version=18, salt=SALTS[1], previous=first["digest"])
    later = document(version=20, previous="sha256:" + "00" * 32)
    restored = document(incarnation=2, version=3, previous="")
    unknown = {"\ue000": 1, "\U00010000": [True, None, {"a": -5}], "": '\u2028 \u007f \u0001 " \\ / \n'}
    histories = [
        ("the same again, the next one, one that skips some", [(first, ""), (first, ""), (second, ""), (later, "")]),
        ("an older one", [(second, ""), (first, "older"), (second, "")]),
        ("another one of the same number", [(first, ""), (document(counting=False), "altered"), (second, "")]),
        ("one that does not follow", [(first, ""), (document(version=18), "chain"), (second, "")]),
        ("after a restore by the rules", [(later, ""), (restored, ""), (later, "older")]),
        ("that of another experiment", [(document(experiment="checkout"), "experiment"), (first, "")]),
        ("an altered share", [({**first, "upto": [1, 2, WHOLE]}, "digest"), (first, "")]),
        ("another digest", [(document(digest="sha256:" + "00" * 32), "digest")]),
        ("the very first", [(document(version=0, previous="", head=""), "")]),
        ("names beyond the basic plane, and members that nobody knows", [
            (document(arms=["\u6f22", "\U0001f600", "z"], default="\U0001f600", unknown=unknown), "")]),
        ("parts of a second", [(document(serve_until="2026-11-18T00:00:00.123456Z"), "")]),
        ("an arm without a share", [(document(upto=[0, WHOLE, WHOLE]), "")]),
    ]  # fmt: skip
    texts = [(about, [(json.dumps(step), outcome) for step, outcome in steps]) for about, steps in histories]
    texts += [(f"the number {written}", [(spelled(written, text), "")]) for written, text in NUMBERS.items()]
    texts += [(f"malformed: {about}", [(text, "malformed")]) for about, text in malformed().items()]
    return [
        {"about": about, "steps": [{"text": text, "refused": outcome or None} for text, outcome in steps]}
        for about, steps in texts
    ]


def malformed() -> dict[str, str]:
    """Policies that no client takes, however well their digest fits."""
    changes: dict[str, dict[str, Any]] = {
        "another format": {"format": "tacit-policy/2"},
        "no arms": {"arms": [], "upto": []},
        "an arm twice": {"arms": ["control", "video", "video"]},
        "an empty arm": {"arms": ["control", "", "video"]},
        "an arm that is no text": {"arms": ["control", 2, "video"]},
        "fewer shares than arms": {"upto": [2**31, WHOLE]},
        "shares that fall": {"upto": [3 * 2**30, 2**31, WHOLE]},
        "shares that end below": {"upto": [1, 2, 3]},
        "shares that end above": {"upto": [1, 2, WHOLE + 1]},
        "a share below zero": {"upto": [-1, 2, WHOLE]},
        "a share that is no number": {"upto": ["1", 2, WHOLE]},
        "a share that is true": {"upto": [True, 2, WHOLE]},
        "a default that is no arm": {"default": "other"},
        "a default that is a place": {"default": 0},
        "counting as a number": {"counting": 1},
        "a short salt": {"salt": "0f"},
        "a salt in capitals": {"salt": "0F" * 16},
        "a salt with a line end": {"salt": "0f" * 16 + "\n"},
        "an empty range": {"value": {"low": 1, "high": 1}},
        "a range that is a list": {"value": [0, 1]},
        "a range beyond exact integers": {"value": {"low": 0, "high": 2**53}},
        "a day that there is not": {"close_at": "2027-02-30T00:00:00Z"},
        "a second that there is not": {"close_at": "2026-11-19T00:00:60Z"},
        "an hour that there is not": {"close_at": "2026-11-19T24:00:00Z"},
        "a time with a zone": {"close_at": "2026-11-19T00:05:00+01:00"},
        "a time as a number": {"close_at": 1795046700},
        "closed before it is served": {"close_at": "2026-11-17T00:00:00Z"},
        "served backwards": {"serve_from": "2026-11-18T00:00:00Z"},
        "a version below zero": {"version": -1},
        "a version as text": {"version": "17"},
        "a previous one that is no digest": {"previous": "sha256:9f2c"},
        "an experiment without a name": {"experiment": ""},
        **{f"no {name}": {name: None} for name in document() if name not in ("contract", "head", "digest")},
    }
    whole = json.dumps(document())
    texts = {about: json.dumps(document(**changed)) for about, changed in changes.items()}
    nested = "[" * 40 + "]" * 40
    return texts | {
        "no digest": json.dumps({name: value for name, value in document().items() if name != "digest"}),
        "a digest that is none": json.dumps(document(digest="sha256:xyz")),
        "half of it": whole[: len(whole) // 2],
        "nothing": "",
        "a list": "[]",
        "null": "null",
        "NaN": whole.replace('"low": 0', '"low": NaN'),
        "an infinite number": whole.replace('"low": 0', '"low": -1e400'),
        "a version that is not whole": whole.replace('"version": 17', '"version": 17.5'),
        "a lone surrogate": whole.replace('"short"', '"\\ud800"'),
        "nested too deeply": whole.replace('"low": 0', f'"low": 0, "x": {nested}'),
        "a byte order mark": "\ufeff" + whole,
    }


def decisions() -> Iterator[dict[str, Any]]:
    """Decide by one of two policies, or none: who, when, and with which arms killed."""
    served = SERVED
    before, after = "2026-11-19T00:04:59Z", "2026-11-19T00:05:00Z"
    for person in PERSONS:
        who = pid(SECRET, person)
        arm = served["arms"][bisect_right(served["upto"], point(served["salt"], who))]
        common = {"secret": SECRET.hex(), "person": person, "policy": "served", "now": before, "killed": []}
        token = f"{served['salt']}.{who}"
        yield {**common, "arm": arm, "token": token, "reason": "policy"}
        yield {**common, "policy": "frozen", "arm": arm, "token": None, "reason": "frozen"}
        yield {**common, "now": after, "arm": "control", "token": None, "reason": "closed"}
        yield {**common, "policy": None, "arm": "control", "token": None, "reason": "none"}
        yield {**common, "killed": [arm], "arm": "control", "token": None, "reason": "killed"}
        others = [other for other in [*served["arms"], "unknown"] if other != arm]
        yield {**common, "killed": others, "arm": arm, "token": token, "reason": "policy"}
    for person in IMPOSSIBLE:
        yield {**common, "person": person, "arm": "control", "token": None, "reason": "person"}


def tokens() -> dict[str, list[str]]:
    """Return what is a token, and what is none."""
    salt, who = SALTS
    good = f"{salt}.{who}"
    bad = [
        "",
        ".",
        salt,
        f"{salt}:{who}",
        good.upper(),
        f"{good}\n",
        f" {good}",
        f"{good}.1",
        f"{salt}.\uff10{who[1:]}",
    ]
    return {"good": [good], "bad": bad}


def many() -> str:
    """The SHA-256 of the lines "pid arm" for many persons, whom every SDK makes for itself by `persons`."""
    found = hashlib.sha256()
    upto = [WHOLE // 3, WHOLE // 2, WHOLE]
    for person in persons(SEED, MANY):
        who = pid(SECRET, person)
        found.update(f"{who} {bisect_right(upto, point(SALTS[1], who))}\n".encode())
    return found.hexdigest()


def persons(seed: int, count: int) -> Iterator[str]:
    """Make ids of 1 to 16 characters of all of Unicode, by a linear congruential generator (see SPECIFICATION.md)."""
    state = seed

    def below(limit: int) -> int:
        nonlocal state
        state = (1664525 * state + 1013904223) % WHOLE
        return (state >> 8) % limit

    for _ in range(count):
        points = []
        for _ in range(1 + below(16)):
            most = (0x80, 0x800, 0x10000, 0x110000)[below(4)]
            code = below(most)
            points.append(chr(code if not 0xD800 <= code < 0xE000 else code - 0xD800))
        yield "".join(points)


SERVED = document()

if __name__ == "__main__":
    main()

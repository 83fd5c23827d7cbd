"""Tokens: who may do what. A token is shown once; the store keeps its hash.

A token is 256 random bits, so nobody can guess one, and a fast hash of it is as good as a slow one: slow hashes are for
what people can remember. A token has exactly the scopes that it names; none implies another.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.errors import InvalidInput
from tacit.noise.randomness import secret_bytes
from tacit.validation import check_number, invalid
from tacit_experiments.store.store import Store

SCOPES = ("decide", "feedback", "read", "admin", "sdk", "privacy")
PREFIX = "tacit_"
LENGTH = len(PREFIX) + 43  # 32 bytes in base64 without padding
LONGEST_NAME = 100
_COLUMNS = "id, name, hash, scopes, made_at, expires_at"
_VALID = "revoked_at IS NULL"


@dataclass(frozen=True)
class Token:
    """What is known of a token; not the token itself."""

    number: int  # its number in the store
    name: str  # whose it is
    scopes: frozenset[str]  # what it may do
    made: datetime  # when it was made
    expires: datetime | None  # when it ends, or None

    @property
    def expired(self) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now() >= self.expires

    def to_dict(self) -> dict[str, Any]:
        """What is listed."""
        return {
            "id": self.number,
            "name": self.name,
            "scopes": sorted(self.scopes, key=SCOPES.index),
            "made": self.made.isoformat(),
            "expires": None if self.expires is None else self.expires.isoformat(),
            "expired": self.expired,
        }


class Tokens:
    """The tokens of a store."""

    def __init__(self, store: Store) -> None:
        self._database = store.database

    def make(self, scopes: object, *, name: str = "", days: float | None = None) -> str:
        """A new token of these scopes, which nobody can see again; it ends after so many days (None: never)."""
        chosen = check_scopes(scopes)
        if not (isinstance(name, str) and len(name) <= LONGEST_NAME and (name.isprintable() or not name)):
            raise invalid("token", "name", f"a printable text of at most {LONGEST_NAME} characters", name)
        made = now()
        if days is not None:
            check_number("token", "days", days, above=0.0, below=36_500.0, closed_high=True)
        expires = None if days is None else (made + timedelta(days=days)).isoformat()
        token = PREFIX + urlsafe_b64encode(secret_bytes(32)).decode().rstrip("=")
        with self._database.writing() as transaction:
            transaction.alone()
            number = int(transaction.row("SELECT coalesce(max(id), 0) + 1 FROM tacit_tokens")[0])
            transaction.run(
                f"INSERT INTO tacit_tokens ({_COLUMNS}) VALUES (:id, :name, :hash, :scopes, :made_at, :expires_at)",
                id=number,
                name=name,
                hash=digest(token),
                scopes=",".join(chosen),
                made_at=made.isoformat(),
                expires_at=expires,
            )
        return token

    def find(self, token: str) -> Token | None:
        """What is known of this token, or None; how long that takes says nothing about the tokens there are."""
        wanted = digest(token)
        with self._database.reading() as transaction:
            found = transaction.row(f"SELECT {_COLUMNS} FROM tacit_tokens WHERE {_VALID} AND hash = :hash", hash=wanted)
        # The search compares hashes, of which a stranger cannot choose a single bit; this one takes equal time as well.
        return _token(found) if found is not None and hmac.compare_digest(str(found[2]), wanted) else None

    def list(self) -> tuple[Token, ...]:
        """Every token that was not revoked, expired ones too."""
        with self._database.reading() as transaction:
            return tuple(
                map(_token, transaction.rows(f"SELECT {_COLUMNS} FROM tacit_tokens WHERE {_VALID} ORDER BY id"))
            )

    def revoke(self, number: int) -> None:
        """End a token, by its number, which no other token gets."""
        with self._database.writing() as transaction:
            end = f"UPDATE tacit_tokens SET revoked_at = :now WHERE {_VALID} AND id = :number"
            if not transaction.run(end, number=number, now=now().isoformat()):
                raise InvalidInput(f"There is no token {number} in this store: `tacit token --list` shows them.")


def digest(token: str) -> str:
    """The hash under which a token is kept."""
    return hashlib.blake2b(token.encode(errors="replace"), digest_size=32, person=b"tacit token").hexdigest()


def check_scopes(scopes: object) -> tuple[str, ...]:
    """The scopes of a list, or of a text with commas, in a fixed order."""
    listed = [scope.strip() for scope in scopes.split(",")] if isinstance(scopes, str) else scopes
    if not isinstance(listed, list | tuple) or not listed or any(scope not in SCOPES for scope in listed):
        raise invalid("token", "scopes", f"one or more of {', '.join(SCOPES)}", scopes)
    return tuple(scope for scope in SCOPES if scope in listed)


def now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)


def _token(row: Any) -> Token:
    number, name, _, scopes, made, expires = row
    return Token(
        int(number),
        str(name),
        frozenset(str(scopes).split(",")),
        datetime.fromisoformat(made),
        None if expires is None else datetime.fromisoformat(expires),
    )

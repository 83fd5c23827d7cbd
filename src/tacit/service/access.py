"""Who may ask for what: a token is looked at before anything else of a request is read.

FastAPI reads a body before it asks its dependencies, so a stranger would be told what is wrong with it. `guarded` makes
routes that look at the token first.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ClassVar

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from tacit.service.errors import Problem
from tacit.service.tokens import LENGTH, Token, Tokens, digest
from tacit.service.work import Work

COOKIE = "tacit_token"
"""The live page keeps its token here, since a browser sends no header of its own; it opens pages (GET) only."""
SCHEME = "token"
"""How the description of the interface calls the header with the token."""
REMEMBERED = 1.0  # seconds: so long may a token be used after another process revoked it
MOST = 1000  # tokens in memory
Reader = Callable[[Request], Awaitable[Token]]


class Access:
    """The check of tokens.

    Args:
        tokens: the tokens of the store.
        work: where the store is asked.
    """

    def __init__(self, tokens: Tokens, work: Work) -> None:
        self._tokens = tokens
        self._work = work
        self._seen: dict[str, tuple[Token, float]] = {}

    async def check(self, request: Request, scope: str) -> Token:
        """The token of a request; a problem if there is none, it is not known, expired, or not for this."""
        text = _bearer(request)
        if text is None and request.method in ("GET", "HEAD"):
            text = request.cookies.get(COOKIE)
        if text is None:
            raise _refused(401, "A token is needed: 'Authorization: Bearer ...'; `tacit token` makes one.")
        token = await self._known(text)
        if token is None or token.expired:
            raise _refused(401, "This token is not known here, was revoked or has expired.", 'error="invalid_token"')
        if scope not in token.scopes:
            raise _refused(
                403, f"This needs a token with the scope {scope!r}.", f'error="insufficient_scope", scope="{scope}"'
            )
        return token

    async def reader(self, request: Request) -> Token:
        """A dependency for pages: the token has the scope read."""
        return await self.check(request, "read")

    async def _known(self, text: str) -> Token | None:
        if len(text) != LENGTH:
            return None
        key = digest(text)  # what is remembered is no token
        token, since = self._seen.get(key, (None, 0.0))
        if token is None or time.monotonic() - since > REMEMBERED:
            token = await self._work.do(self._tokens.find, text)
            self._seen.pop(key, None)
            if token is not None:
                if len(self._seen) >= MOST:
                    self._seen.clear()
                self._seen[key] = token, time.monotonic()
        return token


class Guarded(APIRoute):
    """A route that looks at the token first; `guarded` makes the kinds of it.

    Attributes:
        access: the check of tokens.
        needed: the scope that a token needs.
    """

    access: ClassVar[Access]
    needed: ClassVar[str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options | {"openapi_extra": {"security": [{SCHEME: [self.needed]}]}})

    async def admit(self, request: Request) -> None:
        """Refuse those whose token does not have the scope."""
        await self.access.check(request, self.needed)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            await self.admit(request)
            return await handle(request)

        return checked


def guarded(access: Access, scope: str) -> type[Guarded]:
    """Routes for those whose token has this scope."""
    return type("Guarded", (Guarded,), {"access": access, "needed": scope})


def _bearer(request: Request) -> str | None:
    shown = request.headers.getlist("authorization")
    if len(shown) > 1:  # a proxy may have looked at another one
        raise _refused(401, "One token is needed: 'Authorization' may be there only once.", 'error="invalid_request"')
    kind, _, text = "".join(shown).partition(" ")
    return text.strip() if kind.lower() == "bearer" else None


def _refused(status: int, detail: str, challenge: str = "") -> Problem:
    return Problem(status, detail, {"WWW-Authenticate": f'Bearer realm="tacit"{challenge and ", " + challenge}'})

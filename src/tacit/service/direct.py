"""The short way for what every round asks: ordinary requests go past FastAPI, which costs more than the answer.

Their values are checked by the same types, which the signature of the route names. Whatever does not fit takes the
usual way, and is refused there: one place says what is wrong with a request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from fastapi import Request
from pydantic import BaseModel, create_model
from starlette.responses import Response
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service.access import Guarded
from tacit.service.errors import Problem, refusal
from tacit.service.limits import replayed

JSON = "application/json"


class Direct:
    """Answers ordinary requests to these routes; all others go on.

    Args:
        app: where they go.
        routes: each takes values of its path and a body, and gives a response.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = [(route, _arguments(route.endpoint)) for route in routes if isinstance(route, Guarded)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, whose body is there."""
        for route, arguments in self._routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                request = Request(scope)
                if request.headers.get("content-type") == JSON:
                    body = (await receive())["body"]
                    receive = replayed(body, receive)
                    response = await _answer(request, body, route, arguments)
                    if response is not None:
                        await response(scope, receive, send)
                        return
                break
        await self._app(scope, receive, send)


async def _answer(request: Request, body: bytes, route: Guarded, arguments: type[BaseModel]) -> Response | None:
    """The answer to a request, or None if something does not fit."""
    try:
        await route.admit(request)
        try:
            given = arguments.model_validate({**request.path_params, "body": json.loads(body)})
        except (ValueError, RecursionError):
            return None
        response: Response = await route.endpoint(**given.__dict__)
        return response
    except (Problem, TacitError) as error:
        return refusal(request.scope, error)


def _arguments(endpoint: Callable[..., Any]) -> type[BaseModel]:
    """What a route takes."""
    taken = signature(endpoint, eval_str=True).parameters
    fields: dict[str, Any] = {name: (value.annotation, ...) for name, value in taken.items()}
    return create_model("Arguments", **fields)

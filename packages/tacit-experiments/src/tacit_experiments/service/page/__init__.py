"""The live page: experiments, a row for each learner, what is left of the budgets, and nothing private.

`router` has its routes. Whoever has no token gets a form that takes one and keeps it in a cookie, which the service
accepts for reading only. Templates escape everything that comes from a store; nothing is styled or scripted inline.
The interface is shown by Swagger UI, whose files (version 5.34, Apache-2.0, unchanged but for a link to a map that is
not here) stand in `swagger` with their licences.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from importlib.resources import files
from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from tacit_experiments.service.http import COOKIE, Access, Problem
from tacit_experiments.service.page.views import render
from tacit_experiments.service.page.watch import Watch

__all__ = ["Watch", "render", "router"]

KINDS = {"page.css": "text/css", "page.js": "text/javascript", "page.svg": "image/svg+xml"}
SWAGGER = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript", "interface.js": "text/javascript"}
FRESH = 0.9  # seconds: pages ask once a second
LONGEST_FORM = 4096
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,200}")


def router(watch: Watch, access: Access) -> APIRouter:
    """Make the routes of the page."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    async def page(request: Request) -> Response:
        """The page, or a form that asks for a token."""
        try:
            await access.check(request.scope, "read")
        except Problem as problem:
            if problem.status not in (401, 403):
                raise
            return _ask(problem, COOKIE in request.cookies)
        await asyncio.to_thread(watch.look, FRESH)
        return HTMLResponse(watch.page(str(request.base_url.replace(scheme=_scheme(request)))))

    @routes.get("/changes")
    async def changes(request: Request, since: str = "") -> Response:
        """What has changed since a page asked last."""
        await access.check(request.scope, "read")
        await asyncio.to_thread(watch.look, FRESH)
        found, version = watch.changes(since)
        return JSONResponse({"version": version, "changes": found})

    for name, kind in KINDS.items():
        routes.add_api_route(f"/{name}", _asset(name, kind), methods=["GET"])
    for name, kind in SWAGGER.items():
        routes.add_api_route(f"/docs/{name}", _asset(f"swagger/{name}", kind), methods=["GET"])

    @routes.get("/docs")
    async def documentation() -> Response:
        """The interface, by Swagger UI."""
        return HTMLResponse(render("docs.html"))

    routes.add_api_route("/sign-in", _sign_in, methods=["POST"])
    routes.add_api_route("/sign-out", _sign_out, methods=["POST"])
    return routes


def _asset(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    content = files("tacit_experiments.service.page").joinpath(name).read_bytes()

    async def asset() -> Response:
        return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})

    return asset


async def _sign_in(request: Request) -> Response:
    """Keep the token of the form in a cookie; whether it is good for anything shows at the next request."""
    _same_site(request)
    body = await request.body()
    fields = parse_qs(body.decode("ascii", "replace")) if len(body) <= LONGEST_FORM else {}
    token = fields.get("token", [""])[0].strip()
    if not _TOKEN.fullmatch(token):
        return _ask(Problem(401, "This is no token."), True)
    response = RedirectResponse("./", 303)
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", secure=_scheme(request) == "https", path="/")
    return response


async def _sign_out(request: Request) -> Response:
    _same_site(request)
    response = RedirectResponse("./", 303)
    _forget(response)
    return response


def _scheme(request: Request) -> str:
    """Tell what the browser speaks: behind a proxy, what that says."""
    return "https" if request.headers.get("x-forwarded-proto") == "https" else request.url.scheme


def _ask(problem: Problem, refused: bool) -> Response:
    response = HTMLResponse(render("sign_in.html", refused=refused), problem.status, problem.headers)
    if refused:
        _forget(response)
    return response


def _forget(response: Response) -> None:
    response.delete_cookie(COOKIE, httponly=True, samesite="strict", path="/")


def _same_site(request: Request) -> None:
    """Refuse forms of other sites: nobody shall be signed in or out by a page that they did not ask for."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Problem(403, "This form belongs to another site.")

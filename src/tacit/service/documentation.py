"""The interface as a page: made here from its description, without anything from another server."""

from __future__ import annotations

from html import escape
from typing import Any

from fastapi import FastAPI
from starlette.responses import HTMLResponse

from tacit.service.access import SCHEME

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }
code { font-family: ui-monospace, monospace }
h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
p { margin: .3rem 0 }
td { padding: .2rem 1rem .2rem 0; vertical-align: top }
"""


class Described(FastAPI):
    """An application whose description says that tokens are needed."""

    def openapi(self) -> dict[str, Any]:
        schema = super().openapi()
        schema.setdefault("components", {})["securitySchemes"] = {SCHEME: {"type": "http", "scheme": "bearer"}}
        return schema


def describe(app: FastAPI) -> None:
    """Add the page to an application."""

    @app.get("/docs", include_in_schema=False)
    async def documentation() -> HTMLResponse:
        return HTMLResponse(page(app.openapi()))


def page(schema: dict[str, Any]) -> str:
    """The description of an interface as HTML."""
    about = schema["info"]
    parts = [
        _operation(path, method, operation, schema)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>{escape(about['title'])}</title><style>{STYLE}</style>"
        f"<h1>{escape(about['title'])} {escape(about['version'])}</h1><p>{escape(about['description'])}"
        f"<p>As JSON: <a href=openapi.json>openapi.json</a>.{''.join(parts)}</html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any], schema: dict[str, Any]) -> str:
    rows = [
        (field["name"], field["in"], _kind(field.get("schema", {})), field.get("description", ""))
        for field in operation.get("parameters", [])
    ]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    fields = schema.get("components", {}).get("schemas", {}).get(str(body.get("$ref", "")).rsplit("/", 1)[-1], {})
    rows += [
        (name, "body", _kind(field), field.get("description", ""))
        for name, field in fields.get("properties", {}).items()
    ]
    table = "".join(f"<tr><td><code>{escape(a)}</code><td>{b}<td>{c}<td>{escape(d)}" for a, b, c, d in rows)
    answers = ", ".join(operation.get("responses", {}))
    return (
        f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation.get('description', ''))}"
        f"<table>{table}</table><p>Answers: {answers}. Scope of the token: {_scope(operation)}."
    )


def _scope(operation: dict[str, Any]) -> str:
    scopes = [scope for scheme in operation.get("security", []) for scope in scheme.get(SCHEME, [])]
    return escape(", ".join(scopes) or "none needed")


def _kind(schema: dict[str, Any]) -> str:
    kinds = schema.get("anyOf", [schema])
    return escape(" or ".join(str(kind.get("type", "any")) for kind in kinds))

"""The part of JSON Schema that the schema of contracts uses, stricter in two points.

A whole number is written as one (3.0 is none), and every number fits into a float.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from tacit.errors import InvalidInput

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}
_WORDS = {"object": "an object", "array": "a list", "string": "a text", "boolean": "true or false",
          "integer": "a whole number", "number": "a finite number", "null": "null"}  # fmt: skip
_LARGEST = 1.7976931348623157e308


def packaged(name: str) -> dict[str, Any]:
    """Read a JSON file that ships beside this one."""
    content: dict[str, Any] = json.loads(files("tacit.verification").joinpath(name).read_text(encoding="utf-8"))
    return content


def contract_schema() -> dict[str, Any]:
    """Return the JSON schema of contracts."""
    return packaged("contract.schema.json")


_schema = cache(contract_schema)


def check_schema(value: Any, place: str = "", *, schema: dict[str, Any] | None = None) -> None:
    """Refuse a value that does not have the form of the schema, with one sentence that names the place.

    Args:
        value: JSON as Python holds it.
        place: the path of the value in the contract.
        schema: the form (None: that of a contract).
    """
    schema = _schema() if schema is None else schema
    if "$ref" in schema:
        referred: Any = _schema()
        for name in schema["$ref"].removeprefix("#/").split("/"):
            referred = referred[name]
        return check_schema(value, place, schema=referred)
    if not _fits(value, schema):
        what = f"'{place}' of a contract" if place else "contract"
        raise InvalidInput(f"The {what} must be {_allowed(schema)}.")
    if isinstance(value, dict):
        _check_object(value, place, schema)
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            check_schema(item, f"{place}[{index}]", schema=schema["items"])
    return None


def _check_object(value: dict[str, Any], place: str, schema: dict[str, Any]) -> None:
    owner = f"'{place}' of a contract" if place else "contract"
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            raise InvalidInput(f"The {owner} must say its '{name}'.")
    for name, item in value.items():
        if name in known:
            check_schema(item, f"{place}.{name}" if place else name, schema=known[name])
        elif schema.get("additionalProperties") is False:
            raise InvalidInput(f"The {owner} must say nothing under {name!r:.60}.")


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    if "const" in schema:
        return bool(type(value) is type(schema["const"]) and value == schema["const"])
    if "enum" in schema:
        return isinstance(value, str) and value in schema["enum"]
    types = schema.get("type", list(_TYPES))
    types = [types] if isinstance(types, str) else types
    if not any(isinstance(value, _TYPES[name]) for name in types) or (
        isinstance(value, bool) and "boolean" not in types
    ):
        return False
    if isinstance(value, list):
        return bool(schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return True
    low, high = schema.get("minimum", -_LARGEST), schema.get("maximum", _LARGEST)
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    return bool(low <= value <= high and (above is None or value > above) and (below is None or value < below))


def _allowed(schema: dict[str, Any]) -> str:
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(map(repr, schema["enum"]))
    types = schema.get("type", list(_TYPES))
    words = " or ".join(_WORDS[name] for name in ([types] if isinstance(types, str) else types))
    signs = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below"}
    limits = [f"{sign} {schema[name]}" for name, sign in signs.items() if name in schema]
    limits += [f"of {schema['minItems']} or more entries"] if "minItems" in schema else []
    return f"{words}, {' and '.join(limits)}" if limits else words

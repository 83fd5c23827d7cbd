"""Declarations as JSON: the schema, from the annotations of their kinds, and the way back."""

from __future__ import annotations

from typing import Any

from tacit.errors import InvalidInput
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree, RunningSum, Tree
from tacit.noise.sampler_bounds import GaussianSlack
from tacit.ranges import Field, fields_of, schema_of
from tacit.releases import chains, combinators, draws, minimisers, records, sums
from tacit.releases.neighbours import Neighbours
from tacit.releases.release import MADE_FOR, Releases, Sized
from tacit.validation import MALFORMED

KINDS: tuple[type[Releases], ...] = (
    draws.Nothing,
    draws.Softmax,
    draws.Selection,
    draws.ThresholdTest,
    draws.Response,
    draws.NoisyBits,
    draws.GibbsDraw,
    draws.OwnDraw,
    sums.NoisySums,
    sums.NoisyBatches,
    sums.LinearProducts,
    sums.Passes,
    minimisers.PerturbedMinimiser,
    minimisers.Minimisers,
    chains.LazyChain,
    combinators.Repeated,
    combinators.Together,
    combinators.Apart,
    combinators.Inexact,
    combinators.Grouped,
    combinators.Epochs,
    combinators.Billboard,
)
"""All kinds of releases."""
COINS = (chains.Coin, chains.ClippedCoin)
RECORDS = (records.Losses, records.Vectors)
MECHANISMS: tuple[type[RunningSum], ...] = (Buffered, Tree, LaplaceTree, CubeTree)
PARTS: tuple[type, ...] = (*KINDS, *COINS, *RECORDS, *MECHANISMS, GaussianSlack)
"""All classes that a declaration is made of."""
WITH_NOISE = (sums.NoisySums, sums.NoisyBatches)
"""Kinds whose JSON says which noise is drawn, beside their fields."""
NOISE = {
    "type": "object",
    "required": ["law"],
    "additionalProperties": False,
    "properties": {
        "law": {"type": "string"},
        "scale": {"type": "number", "minimum": 0},
        "units": {"type": "integer", "minimum": 0},
        "rate": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "rounding_error": {"type": "number", "minimum": 0},
        "failure": {"type": "number", "minimum": 0},
    },
}


def definitions() -> dict[str, Any]:
    """Return the schemas of all parts of declarations by name: the `$defs` of a JSON schema."""
    made = {kind.__name__: schema_of(kind, without=(MADE_FOR,)) for kind in PARTS}
    # A function cannot be written: only whether there is one.
    made["OwnDraw"]["properties"]["stated"] = {"type": "boolean"}
    for kind in WITH_NOISE:
        made[kind.__name__]["properties"]["noise"] = NOISE
        made[kind.__name__]["required"].append("noise")
    # A field may be of any kind of coin: that name stands for all of them.
    made["PlainCoin"] = made["Coin"]
    made["Coin"] = {"oneOf": [{"$ref": f"#/$defs/{name}"} for name in ("PlainCoin", "ClippedCoin")]}
    made["RunningSum"] = one_of(MECHANISMS)
    made["Releases"] = one_of(KINDS)
    return made


def schema() -> dict[str, Any]:
    """Return the JSON schema of a declaration."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": "#/$defs/Releases",
        "$defs": definitions(),
    }


def one_of(kinds: tuple[type, ...]) -> dict[str, Any]:
    """Return the schema of an object of one of several kinds."""
    return {"oneOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in kinds]}


def from_dict(content: Any, among: Neighbours) -> Releases:
    """Return the declaration that `Releases.to_dict` wrote.

    Args:
        content: the JSON of a declaration.
        among: the neighbours that it was written for, which the JSON does not repeat.

    Raises:
        InvalidInput: this is no such JSON, or it states other noise than is drawn.
    """
    try:
        made = _object(content, among)
    except MALFORMED as error:
        raise InvalidInput(f"This is not the JSON of a declaration ({error}).") from None
    if not isinstance(made, Releases):
        raise InvalidInput(f"This is not the JSON of a declaration ({type(made).__name__}).")
    if made.to_dict(among) != content:
        raise InvalidInput("This JSON of a declaration says something else than the declaration.")
    return made


def _object(content: Any, among: Neighbours) -> Any:
    """Return the object of a part of the JSON."""
    kinds = {kind.__name__: kind for kind in PARTS}
    kind = kinds[content["kind"]]
    if kind is draws.OwnDraw and content["stated"]:
        raise InvalidInput("A curve of the user's own cannot be read from JSON.")
    inside = among.single if kind is combinators.Epochs else among
    given: dict[str, Any] = {}
    for field in fields_of(kind):
        if field.name != MADE_FOR:
            given[field.name] = _value(field, content[field.name], inside)
    if kind is draws.OwnDraw:
        given["stated"] = None
    if issubclass(kind, Sized):
        given[MADE_FOR] = among
    return kind(**given)


def _value(field: Field, content: Any, among: Neighbours) -> Any:
    """Return the value of a field of the JSON."""
    if isinstance(content, dict):
        return _object(content, among)
    if isinstance(content, list):
        items = field.items or field
        return tuple(_value(items, item, among) for item in content)
    return content

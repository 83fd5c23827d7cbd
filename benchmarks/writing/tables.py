"""Results as Markdown: names of results become tables, and numbers are written so that they can be read."""

from __future__ import annotations

import re
from math import floor, log10

SPREADS = ("deviation", "standard error")
BARE = ("exponent", "promised")
"""Columns that are no value of what the others are values of."""
HUGE = 1e6


def tables(results: dict[str, float]) -> list[str]:
    """One plain table; and, for keys "title, name=value, row", one table for each title with a column a value."""
    plain: list[tuple[str, str]] = []
    pivots: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for key, value in results.items():
        parts = key.split(", ")
        if parts[-1] in SPREADS:
            continue
        spreads = [results[f"{key}, {spread}"] for spread in SPREADS if f"{key}, {spread}" in results]
        cell = shown(value, *(spreads or [None]))
        setting = next((part for part in parts[1:-1] if re.fullmatch(r"\w+=[^=]+", part)), None)
        if setting is None:
            plain.append((key, cell))
            continue
        name, column = setting.split("=")
        row = ", ".join(part for part in parts[1:] if part != setting)
        if column in BARE:
            cell = f"{value:.2f}" if column == BARE[0] else f"{value:g}"
        pivots.setdefault((parts[0], name), {}).setdefault(row, {})[column] = cell
    lines: list[str] = []
    for (title, name), rows in pivots.items():
        columns = ordered({column for row in rows.values() for column in row})
        head = [title, *(column if column in BARE else f"{name}={column}" for column in columns)]
        body = [[row, *(cells.get(column, "") for column in columns)] for row, cells in rows.items()]
        lines += table([head, *body])
    return lines + (table([("what", "value"), *plain]) if plain else [])


def ordered(columns: set[str]) -> list[str]:
    """Numbers by size, then words."""
    words = {column for column in columns if not re.fullmatch(r"[\d.e+-]+", column)}
    return sorted(columns - words, key=float) + sorted(words)


def shown(value: float, spread: float | None) -> str:
    """Four digits of a bare value; with a spread, as many decimals as leave that two digits (three at most)."""
    if spread is None:
        return number(value)
    if max(abs(value), spread) >= HUGE:
        return f"{value:.1e} ± {spread:.1e}".replace("e+", "e")
    if spread == 0:
        return f"{number(value)} ± 0"
    decimals = min(3, max(0, 1 - floor(log10(spread))))
    return f"{value:,.{decimals}f} ± {spread:,.{decimals}f}"


def number(value: float) -> str:
    """Four digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 1e3 else f"{value:.4g}"


def table(rows: list) -> list[str]:
    """A Markdown table, the first row its head, and an empty line after it."""
    head, *body = rows
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(row) + " |" for row in body),
        "",
    ]

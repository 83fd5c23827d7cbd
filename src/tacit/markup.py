"""What notebooks show: small cards of HTML.

Everything is escaped. Colours are those of the page around it (its text, and greys that let it through), so that a card
suits light and dark pages alike. It asks for nothing from elsewhere and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_STYLE = """<style>
.tacit-card{font:14px/1.45 system-ui,sans-serif;color:inherit;border:1px solid rgba(128,128,128,.45);
border-radius:6px;padding:.6em .9em;margin:.3em 0;max-width:60em;overflow-x:auto}
.tacit-card .head{font-weight:600;margin:0 0 .35em}
.tacit-card .warning{border-left:3px solid #d97706;padding-left:.6em;margin:.4em 0}
.tacit-card .note{opacity:.75;margin:.35em 0 0}
.tacit-card table{border-collapse:collapse;margin:.3em 0;font-size:13px;color:inherit;background:none;border:0}
.tacit-card tr,.tacit-card tbody tr:nth-child(odd){background:none}
.tacit-card td,.tacit-card th{text-align:left;padding:.15em 1.1em .15em 0;vertical-align:top;border:0;
border-bottom:1px solid rgba(128,128,128,.25);white-space:normal}
.tacit-card td:last-child{min-width:7em}
.tacit-card th{font-weight:600}
.tacit-card tr.first td{font-weight:600}
.tacit-card .fact td:first-child{opacity:.75;white-space:nowrap}
</style>"""


def card(
    head: str,
    facts: Sequence[tuple[str, str]] = (),
    *,
    table: Sequence[Sequence[str]] = (),
    bold: bool = False,
    warning: str = "",
    note: str = "",
) -> str:
    """A card: a head, then a warning, a table whose first row is its heads, facts and a note.

    Args:
        head: one line.
        facts: names and what they are.
        table: rows of cells; the first has the heads.
        bold: whether the first row below the heads stands out.
        warning: what must not be overlooked.
        note: what may be.
    """
    parts = [_STYLE, '<div class="tacit-card">', f'<div class="head">{escape(head)}</div>']
    parts += [f'<div class="warning">{escape(warning)}</div>'] if warning else []
    if table:
        heads = "".join(f"<th>{escape(cell)}</th>" for cell in table[0])
        parts += [f"<table><thead><tr>{heads}</tr></thead><tbody>", *_rows(table[1:], bold), "</tbody></table>"]
    if facts:
        lines = (f"<tr><td>{escape(name)}</td><td>{escape(text)}</td></tr>" for name, text in facts)
        parts += ['<table class="fact"><tbody>', *lines, "</tbody></table>"]
    parts += [f'<div class="note">{escape(note)}</div>'] if note else []
    return "\n".join([*parts, "</div>"])


def _rows(rows: Sequence[Sequence[str]], bold: bool) -> list[str]:
    cells = ["".join(f"<td>{escape(cell)}</td>" for cell in row) for row in rows]
    first = '<tr class="first">' if bold else "<tr>"
    return [f"{'<tr>' if index else first}{row}</tr>" for index, row in enumerate(cells)]

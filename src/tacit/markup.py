"""What notebooks show: small cards of HTML, and a chart that needs no other library.

Everything is escaped. Colours are those of the page around it (its text, and greys that let it through), so that a card
suits light and dark pages alike. It asks for nothing from elsewhere and runs no script.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, isfinite, log10

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
.tacit-card svg{max-width:100%;height:auto;display:block;margin:.4em 0}
</style>"""


def card(
    head: str,
    facts: Sequence[tuple[str, str]] = (),
    *,
    table: Sequence[Sequence[str]] = (),
    chart: str = "",
    bold: bool = False,
    warning: str = "",
    note: str = "",
) -> str:
    """A card: a head, then a warning, a chart, a table whose first row is its heads, facts and a note.

    Args:
        head: one line.
        facts: names and what they are.
        table: rows of cells; the first has the heads.
        chart: what `line_chart` made, trusted as it is.
        bold: whether the first row below the heads stands out.
        warning: what must not be overlooked.
        note: what may be.
    """
    parts = [_STYLE, '<div class="tacit-card">', f'<div class="head">{escape(head)}</div>']
    parts += [f'<div class="warning">{escape(warning)}</div>'] if warning else []
    parts += [chart] if chart else []
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


_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 560, 250, 64, 36, 16, 26


def line_chart(
    x: Sequence[float],
    mean: Sequence[float],
    error: Sequence[float],
    *,
    level: float | None = None,
    labels: tuple[str, str, str],
) -> str:
    """A line with a band of two errors, and a dashed level, as SVG in the colours of the page.

    Args:
        x: places, increasing.
        mean: the line.
        error: half of the half width of the band.
        level: the dashed line (None or not finite: none).
        labels: of the axis below, of the axis on the left, and of the level.
    """
    limit = level if level is not None and isfinite(level) else None
    low = min(0.0, *(m - 2 * e for m, e in zip(mean, error, strict=True)))
    high = max(limit or 0.0, *(m + 2 * e for m, e in zip(mean, error, strict=True)), low + 1e-12) * 1.0
    high += 0.06 * (high - low)

    def across(value: float) -> float:
        return _LEFT + (value - x[0]) / max(x[-1] - x[0], 1e-300) * (_WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    def path(points: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{across(a):.1f},{up(b):.1f}" for a, b in points)

    upper = [(a, m + 2 * e) for a, m, e in zip(x, mean, error, strict=True)]
    lower = [(a, m - 2 * e) for a, m, e in zip(x, mean, error, strict=True)]
    inner = f'x1="{_LEFT}" x2="{_WIDTH - _RIGHT}"'
    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="{escape(labels[1])}" '
        'fill="currentColor" stroke="none" font-size="11" font-family="system-ui,sans-serif">'
    ]
    for tick in round_ticks(low, high):
        parts.append(f'<line {inner} y1="{up(tick):.1f}" y2="{up(tick):.1f}" stroke="currentColor" opacity=".15"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{up(tick) + 4:.1f}" text-anchor="end">{tick:,.6g}</text>')
    for tick in round_ticks(x[0], x[-1]):
        parts.append(f'<text x="{across(tick):.1f}" y="{_HEIGHT - 20}" text-anchor="middle">{tick:,.6g}</text>')
    parts.append(f'<polygon points="{path([*upper, *reversed(lower)])}" opacity=".18"/>')
    line = 'fill="none" stroke="currentColor" stroke-width="1.8"'
    parts.append(f'<polyline points="{path(list(zip(x, mean, strict=True)))}" {line}/>')
    if limit is not None:
        parts.append(
            f'<line {inner} y1="{up(limit):.1f}" y2="{up(limit):.1f}" stroke="currentColor" stroke-dasharray="5 4"/>'
        )
        parts.append(
            f'<text x="{_WIDTH - _RIGHT}" y="{up(limit) - 4:.1f}" text-anchor="end">{escape(labels[2])}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{_HEIGHT - 4}" text-anchor="middle">{escape(labels[0])}</text>')
    turned = f'x="13" y="{_HEIGHT / 2:.0f}" transform="rotate(-90 13 {_HEIGHT / 2:.0f})"'
    parts.append(f'<text {turned} text-anchor="middle">{escape(labels[1])}</text></svg>')
    return "".join(parts)


def round_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers between two ends, about so many: multiples of 1, 2 or 5 times a power of ten.

    >>> round_ticks(1, 1197), round_ticks(0.0, 0.31)
    ([250.0, 500.0, 750.0, 1000.0], [0.0, 0.1, 0.2, 0.3])
    """
    span = high - low
    if not (isfinite(span) and span > 0):
        return [low]
    power = 10.0 ** floor(log10(span / about))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if span / (power * factor) <= about + 0.5)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [float(f"{step * k:.12g}") for k in range(first, last + 1)]

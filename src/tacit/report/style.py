"""What all pictures share: grey levels, line styles, markers and hatches that survive a black-and-white print.

Every picture ends in a caption with the contract, because a regret without its epsilon says nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tacit.errors import InvalidInput
from tacit.validation import LARGEST, FloatArray, invalid, real_array, require

LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "x")
SHADES = ("0.0", "0.35", "0.15", "0.5", "0.25", "0.6")
HATCHES = ("", "///", "...", "xx", "\\\\\\", "ooo", "++", "--")
CAPTION = {"fontsize": 7.5, "color": "0.25", "ha": "left", "va": "top", "family": "monospace"}
CAPTION_COLUMNS = 108

Target = str | Path | BinaryIO


def start_figure(legend_lines: int = 0) -> tuple[Any, Any]:
    """A figure with room for a caption, and for so many lines of legend above it; and its axes."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 5.2), dpi=130)
    bottom = 0.36 + 0.045 * legend_lines
    axes = figure.add_axes((0.11, bottom, 0.85, 0.92 - bottom))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.92", linewidth=0.8)
    return figure, axes


def legend_below(figure: Any, handles: Sequence[Any], columns: int = 3) -> None:
    """A legend between the axes and the caption, where it covers nothing."""
    figure.legend(
        handles=handles, frameon=False, fontsize="small", ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 0.235)
    )


def legend_lines(entries: int, columns: int = 3) -> int:
    """How many lines a legend of so many entries takes."""
    return -(-entries // columns)


def save_figure(figure: Any, target: Target, caption: str) -> Target:
    """Write the caption and the PNG (or what the file's name says); without a caption, cut its room off."""
    cut: dict[str, Any] = {} if caption else {"bbox_inches": "tight", "pad_inches": 0.08}
    lines = [wrapped for line in caption.splitlines() for wrapped in textwrap.wrap(line, CAPTION_COLUMNS) or [""]]
    figure.text(0.03, 0.225, "\n".join(lines), **CAPTION)
    if not isinstance(target, str | Path) and not hasattr(target, "write"):
        raise invalid("a picture", "path", "a path or an open file", target)
    if isinstance(target, str | Path):
        check_picture(target)
        figure.savefig(Path(target), **cut)
        return Path(target)
    figure.savefig(target, format="png", **cut)
    return target


def check_picture(path: str | Path) -> None:
    """Refuse a file whose ending is no format of pictures; without an ending it is PNG."""
    require("matplotlib", "plots")
    from matplotlib.figure import Figure

    ending, known = Path(path).suffix.lower().removeprefix("."), Figure().canvas.get_supported_filetypes()
    if ending and ending not in known:
        name, formats = Path(path).name, ", ".join(f".{format}" for format in sorted(known))
        raise InvalidInput(f"A picture cannot be written as {name!r}: its name must end in one of {formats}.")


def checked_lines(owner: str, curves: Any, parts: int) -> dict[str, list[FloatArray]]:
    """What is to be drawn, label -> arrays: `parts` vectors of one length, finite and not empty."""
    if not isinstance(curves, Mapping):
        raise invalid(owner, "curves", "a mapping from labels to vectors", curves)
    lines = {}
    for label, vectors in curves.items():
        if not isinstance(vectors, tuple | list) or len(vectors) < parts:
            raise invalid(owner, "curves", f"a mapping from labels to tuples of {parts} vectors", vectors)
        arrays = [real_array(owner, "curves", vector, (None,)) for vector in vectors[:parts]]
        if len({len(array) for array in arrays}) != 1 or not all(_drawable(array) for array in arrays):
            raise InvalidInput(f"The vectors of {label!r} in {owner} must be finite, of one length and not empty.")
        lines[str(label)] = arrays
    return lines


def _drawable(array: FloatArray) -> bool:
    return bool(array.size and np.abs(array).max() <= LARGEST)


def line_style(index: int) -> dict[str, Any]:
    """The look of line number `index`: told apart without colour."""
    return {
        "linestyle": LINES[index % len(LINES)],
        "marker": MARKERS[index % len(MARKERS)],
        "color": SHADES[index % len(SHADES)],
        "markersize": 5,
    }


def plain_log_ticks(axis: Any) -> None:
    """Round numbers on a logarithmic axis, written out: 20, 50, 100."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.3g}" if value < 1e6 else f"{value:.3g}"))
    axis.set_minor_locator(NullLocator())


def shared_contract(contracts: Sequence[str]) -> str:
    """One contract for several runs: the lines they share; what differs is in the picture.

    >>> shared_contract(["epsilon=1 [RDP]\\n  neighbours: replace", "epsilon=2 [RDP]\\n  neighbours: replace"])
    'epsilon and delta as shown, certified for each run\\n  neighbours: replace'
    """
    different = list(dict.fromkeys(contracts))
    if len(different) == 1:
        return different[0]
    others = [set(contract.splitlines()) for contract in different[1:]]
    lines = [line for line in different[0].splitlines()[1:] if all(line in other for other in others)]
    return "\n".join(["epsilon and delta as shown, certified for each run", *lines])

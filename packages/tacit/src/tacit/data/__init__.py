"""Data shipped with the package."""

from __future__ import annotations

from importlib.resources import files

import numpy as np
from numpy.typing import NDArray


def digits_models() -> tuple[list[str], NDArray[np.float64]]:
    """Read the errors of eight classifiers on handwritten digits: their names, and 0/1 losses of shape (rounds, 8)."""
    text = files("tacit.data").joinpath("digits_models.csv").read_text(encoding="utf-8").splitlines()
    return text[0].split(","), np.array([line.split(",") for line in text[1:]], dtype=np.float64)

"""Rows near the largest floats."""

import numpy as np

from tacit import Randomness


def longest_rows():
    """Return 60 rows of three features whose norms end just below the largest float."""
    rows = Randomness.replayable(5).stream("rows").standard_normal((60, 3))
    return rows * np.geomspace(1e240, 3e307, 60)[:, None]

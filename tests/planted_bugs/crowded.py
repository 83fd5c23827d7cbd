"""Records at which a solver was once at a loss."""

from typing import Any

import numpy as np


def crowded_records() -> tuple[Any, Any]:
    """A hundred records whose kinks crowd: there Newton's steps go round in circles for an interval of noises."""
    index = np.arange(100)
    features = np.where(index % 2 == 0, 1.0, 0.2 + 0.8 * ((index * 0.618033988749895) % 1))
    return features[:, None], np.where(index % 5 == 4, -1.0, 1.0)

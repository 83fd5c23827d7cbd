"""scikit-learn's checks of data, without the values that its errors show."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from tacit.errors import InvalidInput

# Errors that name shapes, types and features. Others quote a cell, or print the whole array.
_WITHOUT_VALUES = (
    "Input ", "X has ", "Found array with ", "Found input variables ", "The feature names ", "Feature names ",
    "Sparse data ", "Expected a 2-dimensional container ", "y should be a 1d array", "This ",
    "float() argument must be",
)  # fmt: skip
_SHORTENED = {
    "Expected 2D array": "The rows must be a table of two axes. Reshape your data: array.reshape(-1, 1) if it is one "
    "feature, array.reshape(1, -1) if it is one row.",
    "Complex data not supported": "Complex data not supported.",
    "could not convert string to float": "Not all entries are numbers: a text could not be converted to a float.",
    "int too large to convert to float": "Not all entries are finite: a whole number is too large for a float.",
}


def checked_data(estimator: Any, *data: Any, **options: Any) -> Any:
    """The data in float64 as `validate_data` gives them; whatever it refuses is refused in words that show no value.

    Args:
        estimator: whose data they are.
        data: rows, or rows and labels.
        options: further ones of `validate_data`.
    """
    try:
        with np.errstate(invalid="ignore"):  # scikit-learn adds everything up before it looks for infinities
            checked = validate_data(estimator, *data, dtype=np.float64, **options)
            # Text as a target passes scikit-learn's check, and numpy would name it.
            return (checked[0], checked[1].astype(np.float64)) if options.get("y_numeric") else checked
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else InvalidInput
        text = _without_values(type(estimator).__name__, error)
    raise kind(text)  # not inside of the handler: an error keeps the one that it was raised in


def class_labels(declared: Any) -> Any:
    """The classes that were declared, or found, sorted and each once; a set is as good as a list.

    >>> class_labels({"b", "a"}).tolist()
    ['a', 'b']
    """
    return np.unique(np.asarray(list(declared) if isinstance(declared, set | frozenset) else declared))


def _without_values(owner: str, error: Exception) -> str:
    text = str(error)
    if text.startswith(_WITHOUT_VALUES):
        return text if text.rstrip().endswith((".", ")")) else f"{text}."
    known = (told for begin, told in _SHORTENED.items() if text.startswith(begin))
    return next(known, f"The data of {owner} must be finite numbers, a table of rows ({type(error).__name__}).")

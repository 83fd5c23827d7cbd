"""Which steps of scikit-learn learn nothing from data, by their kind and what they declare."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, PolynomialFeatures
from sklearn.utils import get_tags


def learns_nothing(step: Any) -> bool:
    """Whether a step of this kind and declaration does to a row what does not depend on other rows.

    >>> learns_nothing(OneHotEncoder(categories=[["a", "b"]])), learns_nothing(OneHotEncoder())
    (True, False)
    """
    if step in (None, "passthrough", "drop"):
        return True
    if isinstance(step, ColumnTransformer):
        parts = [(part, columns) for _, part, columns in step.transformers] + [(step.remainder, [])]
        return all(learns_nothing(part) and not callable(columns) for part, columns in parts)
    if isinstance(step, FeatureUnion):
        return all(learns_nothing(part) for _, part in step.transformer_list)
    if isinstance(step, Pipeline):
        return all(learns_nothing(part) for _, part in step.steps)
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        rare = step.min_frequency is not None or step.max_categories is not None
        return not isinstance(step.categories, str) and not rare
    if isinstance(step, SimpleImputer):
        return step.strategy == "constant" and step.fill_value is not None and not step.add_indicator
    return isinstance(step, PolynomialFeatures) or not get_tags(step).requires_fit

"""What may be published of a fitted model: a card of declared and released things, and plain coefficients.

Nothing here looks at data, and nothing that was read off the data without a guarantee is shown: the card says so
instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelBinarizer, PolynomialFeatures, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from tacit.accounting.rounding import rounded_up
from tacit.version import __version__
from tacit_models.scoring import check_scoring
from tacit_models.table import PublicTable

# Not about the model: where noise came from is in the contract, where it was written down is the owner's.
_NOT_SHOWN = ("random_state", "ledger", "memory", "verbose", "steps", "transform_input", "estimator", "param_grid")
# What a model reads off the data, with a warning, unless it is declared.
_BOUNDS = ("data_norm", "classes", "label_bound", "bounds")
_LONGEST = 300


@dataclass(frozen=True)
class ModelCard:
    """A model card: sections of names and facts, as Markdown.

    Attributes:
        title: what it is about.
        sections: headings, each with its facts.
        warnings: what the guarantee does not cover.
    """

    title: str
    sections: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    warnings: tuple[str, ...] = ()

    @property
    def markdown(self) -> str:
        """The card as Markdown."""
        lines = [f"# {_plain(self.title)}", ""]
        for warning in self.warnings:
            lines += [f"> {_plain(warning)}", ""]
        for heading, facts in self.sections:
            lines += [f"## {_plain(heading)}", "", "| | |", "|---|---|"]
            lines += [f"| {_plain(name)} | {_plain(text)} |" for name, text in facts]
            lines.append("")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.markdown


class Published:
    """A fitted model that has a card."""

    def card(self, about: str = "", *, scores: Any = ()) -> ModelCard:
        """Make a card of what was declared and released, under which guarantee.

        Args:
            about: the model's purpose and the origin of the data, in your words.
            scores: `PrivateScore`s of this model on other records, which have guarantees of their own.
        """
        check_is_fitted(self)
        model: Any = self
        guarantee = model.guarantee_
        first, *others = str(guarantee).splitlines()
        facts = [(name.strip(), text.strip()) for name, _, text in (line.partition(":") for line in others)]
        sections = [("guarantee", (("privacy", first), *facts))]
        if about:
            sections.insert(0, ("about", (("purpose and data", about),)))
        declared, warnings = [], []
        for name, step, before in _steps(model):
            mark = f"{name}: " if name else ""
            declared += [(f"{mark}{key}", text) for key, text in _declared(step)]
            warnings += [f"{mark}{text}" for text in _uncovered(step, before)]
        if not guarantee.private:
            warnings.append("The noise can be replayed by whoever knows the seed: NOT private.")
        sections.append(("declared", tuple(declared)))
        sections.append(("released", tuple(_released(model))))
        sections += [(f"private score {place + 1}", tuple(_scored(score))) for place, score in enumerate(scores)]
        return ModelCard(type(model).__name__, tuple(sections), tuple(warnings))


class Exported(Published):
    """A fitted model that can be given away as an estimator of scikit-learn."""

    def to_sklearn(self) -> Any:
        """Make a plain scikit-learn estimator with these coefficients, which needs no tacit and predicts the same.

        The tools of other formats (ONNX, skops, PMML) convert that estimator. A `PublicTable` stays what it is.
        """
        check_is_fitted(self)
        return _plain_model(self)


def _plain_model(model: Any) -> Any:
    if hasattr(model, "best_estimator_"):
        return _plain_model(model.best_estimator_)
    if isinstance(model, Pipeline):
        return Pipeline([(name, _plain_model(step)) for name, step in model.steps])
    if not hasattr(model, "guarantee_"):
        return model
    if hasattr(model, "mean_"):
        scaler = StandardScaler()
        scaler.mean_, scaler.scale_, scaler.var_ = model.mean_, model.scale_, model.scale_**2
        scaler.n_samples_seen_ = 0
        return _known(scaler, model)
    if not is_classifier(model):
        ridge = Ridge()
        ridge.coef_, ridge.intercept_ = model.coef_, model.intercept_
        return _known(ridge, model)
    if not hasattr(model, "predict_proba"):
        svc = LinearSVC()
        svc.coef_, svc.intercept_, svc.classes_ = model.coef_, model.intercept_ - model.threshold_, model.classes_
        return _known(svc, model)
    if len(model.classes_) > 2 and model.algorithm_ == "objective":
        return _one_against_rest(model)
    logistic = _logistic(model, model.coef_, model.intercept_, model.classes_)
    if model.threshold_ == 0.0:
        return logistic
    whole = FixedThresholdClassifier(
        FrozenEstimator(logistic),
        threshold=float(np.nextafter(model.threshold_, np.inf)),  # its "at least" is the model's "above"
        pos_label=model.classes_[1],
        response_method="decision_function",
    )
    whole.estimator_ = logistic
    return whole


def _logistic(model: Any, coefficients: Any, intercepts: Any, classes: Any) -> Any:
    logistic = LogisticRegression()
    logistic.coef_, logistic.intercept_, logistic.classes_ = coefficients, intercepts, classes
    logistic.n_iter_ = np.zeros(1, dtype=np.int32)
    return _known(logistic, model)


def _one_against_rest(model: Any) -> Any:
    whole = OneVsRestClassifier(LogisticRegression())
    binary = np.array([0, 1])
    pairs = zip(model.coef_, model.intercept_, strict=True)
    whole.estimators_ = [_logistic(model, row[None, :], np.array([start]), binary) for row, start in pairs]
    whole.label_binarizer_ = LabelBinarizer(sparse_output=True).fit(model.classes_)
    whole.classes_ = model.classes_
    return _known(whole, model)


def _known(plain: Any, model: Any) -> Any:
    """What both know of the rows that they take."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    return plain


def _steps(model: Any) -> Iterator[tuple[str, Any, Any]]:
    """The parts of a model, each with the step before it."""
    yield "", model, None
    chosen = getattr(model, "best_estimator_", None)
    if chosen is not None:
        yield from ((f"selected {name}".strip(), step, before) for name, step, before in _steps(chosen))
    before = None
    steps = getattr(model, "steps", ())
    for name, step in steps if isinstance(steps, list) else ():  # of a pipeline; a quantile has a number of steps
        if step not in (None, "passthrough"):
            yield name, step, before
            before = step


def _declared(step: Any) -> list[tuple[str, str]]:
    """The parameters, which were chosen before any data were seen."""
    if isinstance(step, PublicTable):
        columns = [(f"column {name!r}", _short(kind)) for name, kind in step.columns.items()]
        return [("kind", type(step).__name__), *columns, ("missing", _short(step.missing or "zero"))]
    shown = [(name, value) for name, value in step.get_params(deep=False).items() if name not in _NOT_SHOWN]
    return [("kind", type(step).__name__), *((name, _short(value)) for name, value in shown if value is not None)]


def _uncovered(step: Any, before: Any) -> list[str]:
    """What was read off the data, which no guarantee covers."""
    if hasattr(step, "guarantee_"):
        table = isinstance(before, PublicTable)
        missing = [
            name
            for name in _BOUNDS
            if getattr(step, name, 0) is None and not (name == "data_norm" and table) and not hasattr(step, "steps")
        ]
        return [f"{name} was read off the data, which the guarantee does not cover." for name in missing]
    return [] if learns_nothing(step) else ["fitted on the data, and the guarantee does not cover what it learns."]


def learns_nothing(step: Any) -> bool:
    """Whether a step of this kind does to a row what does not depend on other rows; heirs of a table may do anything.

    >>> learns_nothing(PolynomialFeatures()), learns_nothing(StandardScaler())
    (True, False)
    """
    if isinstance(step, PublicTable):
        return type(step) is PublicTable
    return isinstance(step, PolynomialFeatures) or not get_tags(step).requires_fit


def _released(model: Any) -> Iterator[tuple[str, str]]:
    """Sizes and numbers that the guarantee covers."""
    if hasattr(model, "best_params_"):
        yield "selected", _short(model.best_params_)
        model = model.best_estimator_
    last = model[-1] if isinstance(model, Pipeline) else model
    for name in ("algorithm_", "threshold_", "mean_", "counts_", "quantiles_", "location_", "score_", "deviation_"):
        if getattr(last, name, None) is not None:
            yield (
                name.rstrip("_"),
                _short(np.round(getattr(last, name), 6) if name != "algorithm_" else last.algorithm_),
            )
    if hasattr(last, "coef_"):
        yield "coefficients", " x ".join(map(str, np.shape(last.coef_)))
    if getattr(last, "classes", None) is not None and hasattr(last, "classes_"):
        yield "classes", _short(list(last.classes_.tolist()))
    excess = getattr(last, "excess_risk_", None)
    if excess is not None:
        yield (
            "certified excess risk",
            f"{rounded_up(excess)} at most: expected loss above that of the best coefficients of norm 1",
        )
    yield "made with", f"tacit {__version__}"


def _scored(score: Any) -> Iterator[tuple[str, str]]:
    yield "score", f"{check_scoring('PrivateScore', score.scoring, score.estimator)}: {score.score_:.4g}"
    yield "standard deviation of its noise", f"{score.deviation_:.2g}"
    yield "guarantee", str(score.guarantee_).splitlines()[0]


def _short(value: Any) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")

"""What there is to attack: every algorithm of the catalogue, every estimator, the store, the service, the fleet."""

from inspect import signature

from attacks import rows
from tacit.planning.catalogue import CATALOGUE


def learners() -> set[str]:
    """The algorithms of the catalogue."""
    return {algorithm.__name__ for known in CATALOGUE.values() for algorithm in known}


def models() -> set[str]:
    """The estimators that draw noise: those that know a ledger."""
    from sklearn.base import BaseEstimator  # tests of learners run without scikit-learn and tacit-models

    import tacit_models as estimators

    kinds = (getattr(estimators, name) for name in estimators.__all__)
    found = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
    return {kind.__name__ for kind in found if "ledger" in signature(kind).parameters}


def wanted(row: str) -> set[str]:
    """What the attack of this row must have been tried on."""
    groups = {rows.LEARNERS: learners, rows.ESTIMATORS: models}
    return {name for word in rows.TRIED_ON.get(row, ()) for name in (groups[word]() if word in groups else {word})}

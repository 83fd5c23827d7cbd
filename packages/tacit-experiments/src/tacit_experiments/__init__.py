"""Live experiments that protect persons, with a store, a service and a fleet on Spark.

Arms are decided inside a user's own process, replies come back under a contract for each person and month, and
learners and ledgers live in a database that survives the process. A name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit_experiments.ab_tests.analysis import analyse
    from tacit_experiments.ab_tests.design import ABTest
    from tacit_experiments.ab_tests.metrics import Conversion, Ratio, Sum
    from tacit_experiments.ab_tests.plan import plan_test
    from tacit_experiments.client import Client
    from tacit_experiments.design import Design
    from tacit_experiments.experiments import Experiments
    from tacit_experiments.policy import assign, pseudonym
    from tacit_experiments.store.live import Live
    from tacit_experiments.store.store import Store

_HOMES = {
    "ABTest": "ab_tests.design",
    "Client": "client",
    "Conversion": "ab_tests.metrics",
    "Design": "design",
    "Experiments": "experiments",
    "Live": "store.live",
    "Ratio": "ab_tests.metrics",
    "Store": "store.store",
    "Sum": "ab_tests.metrics",
    "analyse": "ab_tests.analysis",
    "assign": "policy",
    "plan_test": "ab_tests.plan",
    "pseudonym": "policy",
}
"""The module of each public name."""

__all__ = [
    "ABTest",
    "Client",
    "Conversion",
    "Design",
    "Experiments",
    "Live",
    "Ratio",
    "Store",
    "Sum",
    "analyse",
    "assign",
    "plan_test",
    "pseudonym",
]


if not TYPE_CHECKING:  # a type checker shall see the imports above, not that any name might exist

    def __getattr__(name: str) -> object:
        """Load a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module 'tacit_experiments' has no attribute {name!r}")
        value = getattr(import_module(f"tacit_experiments.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, and what Python itself puts here."""
    return sorted({*globals(), *__all__})

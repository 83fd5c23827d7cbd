"""What the page shows of a learner: plain values made of public things only; and the templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from tacit.accounting.rounding import rounded_up
from tacit_experiments.store.rows import Row


def left(account: dict[str, Any]) -> float:
    """What is left of a budget, by the account that `Ledger.to_dict` gives."""
    budget = account["epsilon"] or 0.0
    return max(0.0, budget - (budget if account["spent"] is None else account["spent"]))


_TEMPLATES = Environment(
    loader=PackageLoader("tacit_experiments.service.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
)
_TEMPLATES.filters |= {
    "percent": lambda share: "under 1%" if 0 < share < 0.005 else f"{100 * share:.0f}%",
    "spent": lambda value: "infinite" if value is None else rounded_up(value),
    "rounded_down": lambda value: rounded_up(-value).removeprefix("-"),
}
_TEMPLATES.filters["left"] = left


def render(template: str, **values: Any) -> Markup:
    """Fill in a template; what comes from a store is escaped."""
    return Markup(_TEMPLATES.get_template(template).render(values))


def privacy(epsilon: float, delta: float) -> str:
    """Say epsilon and delta in a few words."""
    slack = f" at delta {rounded_up(delta, 6)}" if delta else ", pure"
    return f"epsilon {rounded_up(epsilon)}{slack}"


@dataclass(frozen=True)
class LearnerView:
    """One learner as it is now."""

    name: str
    problem: str  # what it decides
    privacy: str  # epsilon and delta in a few words
    private: bool  # whether nobody knows its noise
    rounds: int  # how many were decided
    horizon: int | None  # how many it may decide, if that is known here
    ledger: str | None  # that it is charged to

    @staticmethod
    def of(name: str, row: Row, rounds: int, ledger: str | None) -> LearnerView:
        """The view of a learner as a store describes it."""
        guarantee = row.guarantee
        words = privacy(guarantee.epsilon(), guarantee.at_delta)
        horizon = (row.request["problem"] or {}).get("horizon")
        return LearnerView(name, row.request["text"], words, guarantee.private, rounds, horizon, ledger)

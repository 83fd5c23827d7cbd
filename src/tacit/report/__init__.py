"""Tables, pictures and pages of results (extra: tacit[plots])."""

from tacit.report.html import write_report
from tacit.report.plots import (
    plot_held,
    plot_regret,
    plot_regret_by_epsilon,
    plot_regret_by_horizon,
    plot_shares,
    plot_switches,
)

__all__ = [
    "plot_held",
    "plot_regret",
    "plot_regret_by_epsilon",
    "plot_regret_by_horizon",
    "plot_shares",
    "plot_switches",
    "write_report",
]

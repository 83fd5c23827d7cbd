"""Pictures of results (extra: tacit[plots])."""

from tacit.report.plots import plot_regret, plot_shares

__all__ = ["plot_regret", "plot_shares"]

"""One row of a paper's table, read off the plan that ran."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np

from tacit.simulation.loop import Simulation

BAND = (10.0, 90.0)
"""Percentiles between which the runs of a row are shown."""


@dataclass(frozen=True)
class Settings:
    """What a run was asked for."""

    horizon: int
    dimension: int
    epsilon: float
    delta: float
    runs: int
    seed: int
    results: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Row:
    """One algorithm on one stream.

    Attributes:
        label: kind of the row: still, printed, repaired, calibrated or rival.
        stream: what it ran on.
        result: number of the result whose parameters ran (empty: none).
        plan: name of the algorithm that ran (or, with the status "refused", that did not).
        reading: which choice was made where the print leaves a parameter open.
        printed_regret: the printed bound, not capped (None: there is none, or an order only).
        regret_bound: the bound that is certified for the plan that ran.
        asked: epsilon that was asked.
        epsilon: epsilon that is proved of the plan that ran, at the delta that was asked.
        status: what became of a printed promise.
        mean: mean regret of the runs.
        low: its 10th percentile.
        high: its 90th percentile.
        switches: mean number of switches.
        seconds: processor time of one run, planning not counted.
        note: what a reader must know.
    """

    label: str
    stream: str
    result: str = ""
    plan: str = ""
    reading: str = ""
    printed_regret: float | None = None
    regret_bound: float = inf
    asked: float | None = None
    epsilon: float = inf
    status: str = ""
    mean: float = inf
    low: float = inf
    high: float = inf
    switches: float = 0.0
    seconds: float = 0.0
    note: str = ""

    @classmethod
    def of(
        cls,
        simulation: Simulation,
        *,
        label: str,
        stream: str,
        asked: Settings,
        seconds: float,
        still: float | None = None,
        note: str = "",
    ) -> Row:
        """Read everything off the plan that ran.

        Args:
            simulation: the runs.
            label: kind of the row.
            stream: name of the stream.
            asked: settings of the whole run.
            seconds: processor time of one run.
            still: mean regret of the player that looks at nothing.
            note: what is said besides.
        """
        plan = simulation.plan
        final = simulation.regret[:, -1]
        mean = float(np.mean(final))
        low, high = (float(value) for value in np.percentile(final, BAND))
        printed = plan.printed
        bound = simulation.bound  # over these rounds, also where the plan's horizon is unknown
        # A row whose promise has a smaller delta, such as 0, is held to that one.
        delta = min(asked.delta, plan.guarantee.at_delta)
        said = [text for text in (note, plan.form) if text]
        if printed is not None and "order" in printed.values:
            said.append(f"printed order {printed.values['order']:,.0f}")
        if printed is not None and "switches" in printed.values:
            said.append(f"printed: at most {printed.values['switches']:,.0f} switches expected")
        if isfinite(bound) and plan.vacuous:
            said.append("vacuous bound")
        if simulation.warning:
            said.append(simulation.warning)
        if still is not None and mean >= still:
            said.append("no better than still")
        return cls(
            label=label,
            stream=stream,
            result="" if printed is None else printed.result,
            plan=plan.algorithm,
            reading="" if printed is None else printed.reading,
            printed_regret=None if printed is None else printed.regret,
            regret_bound=bound,
            asked=asked.epsilon if plan.private else None,
            epsilon=plan.guarantee.curve.epsilon(delta),
            status=plan.printed_status or ("kept" if plan.private else "not private"),
            mean=mean,
            low=low,
            high=high,
            switches=float(np.mean(simulation.switches)),
            seconds=seconds,
            note="; ".join(said),
        )

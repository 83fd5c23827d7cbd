"""Which algorithm has the smallest certified regret at each horizon and epsilon, as a map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.errors import InvalidInput
from tacit.planning import plan
from tacit.privacy.rounding import rounded_up
from tacit.problems import Problem
from tacit.report.comparisons import split_floor
from tacit.report.style import HATCHES, Target, legend_below, save_figure, shared_contract, start_figure
from tacit.simulation.records import Summary
from tacit.validation import check_all, invalid


@dataclass(frozen=True)
class Crossover:
    """The algorithm with the smallest certified regret at each horizon and epsilon.

    Attributes:
        winners: the algorithm's name for each (horizon, epsilon); "" where no bound says anything.
        bounds: its certified regret per round.
        contract: what the pictures' caption says.
    """

    winners: Mapping[tuple[int, float], str]
    bounds: Mapping[tuple[int, float], float]
    contract: str

    @classmethod
    def of(
        cls, problem: Callable[[int], Problem], horizons: Sequence[int], epsilons: Sequence[float], delta: float
    ) -> Crossover:
        """Plan every (horizon, epsilon); `problem` makes the problem of a horizon."""
        if not callable(problem):
            raise invalid("Crossover.of", "problem", "a function from a horizon to a problem", problem)
        if not isinstance(epsilons, Sequence):
            raise invalid("Crossover.of", "epsilons", "a list of numbers", epsilons)
        winners, bounds, contract = {}, {}, []
        for rounds in check_all("Crossover.of", "horizons", horizons, int):
            for epsilon in epsilons:
                choice = plan(problem(rounds), epsilon=epsilon, delta=delta)
                key = (int(rounds), float(epsilon))
                winners[key] = "" if choice.plan.vacuous else choice.algorithm
                bounds[key] = float(choice.regret_bound) / rounds
                contract.append(str(choice.guarantee))
        return cls(winners, bounds, shared_contract(contract))

    @classmethod
    def from_summaries(cls, summaries: Sequence[Summary]) -> Crossover:
        """From what the planner recorded in a sweep."""
        cells = check_all("Crossover", "summaries", summaries, Summary)
        chosen, _ = split_floor([s for s in cells if s["chosen"]])
        if not chosen:
            raise InvalidInput("Crossover needs at least one private cell that the planner chose.")
        winners = {(s["horizon"], s["epsilon"]): "" if s["vacuous"] else s["algorithm"] for s in chosen}
        bounds = {(s["horizon"], s["epsilon"]): s["bound"] / s["horizon"] for s in chosen}
        return cls(winners, bounds, shared_contract([s["contract"] for s in chosen]))

    @property
    def horizons(self) -> list[int]:
        """The numbers of rounds, increasing."""
        return sorted({rounds for rounds, _ in self.winners})

    @property
    def caption(self) -> str:
        """What stands under the map."""
        return f"{self.contract}\nin each field: certified regret per round of the winner"

    @property
    def epsilons(self) -> list[float]:
        """The privacy budgets, increasing."""
        return sorted({epsilon for _, epsilon in self.winners})


def plot_crossover(
    crossover: Crossover, path: Target, *, title: str = "Which algorithm wins where", caption: str | None = None
) -> Target:
    """A map over (horizon, epsilon): a grey and a hatch for each algorithm, in each field its regret per round."""
    from matplotlib.patches import Patch, Rectangle

    if not isinstance(crossover, Crossover) or not crossover.winners:
        raise invalid("plot_crossover", "crossover", "a Crossover of at least one field", crossover)
    figure, axes = start_figure(2)
    axes.grid(visible=False)
    names = sorted({name for name in crossover.winners.values() if name})
    looks: dict[str, dict[str, Any]] = {"": {"facecolor": "white", "hatch": "", "edgecolor": "0.6"}}
    greys = np.linspace(0.95, 0.7, max(1, len(names)))
    for index, name in enumerate(names):
        looks[name] = {"facecolor": str(greys[index]), "hatch": HATCHES[index % len(HATCHES)], "edgecolor": "0.6"}
    for column, rounds in enumerate(crossover.horizons):
        for row, epsilon in enumerate(crossover.epsilons):
            winner = crossover.winners.get((rounds, epsilon))
            if winner is None:
                continue
            axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **looks[winner]))
            shown = rounded_up(crossover.bounds[rounds, epsilon], 2) if winner else "-"
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.text(column, row, shown, ha="center", va="center", fontsize="small", bbox=box)
    axes.set_xlim(-0.5, len(crossover.horizons) - 0.5)
    axes.set_ylim(-0.5, len(crossover.epsilons) - 0.5)
    axes.set_xticks(range(len(crossover.horizons)), [f"{rounds:,}" for rounds in crossover.horizons])
    axes.set_yticks(range(len(crossover.epsilons)), [f"{epsilon:g}" for epsilon in crossover.epsilons])
    axes.set_xlabel("horizon (rounds)")
    axes.set_ylabel("epsilon")
    axes.set_title(title)
    patches = [Patch(label=name, **looks[name]) for name in names]
    if "" in crossover.winners.values():
        patches.append(Patch(label="none says anything", **looks[""]))
    legend_below(figure, patches)
    return save_figure(figure, path, crossover.caption if caption is None else caption)

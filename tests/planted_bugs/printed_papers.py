"""Planted bugs in what all papers share: doors, statuses, rows and the command."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import typer

from cli.command import run_command
from papers import test_papers
from papers.existing import short_run
from planted_bugs.called import by_call
from planted_bugs.catalogue import Control, planting
from planted_bugs.tested import by_test
from tacit.accounting.curves import Gaussian, Pure
from tacit.cli import papers as command
from tacit.papers import run as running
from tacit.papers.row import Row
from tacit.runtime.plan import Plan
from tacit.runtime.printed import Printed

DOORS = "runtime.test_printed"


def open_door(function: str) -> Any:
    """Let plans pass whose promise is not kept, in the function of this name alone."""

    def build(honest: Any) -> Any:
        def refuse_unkept(self: Any, private: bool) -> None:
            if sys._getframe(1).f_code.co_name != function:
                honest(self, private)

        return refuse_unkept

    return build


def tried(door: str) -> Any:
    """Attack by one door, with a plan that is refuted."""
    return by_test(DOORS, "test_every_door_refuses_what_is_not_kept", "refuted", door)


def rows_again() -> None:
    """Make the rows of a short run again, and compare them with their labels."""
    short_run.cache_clear()
    try:
        test_papers.TestRows().test_rows_are_the_plans_of_their_labels("l2p")
        test_papers.TestRows().test_status_and_epsilon_follow_from_the_plan_that_ran("l2p")
        test_papers.TestRows().test_rows_say_where_they_lose_to_the_still_player("l2p")
    finally:
        short_run.cache_clear()


def unknown_paper() -> None:
    """Ask for a paper that is none."""
    assert run_command("paper", "zhang") == 2


def _free_start(honest: Any) -> Any:
    """Start replayable learners whatever they promise, and charge them."""

    def start(self: Any, randomness: Any = None, *, ledger: Any = None) -> Any:
        if ledger is None or randomness is None:
            return honest(self, randomness, ledger=ledger)
        learner = honest(self, randomness)
        ledger.record(self.algorithm, learner.guarantee)
        return learner

    return start


def _calibrated(honest: Any) -> Any:
    """Rows of printed results run calibrated parameters."""
    return lambda entry, problem, settings: honest(replace(entry, result="", choose={}), problem, settings)


def _first_run(honest: Any) -> Any:
    """The mean of a row is its first run."""

    def build(simulation: Any, **given: Any) -> Row:
        row = honest.__func__(Row, simulation, **given)
        return replace(row, mean=float(simulation.regret[0, -1]))

    return staticmethod(build)


def _unsaid(honest: Any) -> Any:
    """No row says that it is no better than the still player."""
    return staticmethod(lambda simulation, **given: honest.__func__(Row, simulation, **(given | {"still": None})))


def _lost(honest: Any) -> Any:
    """An unknown name ends with exit code 1."""

    def paper_named(name: str) -> Any:
        try:
            return honest(name)
        except ValueError:
            raise typer.Exit(1) from None

    return paper_named


STATUS = (Gaussian(5.0), 0.0, (1.0, 1e-6), "")
planted = planting("papers")
OPENED = {
    "start": tried("start"),
    "load": tried("restore"),
    "contract": tried("contract"),
    "fleet_problem": tried("fleet"),
    "epoch": by_test(DOORS, "test_partial_doubling_is_refused_in_every_epoch"),
    "calibrate_for": by_test(DOORS, "test_planners_refuse_algorithms_that_plan_so", "refuted"),
}
CONTROLS: tuple[Control, ...] = (
    *(
        planted(f"{function} takes a plan that is refuted", Plan, "refuse_unkept", open_door(function), attack)
        for function, attack in OPENED.items()
    ),
    planted("a ledger is charged for a simulation of what is refuted", Plan, "start", _free_start,
            by_test(DOORS, "test_no_ledger_is_charged_for_a_simulation_of_what_is_not_kept")),
    planted("status is typed", Printed, "status", lambda honest: lambda self, curve: "kept",
            by_test(DOORS, "test_status_is_computed_from_the_curve_and_the_lower_bound", *STATUS)),
    planted("exceeded says kept", Printed, "status",
            lambda honest: lambda self, curve: {"exceeded": "kept"}.get(honest(self, curve), honest(self, curve)),
            by_test(DOORS, "test_status_is_computed_from_the_curve_and_the_lower_bound", *STATUS)),
    planted("a lower bound above delta is not looked at", Printed, "status",
            lambda honest: lambda self, curve: honest(replace(self, lower_bound=0.0), curve),
            by_test(DOORS, "test_status_is_computed_from_the_curve_and_the_lower_bound",
                    Pure(0.5), 1.1e-6, (1.0, 1e-6), "")),
    planted("printed rows run calibrated parameters", running, "plan_of", _calibrated, by_call("rows", rows_again),
            fast=False),
    planted("a row shows one run for the mean", Row, "of", _first_run, by_call("rows", rows_again),
            fast=False),
    planted("no row is worse than the still player", Row, "of", _unsaid, by_call("rows", rows_again),
            fast=False),
    planted("an unknown paper ends with exit code 1", command, "paper_named", _lost,
            by_call("command", unknown_paper)),
)  # fmt: skip

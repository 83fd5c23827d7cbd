"""Planted bugs in what the paper `bandit` prints: formulas, plans with printed parameters, and rows of its table."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

from planted_bugs.catalogue import Control, around, planting
from planted_bugs.tested import by_test
from tacit.algorithms.bandit import bandit_fw, noisy_oco
from tacit.algorithms.bandit.printed_tree import PrintedTree
from tacit.papers import run as papers_run
from tacit.papers.row import Row
from tacit.papers.still import StillLearner
from tacit.printed import bandit as formulas
from tacit.runtime.plan import Plan
from tacit.runtime.printed import Printed

SETTING = (10, 1_000_000, 1.5, 2.0, 0.3, 1e-9)
FORMULAS, PAPER = "printed.test_bandit", "papers.test_bandit"
parameters = by_test(FORMULAS, "test_algorithm_1", SETTING)
laplace = by_test(FORMULAS, "test_laplace_noise_and_its_regret", SETTING)
gaussian = by_test(FORMULAS, "test_gaussian_noise_and_its_regret", SETTING)
tree = by_test(FORMULAS, "test_the_noise_of_a_tree", SETTING, None)
attacked = by_test(FORMULAS, "test_the_lower_bound_is_no_larger_than_what_is_leaked")
running = by_test(PAPER, "test_running_parameters_are_the_printed_ones", "Lemma 5.5", 9_999)
signed = by_test(PAPER, "test_line_14_is_run_with_the_printed_sign")
doors = by_test(PAPER, "test_what_exceeds_its_promise_starts_nowhere_but_in_simulations")
rows = by_test(PAPER, "test_rows_are_the_plans_of_their_labels")
trees = by_test(PAPER, "test_status_of_the_printed_trees", bandit_fw.LaplaceTree, None, "refuted", 22 / log(1024))
still = by_test(PAPER, "test_the_still_player_plays_the_centre")
slow = by_test(PAPER, "test_algorithm_2_on_one_linear_loss", 1e4, "line 1")


@around
def _without_the_root(honest: Any, n: int, rounds: int, diameter: float, lipschitz: float) -> Any:
    """The smoothing radius without n^(1/2)."""
    values = honest(n, rounds, diameter, lipschitz)
    return values | {"zeta": values["zeta"] / sqrt(n)}


@around
def _base_two(honest: Any, n: int, rounds: int, lipschitz: float, epsilon: float) -> Any:
    """ln T taken to base 2."""
    return honest(n, rounds, lipschitz, epsilon) / log(2)


@around
def _half_delta(honest: Any, n: int, rounds: int, lipschitz: float, epsilon: float, delta: float) -> Any:
    """ln(2 T/delta) for ln(T/delta): the delta of the proof's last step."""
    return honest(n, rounds, lipschitz, epsilon, delta) * log(2 * rounds / delta) / log(rounds / delta)


@around
def _second_logarithm(honest: Any, length: int, norm: float, epsilon: float, delta: float, base: Any = None) -> Any:
    """ln(1/delta) for ln(ln T/delta)."""
    return honest(length, norm, epsilon, delta, base) * log(1 / delta) / log(log(length) / delta)


@around
def _free_attack(honest: Any, length: int, shift: float, epsilon: float) -> Any:
    """The attack forgets to weigh the neighbour by e^epsilon."""
    return honest(length, shift, 0.0)


@around
def _mended(honest: Any, self: bandit_fw.BanditFWLearner, slope: Any) -> Any:
    """The printed plan runs downhill."""
    return self._solver.minimize(slope).point


@around
def _says_nothing(honest: Any, plan: bandit_fw.BanditFW) -> tuple[str, ...]:
    """Differences from the print are kept quiet."""
    return ()


@around
def _half_the_noise(honest: Any, problem: Any, rounds: int, asked: Any) -> Any:
    """The learner runs with half the printed noise."""
    values = honest(problem, rounds, asked)
    return values | {"scale": values["scale"] / 2}


@around
def _typed(honest: Any, self: Printed, curve: Any) -> str:
    """The status says what was asked."""
    return "kept"


@around
def _open_door(honest: Any, self: Plan, private: bool) -> None:
    """Secret randomness is refused nowhere."""


@around
def _another_plan(honest: Any, entry: Any, problem: Any, settings: Any) -> Any:
    """The printed row runs calibrated parameters."""
    if entry.kind == "printed" and entry.private:
        return bandit_fw.BanditFW.calibrate(problem, epsilon=settings.epsilon, delta=settings.delta)
    return honest(entry, problem, settings)


@around
def _epsilon_asked(honest: Any, *given: Any, **settings: Any) -> Row:
    """The row shows the epsilon that was asked as the one that is proved."""
    row = honest.__func__(Row, *given, **settings)
    return Row(**(vars(row) | {"epsilon": row.asked}))


def _one_level_less(honest: Any) -> Any:
    """The tree of T - 1 sums, which has a level less."""
    return staticmethod(lambda norm, length, **asked: honest(norm, length - 1, **asked))


@around
def _corner(honest: Any, self: Any, feedback: Any, mask: Any = None, *, contexts: Any = None) -> Any:
    """The player that looks at nothing plays a vertex."""
    domain = self.plan.problem.domain
    vertex = domain.minimize_linear([1.0] + [0.0] * (domain.dimension - 1))
    return feedback.values([vertex] * len(feedback), feedback.first)


printed = planting("bandit")
CONTROLS: tuple[Control, ...] = (
    printed("n^(1/2) dropped in the printed zeta", formulas, "algorithm_1", _without_the_root, parameters),
    printed("printed Laplace scale in base 2", formulas, "lemma_5_1", _base_two, laplace),
    printed("ln(2 T/delta) for ln(T/delta) in the printed deviation", formulas, "lemma_5_4", _half_delta, gaussian),
    printed("printed deviation of a tree without ln T in the logarithm", formulas, "theorem_2_3_gaussian",
            _second_logarithm, tree),
    printed("attack on trees without e^epsilon", formulas, "theorem_2_3_lower_bound", _free_attack, attacked),
    printed("line 14 mended in the printed plan", bandit_fw.BanditFWLearner, "_leader", _mended, signed),
    printed("printed bandit says nothing of its differences", bandit_fw, "printed_differences", _says_nothing, running),
    printed("half the printed noise of bandits", bandit_fw, "printed_values", _half_the_noise, running),
    printed("status of printed parameters typed", Printed, "status", _typed, doors),
    printed("status of printed trees typed", Printed, "status", _typed, trees),
    printed("printed plans start on secret randomness", Plan, "refuse_unkept", _open_door, doors),
    printed("a printed row runs another plan", papers_run, "plan_of", _another_plan, rows, fast=False),
    printed("a row shows the epsilon that was asked", Row, "of", _epsilon_asked, rows,
            fast=False),
    printed("a printed tree of a level less", PrintedTree, "as_printed", _one_level_less, trees),
    printed("the still player plays a vertex", StillLearner, "run", _corner, still),
    printed("rate of Algorithm 2 mended", noisy_oco, "RATES",
            lambda honest: honest | {"line 1": lambda steps, spread, norm: spread / (norm * sqrt(steps))}, slow),
)  # fmt: skip

"""One wrong edit of the code of each row of `docs/coverage.md`, and the test of that row that must fail because of it.

Run one of them from the folder `tests`: `python -m docs.coverage_mutations "ctrl:Lemma 2"`. The exit code is that of
pytest: 1 if the test failed, as it must. Without a name all tests are run with no edit, and must pass.
"""

import os
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutation:
    """One edit of one module.

    Attributes:
        test: the test that must fail, named by the row; one of its cases may be named.
        module: the module that is edited.
        old: a piece of its text that stands there once.
        new: what stands there instead.
    """

    test: str
    module: str
    old: str
    new: str

    @property
    def path(self) -> Path:
        """Where the module is."""
        return ROOT / "src" / f"{self.module.replace('.', '/')}.py"

    def edited(self, text: str) -> str:
        """The text of the module with the edit."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.module} must have this text once, not {text.count(self.old)} times: {self.old}")
        return text.replace(self.old, self.new)


class Edited(SourceFileLoader):
    """Loads a module with an edit, past the stored bytecode."""

    def __init__(self, mutation: Mutation, path: str) -> None:
        super().__init__(mutation.module, path)
        self._mutation = mutation

    def get_code(self, fullname: str):
        """The code of the edited text."""
        return compile(self._mutation.edited(Path(self.path).read_text()), self.path, "exec")


class Planted(MetaPathFinder):
    """Finds the edited module in place of the one that is there."""

    def __init__(self, mutation: Mutation) -> None:
        self._mutation = mutation

    def find_spec(self, fullname, path, target=None) -> ModuleSpec | None:
        """The edited module, and no other."""
        if fullname != self._mutation.module:
            return None
        found = PathFinder.find_spec(fullname, path)
        found.loader = Edited(self._mutation, found.origin)
        return found


CTRL = "tests/algorithms/convex/ctrl"
CERTIFICATE = "tacit.algorithms.convex.ctrl.certificate"
COUPLED = "tacit.algorithms.convex.ctrl.coupled"
LAZY_OCO = "tacit.algorithms.convex.ctrl.lazy_oco"
SUMS = "tacit.algorithms.experts.hedge_on_sums"
RANGE = f"{CTRL}/test_ctrl.py::test_clip_probability_matches_the_range"
GROWING = f"{CTRL}/test_lazy_oco.py::test_growing_ranges_hold_every_log_ratio_and_are_nearly_attained"
BY_HAND = f"{CTRL}/test_lazy_oco.py::test_regret_bounds_by_hand"
L2P = "tacit.algorithms.experts.l2p"
LAZY_EXPERTS = "tacit.algorithms.experts.lazy_experts"
SHIPPED_L2P = "tests/exact/test_shipped_experts.py::test_shipped_l2p_has_this_law"
L2P_CONVEX = "tests/algorithms/convex/l2p_convex/test_l2p_convex.py"
NUMBERS = "tests/algorithms/experts/test_calibration.py::test_lazy_experts_meet_the_numbers"
THRESHOLDS = "tacit.algorithms.tracking.thresholds"
RESTARTS = "tests/algorithms/tracking/test_restart_on_shift.py"
MARGIN = f"{RESTARTS}::test_the_certified_margin_is_the_largest_excess_of_a_window_and_noise"
MIRROR = "tests/algorithms/tracking/test_noisy_mirror_descent.py"
BANDIT = "tests/algorithms/bandit"
BANDIT_FW = "tacit.algorithms.bandit.bandit_fw"
FORMULA = f"{BANDIT}/test_bandit_fw.py::TestCalibration::test_the_bound_is_the_documented_formula"
PRINTED_SCALES = f"{BANDIT}/test_privacy.py::TestPrintedNoise::test_the_scales_are_those_of_the_lemmas"
RUNNING = "tests/noise/running_sums"
STOCHASTIC = "tests/algorithms/stochastic"
CONVERSION = "tacit.algorithms.stochastic.online_to_batch"
RISKS = f"{STOCHASTIC}/test_online_learners.py::test_excess_risks_by_hand"
MUTATIONS: dict[str, Mutation] = {
    "ctrl:Algorithm 1": Mutation(
        f"{CTRL}/test_held_point.py::test_coins_know_the_density_ratio",
        COUPLED,
        "np.log1p(self._strength / ladder[:-1])",
        "np.log1p(self._strength / ladder[1:])",
    ),
    "ctrl:Lemma 2": Mutation(
        f"{CTRL}/test_held_point.py::test_coins_know_the_density_ratio",
        COUPLED,
        "(2 * before + gradients) * gradients",
        "(before + gradients) * gradients",
    ),
    "ctrl:Theorem 4": Mutation(
        f"{CTRL}/test_ctrl.py::test_regret_by_hand",
        CERTIFICATE,
        "+ g**2 * self.eta * t +",
        "+ g**2 * self.eta * t / 2 +",
    ),
    "ctrl:Lemma 5": Mutation(
        f"{CTRL}/test_switching.py::test_most_switches_is_the_quantile",
        CERTIFICATE,
        "<= 1 - confidence else",
        "<= 2 * (1 - confidence) else",
    ),
    "ctrl:Theorem 6": Mutation(
        f"{CTRL}/test_accounting.py::test_zero_out_and_people_scale_as_they_should",
        CERTIFICATE,
        "move = sides * m * lipschitz / sigma\n    if linear_model",
        "move = sides * m * lipschitz / sigma / 2\n    if linear_model",
    ),
    "ctrl:Lemma 7": Mutation(
        RANGE,
        CERTIFICATE,
        "growth = dimension * float(np.log1p(eta * smoothness))\n    ratio",
        "growth = float(np.log1p(eta * smoothness))\n    ratio",
    ),
    "ctrl:Theorem 8": Mutation(
        f"{CTRL}/test_ctrl.py::test_printed_parameters_are_private_but_vacuous",
        "tacit.algorithms.convex.ctrl.ctrl",
        "Certificate(facts, eta, sigma, rounds ** (-1 / 3)",
        "Certificate(facts, eta, sigma, rounds ** (-1 / 2)",
    ),
    "ctrl:Theorem 9": Mutation(BY_HAND, LAZY_OCO, "self.eta * self.batch * g**2 * t / 2", "self.eta * g**2 * t / 2"),
    "ctrl:Lemma 10": Mutation(RANGE, CERTIFICATE, "-float(ndtri(miss / 2))", "-float(ndtri(miss))"),
    "ctrl:Theorem 11": Mutation(
        f"{CTRL}/test_accounting.py::test_drift_of_later_coins",
        CERTIFICATE,
        "(sides * (lipschitz / sigma) ** 2 +",
        "((lipschitz / sigma) ** 2 +",
    ),
    "ctrl:Theorem 12": Mutation(BY_HAND, LAZY_OCO, "+ g**2 * self.eta * t +", "+ g**2 * self.eta * t / 2 +"),
    "ctrl:Theorem 13": Mutation(GROWING, LAZY_OCO, "ranges += q**2 / (2 * before) +", "ranges +="),
    "ctrl:Theorem 14": Mutation(
        "tests/algorithms/lipschitz/test_lipschitz.py::"
        "test_no_two_losses_move_the_coefficients_by_more_than_the_sensitivity",
        "tacit.algorithms.lipschitz.lipschitz_grid",
        "return 1.5 - 2.0 ** (-self.bits - 1)",
        "return 1.0 - 2.0 ** (-self.bits - 1)",
    ),
    "ctrl:Theorem 15": Mutation(
        "tests/algorithms/experts/test_plans.py::test_hedge_formula",
        SUMS,
        "log(n) / eta + eta * rounds / 8 + noise",
        "log(n) / eta + eta * rounds / 8 + noise / 2",
    ),
    "ctrl:Lemma 16": Mutation(
        "tests/algorithms/experts/test_matrices.py::test_products_are_clipped_so_that_privacy_rests_on_no_promise",
        SUMS,
        "clip_rows(product[None], norm)[0]",
        "clip_rows(product[None], 2 * norm)[0]",
    ),
    "ctrl:Lemma 17": Mutation(
        "tests/accounting/test_composition.py::test_no_dearer_than_epsilons_and_deltas_added",
        "tacit.accounting.composition",
        "return Composition(tuple(curves), None if deltas is None else tuple(deltas))",
        "return Composition(tuple(curves), None)",
    ),
    "ctrl:Lemma 19": Mutation(
        f"{CTRL}/test_switching.py::test_coins_of_any_chances_are_bounded_by_equal_ones",
        CERTIFICATE,
        "bdtrc(limit, tosses,",
        "bdtrc(limit + 1, tosses,",
    ),
    "ctrl:Lemma 20": Mutation(
        RANGE, CERTIFICATE, "facts.log_growth(self.eta) - ratio**2 / 2) / ratio", "facts.log_growth(self.eta)) / ratio"
    ),
    "ctrl:Lemma 21": Mutation(GROWING, LAZY_OCO, "2 * g * sigma * np.sqrt(t) * q", "2 * g * sigma * q"),
    "ctrl:Lemma 24": Mutation(
        RANGE, CERTIFICATE, "float(growth + ratio**2 / 2 + ratio * quantile)", "float(growth + ratio * quantile)"
    ),
    "ctrl:Claim 26": Mutation(
        f"{CTRL}/test_accounting.py::test_drift_of_later_coins",
        CERTIFICATE,
        "(eta * smoothness) ** 2 * degrees)",
        "(eta * smoothness) ** 2)",
    ),
    "ctrl:Algorithm 2": Mutation(
        f"{CTRL}/test_lazy_oco.py::test_strongly_convex_mode",
        LAZY_OCO,
        "clocks = np.where((t == 1) & (clocks < inf), 0.0, clocks)",
        "clocks = np.where((t == 2) & (clocks < inf), 0.0, clocks)",
    ),
    "ctrl:Theorem 28": Mutation(BY_HAND, LAZY_OCO, "(g**2 + d * self.sigma**2)", "(g**2 + self.sigma**2)"),
    "ctrl:Lemma 30": Mutation(
        "tests/algorithms/experts/test_matrices.py::test_without_noise_it_is_hedge_on_the_losses",
        SUMS,
        "np.asarray(self.inverse @ sums)",
        "np.asarray(self.matrix.T @ sums)",
    ),
    "l2p:Algorithm 1": Mutation(
        SHIPPED_L2P, "tacit.runtime.two_chains", "if not self._reference_kept():", "if self._reference_kept():"
    ),
    "l2p:Theorem 3.2": Mutation(
        "tests/exact/test_experts_law.py::test_a_draw_of_l2p_nearly_attains_its_curve",
        L2P,
        "draw=BoundedRange(moved * rounds_per_person)",
        "draw=BoundedRange(moved * rounds_per_person / 2)",
    ),
    "l2p:Proposition 3.3": Mutation(
        "tests/algorithms/experts/test_plans.py::test_regret_formulas",
        LAZY_EXPERTS,
        "tuned.rate * rounds * tuned.batch / 8 + rounds * hit",
        "tuned.rate * rounds / 8 + rounds * hit",
    ),
    "l2p:Lemma 3.4": Mutation(
        SHIPPED_L2P,
        L2P,
        "self._most = plan.constant + plan.batch * LOSS_UNITS",
        "self._most = plan.constant + (plan.batch + 1) * LOSS_UNITS",
    ),
    "l2p:Lemma 3.6": Mutation(
        "tests/accounting/test_curves.py::test_bounded_range_covers_every_selection_of_two_and_is_nearly_attained",
        "tacit.accounting.curves",
        "orders * self.width * (self.width / 8)",
        "orders * self.width * (self.width / 16)",
    ),
    "l2p:Lemma 3.7": Mutation(
        f"{L2P_CONVEX}::test_one_replaced_loss_moves_the_log_of_the_keep_probability_by_at_most_twice_the_clip",
        "tacit.runtime.two_chains",
        "min(self._limit, max(-self._limit, ratio))",
        "min(2 * self._limit, max(-self._limit, ratio))",
    ),
    "l2p:Lemma 3.8": Mutation(
        "tests/accounting/test_curves.py::test_sometimes_is_the_exact_moment_of_the_mixture",
        "tacit.accounting.curves",
        "log_mixture(self.probability, (orders - 1)",
        "log_mixture(self.probability / 2, (orders - 1)",
    ),
    "l2p:Lemma 3.9": Mutation(SHIPPED_L2P, L2P, "return -feedback.item(decision)", "return feedback.item(decision)"),
    "l2p:Theorem 3.10": Mutation(
        NUMBERS, LAZY_EXPERTS, "width = eta * relation.sides * rounds_per_person", "width = eta * rounds_per_person"
    ),
    "l2p:Lemma 3.11": Mutation(
        f"{L2P_CONVEX}::test_a_draw_is_as_private_as_its_gaussian",
        "tacit.algorithms.convex.l2p_convex.l2p_convex",
        "mu = share * problem.lipschitz * sqrt(2 * tuned.rate",
        "mu = share * problem.lipschitz * sqrt(tuned.rate / 2",
    ),
    "l2p:Theorem 3.12": Mutation(
        "tests/algorithms/measures/test_gibbs_measures.py::test_the_accounting_is_that_of_balls_and_boxes",
        "tacit.algorithms.convex.l2p_convex.l2p_convex",
        "return relation.sides * tuned.clip",
        "return tuned.clip",
    ),
    "l2p:Lemma A.2": Mutation(
        "tests/accounting/test_lazy.py::test_worst_partition_covers_brute_force",
        "tacit.accounting.lazy",
        "return np.maximum(extra[0], 0.0) * float(min(rounds, parts))",
        "return np.maximum(extra[0], 0.0)",
    ),
    "l2p:Lemma A.3": Mutation(
        "tests/accounting/test_composition.py::test_many_different_responses_against_an_independent_accountant",
        "tacit.accounting.composition",
        "return Composition(tuple(curves), None if deltas is None else tuple(deltas))",
        "return Composition(tuple(curves[1:]), None if deltas is None else tuple(deltas[1:]))",
    ),
    "l2p:Lemma A.5": Mutation(
        "tests/accounting/test_conversion.py::test_given_orders_are_the_formula_rounded_up",
        "tacit.accounting.conversion",
        "(np.log(delta) + np.log(orders)) / gap",
        "np.log(delta) / gap",
    ),
    "l2p:Lemma C.2": Mutation(
        "tests/planning/test_lower_bounds.py::test_privacy_is_the_printed_sum",
        "tacit.planning.lower_bounds",
        "steps = 1 if target.relation is REPLACE else 2",
        "steps = 1",
    ),
    "tracking:Lemma 2.2": Mutation(
        "tests/noise/test_noisy_vectors.py::test_geometric_noise_leaks_its_rate_times_the_largest_shift",
        "tacit.noise.noisy_vectors",
        "records.pure_shift(noise, units) * rounds",
        "records.pure_shift(noise, units)",
    ),
    "tracking:Lemma 2.3": Mutation(
        "tests/noise/test_selection.py::test_permute_and_flip_has_its_law",
        "tacit.noise.selection",
        "(2 * sensitivity / epsilon)",
        "(sensitivity / epsilon)",
    ),
    "tracking:Lemma 2.4": Mutation(
        "tests/algorithms/tracking/test_above_threshold.py::test_the_answers_have_the_enumerated_law",
        "tacit.algorithms.tracking.restart_on_shift",
        "level + one_draw(uniforms, laplace_rate(epsilon_threshold, width))",
        "level + one_draw(uniforms, 2 * laplace_rate(epsilon_threshold, width))",
    ),
    "tracking:Algorithm 1": Mutation(
        f"{RESTARTS}::test_limited_updates_selects_the_window_before_each_power_of_two",
        "tacit.algorithms.tracking.limited_updates",
        "return self._local & (self._local + 1) == 0 and self._local > 0",
        "return self._local & (self._local - 1) == 0 and self._local > 0",
    ),
    "tracking:Theorem 3.1": Mutation(
        "tests/algorithms/tracking/test_windows.py::test_all_windows_of_limited_updates_at_once",
        "tacit.algorithms.tracking.limited_updates",
        "log(n * horizon * (horizon + 1) / failure)",
        "log(n * horizon / failure)",
    ),
    "tracking:Algorithm 2": Mutation(
        f"{RESTARTS}::test_one_round_moves_all_statistics_within_the_width",
        "tacit.algorithms.tracking.restart_on_shift",
        "return self.relation.sides * self.rounds_per_person",
        "return self.rounds_per_person",
    ),
    "tracking:Theorem 3.2": Mutation(
        f"{RESTARTS}::test_the_regret_of_stretches_by_hand",
        THRESHOLDS,
        "pieces, failure) + failure * detector.rounds for",
        "pieces, failure) for",
    ),
    "tracking:Section 3, lower bound": Mutation(
        "tests/planning/test_lower_bounds.py::test_privacy_is_the_printed_sum",
        "tacit.planning.lower_bounds",
        "np.clip(rounds - 1 - (people - 1) *",
        "np.clip(rounds - 1 - people *",
    ),
    "tracking:Theorem 4.1": Mutation(
        "tests/algorithms/tracking/test_lazy_fixed_share.py::test_joint_law_is_that_of_all_paths",
        "tacit.algorithms.tracking.lazy_fixed_share",
        "self._rate = plan.eta / LOSS_UNITS",
        "self._rate = plan.eta / LOSS_UNITS / 2",
    ),
    "tracking:Proposition 4.2": Mutation(
        NUMBERS, LAZY_EXPERTS, "draw=BoundedRange(width + extra)", "draw=BoundedRange(width / 2 + extra)"
    ),
    "tracking:Corollary 4.3": Mutation(
        "tests/algorithms/tracking/test_lazy_fixed_share.py::test_complexity_covers_every_number_of_switches",
        "tacit.algorithms.tracking.tracking_plan",
        "return log(n) + max(ends)",
        "return max(ends)",
    ),
    "tracking:Theorem 5.1": Mutation(
        "tests/algorithms/tracking/test_contract.py::test_lower_bound_warning",
        "tacit.algorithms.tracking.tracking_plan",
        "if epsilon > critical:",
        "if epsilon > 2 * critical:",
    ),
    "tracking:Algorithm 3": Mutation(
        f"{MIRROR}::test_noise_scales",
        "tacit.algorithms.tracking.noisy_mirror_descent",
        "return target.rounds_per_person * move / target.epsilon",
        "return move / target.epsilon",
    ),
    "tracking:Theorem 5.2": Mutation(
        f"{MIRROR}::test_certified_regret",
        "tacit.algorithms.tracking.noisy_batches",
        "value += (1 - problem.n * floor) * noise.largest_sum(count, log_count)",
        "value += (1 - problem.n * floor) * noise.largest_sum(count, log_count) / 2",
    ),
    "tracking:Lemma A.1": Mutation(
        "tests/accounting/test_curves.py::test_compose_is_exact_for_gaussians_and_adds_pure_parts",
        "tacit.accounting.composition",
        "        return joint(curves)\n",
        "        return joint(curves[1:])\n",
    ),
    "tracking:Lemma A.2": Mutation(
        "tests/accounting/test_composition.py::test_no_dearer_than_epsilons_and_deltas_added",
        "tacit.accounting.composition",
        "return min(self.pure(), self.joint.epsilon(delta), self._basic(delta)) if delta > 0",
        "return min(self.pure(), self.joint.epsilon(delta)) if delta > 0",
    ),
    "tracking:Lemma A.3": Mutation(
        "tests/accounting/test_composition.py::test_equal_responses_are_binomial",
        "tacit.accounting.composition",
        "self.add(inner, count * times)",
        "self.add(inner, count * (times - 1))",
    ),
    "tracking:Lemma B.1": Mutation(
        MARGIN, THRESHOLDS, "luck = sqrt(2 * log(2 * detector.n", "luck = sqrt(log(2 * detector.n"
    ),
    "tracking:Lemma B.2": Mutation(
        f"{RESTARTS}::test_learning_regret_by_hand", THRESHOLDS, "sqrt(2 * window * tail)", "sqrt(window * tail)"
    ),
    "tracking:Lemma B.3": Mutation(
        MARGIN, THRESHOLDS, "+ detector.noise(third) + 1 / detector.units", "+ 1 / detector.units"
    ),
    "tracking:Lemma B.4": Mutation(
        f"{RESTARTS}::test_the_regret_of_stretches_by_hand",
        THRESHOLDS,
        "detector.noise(rare / 2) + detector.threshold_scale * log(detector.checks)",
        "detector.noise(rare / 2)",
    ),
    "tracking:Theorem C.1": Mutation(
        "tests/algorithms/experts/test_plans.py::test_schedule_certifies_adaptive_adversaries_only_when_fresh",
        "tacit.algorithms.experts.scheduled_experts",
        "if self.batch == 1 else (",
        "if self.batch <= 2 else (",
    ),
    "tracking:Theorem C.2": Mutation(
        f"{MIRROR}::test_certified_regret",
        "tacit.algorithms.tracking.noisy_batches",
        "(eta * batch**2 / 8 + noise.cost(eta))\n    value",
        "(eta * batch**2 / 9 + noise.cost(eta))\n    value",
    ),
    "tracking:Lemma C.3": Mutation(
        f"{MIRROR}::test_the_largest_sum_of_many_noises_is_nearly_attained",
        "tacit.algorithms.tracking.noisy_batches",
        "sqrt(2 * batches * self.variance * log_count)",
        "sqrt(batches * self.variance * log_count)",
    ),
    "tracking:Proposition D.1": Mutation(
        "tests/algorithms/tracking/test_contract.py::test_lower_bound_warning",
        "tacit.algorithms.tracking.tracking_plan",
        "sqrt(max(1, problem.switches) / problem.horizon)",
        "sqrt(problem.switches / problem.horizon)",
    ),
    "bandit:Theorem 1.1": Mutation(
        f"{BANDIT}/test_privacy.py::test_a_leaf_moves_by_at_most_n_width_over_zeta",
        BANDIT_FW,
        "self.rounds_per_person, n * self.deviation / self.zeta",
        "self.rounds_per_person, self.deviation / self.zeta",
    ),
    "bandit:Lemma 2.2": Mutation(
        f"{BANDIT}/test_bandit_fw.py::test_directions_have_length_one_and_nothing_becomes_nan",
        "tacit.algorithms.bandit.bandit_plan",
        "directions: FloatArray = normals / lengths[:, None]",
        "directions: FloatArray = normals",
    ),
    "bandit:Theorem 2.3": Mutation(
        f"{RUNNING}/test_lattice.py::test_neighbours_move_the_draws_by_what_was_paid_for",
        "tacit.noise.running_sums.tree",
        "return float(np.sqrt(self.nodes)) * ROUND_UP",
        "return float(np.sqrt(self.nodes - 1)) * ROUND_UP",
    ),
    "bandit:Algorithm 1": Mutation(
        f"{BANDIT}/test_bandit_fw.py::test_without_noise_the_leader_follows_the_exact_sums",
        BANDIT_FW,
        "solution = self._solver.minimize(slope)",
        "solution = self._solver.minimize(-slope)",
    ),
    "bandit:Lemma 3.1": Mutation(FORMULA, BANDIT_FW, "spread=domain.radius**2 / 2,", "spread=domain.radius**2 / 4,"),
    "bandit:Algorithm 2": Mutation(
        f"{BANDIT}/test_noisy_oco.py::test_points_use_the_sum_of_1_plus_delay_steps_before",
        "tacit.algorithms.bandit.noisy_oco",
        "for _ in range(1 + self._delay)]",
        "for _ in range(2 + self._delay)]",
    ),
    "bandit:Lemma 4.1": Mutation(
        f"{BANDIT}/test_noisy_oco.py::test_without_constraints_the_bound_is_an_identity",
        "tacit.algorithms.bandit.noisy_oco",
        "spread / eta + eta / 2 * steps * second_moment",
        "spread / eta + eta / 4 * steps * second_moment",
    ),
    "bandit:Lemma 5.1": Mutation(
        PRINTED_SCALES,
        BANDIT_FW,
        "sqrt(rounds) * n * lipschitz",
        "sqrt(rounds) * lipschitz",
    ),
    "bandit:Lemma 5.2": Mutation(
        FORMULA,
        BANDIT_FW,
        "spread = sqrt(self.problem.domain.hull_dimension) * self.zeta\n        noise",
        "spread = self.zeta\n        noise",
    ),
    "bandit:Lemma 5.4": Mutation(
        PRINTED_SCALES, BANDIT_FW, "norm = tail + sqrt((1 + sqrt(rounds) / n) * tail)", "norm = tail"
    ),
    "bandit:Lemma 5.5": Mutation(FORMULA, BANDIT_FW, "smoothing + left_over * worst +", "smoothing +"),
    "bandit:Algorithm 3": Mutation(
        f"{RUNNING}/test_contract.py::test_stream_is_the_dense_decoder",
        "tacit.noise.running_sums.accumulators",
        "noise = fresh + self._prefixes[level]",
        "noise = fresh + self._prefixes[0]",
    ),
    "bandit:Algorithm 4": Mutation(
        f"{RUNNING}/test_tree.py::test_no_step_lies_in_more_nodes_than_levels",
        "tacit.noise.running_sums.accumulators",
        "while power <= steps:  # integers",
        "while power < steps:  # integers",
    ),
    "bandit:Algorithm 5": Mutation(
        f"{RUNNING}/test_tree.py::test_noise_of_ones_counts_the_binary_ones",
        "tacit.noise.running_sums.accumulators",
        "for lower in range(level + 1):  # a multiple",
        "for lower in range(level):  # a multiple",
    ),
    "bandit:Lemma C.1": Mutation(
        f"{BANDIT}/test_bandit_fw.py::test_without_noise_the_leader_follows_the_exact_sums",
        BANDIT_FW,
        "weights = (self._n / self.plan.zeta)",
        "weights = (1 / self.plan.zeta)",
    ),
    "bandit:Lemma C.2": Mutation(
        FORMULA, BANDIT_FW, "variance + length * (length - 1) * steepest**2", "variance + length * steepest**2"
    ),
    "bandit:Lemma C.3": Mutation(FORMULA, BANDIT_FW, "(noise + length * steepest) ** 2", "noise**2"),
    "bandit:Lemma C.4": Mutation(
        "tests/solvers/test_frank_wolfe.py::test_the_gap_bounds_the_squared_distance_and_the_calls_are_bounded",
        "tacit.solvers.frank_wolfe",
        "ceil(6.75 * self._domain.diameter**2 / self._tolerance) + 1",
        "ceil(6.75 * self._domain.diameter**2) + 1",
    ),
    "bandit:Corollary C.5": Mutation(
        FORMULA, BANDIT_FW, "map_error=eta * lag + (batches - 2) *", "map_error=eta * lag + 0 *"
    ),
    "bandit:Appendix D": Mutation(
        f"{BANDIT}/test_margin.py::test_points_leave_the_set_by_the_margin_and_no_farther",
        BANDIT_FW,
        "return beyond, (zeta - beyond) / problem",
        "return beyond, zeta / problem",
    ),
    "bandit:Section 2, doubling": Mutation(
        f"{BANDIT}/test_bandit_fw.py::TestUnknownHorizon::test_epochs_agree_with_single_rounds_and_restore",
        "tacit.runtime.doubling",
        "return int(FIRST_EPOCH * (2**self._index - 1))",
        "return int(FIRST_EPOCH * 2**self._index)",
    ),
    "online-to-batch:Theorem 1": Mutation(
        f"{STOCHASTIC}/test_online_to_batch.py::test_without_noise_it_is_the_anytime_conversion",
        f"{CONVERSION}.online_to_batch",
        "(following / self._weight_sum) *",
        "(weight / self._weight_sum) *",
    ),
    "online-to-batch:Algorithm 1": Mutation(
        f"{STOCHASTIC}/test_online_to_batch.py::test_noise_has_the_scale_of_its_own_step",
        f"{CONVERSION}.online_to_batch",
        "self._sums.add(total, self._sensitivity) / plan.batch",
        "self._sums.add(total, self._sensitivity * t) / plan.batch",
    ),
    "online-to-batch:Theorem 3": Mutation(
        f"{STOCHASTIC}/test_online_to_batch.py::test_the_contract",
        f"{CONVERSION}.online_to_batch",
        "return self.grid.scale / self.batch",
        "return self.grid.scale / self.batch / 2",
    ),
    "online-to-batch:Theorem 4": Mutation(
        RISKS, f"{CONVERSION}.descent", "np.sum(errors.sampling[:-1])", "np.sum(errors.sampling[:-2])"
    ),
    "online-to-batch:Theorem 6": Mutation(
        RISKS, f"{CONVERSION}.descent", "+ float(np.sum(sizes[:1] ** 2))", "+ float(np.sum(changes[:1] ** 2))"
    ),
    "online-to-batch:Lemma 7": Mutation(
        f"{STOCHASTIC}/test_online_learners.py::test_the_conversion_adds_half_of_the_curvature",
        f"{CONVERSION}.descent",
        '"weight", weight) * self.strong_convexity / 2',
        '"weight", weight) * self.strong_convexity',
    ),
    "online-to-batch:Theorem 8": Mutation(
        RISKS,
        f"{CONVERSION}.descent",
        "2 * (errors.sampling**2 +",
        "1 * (errors.sampling**2 +",
    ),
    "online-to-batch:Theorem 10": Mutation(
        f"{STOCHASTIC}/test_certificates.py::test_scales_that_follow_the_noise_need_another_quantile",
        f"{CONVERSION}.conversion",
        "sqrt(dimension + 2 * sqrt(dimension * level) + 2 * level)",
        "sqrt(dimension + 2 * level)",
    ),
    "online-to-batch:Theorem 11": Mutation(
        f"{STOCHASTIC}/test_certificates.py::test_penalties_pull_towards_the_start",
        f"{CONVERSION}.betting",
        "gradient + away * (penalty / distance)",
        "gradient - away * (penalty / distance)",
    ),
    "online-to-batch:Lemma 13": Mutation(
        f"{STOCHASTIC}/test_norms.py::test_the_martingale_constant_is_the_smallest_possible",
        f"{CONVERSION}.norms",
        "return self.dual - 1",
        "return (self.dual - 1) / 2",
    ),
    "online-to-batch:Lemma 15": Mutation(
        f"{STOCHASTIC}/test_online_to_batch.py::test_an_honest_loss_is_not_clipped_and_attains_its_constants",
        f"{CONVERSION}.online_to_batch",
        "_weighted(slopes * _shares(sizes, clip), features, each)",
        "_weighted(slopes * _shares(sizes, clip / 2), features, each)",
    ),
    "online-to-batch:Lemma 16": Mutation(
        f"{STOCHASTIC}/test_weighting.py::test_growing_noise_agrees_with_the_matrices",
        f"{CONVERSION}.conversion",
        "total[step - base ** node_level(step, base)] + square",
        "total[step - 1] + square",
    ),
    "online-to-batch:Algorithm 2": Mutation(
        f"{RUNNING}/test_contract.py::test_growing_sensitivities_scale_only_the_fresh_noise",
        "tacit.noise.running_sums.accumulators",
        "record, fresh, stretch = self._inputs(x, sensitivity)",
        "record, fresh, stretch = self._inputs(x, 1.0)",
    ),
    "online-to-batch:Theorem 17": Mutation(
        f"{RUNNING}/test_contract.py::test_column_norm_covers_every_predictable_growth",
        "tacit.noise.running_sums.tree",
        "return float(self.nodes)",
        "return float(self.nodes) / 2",
    ),
    "online-to-batch:Lemma 18": Mutation(
        "tests/accounting/test_curves.py::test_gaussian_delta_is_exact_and_rounded_up",
        "tacit.accounting.curves",
        "return gaussian_delta(self.mu, epsilon)",
        "return gaussian_delta(self.mu / 2, epsilon)",
    ),
    "online-to-batch:Theorem 19": Mutation(
        f"{STOCHASTIC}/test_norms.py::test_exponential_noise_has_its_density",
        f"{CONVERSION}.norms",
        "generator.standard_gamma(count) / length",
        "generator.standard_gamma(count - 1) / length",
    ),
    "online-to-batch:Lemma 20": Mutation(
        RISKS, f"{CONVERSION}.descent", "weights * (mu / 2 * self.diameter)", "weights * (mu / 4 * self.diameter)"
    ),
}


def main(*keys: str) -> int:
    """Run the test of a mutation with its edit in place; without a key the tests of all of them, unedited."""
    os.chdir(ROOT)
    for key in keys:
        sys.meta_path.insert(0, Planted(MUTATIONS[key]))
    tests = sorted({MUTATIONS[key].test for key in keys or MUTATIONS})
    return int(pytest.main([*tests, "-x", "-q", "-p", "no:cacheprovider"]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""One wrong edit of the code of each row of `docs/coverage.md`: a test that the row names must fail because of it.

Run one of them from the folder `tests`: `python -m docs.coverage_mutations "ctrl:Lemma 2"`. The exit code is that of
pytest: 1 if a test failed, as it must. Without a name all tests are run with no edit, and must pass.
"""

import os
import re
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "coverage.md"


def table(text: str) -> list[list[str]]:
    """The cells of each row of the only table in a text, its header first."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def named(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


_PARTS = re.split(r"^## .*\{ #([\w-]+) \}$", PAGE.read_text(), flags=re.MULTILINE)
PAPERS = dict(zip(_PARTS[1::2], map(table, _PARTS[2::2]), strict=True))
"""The rows of each paper, by its anchor."""
ROWS = {
    f"{paper}:{cells[0]}": cells
    for paper, (_, *rows) in PAPERS.items()
    for cells in rows
    if named(cells[2]) and "`tests/" in cells[4]
}


def edited(text: str, old: str, new: str) -> str:
    """The text of a module with the edit; the old piece must stand there once."""
    if text.count(old) != 1:
        raise ValueError(f"This text must stand there once, not {text.count(old)} times: {old}")
    return text.replace(old, new)


class Edited(SourceFileLoader):
    """Loads a module with an edit, past the stored bytecode."""

    def __init__(self, module: str, path: str, edit: tuple[str, str]) -> None:
        super().__init__(module, path)
        self._edit = edit

    def get_code(self, fullname: str):
        """The code of the edited text."""
        return compile(edited(Path(self.path).read_text(), *self._edit), self.path, "exec")


class Planted(MetaPathFinder):
    """Finds the edited module in place of the one that is there."""

    def __init__(self, key: str) -> None:
        self._module, self._edit = MUTATIONS[key]

    def find_spec(self, fullname, path, target=None) -> ModuleSpec | None:
        """The edited module, and no other."""
        if fullname != self._module:
            return None
        found = PathFinder.find_spec(fullname, path)
        found.loader = Edited(fullname, found.origin, self._edit)
        return found


EDITS: dict[str, dict[str, tuple[str, str]]] = {
    "tacit.algorithms.convex.ctrl.coupled": {
        "ctrl:Algorithm 1": (
            "np.log1p(self._loss.strength / ladder[:-1])",
            "np.log1p(self._loss.strength / ladder[1:])",
        ),
        "ctrl:Lemma 2": ("(2 * before + gradients) * gradients", "(before + gradients) * gradients"),
    },
    "tacit.algorithms.convex.ctrl.certificate": {
        "ctrl:Theorem 4": ("+ g**2 * self.eta * t +", "+ g**2 * self.eta * t / 2 +"),
        "ctrl:Lemma 5": ("if mean <= limit else 1.0", "if mean <= limit else 0.0"),
        "ctrl:Theorem 6": (
            "move = sides * m * lipschitz / sigma\n    if linear_model",
            "move = sides * m * lipschitz / sigma / 2\n    if linear_model",
        ),
        "ctrl:Lemma 7": (
            "self.dimension * float(np.log1p(eta * self.smoothness))",
            "float(np.log1p(eta * self.smoothness))",
        ),
        "ctrl:Lemma 10": ("-float(ndtri(miss / 2))", "-float(ndtri(miss))"),
        "ctrl:Theorem 11": ("(sides * (lipschitz / sigma) ** 2 +", "((lipschitz / sigma) ** 2 +"),
        "ctrl:Lemma 19": ("bdtrc(limit, tosses,", "bdtrc(limit + 1, tosses,"),
        "ctrl:Lemma 20": ("facts.log_growth(self.eta) - ratio**2 / 2) / ratio", "facts.log_growth(self.eta)) / ratio"),
        "ctrl:Lemma 24": ("float(growth + ratio**2 / 2 + ratio * quantile)", "float(growth + ratio * quantile)"),
        "ctrl:Claim 26": ("(eta * smoothness) ** 2 * degrees)", "(eta * smoothness) ** 2)"),
    },
    "tacit.algorithms.convex.ctrl.ctrl": {
        "ctrl:Theorem 8": (
            "Certificate(facts, eta, sigma, rounds ** (-1 / 3)",
            "Certificate(facts, eta, sigma, rounds ** (-1 / 2)",
        ),
    },
    "tacit.algorithms.convex.ctrl.lazy_oco": {
        "ctrl:Theorem 9": ("self.eta * self.batch * g**2 * t / 2", "self.eta * g**2 * t / 2"),
        "ctrl:Theorem 12": ("+ g**2 * self.eta * t +", "+ g**2 * self.eta * t / 2 +"),
        "ctrl:Theorem 13": ("ranges += q**2 / (2 * before) +", "ranges +="),
        "ctrl:Lemma 21": ("2 * g * sigma * np.sqrt(t) * q", "2 * g * sigma * q"),
        "ctrl:Algorithm 2": (
            "clocks = np.where((t == 1) & (clocks < inf), 0.0, clocks)",
            "clocks = np.where((t == 2) & (clocks < inf), 0.0, clocks)",
        ),
        "ctrl:Theorem 28": ("(g**2 + d * self.sigma**2)", "(g**2 + self.sigma**2)"),
    },
    "tacit.algorithms.lipschitz.lipschitz_grid": {
        "ctrl:Theorem 14": ("return 1.5 - 2.0 ** (-self.bits - 1)", "return 1.0 - 2.0 ** (-self.bits - 1)"),
    },
    "tacit.algorithms.experts.hedge_on_sums": {
        "ctrl:Theorem 15": ("log(n) / eta + eta * rounds / 8 + noise", "log(n) / eta + eta * rounds / 8 + noise / 2"),
        "ctrl:Lemma 16": ("clip_rows(product[None], norm)[0]", "clip_rows(product[None], 2 * norm)[0]"),
        "ctrl:Lemma 30": ("np.asarray(self.inverse @ sums)", "np.asarray(self.matrix.T @ sums)"),
    },
    "tacit.accounting.composition": {
        "ctrl:Lemma 17": (
            "return Composition(tuple(curves), None if deltas is None else tuple(deltas))",
            "return Composition(tuple(curves), None)",
        ),
        "l2p:Lemma A.3": (
            "return Composition(tuple(curves), None if deltas is None else tuple(deltas))",
            "return Composition(tuple(curves[1:]), None if deltas is None else tuple(deltas[1:]))",
        ),
        "tracking:Lemma A.1": ("        return joint(curves)\n", "        return joint(curves[1:])\n"),
        "tracking:Lemma A.2": (
            "return min(self.pure(), self.joint.epsilon(delta), self._basic(delta)) if delta > 0",
            "return min(self.pure(), self.joint.epsilon(delta)) if delta > 0",
        ),
        "tracking:Lemma A.3": ("self.add(inner, count * times)", "self.add(inner, count * (times - 1))"),
    },
    "tacit.runtime.two_chains": {
        "l2p:Algorithm 1": ("if not self._reference_kept():", "if self._reference_kept():"),
        "l2p:Lemma 3.7": (
            "min(self._limit, max(-self._limit, ratio))",
            "min(2 * self._limit, max(-self._limit, ratio))",
        ),
    },
    "tacit.algorithms.experts.l2p": {
        "l2p:Theorem 3.2": (
            "draw=BoundedRange(moved * rounds_per_person)",
            "draw=BoundedRange(moved * rounds_per_person / 2)",
        ),
        "l2p:Lemma 3.4": (
            "self._most = plan.constant + plan.batch * LOSS_UNITS",
            "self._most = plan.constant + (plan.batch + 1) * LOSS_UNITS",
        ),
        "l2p:Lemma 3.9": ("return -feedback.item(decision)", "return feedback.item(decision)"),
    },
    "tacit.algorithms.experts.lazy_experts": {
        "l2p:Proposition 3.3": (
            "tuned.rate * rounds * tuned.batch / 8 + rounds * hit",
            "tuned.rate * rounds / 8 + rounds * hit",
        ),
        "l2p:Theorem 3.10": ("width = eta * relation.sides * rounds_per_person", "width = eta * rounds_per_person"),
        "tracking:Proposition 4.2": ("draw=BoundedRange(width + extra)", "draw=BoundedRange(width / 2 + extra)"),
    },
    "tacit.accounting.curves": {
        "l2p:Lemma 3.6": ("orders * self.width * (self.width / 8)", "orders * self.width * (self.width / 16)"),
        "online-to-batch:Lemma 18": (
            "return gaussian_delta(self.mu, epsilon)",
            "return gaussian_delta(self.mu / 2, epsilon)",
        ),
    },
    "tacit.algorithms.convex.l2p_convex.l2p_convex": {
        "l2p:Lemma 3.11": (
            "mu = share * problem.lipschitz * sqrt(2 * tuned.rate",
            "mu = share * problem.lipschitz * sqrt(tuned.rate / 2",
        ),
        "l2p:Theorem 3.12": ("return relation.sides * tuned.clip", "return tuned.clip"),
    },
    "tacit.accounting.lazy": {
        "l2p:Lemma 3.8": (
            "(log_mixture(chance, log_draw) for chance in ends)",
            "(log_mixture(chance / 2, log_draw) for chance in ends)",
        ),
        "l2p:Lemma A.2": (
            "return np.maximum(extra[0], 0.0) * float(min(rounds, parts))",
            "return np.maximum(extra[0], 0.0)",
        ),
    },
    "tacit.accounting.conversion": {
        "l2p:Lemma A.5": ("(np.log(delta) + np.log(orders)) / gap", "np.log(delta) / gap"),
    },
    "tacit.planning.lower_bounds": {
        "l2p:Lemma C.2": ("steps = 1 if target.relation is REPLACE else 2", "steps = 1"),
        "tracking:Section 3, lower bound": ("np.clip(rounds - 1 - (people - 1) *", "np.clip(rounds - 1 - people *"),
    },
    "tacit.noise.noisy_vectors": {
        "tracking:Lemma 2.2": ("records.pure_shift(noise, units) * rounds", "records.pure_shift(noise, units)"),
    },
    "tacit.noise.selection": {
        "tracking:Lemma 2.3": ("(2 * sensitivity / epsilon)", "(sensitivity / epsilon)"),
    },
    "tacit.algorithms.tracking.restart_on_shift": {
        "tracking:Lemma 2.4": (
            "level + one_draw(uniforms, laplace_rate(epsilon_threshold, width))",
            "level + one_draw(uniforms, 2 * laplace_rate(epsilon_threshold, width))",
        ),
        "tracking:Algorithm 2": (
            "return self.relation.sides * self.rounds_per_person",
            "return self.rounds_per_person",
        ),
    },
    "tacit.algorithms.tracking.limited_updates": {
        "tracking:Algorithm 1": (
            "return self._local & (self._local + 1) == 0 and self._local > 0",
            "return self._local & (self._local - 1) == 0 and self._local > 0",
        ),
        "tracking:Theorem 3.1": ("log(n * horizon * (horizon + 1) / failure)", "log(n * horizon / failure)"),
    },
    "tacit.algorithms.tracking.thresholds": {
        "tracking:Theorem 3.2": ("pieces, failure) + failure * detector.rounds for", "pieces, failure) for"),
        "tracking:Lemma B.1": ("luck = sqrt(2 * log(2 * detector.n", "luck = sqrt(log(2 * detector.n"),
        "tracking:Lemma B.2": ("sqrt(2 * window * tail)", "sqrt(window * tail)"),
        "tracking:Lemma B.3": ("+ detector.noise(third) + 1 / detector.units", "+ 1 / detector.units"),
        "tracking:Lemma B.4": (
            "detector.noise(rare / 2) + detector.threshold_scale * log(detector.checks)",
            "detector.noise(rare / 2)",
        ),
    },
    "tacit.algorithms.tracking.lazy_fixed_share": {
        "tracking:Theorem 4.1": ("self._rate = plan.eta / LOSS_UNITS", "self._rate = plan.eta / LOSS_UNITS / 2"),
    },
    "tacit.algorithms.tracking.tracking_plan": {
        "tracking:Corollary 4.3": ("return log(n) + max(ends)", "return max(ends)"),
        "tracking:Theorem 5.1": ("if epsilon > critical:", "if epsilon > 2 * critical:"),
        "tracking:Proposition D.1": (
            "sqrt(max(1, problem.switches) / problem.horizon)",
            "sqrt(problem.switches / problem.horizon)",
        ),
    },
    "tacit.algorithms.tracking.noisy_mirror_descent": {
        "tracking:Algorithm 3": (
            "return target.rounds_per_person * move / target.epsilon",
            "return move / target.epsilon",
        ),
    },
    "tacit.algorithms.tracking.noisy_batches": {
        "tracking:Theorem 5.2": (
            "value += (1 - problem.n * floor) * noise.largest_sum(count, log_count)",
            "value += (1 - problem.n * floor) * noise.largest_sum(count, log_count) / 2",
        ),
        "tracking:Theorem C.2": (
            "(eta * batch**2 / 8 + noise.cost(eta))\n    value",
            "(eta * batch**2 / 9 + noise.cost(eta))\n    value",
        ),
        "tracking:Lemma C.3": (
            "sqrt(2 * batches * self.variance * log_count)",
            "sqrt(batches * self.variance * log_count)",
        ),
    },
    "tacit.algorithms.experts.scheduled_experts": {
        "tracking:Theorem C.1": ("if self.batch == 1 else (", "if self.batch <= 2 else ("),
    },
    "tacit.algorithms.bandit.bandit_fw": {
        "bandit:Theorem 1.1": (
            "self.rounds_per_person, n * self.deviation / self.zeta",
            "self.rounds_per_person, self.deviation / self.zeta",
        ),
        "bandit:Algorithm 1": ("solution = self._solver.minimize(slope)", "solution = self._solver.minimize(-slope)"),
        "bandit:Lemma 3.1": ("spread=domain.radius**2 / 2,", "spread=domain.radius**2 / 4,"),
        "bandit:Lemma 5.1": ("sqrt(rounds) * n * lipschitz", "sqrt(rounds) * lipschitz"),
        "bandit:Lemma 5.2": (
            "spread = sqrt(self.problem.domain.hull_dimension) * self.zeta\n        noise",
            "spread = self.zeta\n        noise",
        ),
        "bandit:Lemma 5.4": ("norm = tail + sqrt((1 + sqrt(rounds) / n) * tail)", "norm = tail"),
        "bandit:Lemma 5.5": ("smoothing + left_over * worst +", "smoothing +"),
        "bandit:Lemma C.1": ("weights = (self._n / self.plan.zeta)", "weights = (1 / self.plan.zeta)"),
        "bandit:Lemma C.2": ("variance + length * (length - 1) * steepest**2", "variance + length * steepest**2"),
        "bandit:Lemma C.3": ("(noise + length * steepest) ** 2", "noise**2"),
        "bandit:Corollary C.5": ("map_error=eta * lag + (batches - 2) *", "map_error=eta * lag + 0 *"),
        "bandit:Appendix D": ("return beyond, (zeta - beyond) / problem", "return beyond, zeta / problem"),
    },
    "tacit.algorithms.bandit.bandit_plan": {
        "bandit:Lemma 2.2": ("directions: FloatArray = normals / lengths[:, None]", "directions: FloatArray = normals"),
    },
    "tacit.noise.running_sums.tree": {
        "bandit:Theorem 2.3": (
            "return float(np.sqrt(self.nodes)) * ROUND_UP",
            "return float(np.sqrt(self.nodes - 1)) * ROUND_UP",
        ),
        "online-to-batch:Theorem 17": ("return float(self.nodes)", "return float(self.nodes) / 2"),
    },
    "tacit.algorithms.bandit.noisy_oco": {
        "bandit:Algorithm 2": ("for _ in range(1 + self._delay)]", "for _ in range(2 + self._delay)]"),
        "bandit:Lemma 4.1": (
            "spread / eta + eta / 2 * steps * second_moment",
            "spread / eta + eta / 4 * steps * second_moment",
        ),
    },
    "tacit.noise.running_sums.accumulators": {
        "bandit:Algorithm 3": ("noise = fresh + self._prefixes[level]", "noise = fresh + self._prefixes[0]"),
        "bandit:Algorithm 4": ("while power <= steps:  # integers", "while power < steps:  # integers"),
        "bandit:Algorithm 5": (
            "for lower in range(level + 1):  # a multiple",
            "for lower in range(level):  # a multiple",
        ),
        "online-to-batch:Algorithm 2": (
            "record, fresh, stretch = self._inputs(x, sensitivity)",
            "record, fresh, stretch = self._inputs(x, 1.0)",
        ),
    },
    "tacit.solvers.frank_wolfe": {
        "bandit:Lemma C.4": (
            "ceil(6.75 * self._domain.diameter**2 / self._tolerance) + 1",
            "ceil(6.75 * self._domain.diameter**2) + 1",
        ),
    },
    "tacit.runtime.doubling": {
        "bandit:Section 2, doubling": (
            "return int(FIRST_EPOCH * (2**self._index - 1))",
            "return int(FIRST_EPOCH * 2**self._index)",
        ),
    },
    "tacit.algorithms.stochastic.online_to_batch.online_to_batch": {
        "online-to-batch:Theorem 1": ("(following / self._weight_sum) *", "(weight / self._weight_sum) *"),
        "online-to-batch:Algorithm 1": (
            "self._sums.add(total, self._sensitivity) / plan.batch",
            "self._sums.add(total, self._sensitivity * t) / plan.batch",
        ),
        "online-to-batch:Theorem 3": ("return self.grid.scale / self.batch", "return self.grid.scale / self.batch / 2"),
        "online-to-batch:Lemma 15": (
            "_weighted(slopes * _shares(sizes, clip), features, each)",
            "_weighted(slopes * _shares(sizes, clip / 2), features, each)",
        ),
    },
    "tacit.algorithms.stochastic.online_to_batch.descent": {
        "online-to-batch:Theorem 4": ("np.sum(errors.sampling[:-1])", "np.sum(errors.sampling[:-2])"),
        "online-to-batch:Theorem 6": ("+ float(np.sum(sizes[:1] ** 2))", "+ float(np.sum(changes[:1] ** 2))"),
        "online-to-batch:Lemma 7": (
            '"weight", weight) * self.strong_convexity / 2',
            '"weight", weight) * self.strong_convexity',
        ),
        "online-to-batch:Theorem 8": ("2 * (errors.sampling**2 +", "1 * (errors.sampling**2 +"),
        "online-to-batch:Lemma 20": ("weights * (mu / 2 * self.diameter)", "weights * (mu / 4 * self.diameter)"),
    },
    "tacit.algorithms.stochastic.online_to_batch.conversion": {
        "online-to-batch:Theorem 10": (
            "sqrt(dimension + 2 * sqrt(dimension * level) + 2 * level)",
            "sqrt(dimension + 2 * level)",
        ),
        "online-to-batch:Lemma 16": (
            "total[step - base ** node_level(step, base)] + square",
            "total[step - 1] + square",
        ),
    },
    "tacit.algorithms.stochastic.online_to_batch.betting": {
        "online-to-batch:Theorem 11": (
            "gradient + away * (penalty / distance)",
            "gradient - away * (penalty / distance)",
        ),
    },
    "tacit.algorithms.stochastic.online_to_batch.norms": {
        "online-to-batch:Lemma 13": ("return self.dual - 1", "return (self.dual - 1) / 2"),
        "online-to-batch:Theorem 19": (
            "generator.standard_gamma(count) / length",
            "generator.standard_gamma(count - 1) / length",
        ),
    },
}

MUTATIONS = {key: (module, edit) for module, edits in EDITS.items() for key, edit in edits.items()}
"""The module and the edit of each row."""


def main(*keys: str) -> int:
    """Run the tests of a row with its edit in place; without a key the tests of all rows, unedited."""
    os.chdir(ROOT)
    for key in keys:
        sys.meta_path.insert(0, Planted(key))
    tests = sorted({test for key in keys or MUTATIONS for test in named(ROWS[key][4]) if test.startswith("tests/")})
    return int(pytest.main([*tests, "-x", "-q", "-p", "no:cacheprovider"]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Planted bugs in a learner that decides by features."""

from __future__ import annotations

from math import isqrt
from typing import Any

import numpy as np

from attacks.rows import BILLBOARD, LONG_FEATURES
from planted_bugs.catalogue import Control, around, planting
from tacit.algorithms.contextual import ExploreLinear
from tacit.algorithms.contextual.explore_linear.explore_linear import ExploreLinearLearner
from tacit.algorithms.contextual.explore_linear.release import Lattice
from tacit.auditing.moved_sums import moved_sums
from tacit.auditing.report import Finding
from tacit.noise.randomness import Randomness
from tacit.problems import ContextualArms
from tacit.runtime.small_instances import SmallInstance


def small(features: str = "private", **contract: Any) -> Finding:
    """Attack two actions, two features and six rounds by all coins and neighbours of extreme records."""
    problem = ContextualArms(n=2, dimension=2, horizon=6, features=features)
    plan = ExploreLinear(problem, 0.5, 2, (1.0, 1.0), **contract)
    instance = SmallInstance("enumeration", "planted", plan)
    return moved_sums(instance, Randomness.replayable(3).stream("controls"), pairs=4)


@around
def _coin_of_features(honest: Any, self: Any, number: int, context: Any) -> int:
    """A coin that looks at the features."""
    chosen = int(honest(self, number, context))
    return 1 - chosen if number < self._greedy and context[0] < 0 else chosen


@around
def _reads_greedy(honest: Any, self: Any, features: Any, actions: Any, losses: Any, first: int) -> None:
    """Losses of greedy rounds reach the model without noise."""
    honest(self, features, actions, losses, first)
    if first >= self.plan.explore:
        for row, action, loss in zip(features, actions, np.nan_to_num(losses), strict=True):
            self._weights[action] += np.sign(row) * np.rint(loss) * 2.0**40


@around
def _two_releases(honest: Any, self: Any, closed: int) -> None:
    """Features stay in the sum after they were released."""
    kept = self._features.copy()
    before = self._released
    honest(self, closed)
    if self._released > before:
        self._features = kept


def _unclipped(honest: Any) -> Any:
    return lambda self, features: np.trunc(np.nan_to_num(features) * self._units).astype(np.int64)


def _loud(honest: Any) -> Any:
    """Factors of contrasts for two actions more than there are."""
    return property(lambda self: tuple(isqrt(4 * self.scale**2 // (j * (j + 1))) for j in range(1, self.actions)))


in_contexts = planting("contexts")
CONTROLS: tuple[Control, ...] = (
    in_contexts("a coin that depends on features", ExploreLinearLearner, "_choose", _coin_of_features, small,
                row=BILLBOARD),
    in_contexts("losses of greedy rounds are read", ExploreLinearLearner, "_add", _reads_greedy, small, row=BILLBOARD),
    in_contexts("a round in two releases", ExploreLinearLearner, "_release_at", _two_releases, small),
    in_contexts("features that are not clipped", ExploreLinearLearner, "_quantised", _unclipped, small,
                row=LONG_FEATURES),
    in_contexts("contrasts multiplied by more than was paid for", Lattice, "contrast_factors", _loud, small),
)  # fmt: skip

"""Planted bugs in the learners of a changing world, and in above-threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from planted_bugs.catalogue import Control, around, planting
from planted_bugs.experts import searched
from planted_bugs.sums import replayed
from tacit.algorithms.tracking import lazy_fixed_share as fixed_share
from tacit.algorithms.tracking import limited_updates, recent_leader
from tacit.algorithms.tracking import restart_on_shift as above
from tacit.algorithms.tracking import restart_on_shift as restarts
from tacit.algorithms.tracking import tracking_on_sums as on_sums
from tacit.algorithms.tracking.limited_updates import SelectionLearner
from tacit.algorithms.tracking.restart_on_shift import AboveThreshold
from tacit.auditing.certified_law import above_threshold, isolation
from tacit.auditing.report import Finding
from tacit.auditing.script import race_law
from tacit.noise.lattice import quantise_losses
from tacit.noise.noisy_vectors import NoisyVectors
from tacit.noise.randomness import Randomness
from tacit.problems import Tracking
from tacit.runtime.small_instances import SmallInstance

UPDATES = limited_updates.LimitedUpdates(Tracking(n=3, horizon=4, switches=0, adversary="stochastic"), epsilon=1.0)
LONG_UPDATES = limited_updates.LimitedUpdates(Tracking(n=2, horizon=8, switches=0, adversary="stochastic"), epsilon=1.0)
RESTARTS = restarts.RestartOnShift(
    Tracking(n=2, horizon=8, switches=1, adversary="stochastic"), epsilon=4.0, interval=1, slope=0.2, margin=0.0
)
SHARED = fixed_share.LazyFixedShare(Tracking(n=2, horizon=4, switches=1), eta=0.3, force=0.3)
RECENT = recent_leader.RecentLeader(Tracking(n=2, horizon=7, switches=0, adversary="stochastic"), epsilon=1.0, block=2)
ON_SUMS = on_sums.TrackingOnSums(
    Tracking(n=3, horizon=12, switches=1, adversary="stochastic"), eta=0.3, mix=0.3, scale=1.0, block=2
)


def isolated() -> Finding:
    """Attack what a restart remembers."""
    instance = SmallInstance("enumeration", "planted", RESTARTS)
    return isolation(instance, Randomness.replayable(6).stream("controls"), runs=60)


@around
def _bare_threshold(honest: Any, self: AboveThreshold, threshold: int, **settings: Any) -> None:
    honest(self, threshold, **settings)
    self._noisy_threshold = threshold


@around
def _half_noise(honest: Any, self: AboveThreshold, threshold: int, *, width: int, **settings: Any) -> None:
    honest(self, threshold, width=width // 2, **settings)


@around
def _bare_query(honest: Any, self: AboveThreshold, query: int) -> bool:
    """The noisy threshold alone, no noise on queries (Stoddard et al., 2014)."""
    self._spent = bool(self._noisy_threshold < query)
    return self._spent


@around
def _never_spent(honest: Any, self: AboveThreshold, query: int) -> bool:
    """Goes on after "above" with the same threshold, for as many answers as there are (Chen et al., 2015)."""
    return bool(query + above.one_draw(self._uniforms, self._query_rate) > self._noisy_threshold)


@around
def _fresh_thresholds(honest: Any, self: AboveThreshold, query: int) -> bool:
    """A fresh threshold for every query: each answer is paid for, the sum is not."""
    threshold = above.one_draw(self._uniforms, self._query_rate)
    self._spent = bool(query + above.one_draw(self._uniforms, self._query_rate) > threshold)
    return self._spent


@around
def _with_plus(honest: Any, uniforms: Any, rate: float, sums: Any) -> int:
    law = race_law(np.asarray(sums, dtype=float), np.full(len(sums), 1 / rate))
    return int(uniforms.decide(law.tolist))


def _half_selection(honest: Any) -> Any:
    return lambda uniforms, rate, sums: honest(uniforms, 2 * rate, sums)


@around
def _windows_overlap(honest: Any, self: Any, finished: int) -> None:
    """The window's sums are never cleared: a loss enters every later selection."""
    kept = self._sums
    honest(self, finished)
    if self._sums is not kept:
        self._sums = kept


@around
def _keeps_rows(honest: Any, self: Any, finished: int) -> None:
    """After a checkpoint that restarted, the reused row is still there to be summed."""
    restarts_before = len(self._restarts)
    row = self._rows[max(0, self._filled - 1)].copy()
    honest(self, finished)
    if len(self._restarts) > restarts_before:
        self._sums = self._sums + quantise_losses(row)


@around
def _window_of_losses(honest: Any, self: on_sums.TrackingOnSumsLearner, rows: Any, actions: Any) -> None:
    """The window leader looks at the exact losses of the round before."""
    honest(self, rows, actions)
    if self._round + len(rows) < self._horizon:
        self._move(int(np.argmin(rows[-1])))


@around
def _two_looks(honest: Any, self: NoisyVectors, rows: Any) -> Any:
    """The windows see another noisy copy of each block, which nobody paid for."""
    noisy = honest(self, rows)
    if len(noisy):
        self.release(self.grid.records.quantised(rows, self.grid.units, 1.0)[-len(noisy) :])
    return noisy


@around
def _no_force(honest: Any, self: Any, plan: Any, randomness: Any) -> None:
    honest(self, plan, randomness)
    self._stay = 1.0


in_thresholds = planting("thresholds")
in_tracking = planting("tracking")
CONTROLS: tuple[Control, ...] = (
    in_thresholds("threshold without noise", AboveThreshold, "__init__", _bare_threshold, above_threshold),
    in_thresholds("half the width", AboveThreshold, "__init__", _half_noise, above_threshold),
    in_thresholds("sparse vector without query noise", AboveThreshold, "test", _bare_query, above_threshold),
    in_thresholds("sparse vector that is never spent", AboveThreshold, "test", _never_spent, above_threshold,
                  fast=False),
    in_thresholds("sparse vector with fresh thresholds", AboveThreshold, "test", _fresh_thresholds, above_threshold),
    in_tracking("permute-and-flip with plus", limited_updates, "permute_and_flip", _with_plus,
                lambda: searched(UPDATES)),
    in_tracking("selection noise halved", limited_updates, "permute_and_flip", _half_selection,
                lambda: searched(UPDATES)),
    in_tracking("windows overlap", SelectionLearner, "_events", _windows_overlap, lambda: searched(LONG_UPDATES)),
    in_tracking("restart reuses a loss", SelectionLearner, "_events", _keeps_rows, isolated, fast=False),
    in_tracking("missing forced switch (fixed share)", fixed_share.LazyFixedShareLearner, "__init__", _no_force,
                lambda: searched(SHARED, 8), fast=False),
    in_tracking("blocks overlap (recent leader)", SelectionLearner, "_events", _windows_overlap,
                lambda: searched(RECENT)),
    in_tracking("the leader of exact losses (tracking on sums)", on_sums.TrackingOnSumsLearner, "_steps",
                _window_of_losses, lambda: replayed(ON_SUMS)),
    in_tracking("a second noisy copy of each block (tracking on sums)", NoisyVectors, "add", _two_looks,
                lambda: replayed(ON_SUMS)),
)  # fmt: skip

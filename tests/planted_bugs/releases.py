"""Planted bugs in declarations: a release left out, or a sensitivity halved, in each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from planted_bugs.catalogue import Control, around, both, planting, swap
from planted_bugs.tested import by_test
from tacit.accounting.curves import BoundedRange, Gaussian, Pure, SamplerError
from tacit.accounting.guarantee import REPLACE
from tacit.algorithms import (
    BatchedTsallis,
    ExploreLinear,
    HedgeOnSums,
    L2PConvex,
    LazyExperts,
    NoisyMirrorDescent,
    RecentLeader,
    Responses,
    RestartOnShift,
    ScheduledExperts,
)
from tacit.auditing.report import Finding
from tacit.auditing.run import ATTACKS, Effort
from tacit.domains import Ball
from tacit.losses import LinearLoss
from tacit.noise.randomness import Randomness
from tacit.problems import (
    Arms,
    ContextualArms,
    Convex,
    Experts,
    Policies,
    Tracking,
)
from tacit.releases import (
    Apart,
    Coin,
    Epochs,
    GibbsDraw,
    Grouped,
    Inexact,
    LazyChain,
    LinearProducts,
    Minimisers,
    NoisyBatches,
    NoisyBits,
    NoisySums,
    PerturbedMinimiser,
    Repeated,
    Response,
    Selection,
    Sized,
    Softmax,
    Together,
)
from tacit.releases import minimisers as of_points
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance

EXPERTS = Experts(n=2, horizon=6)
SHIFTING = Tracking(n=2, horizon=6, switches=1, adversary="stochastic")


def attacked(make: Callable[[], Plan], attack: Any, budget: float = 0.05) -> Callable[[], Finding]:
    """Return an attack on a small instance of a plan that is made while the bug lives."""

    def run() -> Finding:
        plan = make()
        small = next(small for small in plan.small_instances() if small.attack == attack)
        effort = Effort(3, budget, Randomness.replayable(3))
        found = ATTACKS[attack](small, effort)
        return next((finding for finding in found if finding.violation), found[0])

    return run


def scheduled() -> Plan:
    """Draw among two experts after every round."""
    return ScheduledExperts(EXPERTS, eta=0.3)


def lazy() -> Plan:
    """Hold one of two experts by a coin."""
    return LazyExperts(EXPERTS, eta=0.3, force=0.3, relative=False)


def restarting() -> Plan:
    """Restart on shifts, with thresholds that are often exceeded."""
    return RestartOnShift(SHIFTING, 3.0, 1, 0.5, 0.0)


def calibrated(kind: Any, problem: Any, delta: float = 1e-6, **options: Any) -> Callable[[], Plan]:
    """Return what calibrates an algorithm; bugs in declarations change what is drawn."""
    return lambda: kind.calibrate(problem, epsilon=1.0, delta=delta, **options)


def points() -> Finding:
    """Attack fresh draws on an interval, which say much."""
    line = Convex(domain=Ball(1), loss=LinearLoss(), horizon=100)
    plan = L2PConvex(line, 0.05, 60.0, 0.3, 0.05, 8)
    quiet = plan.small_instances()[0].plan
    assert isinstance(quiet, L2PConvex)
    loud = replace(quiet, rate=0.4, regularisation=5.0, force=1.0)
    small = SmallInstance("integrated interval", "planted", loud)
    (found,) = ATTACKS["integrated interval"](small, Effort(3, 0.2, Randomness.replayable(3)))
    return found


def halved(curve: Any) -> Any:
    """Return the curve of half of the privacy."""
    if isinstance(curve, Pure):
        return Pure(curve.value / 2)
    if isinstance(curve, BoundedRange):
        return BoundedRange(curve.width / 2)
    if isinstance(curve, Gaussian):
        return Gaussian(curve.mu / 2)
    return replace(curve, curve=halved(curve.curve))


@around
def _half(honest: Any, release: Any, *among: Any) -> Any:
    """One person moves half of what it moves."""
    return halved(honest(release, *among))


@around
def _last_left_out(honest: Any, release: Repeated, among: Any) -> Any:
    return honest(replace(release, times=max(0, release.times - 1)), among)


@around
def _tosses_left_out(honest: Any, release: LazyChain, among: Any) -> Any:
    return honest(replace(release, tosses=release.tosses // 2), among)


@around
def _draws_left_out(honest: Any, release: LazyChain, among: Any) -> Any:
    return replace(honest(release, among), draw=BoundedRange(0.0))


@around
def _half_pull(honest: Any, release: PerturbedMinimiser, among: Any) -> Any:
    return honest(replace(release, lipschitz=release.lipschitz / 2), among)


@around
def _half_slope(honest: Any, release: Minimisers, among: Any) -> Any:
    return honest(replace(release, move=release.move / 2), among)


@around
def _no_determinant(honest: Any, trace: float, rank: int) -> float:
    return 0.0


@around
def _first_part(honest: Any, release: Together, among: Any) -> Any:
    return release.parts[0].curve(among)


@around
def _parts_alone(honest: Any, release: Apart, among: Any) -> Any:
    """What the parts cost, whatever is promised of all together."""
    return release.release.curve(among)


@around
def _draws_of_one(honest: Any, release: Grouped, among: Any) -> Any:
    """As many draws as a person has units, whatever a unit draws."""
    curve = honest(release, among)
    return replace(curve, draws=release.units) if isinstance(curve, SamplerError) else curve


ENUMERATED = "enumeration"
REPLAYED = "replayed noise"
KINDS = "releases.test_kinds"
LEMMAS = "releases.test_lemmas"
in_releases = planting("releases")
CONTROLS: tuple[Control, ...] = (
    in_releases("half a loss enters a declared draw", Softmax, "curve", _half,
                attacked(scheduled, ENUMERATED)),
    in_releases("the last declared draw is left out", Repeated, "curve", _last_left_out,
                attacked(scheduled, ENUMERATED)),
    in_releases("half of the declared tosses are left out", LazyChain, "curve", _tosses_left_out,
                attacked(lazy, ENUMERATED)),
    in_releases("draws of a chain are not declared", LazyChain, "curve", _draws_left_out,
                attacked(lazy, ENUMERATED)),
    in_releases("half a loss enters a declared coin", Coin, "bit",
                around(lambda honest, coin, among: honest(coin, among) / 8),
                by_test(LEMMAS, "test_coins_move_as_far_as_lemma_4_says", REPLACE, True)),
    Control("a selection is declared at half its price", "releases",
            both(swap(Selection, "own_curve", _half), swap(Apart, "curve", _parts_alone)),
            attacked(lambda: RecentLeader(SHIFTING, 1.0, 2), ENUMERATED)),
    in_releases("disjoint releases are declared at half their price", Apart, "curve", _half,
                attacked(lambda: RecentLeader(SHIFTING, 1.0, 2), ENUMERATED)),
    Control("tests beside selections are not declared", "releases",
            both(swap(Together, "curve", _first_part), swap(Apart, "curve", _parts_alone)),
            attacked(restarting, ENUMERATED)),
    in_releases("bits are declared at half their price", NoisyBits, "own_curve", _half,
                attacked(calibrated(BatchedTsallis, Arms(n=2, horizon=1000), 0.0),
                         "enumerated arms", 1.0)),
    in_releases("responses are declared at half their price", Response, "own_curve", _half,
                attacked(calibrated(Responses, Policies(n=2, actions=2, horizon=1000), 0.0),
                         "enumerated arms", 1.0)),
    in_releases("running sums are declared at half their price", NoisySums, "own_curve", _half,
                attacked(lambda: replace(calibrated(HedgeOnSums, EXPERTS, 0.0)()), REPLAYED, 1.0)),
    in_releases("batches are declared at half their price", NoisyBatches, "curve", _half,
                attacked(calibrated(NoisyMirrorDescent, SHIFTING, 0.0, noise="cube", batch=2),
                         REPLAYED, 1.0)),
    in_releases("products are declared at half their price", LinearProducts, "mu",
                around(lambda honest, release, among: honest(release, among) / 2),
                attacked(calibrated(ExploreLinear, ContextualArms(n=2, dimension=2, horizon=20000)),
                         "moved sums", 0.2)),
    in_releases("points are declared at half their price", GibbsDraw, "curve", _half,
                points, fast=False),
    in_releases("half the pull on a perturbed minimiser", PerturbedMinimiser, "curve", _half_pull,
                by_test(LEMMAS, "test_perturbed_minimisers_are_pulled_by_all_sides", REPLACE, 2)),
    in_releases("determinants of minimisers are left out", of_points, "log_growth", _no_determinant,
                by_test(LEMMAS, "test_perturbed_minimisers_are_pulled_by_all_sides", REPLACE, 2)),
    in_releases("half the slope of a final model", Minimisers, "curve", _half_slope,
                by_test(LEMMAS, "test_final_models_move_by_all_sides")),
    in_releases("noise is priced for whoever asks", Sized, "check_covers",
                lambda _: lambda self, among: None,
                by_test(KINDS, "test_parts_that_refuse_are_refused_by_what_contains_them")),
    in_releases("rates are believed", Sized, "check_cost",
                lambda _: lambda self, *numbers: None,
                by_test(KINDS, "test_sized_noise_that_costs_more_than_it_says_is_refused")),
    in_releases("a group pays for the draws of one", Grouped, "curve", _draws_of_one,
                by_test(KINDS, "test_a_group_pays_for_every_draw")),
    in_releases("only the first epoch is looked at", Epochs, "own_curve",
                lambda _: lambda self: self.shared_curve(),
                by_test(KINDS, "test_epochs_pay_for_every_round_and_every_draw")),
    in_releases("inexact draws are taken for exact ones", Inexact, "curve",
                lambda _: lambda self, among: self.release.curve(among),
                by_test(LEMMAS, "test_inexact_draws_are_paid_for", 9)),
)  # fmt: skip

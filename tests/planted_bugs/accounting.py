"""Planted bugs in the accountant itself: each lets it state less than a mechanism leaks, shown by exact references."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import mpmath
import numpy as np

import tacit
from planted_bugs.catalogue import Control, around, planting, swap
from planted_bugs.tested import by_test
from tacit.accounting import chain_profiles, composition, conversion, guarantee, lazy
from tacit.accounting import chain_profiles as few_steps
from tacit.accounting import chain_profiles as smoothed_walk
from tacit.accounting import objective_perturbation as linked_accounting
from tacit.accounting.curves import Approximate, BoundedRange, Gaussian, Pure, Renyi, Repeated
from tacit.accounting.guarantee import REPLACE, ZERO_OUT, Guarantee
from tacit.algorithms.arms.arm_plan import ArmPlan
from tacit.algorithms.arms.batched_tsallis.batched_tsallis import BatchedTsallis
from tacit.algorithms.experts import HedgeOnSums
from tacit.auditing.report import Finding
from tacit.noise import noisy_vectors
from tacit.problems import Arms, Experts
from tacit.runtime import doubling
from tacit.verification import algorithms, experiments
from tacit_experiments.contract import Promise


def _compared(instance: str, quantity: str, certified: float, lower: float) -> Finding:
    """What is certified, against what an exact reference shows at least."""
    return Finding("reference", instance, quantity, certified, lower, violation=bool(lower > certified))


def tiny_delta() -> Finding:
    """A Gaussian step at an epsilon where its delta is no float: it is not pure all the same."""
    curve = lazy.LazyChain(1, 0.7, 0.7, 0.0, Gaussian(1e-3))
    return _compared("a draw in Gaussian noise", "delta at epsilon=700", curve.delta(700.0), 5e-324)


def two_failures() -> Finding:
    """Two mechanisms that reveal everything with probability .01, and nothing otherwise."""
    whole = composition.compose([Approximate(0.0, 0.01), Approximate(0.0, 0.01)])
    return _compared("two failing mechanisms", "delta at epsilon=1", whole.delta(1.0), 1 - 0.99**2)


def mixed_relations() -> Finding:
    """Laplace noise for zeroed-out rounds at epsilon = 1 has epsilon = 2 for replaced ones, and 1 is spent on them."""
    zeroed = Guarantee(Pure(1.0), 0.0, "a noisy sum", "Laplace mechanism", relation=ZERO_OUT)
    whole = zeroed.as_replacement().compose(replace(zeroed, relation=REPLACE))
    return _compared("Laplace sums", "epsilon at delta=0", whole.epsilon(0.0), 3.0)


def loud_arms() -> Finding:
    """Arms at an epsilon beyond their largest rate, against what follows from that rate."""
    made = tacit.contract(BatchedTsallis(Arms(n=2, horizon=8, adversary="oblivious"), 100.0, 1, 0.5, 0.05, 0.1))
    detail, follows = str(tacit.verify(made)), tacit.verify(made).answer == "yes"
    return Finding("reference", "loud arms", "verdict", 0.0, float(not follows), not follows, detail=detail, check=True)


def shown_epsilon() -> Finding:
    """What a contract prints, against what it certifies."""
    contract = Guarantee(Pure(0.50001), 0.0, "an answer", "randomised response")
    shown = float(str(contract).split("epsilon=")[1].split(" ")[0])
    return _compared("a printed contract", "epsilon", shown, contract.epsilon())


def wide_draws(count: int, end: float) -> Finding:
    """Draws of range 2 whose losses are always `end` and `end` - 2: a binomial walk."""
    curve, epsilon = Repeated(BoundedRange(2.0), count), 1.2 * count
    with mpmath.workdps(30):
        up = mpmath.expm1(end - 2) / mpmath.expm1(-2)
        places = (
            (end * count - 2 * k, mpmath.binomial(count, k) * up ** (count - k) * (1 - up) ** k) for k in range(count)
        )
        exact = sum(chance * max(0, 1 - mpmath.exp(epsilon - place)) for place, chance in places)
    return _compared("draws of bounded range", f"delta at epsilon={epsilon:g}", curve.delta(epsilon), float(exact))


def likely_redraw() -> Finding:
    """One toss, e^-.4 or e^-.1 to keep: a redraw is 3.5 times as likely under one neighbour, and shows."""
    chain = lazy.LazyChain(1, np.exp(-0.4), np.exp(-0.1), 0.3, BoundedRange(0.6))
    redraw, other = -np.expm1(-0.4), -np.expm1(-0.1)
    return _compared("one toss", "delta at epsilon=1", chain.delta(1.0), float(redraw - np.e * other))


def many_tosses() -> Finding:
    """Fifty tosses that draw with probability 1/2, the losses of a draw +-.3: a walk, without the coin that differs."""
    chain = lazy.LazyChain(51, 0.5, 0.6, 0.1, BoundedRange(0.6))
    up = 1 / (1 + np.exp(-0.3))
    law = np.ones(1)
    for _ in range(50):
        law = np.convolve(law, [0.5 * (1 - up), 0.5, 0.5 * up])
    places = 0.3 * np.arange(-50, 51)
    exact = float(law @ np.maximum(0.0, -np.expm1(4.0 - places)))
    return _compared("fifty tosses", "delta at epsilon=4", chain.delta(4.0), exact)


def _no_curvature(honest: Any) -> Any:
    """The slope's share alone: where the loss is steep it is flat, so its curvature is forgotten altogether."""
    return lambda self, normal: honest(replace(self, growth=0.0), normal)


def _half_the_range(honest: Any) -> Any:
    """The loss that is the worst for very many draws, taken for the worst of all."""
    return lambda width, kappa: width / 2


def _middle_only(honest: Any) -> Any:
    """Step by step, but only t = r/2 is tried."""

    def drawn(self: few_steps.WorstDraws) -> Any:
        half = few_steps._CELLS // 2 * self._step
        up = 1 / (1 + np.exp(-half))
        at = self._epsilons
        return up * self._at(at - half, self._values) + (1 - up) * self._at(at + half, self._values)

    return property(drawn)


def _first_vertex(honest: Any) -> Any:
    return lambda *coin: honest(*coin)[:1]


@around
def _least_redraws(honest: Any, self: chain_profiles.ChainProfile, *args: Any, **kwargs: Any) -> Any:
    """Tosses of other batches are taken to redraw as rarely as they may."""
    found = honest(self, *args, **kwargs)
    return replace(found, tosses=tuple((count, chance / 2) for count, chance in found.tosses))


@around
def _first_of_none(honest: Any, self: chain_profiles.ChainProfile, guess: float, delta: float, known: float) -> float:
    """Where no epsilon that is tried has delta, the first one is taken."""
    tried = np.linspace(0.0, known, 9)
    return float(tried[np.argmax(self._best(-1.0, guess)(tried) <= delta)])


@around
def _infinite_is_nothing(honest: Any, renyi: Any, orders: Any) -> Any:
    """What is no finite number in a curve is left out, as a minimum that starts with NaN would."""
    values = np.asarray(renyi(orders))
    return np.where(np.isfinite(values), np.maximum(values, 1e-300), 1e-300)


def _floats_only(honest: Any) -> Any:
    return property(lambda self: lazy.hazards_of(self.keep_low, self.keep_high))


def _largest_failure(honest: Any) -> Any:
    return lambda self: max((failure for failure, _ in self.failures), default=0.0)


def _one_step_less(honest: Any) -> Any:
    return lambda value, count: honest(value, count - 1)


def _same_number(honest: Any) -> Any:
    """A guarantee for zeroed-out rounds is taken for one about replaced ones."""
    return lambda self: replace(self, relation=REPLACE)


VERIFIER = import_module("tacit.verification.verify")  # its package has a function of that name


@around
def _own_delta_only(
    honest: Any, self: Any, leaks: Any, delta: float, stated: float, found: float | None = None
) -> None:
    """Of a curve only the point at the contract's own delta is recomputed."""
    if found is not None:
        honest(self, leaks, delta, stated, found)


in_accounting = planting("accounting")
CONTROLS: tuple[Control, ...] = (
    Control(
        "the words of a contract are believed", "accounting",
        swap(VERIFIER, "check_words", lambda honest: lambda *_: None),
        by_test(
            "verification.test_verify", "test_other_words_than_the_algorithms_are_refused", HedgeOnSums,
            Experts(n=4, horizon=300), "unit", "one record",
        ),
    ),
    in_accounting("the curve of a contract is believed", VERIFIER._Account, "_check_point", _own_delta_only,
                  by_test("verification.test_verify",
                          "test_every_point_of_the_curve_is_recomputed", HedgeOnSums, 0, 0.95)),
    in_accounting("an epsilon of experiments may be a millionth too small", experiments, "_ROUNDED",
                  lambda honest: mpmath.mpf("1e-6"),
                  by_test("experiments.test_contract", "test_the_second_accountant_agrees", Promise(1.0, 1e-6, 5))),
    in_accounting("arms state more than their largest rate costs", ArmPlan, "releases",
                  lambda honest: property(lambda plan: replace(honest.func(plan), privacy=plan.epsilon)), loud_arms),
    Control(
        "a form that no plan has is read on", "accounting",
        swap(VERIFIER, "check_schema", lambda honest: lambda *_, **__: None),
        by_test(
            "verification.test_verify", "test_contracts_that_contradict_themselves_raise", HedgeOnSums,
            Experts(n=4, horizon=300), {}, "problem/delay", -1e308,
        ),
    ),
    Control(
        "the noise of a contract is believed, whatever its parameters make", "accounting",
        swap(algorithms, "check_noise", lambda honest: lambda *_: None),
        by_test(
            "verification.test_verify", "test_noise_that_the_parameters_do_not_make_raises", HedgeOnSums,
            Experts(n=4, horizon=300), 1e-6,
        ),
    ),
    in_accounting("infinite divergences left out", conversion, "_divergences", _infinite_is_nothing,
                  by_test("accounting.test_lazy",
                          "test_a_coin_that_may_be_certain_is_never_free", Renyi([2.0], [0.1]))),
    in_accounting("a delta that underflows is pure", conversion, "LEAST_DELTA", lambda honest: 0.0, tiny_delta),
    in_accounting("keep probabilities as floats", lazy.LazyChain, "coin", _floats_only,
                  by_test("accounting.test_lazy", "test_a_coin_below_the_floats_is_seen")),
    in_accounting("half the range is the worst loss", smoothed_walk, "response", _half_the_range,
                  lambda: wide_draws(20, 1.713)),
    in_accounting("half the range is the worst loss, step by step", few_steps.WorstDraws, "_drawn", _middle_only,
                  lambda: wide_draws(10, 1.713)),
    in_accounting("only the first vertex of a coin", chain_profiles, "moved_pairs", _first_vertex, likely_redraw),
    in_accounting("other tosses redraw less than they may", chain_profiles.ChainProfile, "_draws", _least_redraws,
                  many_tosses),
    in_accounting("a search for epsilon ends where it began", chain_profiles.ChainProfile, "_epsilon_near",
                  _first_of_none,
                  by_test("accounting.test_chain_profiles",
                          "test_an_end_that_is_above_delta_among_others_does_not_make_epsilon_zero")),
    Control(
        "curvature forgotten where the loss is not steep", "stochastic",
        swap(linked_accounting.LinkedReleases, "_linked", _no_curvature),
        by_test("algorithms.stochastic.test_linked_accounting", "test_exact_integrals_stay_below", [], 0.05, 2.0),
    ),
    in_accounting("only the largest failure counts", composition.Parts, "failure", _largest_failure, two_failures),
    in_accounting("a response less than there are", composition, "_binomial_walk", _one_step_less,
                  by_test("accounting.test_composition", "test_equal_responses_are_binomial", 0.1, 100)),
    in_accounting("epsilons of both relations added", Guarantee, "as_replacement", _same_number, mixed_relations),
    in_accounting("epochs not held to their target", doubling, "within", lambda honest: lambda *parts: True,
                  by_test("runtime.test_doubling", "test_an_epoch_beyond_the_target_never_begins")),
    in_accounting("cube noise that float64 cannot hold", noisy_vectors, "least_cube_rate",
                  lambda honest: lambda *parts: 2.0**-32,
                  by_test("noise.test_cube",
                          "test_plans_for_many_experts_have_noise_that_float64_holds", 3 * 10**6, 0.01)),
    in_accounting("epsilon shown rounded to nearest", guarantee, "rounded_up",
                  lambda honest: lambda value, digits=4: f"{value:.{digits}g}", shown_epsilon),
)  # fmt: skip

"""Planted bugs in the printed formulas of the paper on lazy algorithms, and in what is said of those who run them."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

from planted_bugs.called import by_call
from planted_bugs.catalogue import planting
from printed import test_l2p as tests
from tacit.algorithms.convex.l2p_convex import l2p_convex
from tacit.algorithms.experts import l2p as learner
from tacit.papers import l2p as paper
from tacit.papers.paper import Result
from tacit.printed import l2p

FORMULAS = tests.TestFormulas()
SETTING = tests.SETTINGS[1]


def formula(name: str) -> Any:
    """Attack by the second typing of a formula."""
    return by_call(name, getattr(FORMULAS, name), *SETTING)


def changed(name: str, factor: float) -> Any:
    """A formula whose entry of this name is wrong by a factor."""
    return lambda honest: (
        lambda *given, **named: honest(*given, **named) | {name: honest(*given, **named)[name] * factor}
    )


def _no_square(honest: Any) -> Any:
    """The second term of Theorem 3.2 with sqrt(ln(1/delta_1)) for ln(1/delta_1)."""

    def broken(rounds: int, eta: float, force: float, batch: int, log_one: float) -> float:
        spread = rounds * eta**2 * force / batch
        return 2 * eta / force + eta + 1.5 * spread * log_one + sqrt(6 * spread * log_one)

    return broken


def _half_slack(honest: Any) -> Any:
    """The attack on a coin with e^{B eta} in place of e^{2 B eta}."""
    return lambda n, decisions, keep, weight, visits: honest(n, decisions, sqrt(keep), weight, visits)


def _silent(honest: Any) -> Any:
    return lambda self, problem, result: replace(honest(self, problem, result), differs=())


def _parameters_or_words() -> None:
    for plan in tests.printed_plans():
        tests.test_running_parameters_are_the_printed_ones_or_differ_by_name(plan)


def _further_result(honest: Any) -> Any:
    return replace(honest, results=(*honest.results, Result("Theorem 3.11", "x", "rate", "x")))


def _numbers() -> None:
    from papers.test_papers import TestPapers

    TestPapers().test_results_are_those_of_the_text("l2p")


ENUMERATED = by_call("enumeration", tests.test_the_attack_is_that_of_an_enumeration, 5, 7, 2, 2)
SPOKEN = by_call("differs", _parameters_or_words)
planted = planting("papers")
CONTROLS = (
    planted("Theorem 3.2: sqrt(ln 1/delta_1) for ln 1/delta_1", l2p, "theorem_3_2_epsilon", _no_square,
            formula("test_theorem_3_2")),
    planted("Theorem 3.2: ln T/delta for ln 2T/delta", l2p, "theorem_3_2_log_one",
            lambda honest: lambda rounds, delta: log(rounds / delta), formula("test_theorem_3_2")),
    planted("Proposition 3.3: B for B^2", l2p, "proposition_3_3_order",
            lambda honest: lambda rounds, eta, batch: rounds * batch * eta**2, formula("test_proposition_3_3")),
    planted("Theorem 3.10: eta without its 2/3", l2p, "theorem_3_10", changed("eta", 10.0 ** (1 / 3)),
            formula("test_theorem_3_10")),
    planted("Theorem 3.12: 2 for 20", l2p, "theorem_3_12", changed("rate", 10.0),
            formula("test_lemma_3_11_and_theorem_3_12")),
    planted("Theorem 3.12: a sqrt(d) is dropped", l2p, "theorem_3_12",
            lambda honest: lambda dimension, *given, **named: honest(1, *given, **named),
            formula("test_lemma_3_11_and_theorem_3_12")),
    planted("Lemma 3.11: ln 1/delta_0 for ln 2/delta_0", l2p, "lemma_3_11_eta",
            lambda honest: lambda rate, ridge, lipschitz, delta: honest(rate, ridge, lipschitz, 2 * delta),
            formula("test_lemma_3_11_and_theorem_3_12")),
    planted("the attack on L2P takes a coin with less slack", l2p, "half_law", _half_slack, ENUMERATED),
    planted("the attack on L2P forgets e^epsilon", l2p, "leaked_delta",
            lambda honest: lambda *given: honest(*given) * exp(given[5]), ENUMERATED),
    planted("L2P as printed does not say where it differs", learner.Chosen, "printed", _silent, SPOKEN),
    planted("L2PConvex as printed does not say where it differs", l2p_convex, "printed_differs",
            lambda honest: lambda *given: (), SPOKEN),
    planted("a result has a number that the paper has not", paper, "PAPER", _further_result,
            by_call("numbers", _numbers)),
)  # fmt: skip

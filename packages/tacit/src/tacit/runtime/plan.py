"""The shape that every algorithm fills in: a frozen and public plan, which starts a learner.

Parameters, guarantee and regret bound are known before the first round.
"""

from __future__ import annotations

import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial, wraps
from inspect import Parameter, signature
from math import ceil, inf, log2
from typing import Any, ClassVar, Protocol

import numpy as np

from tacit.accounting.curves import Curve, NotPrivate
from tacit.accounting.guarantee import EVENT, REPLACE, Guarantee, Relation, as_relation
from tacit.accounting.ledger import Ledger, check_ledger
from tacit.accounting.rounding import rounded_up
from tacit.errors import InvalidInput, PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Experts, Options, Problem
from tacit.releases import Neighbours, Releases
from tacit.runtime.learner import Learner
from tacit.runtime.printed import RUNNABLE, Printed, Status
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import NUMERICS, RegretBound, Target
from tacit.validation import check_choice, check_integer, check_number, invalid, plain_fields, without_caches

COLUMNS = 100  # a line of `explain`
# Arrays in a signature: all entries and all digits, however the program prints its own.
TO_THE_LAST_DIGIT: Mapping[str, Any] = {
    "threshold": sys.maxsize,
    "floatmode": "unique",
    "suppress": False,
    "sign": "-",
    "linewidth": 75,
    "formatter": None,
    "legacy": False,
}
# Where a target is too loud to be met, these are tried: a little less, then the same numbers whatever was asked for.
NEARLY, LOUD = 1 - 1e-6, tuple(64 * 0.9**power for power in range(24))
# Searches for stricter targets end where their certificate is larger by this factor, or after so many powers of two.
CLEARLY_WORSE, RUNGS = 1.1, 6
# From this epsilon on a refusal may mean that the target is too loud, and stricter ones are tried.
QUIET = 4.0
MUCH_WORK = 1e5  # numbers a round, from which on `explain` says so
# Plans that say nothing about audits are enumerated as they stand up to this size.
MOST_EXPERTS, MOST_ROUNDS = 3, 8


@dataclass(frozen=True)
class Plan(ABC):
    """A calibrated algorithm for one problem. Everything in it is public.

    Subclasses are frozen dataclasses whose first field is the problem and whose other fields are the parameters, which
    `_check_parameters` checks; they give `guarantee`, `regret_bound`, `_calibrate` and `_learner`.
    """

    problem: Problem
    printed: Printed | None = field(default=None, kw_only=True, repr=False)
    """Where the parameters were printed, for plans that `as_printed` made."""
    _takes: ClassVar[type[Problem]] = Problem
    printed_results: ClassVar[tuple[str, ...]] = ()
    """Numbers of the results whose printed parameters `as_printed` knows; the first one is its default."""
    _promises_nothing: ClassVar[tuple[str, ...]] = ()
    """Those of a private algorithm that promise no privacy: they take neither epsilon nor delta."""
    _prints_epsilon: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Results whose formula gives epsilon, and the parameters it needs: with these, epsilon may be left out."""
    _no_delay: ClassVar[str] = "no regret bound is proved for it with late feedback"
    """Why a problem with delay > 0 is refused (empty: it is not)."""
    _any_horizon: ClassVar[bool] = False
    """Whether one plan serves an unknown horizon; otherwise it is restarted at doubling lengths."""
    _by_rule: ClassVar[bool] = False
    """Whether parameters follow a public rule for what happens, and not a search for the smallest certificate."""
    releases_once: ClassVar[bool] = False
    """Whether there is one model, after all records, and nothing before it."""
    private: ClassVar[bool] = True
    """Whether there is a privacy contract; algorithms without one are never chosen where privacy is asked for."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Cap every certificate, in this one place, by what no learner can exceed."""
        super().__init_subclass__(**options)
        proved: Any = vars(cls).get("regret_bound")
        if isinstance(proved, property | cached_property):
            function = proved.fget if isinstance(proved, property) else proved.func
            if function is not None and not getattr(function, "__isabstractmethod__", False):
                capped = type(proved)(_capped(function))
                if isinstance(capped, cached_property):
                    capped.__set_name__(cls, "regret_bound")
                cls.regret_bound = capped  # type: ignore[method-assign, assignment]

    @property
    def proper(self) -> bool:
        """Whether every decision lies in the domain of the problem."""
        return True

    def __post_init__(self) -> None:
        plain_fields(self)
        if self.printed is not None and not isinstance(self.printed, Printed):
            raise invalid(self.algorithm, "printed", "what `as_printed` made", self.printed)
        self._check_contract()
        self._check_parameters()

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)

    def _check_contract(self) -> None:
        """Refuse what no plan of this family takes: the problem, and who is protected how; families add to it."""
        self._check_problem(self.problem)

    def _check_parameters(self) -> None:  # noqa: B027, there may be nothing to refuse
        """Refuse parameters that this algorithm does not take; problem and contract were checked before."""

    @classmethod
    def _check_problem(cls, problem: object) -> None:
        if not isinstance(problem, cls._takes):
            kind = "problem" if cls._takes is Problem else f"{cls._takes.__name__} problem"
            raise InvalidInput(f"The 'problem' parameter of {cls.__name__} must be a {kind}. Got {problem!r} instead.")
        if problem.delay and cls._no_delay:
            raise PrivacyError(f"{cls.__name__} takes no delay={problem.delay}: {cls._no_delay}.")

    @property
    def certified_against(self) -> tuple[str, ...]:
        """Adversaries for whom the regret bound is proved (privacy always holds for adaptive ones)."""
        return ("oblivious",)

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""
        return type(self).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name, those that every plan has at the end."""
        named = sorted(fields(self), key=lambda field: field.kw_only is True)
        return {field.name: getattr(self, field.name) for field in named if field.name not in ("problem", "printed")}

    @cached_property
    def signature(self) -> str:
        """The problem and the parameters to the last digit: what a saved state must match."""
        with np.printoptions(**TO_THE_LAST_DIGIT):
            printed = "" if self.printed is None else f", as printed: {self.printed.place}"
            return f"{self.algorithm}({self.problem!r}, {self.parameters!r}{printed})"

    @property
    def printed_status(self) -> Status | None:
        """What became of the printed promise: computed from the curve (None: parameters are not a paper's)."""
        return None if self.printed is None else self.printed.status(self.guarantee.curve)

    @property
    def horizon(self) -> int | None:
        """How many rounds the plan covers (None: any number)."""
        return self.problem.horizon

    @property
    def rounds(self) -> int:
        """The horizon, known to be finite."""
        if self.problem.horizon is None:
            raise InvalidInput(
                f"{self.algorithm} needs a finite horizon: for an unknown one use {self.algorithm}.calibrate or "
                "tacit.plan, which restart it at doubling lengths."
            )
        return self.problem.horizon

    @property
    def expected_switches(self) -> float | None:
        """A bound on the expected number of times the decision changes (None if the horizon is not known)."""
        return None if self.horizon is None else float(self.rounds - 1)

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """The privacy contract."""

    @property
    def releases(self) -> Releases | None:
        """The declaration of what is released, and of the noise that is drawn.

        None where nothing is private, or where a plan states its curve itself and no declaration.
        """
        return None

    @property
    @abstractmethod
    def regret_bound(self) -> RegretBound:
        """The certified regret."""

    @property
    def released_streams(self) -> tuple[str, ...]:
        """The random streams whose use is released besides the decisions: redraws, restarts (none: an empty tuple).

        Audits count these uses among what an attacker sees, so a plan that does not say raises.
        """
        raise InvalidInput(
            f"{self.algorithm} does not say which of its random streams show when they are used: give its plan "
            "released_streams, a tuple of their names (empty if only decisions are released)."
        )

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give the small instances in which this algorithm is audited, one for each attack.

        Audits run these instances and nothing else. By default a small plan is enumerated as it stands, and any
        other plan raises.
        """
        problem = self.problem
        small = isinstance(problem, Experts) and problem.n <= MOST_EXPERTS and problem.horizon is not None
        if small and self.rounds <= MOST_ROUNDS:
            return (SmallInstance("enumeration", "as it stands", self),)
        raise InvalidInput(
            f"{self.algorithm} does not say how small an instance of it can be audited: give its plan small_instances, "
            f"or make it for at most {MOST_EXPERTS} experts and {MOST_ROUNDS} rounds, so that its outcomes can be "
            f"counted. Got {problem!r} instead."
        )

    @property
    def trivial_regret(self) -> float:
        """The regret that no learner can exceed."""
        return float("inf")

    @property
    def blind_regret(self) -> float:
        """The certified regret of deciding without any data: certified regret at or above it says nothing."""
        return self.trivial_regret

    @property
    def vacuous(self) -> bool:
        """True if the certified regret says nothing: deciding without any data has no more."""
        return not float(self.regret_bound) < self.blind_regret

    @property
    def work_per_round(self) -> float:
        """About how many numbers a round reads or writes, to an order of magnitude: those of a decision by default."""
        problem: Any = self.problem
        return float(getattr(problem, "n", 0) or getattr(getattr(problem, "domain", None), "dimension", 1))

    @property
    def remark(self) -> str:
        """What `explain` says besides the certified regret (empty: nothing)."""
        return ""

    @property
    def form(self) -> str:
        """What runs in place of the algorithm of this name (empty: that algorithm)."""
        return ""

    def broken_assumption(self, feedback: Any) -> str:
        """Return which assumption of the regret bound this feedback breaks (empty: none that is checked).

        Only simulations ask: the answer depends on private data.
        """
        return ""

    @property
    def uses_data(self) -> bool:
        """False if no decision of the whole run depends on feedback."""
        return True

    def variants(self) -> dict[str, Plan]:
        """Give plans of the same contract, by name, that certify more regret than this plan and may have less."""
        return {}

    def _certifying_least(self, like: Plan | None) -> Plan:
        """Search near `like` for the plan of this contract that certifies least, if parameters follow a rule."""
        return self

    def regret_if(self, gap: float) -> RegretBound:
        """Give the certified regret if every other option's mean loss exceeds the smallest by at least `gap`.

        Where nothing better is proved for independent losses, `regret_bound` is given.
        """
        check_number(self.algorithm, "gap", gap, above=0.0, below=inf, closed_low=True)
        return self.regret_bound

    @classmethod
    def calibrate(
        cls,
        problem: Problem,
        *,
        epsilon: float,
        delta: float,
        relation: Relation | str = REPLACE,
        rounds_per_person: int = 1,
        separation: int = 1,
        max_switches: int | None = None,
        adversary: str | None = None,
        numerics: str = "exact",
        confidence: float | None = None,
        **options: Any,
    ) -> Plan:
        """Find the plan with the smallest certified regret that meets (epsilon, delta).

        The arguments are those of `tacit.plan`, then options of the algorithm's own. The search sees public
        quantities only. An unknown horizon gives the same algorithm, restarted at doubling lengths.
        """
        related = as_relation("the target", relation)
        against = problem.adversary if adversary is None and isinstance(problem, Problem) else adversary or "oblivious"
        people = rounds_per_person
        target = Target(epsilon, delta, related, people, max_switches, against, numerics, confidence, separation)
        return cls.calibrate_for(problem, target, **options)

    @classmethod
    @np.errstate(under="ignore")  # accounting rounds up: what underflows is no error, whatever numpy was told
    def calibrate_for(cls, problem: Problem, target: Target, *, by_rule: bool = True, **options: Any) -> Plan:
        """Calibrate for a target that was packed already, by a rule for what happens if the algorithm has one.

        `by_rule` = False: search for the smallest certificate, whatever the algorithm.
        """
        cls._check_problem(problem)
        if cls.private and not target.private:
            raise InvalidInput(f"{cls.__name__} is private: the 'epsilon' of its target must be finite.")
        refuse_old_spellings(cls, options)
        check_options(f"{cls.__name__}.calibrate", cls._calibrate, options)
        if problem.horizon is not None or cls._any_horizon:
            made = _calibrated(cls, target, options, problem, by_rule=by_rule and cls._by_rule)
            made.refuse_unkept(private=True)
            return _learning(made, cls, target, options)
        # A person's rounds may stand in different epochs: each epoch is planned for one of them.
        return Plan._restarted(problem, target, partial(_calibrated, cls, target.for_each_round, options))

    _restarted: ClassVar[Callable[[Problem, Target, Callable[[Problem], Plan]], Plan]]
    """Makes the plan of an unknown horizon from plans of known ones: doubling.py fills it in."""

    @classmethod
    @abstractmethod
    def _calibrate(cls, problem: Any, target: Target) -> Plan:
        """Search for `calibrate`; options of the algorithm's own are keyword-only parameters."""

    @classmethod
    def as_printed(
        cls,
        problem: Problem,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        result: str | None = None,
        reading: str | None = None,
        relation: Relation | str = REPLACE,
        rounds_per_person: int = 1,
        **own: Any,
    ) -> Plan:
        """Make the plan with the parameters that a paper prints, whatever is proved of them.

        `printed` says what was asked and `printed_status` what is proved: "kept", "exceeded", "no proof", "refuted" or
        "not private". A plan whose promise is not kept runs in simulations and audits, and refuses secret randomness.

        Args:
            problem: the problem.
            epsilon: privacy that is asked of the printed formula (none where the result promises no privacy).
            delta: delta that is asked of it.
            result: number of the result in the paper (default: the one of the problem's family).
            reading: a choice where the print leaves a parameter open.
            relation: which data sets are neighbours.
            rounds_per_person: rounds of one person.
            own: parameters that the result leaves to its reader.
        """
        cls._check_problem(problem)
        if not cls.printed_results:
            raise no_printed_parameters(cls)
        owner = f"{cls.__name__}.as_printed"
        number = cls._printed_default(problem) if result is None else result
        check_choice(owner, "result", number, cls.printed_results)
        if problem.horizon is None:
            raise InvalidInput(f"The 'problem' parameter of {owner} must have a horizon: printed parameters need it.")
        check_options(owner, cls._as_printed, own)
        promises = cls.private and number not in cls._promises_nothing
        needed = cls._prints_epsilon.get(number)
        follows = needed is not None and set(needed) <= {name for name, value in own.items() if value is not None}
        if promises and (delta is None or (epsilon is None and not follows)):
            given = f" (or {', '.join(needed)}, of which epsilon follows, and delta)" if needed else ""
            raise InvalidInput(f"{owner} needs epsilon and delta{given}: what is asked of {number}.")
        if cls.private and not promises and not (epsilon is None and delta is None):
            raise InvalidInput(f"{owner} takes no epsilon and no delta for {number}, which promises no privacy.")
        asked = Target(
            float("inf") if epsilon is None else epsilon,
            0.0 if delta is None else delta,
            as_relation(owner, relation),
            rounds_per_person,
        )
        return cls._as_printed(problem, asked, number, reading, **own)

    @classmethod
    def _printed_default(cls, problem: Any) -> str:
        """Return the number of the result that `as_printed` runs if none is named."""
        return cls.printed_results[0]

    @classmethod
    def _as_printed(cls, problem: Any, asked: Target, result: str, reading: str | None) -> Plan:
        """Make the plan of `as_printed`; parameters that the result leaves open are keyword-only."""
        raise no_printed_parameters(cls)

    def refuse_unkept(self, private: bool) -> None:
        """Raise PrivacyError if the printed promise is not kept, and noise is secret or somebody is charged for it."""
        if self.printed is None or not private or self.printed_status in RUNNABLE:
            return
        promise = self.printed.promise(self.guarantee.curve)
        raise PrivacyError(
            f"{self.algorithm} as printed ({self.printed.place}) is for simulations: {promise}. "
            f"Use {self.algorithm}.calibrate, or start(Randomness.replayable(seed))."
        )

    def start(self, randomness: Randomness | None = None, *, ledger: Ledger | None = None) -> Learner:
        """Make a fresh learner; the learner's randomness is secret unless a replayable source is named.

        Args:
            randomness: the source of the learner's noise.
            ledger: where the learner's whole contract is charged, before any data (None: nowhere). A charge beyond the
                ledger's budget raises, and there is no learner.
        """
        check_ledger("start", ledger)
        source = Randomness.secret() if randomness is None else randomness
        if not isinstance(source, Randomness):
            raise InvalidInput(
                "The 'randomness' parameter of start must be Randomness.secret() or "
                f"Randomness.replayable(seed). Got {randomness!r} instead."
            )
        self.refuse_unkept(source.private or ledger is not None)
        learner = self._learner(source)
        if ledger is not None:
            ledger.record(self.algorithm, learner.guarantee)
        return learner

    def run(self, feedback: Any, randomness: Randomness | None = None, *, contexts: Any = None) -> Any:
        """Give the decisions of a fresh learner on an array of feedback: `start` and `Learner.run` in one call."""
        return self.start(randomness).run(feedback, contexts=contexts)

    @abstractmethod
    def _learner(self, randomness: Randomness) -> Learner: ...

    def restore(self, state: dict[str, Any]) -> Learner:
        """Make a learner of this plan that continues from `Learner.state_dict`.

        The state of a secret learner holds no keys: the restored learner draws fresh noise, and a continued run has the
        law of an uninterrupted run. Continuing one state twice spends twice: both continuations leak at most what two
        runs do. The state of a replayable learner continues bit for bit, and stays replayable.
        """
        learner = self._learner(Randomness.secret())
        learner.load_state_dict(state)
        return learner

    @property
    def undelayed(self) -> type[Plan]:
        """The algorithm, for calibrating it again without delay."""
        return type(self)

    @property
    def _late_assumptions(self) -> tuple[str, ...]:
        """What certified regret means where feedback comes late."""
        if not self.problem.delay:
            return ()
        return (
            f"feedback up to {self.problem.delay} rounds late, whatever it says",
            "regret over the rounds whose feedback comes in time",
        )

    def explain(self) -> str:
        """Describe the plan in words: parameters, certified regret, contract."""
        shown = ", ".join(f"{name}={_short(value)}" for name, value in self.parameters.items())
        bound = self.regret_bound
        lines = textwrap.wrap(f"{self.algorithm}({shown})", COLUMNS, subsequent_indent="  ", break_long_words=False)
        lines.append(f"certified {self.problem.criterion}: {rounded_up(bound.value)} ({bound.meaning})")
        if self.printed is not None:
            lines.append(f"  printed:    {self.printed.place}: {self.printed.promise(self.guarantee.curve)}")
            lines += [f"  differs:    {'; '.join(self.printed.differs)}"] if self.printed.differs else []
            lines += [f"  evidence:   {'; '.join(self.printed.evidence)}"] if self.printed.evidence else []
        lines += [f"  runs:       {self.form}"] if self.form else []
        lines += ["  vacuous:    no better than deciding blindly"] if self.vacuous else []
        lines.append(f"  formula:    {bound.formula}")
        lines += [f"  if:         {bound.condition}"] if bound.condition else []
        assumptions = (*bound.assumptions, *self._late_assumptions)
        lines += [f"  holds for:  {'; '.join(assumptions)}"] if assumptions else []
        lines += [f"  besides:    {self.remark}"] if self.remark else []
        work = self.work_per_round
        lines += [f"  work:       about {work:.2g} numbers a round"] if work >= MUCH_WORK else []
        return "\n".join([*lines, str(self.guarantee)])


@dataclass(frozen=True)
class PrivatePlan(Plan):
    """A plan with a privacy contract: who is protected, by which curve, for which releases, by which theorem.

    Attributes:
        relation: which data sets are neighbours.
        rounds_per_person: how many rounds one person may stand in.
        separation: by how many rounds these are apart at least; 1 where that saves no noise.
        delta: the delta at which the contract is stated.
        numerics: "exact" (on a lattice where there is one: the contract says), or "float", for simulation only.
    """

    relation: Relation = field(default=REPLACE, kw_only=True)
    rounds_per_person: int = field(default=1, kw_only=True)
    separation: int = field(default=1, kw_only=True)
    delta: float = field(default=1e-6, kw_only=True)
    numerics: str = field(default="exact", kw_only=True)
    unit: ClassVar[str] = EVENT
    _separates: ClassVar[bool] = False
    """Whether rounds of a person that are apart need less noise."""

    def _check_contract(self) -> None:
        super()._check_contract()
        object.__setattr__(self, "relation", as_relation(self.algorithm, self.relation))
        check_integer(self.algorithm, "rounds_per_person", self.rounds_per_person)
        check_integer(self.algorithm, "separation", self.separation, at_most=None if self._separates else 1)
        check_number(self.algorithm, "delta", self.delta, above=0.0, below=1.0, closed_low=True)
        check_choice(self.algorithm, "numerics", self.numerics, NUMERICS)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters by name; the separation only where it is promised."""
        return {name: value for name, value in super().parameters.items() if name != "separation" or value > 1}

    @property
    def neighbours(self) -> Neighbours:
        """Which data sets are neighbours: who is protected."""
        return Neighbours(self.relation, self.rounds_per_person, self.separation)

    @property
    def _declared(self) -> Releases:
        """The declaration, which a plan has unless it states its curve and words itself."""
        if self.releases is None:
            raise NotImplementedError(f"{self.algorithm} must declare its releases, or state its curve itself.")
        return self.releases

    @cached_property
    def curve(self) -> Curve:
        """The privacy curve of the releases."""
        return self._declared.curve(self.neighbours)

    @property
    def stated_numerics(self) -> str:
        """The contract's statement on numerics."""
        return self._declared.numerics(self.neighbours, self.delta)

    @property
    def theorem(self) -> str:
        """The theorem that proves the guarantee."""
        return self._declared.theorem

    @property
    def assumed(self) -> str:
        """The assumptions of privacy that nobody can check (empty: none)."""
        return ""

    @property
    def released(self) -> str:
        """The quantities that the contract covers, in words."""
        return self._declared.shown.format(decision="decision")

    @cached_property
    def guarantee(self) -> Guarantee:
        """The privacy contract."""
        unproved = "" if self.printed is None else self.printed.no_proof
        return Guarantee(
            curve=NotPrivate() if unproved else self.curve,
            at_delta=(self.delta or 0.5) if unproved else self.delta,
            released=self.released,
            theorem=f"none: {unproved}" if unproved else self.theorem,
            relation=self.relation,
            unit=self.unit,
            rounds_per_person=self.rounds_per_person,
            separation=self.separation,
            numerics=self.stated_numerics,
            assumed=self.assumed,
        )


@dataclass(frozen=True)
class OptionPlan(PrivatePlan):
    """A plan whose decisions are experts or arms."""

    problem: Options

    @property
    def trivial_regret(self) -> float:
        return self.rounds * self.problem.width

    @property
    def blind_regret(self) -> float:
        """Every round a uniform draw: the comparator's option is missed with probability 1 - 1/N."""
        return self.trivial_regret * (1 - 1 / self.problem.n)


class Planned(Protocol):
    """What has a plan: the planner's comparison."""

    @property
    def plan(self) -> Plan:
        """The chosen plan."""


OLD_SPELLINGS = {
    "calibration": ("paper", "theorem-3.10", "theorem-3.12"),
    "thresholds": ("paper",),
    "noise": ("printed",),
}
"""Options of `calibrate` before version 0.4, and the values with which they asked for printed parameters."""


def refuse_old_spellings(algorithm: type[Plan], options: Mapping[str, Any]) -> None:
    """Raise InvalidInput, with the spelling of today, for an old way to ask for printed parameters."""
    for name, value in options.items():
        if algorithm.printed_results and isinstance(value, str) and value in OLD_SPELLINGS.get(name, ()):
            owner = algorithm.__name__
            raise InvalidInput(
                f"{owner}.calibrate takes no {name}={value!r}: printed parameters are made by "
                f"{owner}.as_printed(problem, epsilon=..., delta=..., result={algorithm.printed_results[0]!r})."
            )


def no_printed_parameters(algorithm: type[Plan]) -> InvalidInput:
    """Return the error for an algorithm whose parameters no paper prints."""
    name = algorithm.__name__
    return InvalidInput(f"No paper prints parameters of {name}: use {name}.calibrate instead.")


def chosen_plan(plan: Plan | Planned) -> Plan:
    """The plan itself, or the one that a comparison chose."""
    chosen: Any = getattr(plan, "plan", plan)
    return chosen  # type: ignore[no-any-return]


def check_options(owner: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that are not keyword-only parameters of `function`."""
    kinds = signature(function).parameters.values()
    allowed = [parameter.name for parameter in kinds if parameter.kind is Parameter.KEYWORD_ONLY]
    for name in options:
        if name not in allowed:
            known = ", ".join(allowed) or "none"
            raise InvalidInput(f"The options of {owner} besides the target's are: {known}. Got {name!r} instead.")


def _capped(proved: Callable[[Any], RegretBound]) -> Callable[[Any], RegretBound]:
    """The bound that an algorithm proves, or what no learner can exceed if that is less.

    Decisions that may leave the domain may lose more; an unknown horizon sums capped epochs; infinite bounds stay.
    """

    @wraps(proved)
    def regret_bound(plan: Plan) -> RegretBound:
        bound = proved(plan)
        certified = plan.proper and plan.horizon is not None and bound.value < inf
        return bound.at_most(plan.trivial_regret) if certified else bound

    return regret_bound


def _calibrated(
    cls: type[Plan], target: Target, options: dict[str, Any], problem: Problem, *, by_rule: bool = False
) -> Plan:
    """Calibrate to the target and to stricter ones, and take the smallest certificate.

    A plan that meets a stricter target meets this one, and searches are not monotone by themselves. By a rule, or with
    options of its own, an algorithm looks for something else, and is calibrated to the target alone.
    """
    if options or not cls.private or by_rule:
        return _met(cls, target, options, problem)
    top = ceil(log2(target.epsilon))
    rungs = [2.0**power for power in range(top - 1, top - 1 - RUNGS, -1)]
    best, refused = None, None
    for epsilon in (target.epsilon, *rungs):
        try:
            tried = _met(cls, replace(target, epsilon=epsilon), options, problem)._certifying_least(best)
        except PrivacyError as error:
            refused = refused or error
            if best is not None or epsilon < QUIET:
                break
            continue
        certified, smallest = float(tried.regret_bound), inf if best is None else float(best.regret_bound)
        if best is None or certified < smallest:
            best = tried
        elif certified > CLEARLY_WORSE * smallest or tried.vacuous:
            break
    if best is None:
        assert refused is not None
        raise refused
    return best


def _learning(plan: Plan, cls: type[Plan], target: Target, options: dict[str, Any]) -> Plan:
    """Refuse a plan none of whose decisions uses data, with a horizon that is long enough."""
    if plan.uses_data or options:
        return plan
    longer = (replace(plan.problem, horizon=plan.rounds * 2**power) for power in range(1, 20))
    enough = next((each.horizon for each in longer if _calibrated(cls, target, options, each).uses_data), None)
    would = f": {enough:,} rounds would be enough" if enough else ""
    raise PrivacyError(f"{cls.__name__} would use no data in any decision of {plan.rounds:,} rounds{would}.")


def _met(cls: type[Plan], target: Target, options: dict[str, Any], problem: Problem) -> Plan:
    """Calibrate to the target, or to the loudest one below it that is met: the errors of samplers grow as e^epsilon."""
    plan = cls._calibrate(problem, target, **options)
    if not cls.private or target.met_by(plan.guarantee):
        return plan
    for epsilon in (target.epsilon * NEARLY, *(loud for loud in LOUD if loud < target.epsilon)):
        stricter = cls._calibrate(problem, replace(target, epsilon=epsilon), **options)
        if target.met_by(stricter.guarantee):
            return stricter
    raise PrivacyError(
        f"{cls.__name__} does not meet epsilon={target.epsilon:g}, delta={target.delta:g}: its contract would "
        f"state epsilon={plan.guarantee.epsilon(target.delta):g}."
    )


def _short(value: Any) -> str:
    if isinstance(value, tuple) and len(str(value)) > COLUMNS:
        return f"({len(value)} entries)"
    return f"{value:.4g}" if isinstance(value, float) else str(value)

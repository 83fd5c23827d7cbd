"""The problems by name: each has the fields of its class as options, and sets and losses by their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from inspect import Parameter, Signature
from typing import Annotated, Any, get_type_hints

import typer

import tacit
from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, RowLoss
from tacit.problems import Problem

SIZED: dict[str, Callable[[int, float, int], ConvexSet]] = {
    "ball": lambda dim, radius, chosen: tacit.domains.Ball(dim, radius),
    "l1-ball": lambda dim, radius, chosen: tacit.domains.L1Ball(dim, radius),
    "box": lambda dim, radius, chosen: tacit.domains.Box.cube(dim, radius),
    "simplex": lambda dim, radius, chosen: tacit.domains.Simplex(dim),
    "k-subsets": lambda dim, radius, chosen: tacit.domains.KSubsets(dim, chosen),
    "birkhoff": lambda dim, radius, chosen: tacit.domains.Birkhoff(dim),
}
"""Sets that --dim, --radius and --chosen describe."""


def domain_of(name: str, dim: int | None, radius: float, chosen: int = 1) -> ConvexSet:
    """The set of that name."""
    if name not in SIZED:
        raise InvalidInput(f"--domain must be one of {', '.join(SIZED)}. Got {name!r} instead.")
    if dim is None:
        raise InvalidInput(f"--domain {name} needs --dim, the number of coordinates.")
    return SIZED[name](dim, radius, chosen)


LOSSES: dict[str, type[LinkLoss]] = {
    "logistic": tacit.losses.LogisticLoss,
    "squared": tacit.losses.SquaredLoss,
    "huber": tacit.losses.HuberLoss,
    "smoothed-hinge": tacit.losses.SmoothedHingeLoss,
    "hinge": tacit.losses.HingeLoss,
    "absolute": tacit.losses.AbsoluteLoss,
    "quantile": tacit.losses.QuantileLoss,
}
"""Losses of a row of features and a label."""


def loss_of(name: str, data_norm: float) -> RowLoss:
    """The loss of that name."""
    if name == "linear":
        return tacit.losses.LinearLoss(lipschitz=data_norm)
    if name == "quadratic":
        return tacit.losses.QuadraticLoss(data_norm=data_norm)
    if name not in LOSSES:
        raise InvalidInput(f"--loss must be one of {', '.join(LOSSES)}, quadratic, linear. Got {name!r} instead.")
    return LOSSES[name](data_norm=data_norm)


def point_of(text: str) -> tuple[float, ...]:
    """The numbers of a point with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--initial must be numbers with commas between them. Got {text!r} instead.") from None


HELP = {
    "n": "Number of experts, arms, policies or actions among which is chosen.",
    "horizon": "Number of rounds or records; those of a plan may be left out: unknown (restarts at doubling lengths).",
    "adversary": "Who makes the losses: stochastic, oblivious (fixed in advance), adaptive (not to arms and policies).",
    "delay": "How many further rounds may be decided before the feedback of a round is there.",
    "switches": "How often the sequence that regret compares with may switch.",
    "actions": "Number of actions.",
    "recommendations": "Who may see what policies recommend: public (all), private (the round's person).",
    "features": "private, or public (then all decisions may be published).",
    "misspecification": "How far expected losses may be from linear ones.",
    "missing_at_most": "Largest share of rounds whose feedback never comes.",
    "loss_range": "Public bounds of every loss.",
    "value_range": "Public bounds of every loss that is seen.",
    "domain": f"The set: {', '.join(SIZED)}.",
    "dim": "Coordinates of a point, or features (birkhoff: rows of the matrix).",
    "radius": "Radius of balls, half width of the box (contexts: of the set of an action's parameters).",
    "chosen": "How many coordinates a k-subset takes.",
    "low": "Lower end of every coordinate, if there is no --domain.",
    "high": "Upper end of every coordinate, if there is no --domain.",
    "margin": "How far beyond the set losses are defined; 0: only on it.",
    "loss": f"{', '.join(LOSSES)}, quadratic or linear.",
    "data_norm": "Public bound on the norm of a row of data; longer rows are scaled down.",
    "lipschitz": "How fast a loss may change per unit of distance (its Lipschitz constant).",
    "smoothness": "Largest curvature of a loss; inf if losses may have kinks.",
    "family": "linear, glm (generalised linear) or general.",
    "strong_convexity": "Smallest curvature of a loss.",
    "improper": "Decisions may leave the domain, with which regret is compared (prediction).",
    "regularisation": "Curvature s of a regulariser (s/2)|x|^2 that is added to the loss.",
    "initial": "Public point where a pass begins: numbers with commas (default: the centre).",
    "gradient_deviation": "Declared: how far a record's gradient is from the mean one, in root mean square.",
    "hessian_deviation": "Declared: how fast that difference changes from point to point.",
}
FIELDS = {"dim": "dimension", "missing_at_most": "missing"}
"""Options that are not called as their fields."""
MADE = ("domain", "loss", "proper", "initial")
"""Fields that are made of other options."""

Options = dict[str, tuple[Any, Any]]
"""Names of options, each with its type and its default."""
MUST = Parameter.empty
ON_SET: Options = {"domain": (str, "ball"), "dim": (int | None, None), "radius": (float, 1.0), "chosen": (int, 1)}
DATA: Options = {"loss": (str, "logistic"), "data_norm": (float, 1.0)}
CONSTANTS: Options = {
    "lipschitz": (float, 1.0),
    "smoothness": (float, 1.0),
    "family": (str, "general"),
    "strong_convexity": (float, 0.0),
}
PREDICTED: Options = {"improper": (bool, False)}
KNOWN: Options = {"horizon": (int, MUST)}


def taking(name: str, kind: type[Problem], text: str, further: Options | None = None) -> Callable[..., Problem]:
    """A function that makes a problem of options, for `tacit.cli.options` to read.

    Options are the fields that a command line can have, and further ones in place of the others.
    """

    def problem(**given: Any) -> Problem:
        return kind(**_made(given))

    hints, named = get_type_hints(kind), {field: option for option, field in FIELDS.items()}
    hidden = MADE if len(kind.adversaries) > 1 else (*MADE, "adversary")
    taken = {
        named.get(field.name, field.name): (hints[field.name], MUST if field.default is MISSING else field.default)
        for field in fields(kind)
        if field.name not in hidden
    }
    taken |= {"horizon": (int | None, None), **(further or {})}
    problem.__name__, problem.__doc__ = name, text
    found = []
    for each, (its, default) in taken.items():
        option = typer.Option(f"--{each.replace('_', '-')}", help=HELP[each])
        found.append(Parameter(each, Parameter.KEYWORD_ONLY, annotation=Annotated[its, option], default=default))
    vars(problem)["__signature__"] = Signature(found)
    return problem


def _made(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a problem's class: sets and losses are made of the options that describe them."""
    if "chosen" in given:
        given["domain"] = domain_of(*(given.pop(name) for name in ON_SET))
    elif "low" in given:
        name, radius = given.pop("domain"), given.pop("radius")
        given["domain"] = None if name is None else domain_of(name, given["dim"], radius)
    if "data_norm" in given:
        given["loss"] = loss_of(given.pop("loss"), given.pop("data_norm"))
    elif "family" in given:
        given["loss"] = tacit.losses.ConvexFamily(*(given.pop(name) for name in CONSTANTS))
    if (curvature := given.pop("regularisation", None)) is not None:
        given["loss"] = tacit.losses.RegularisedLoss(given["loss"], curvature)
    if given.get("initial") is not None:
        given["initial"] = point_of(given["initial"])
    if "improper" in given:
        given["proper"] = not given.pop("improper")
    return {FIELDS.get(name, name): value for name, value in given.items()}


experts = taking("experts", tacit.Experts, "Choose one of N experts each round; the losses of all of them are seen.")
tracking = taking("tracking", tacit.Tracking, "Choose one of N experts each round, when the best one changes.")
arms = taking(
    "arms", tacit.Arms, "Choose one of N arms each round; only the loss of the chosen one is seen, or nothing."
)
policies = taking(
    "policies",
    tacit.Policies,
    "Choose an action each round by the advice of N policies; only its loss is seen, or nothing.",
)
contextual_arms = taking(
    "contextual-arms",
    tacit.ContextualArms,
    "Choose one of N actions by the features of each round; only the loss of the chosen one is seen, or nothing.",
    KNOWN,
)
SEEN = "Choose a point of a convex set; the whole convex loss is seen."
convex = taking("convex", tacit.Convex, SEEN, ON_SET | DATA | PREDICTED)
convex_constants = taking(
    "convex", tacit.Convex, f"{SEEN} Its constants are enough to plan.", ON_SET | CONSTANTS | PREDICTED
)
lipschitz = taking(
    "lipschitz",
    tacit.Lipschitz,
    "Choose one or two numbers; the whole loss is seen, convex or not.",
    {"domain": (str | None, None), "radius": (float, 1.0)},
)
bandit = taking("bandit", tacit.Bandit, "Choose a point of a convex set; only the loss of that point is seen.", ON_SET)
stochastic = taking(
    "stochastic",
    tacit.Stochastic,
    "Learn one model from records, each seen once.",
    KNOWN | ON_SET | DATA | PREDICTED | {"regularisation": (float | None, None), "initial": (str | None, None)},
)

PLANNED = (experts, tracking, convex_constants, lipschitz, bandit, arms, policies, contextual_arms, stochastic)
"""Problems that are planned before any data: the constants of a convex loss are enough."""

SIMULATED = (experts, tracking, convex, lipschitz, bandit, arms, policies, contextual_arms, stochastic)
"""Problems that are played in an environment, or learned from its records."""

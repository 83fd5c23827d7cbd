"""The problems and the convex sets by name: the options that describe each, in one place for every command."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

import tacit
from tacit.cli import options
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

DomainName = Annotated[str, typer.Option("--domain", help=f"The set: {', '.join(SIZED)}.")]
Dimension = Annotated[int | None, typer.Option("--dim", help="Coordinates of a point (birkhoff: rows of the matrix).")]
Radius = Annotated[float, typer.Option(help="Radius of the balls, half width of the box.")]
Chosen = Annotated[int, typer.Option("--chosen", help="How many coordinates a k-subset takes.")]


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

LossName = Annotated[str, typer.Option("--loss", help=f"{', '.join(LOSSES)}, quadratic or linear.")]
DataNorm = Annotated[
    float, typer.Option(help="Public bound on the norm of a row of data; longer rows are scaled down.")
]
Improper = Annotated[
    bool,
    typer.Option("--improper", help="Decisions may leave the domain, with which regret is compared (prediction)."),
]

InBox = Annotated[
    str | None, typer.Option("--domain", help="A set in place of the box, of --dim coordinates: ball, simplex, ...")
]


def option(kind: Any, default: Any, text: str, *names: str) -> tuple[Any, Any]:
    """The type of an option for typer, and its default."""
    return Annotated[kind, typer.Option(*names, help=text)], default


Options = dict[str, tuple[Any, Any]]
"""Names of options, each with its type for typer and its default."""
MUST = Parameter.empty
ROUNDS: Options = {"horizon": (options.Horizon, None)}
LATE: Options = {"delay": (options.Delay, 0)}
MADE: Options = {"adversary": (options.LossMaker, "oblivious")}
BOUNDED: Options = {"loss_range": (options.LossRange, (0.0, 1.0))}
ON_SET: Options = {"domain": (DomainName, "ball"), "radius": (Radius, 1.0), "chosen": (Chosen, 1)}
DATA: Options = {"loss": (LossName, "logistic"), "data_norm": (DataNorm, 1.0)}
PREDICTED: Options = {"improper": (Improper, False)}
STEEP: Options = {"lipschitz": (options.Lipschitz, 1.0)}
IN_BOX: Options = {
    "low": option(float, 0.0, "Lower end of every coordinate."),
    "high": option(float, 1.0, "Upper end of every coordinate."),
    **STEEP,
    "domain": (InBox, None),
    "radius": (Radius, 1.0),
}
RECORDS: Options = {"horizon": option(int, MUST, "Number of records.")}


def taking(name: str, make: Callable[..., Problem], text: str, **taken: tuple[Any, Any]) -> Callable[..., Problem]:
    """A function that makes a problem of these options, for `tacit.cli.options` to read."""

    def problem(**given: Any) -> Problem:
        return make(**given)

    problem.__name__, problem.__doc__ = name, text
    found = [
        Parameter(each, Parameter.KEYWORD_ONLY, annotation=kind, default=its) for each, (kind, its) in taken.items()
    ]
    vars(problem)["__signature__"] = Signature(found)
    return problem


def _on_set(kind: Callable[..., Problem], **given: Any) -> Problem:
    """A problem of points of a set."""
    domain = domain_of(*(given.pop(name) for name in ("domain", "dim", "radius", "chosen")))
    proper = {"proper": not given.pop("improper")} if "improper" in given else {}
    return kind(domain=domain, **proper, **given)


def _in_box(kind: Callable[..., Problem], *, dim: int, domain: str | None, radius: float, **given: Any) -> Problem:
    """A problem of a few numbers in a box, or in a set in its place."""
    points = None if domain is None else domain_of(domain, dim, radius)
    return kind(dimension=dim, domain=points, **given)


def _convex(*, loss: str, data_norm: float, **given: Any) -> Problem:
    return _on_set(tacit.Convex, loss=loss_of(loss, data_norm), **given)


def _convex_constants(
    *, lipschitz: float, smoothness: float, family: str, strong_convexity: float, **given: Any
) -> Problem:
    constants = tacit.losses.ConvexFamily(lipschitz, smoothness, family, strong_convexity)
    return _on_set(tacit.Convex, loss=constants, **given)


def _stochastic(
    *, loss: str, data_norm: float, regularisation: float | None, initial: str | None, **given: Any
) -> Problem:
    seen: Any = loss_of(loss, data_norm)
    if regularisation is not None:
        seen = tacit.losses.RegularisedLoss(seen, regularisation)
    return _on_set(tacit.Stochastic, loss=seen, initial=None if initial is None else point_of(initial), **given)


def _contextual_arms(*, dim: int, missing_at_most: float, **given: Any) -> Problem:
    return tacit.ContextualArms(dimension=dim, missing=missing_at_most, **given)


experts = taking(
    "experts",
    tacit.Experts,
    "Choose one of N experts each round; the losses of all of them are seen.",
    n=(options.Number, MUST),
    **(ROUNDS | BOUNDED | LATE | MADE),
)
tracking = taking(
    "tracking",
    tacit.Tracking,
    "Choose one of N experts each round, when the best one changes.",
    n=(options.Number, MUST),
    switches=(options.Switches, MUST),
    **(ROUNDS | MADE | BOUNDED | LATE),
)
arms = taking(
    "arms",
    tacit.Arms,
    "Choose one of N arms each round; only the loss of the chosen one is seen, or nothing.",
    n=option(int, MUST, "Number of arms."),
    adversary=(options.ArmLossMaker, "stochastic"),
    **(ROUNDS | BOUNDED | LATE),
)
policies = taking(
    "policies",
    tacit.Policies,
    "Choose an action each round by the advice of N policies; only its loss is seen, or nothing.",
    n=option(int, MUST, "Number of policies."),
    actions=option(int, MUST, "Number of actions."),
    adversary=(options.ArmLossMaker, "oblivious"),
    recommendations=option(
        str, "public", "Who may see what policies recommend: public (all), private (the round's person)."
    ),
    **(ROUNDS | BOUNDED | LATE),
)
contextual_arms = taking(
    "contextual-arms",
    _contextual_arms,
    "Choose one of N actions by the features of each round; only the loss of the chosen one is seen, or nothing.",
    n=option(int, MUST, "Number of actions."),
    dim=option(int, MUST, "Number of features."),
    horizon=option(int, MUST, "Number of rounds."),
    radius=option(float, 0.5, "Largest distance of an action's parameters from a common vector."),
    features=option(str, "private", "private, or public (then all decisions may be published)."),
    misspecification=option(float, 0.0, "How far expected losses may be from linear ones."),
    missing_at_most=option(float, 0.0, "Largest share of rounds whose feedback never comes."),
    **(BOUNDED | LATE),
)
convex = taking(
    "convex",
    _convex,
    "Choose a point of a convex set; the whole convex loss is seen.",
    dim=(Dimension, None),
    **(ROUNDS | ON_SET | DATA | PREDICTED | LATE | MADE),
)
convex_constants = taking(
    "convex",
    _convex_constants,
    "Choose a point of a convex set; the whole convex loss is seen. Its constants are enough to plan.",
    dim=(Dimension, None),
    **(ROUNDS | ON_SET | STEEP),
    smoothness=option(float, 1.0, "Largest curvature of a loss; inf if losses may have kinks."),
    family=option(str, "general", "linear, glm (generalised linear) or general."),
    strong_convexity=option(float, 0.0, "Smallest curvature of a loss."),
    **(PREDICTED | LATE | MADE),
)
lipschitz = taking(
    "lipschitz",
    partial(_in_box, tacit.Lipschitz),
    "Choose one or two numbers; the whole loss is seen, convex or not.",
    dim=option(int, 1, "How many numbers are chosen: 1 or 2."),
    **(ROUNDS | IN_BOX | LATE | MADE),
)
bandit = taking(
    "bandit",
    partial(_on_set, tacit.Bandit),
    "Choose a point of a convex set; only the loss of that point is seen.",
    dim=(Dimension, None),
    **(ROUNDS | ON_SET),
    value_range=(options.ValueRange, (0.0, 1.0)),
    **STEEP,
    margin=option(float, 0.0, "How far beyond the set losses are defined; 0: only on it."),
    **(LATE | MADE),
)
stochastic = taking(
    "stochastic",
    _stochastic,
    "Learn one model from records, each seen once.",
    **RECORDS,
    dim=(Dimension, None),
    **(ON_SET | DATA),
    regularisation=option(float | None, None, "Curvature s of a regulariser (s/2)|x|^2 that is added to the loss."),
    initial=option(str | None, None, "Public point where a pass begins: numbers with commas (default: the centre)."),
    gradient_deviation=option(
        float | None,
        None,
        "Declared: how far a record's gradient is from the mean one, in root mean square (utility only).",
    ),
    hessian_deviation=option(
        float | None, None, "Declared: how fast that difference changes from point to point (utility only)."
    ),
    **PREDICTED,
)


def point_of(text: str) -> tuple[float, ...]:
    """The numbers of a point with commas between them."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"--initial must be numbers with commas between them. Got {text!r} instead.") from None


def loss_of(name: str, data_norm: float) -> RowLoss:
    """The loss of that name."""
    if name == "linear":
        return tacit.losses.LinearLoss(lipschitz=data_norm)
    if name == "quadratic":
        return tacit.losses.QuadraticLoss(data_norm=data_norm)
    if name not in LOSSES:
        raise InvalidInput(f"--loss must be one of {', '.join(LOSSES)}, quadratic, linear. Got {name!r} instead.")
    return LOSSES[name](data_norm=data_norm)


PLANNED = (
    experts,
    tracking,
    convex_constants,
    lipschitz,
    bandit,
    arms,
    policies,
    contextual_arms,
    stochastic,
)
"""Problems that are planned before any data: the constants of a convex loss are enough."""

SIMULATED = (experts, tracking, convex, lipschitz, bandit, arms, policies, contextual_arms)
"""Problems that are played in an environment."""

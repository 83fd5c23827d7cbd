"""The problems by name: the options that describe each, in one place for every command."""

from __future__ import annotations

from typing import Annotated

import typer

import tacit
from tacit.cli import options
from tacit.cli.domains import Chosen, Dimension, DomainName, Radius, domain_of
from tacit.errors import InvalidInput
from tacit.losses.base import RowLoss
from tacit.losses.linear_models import LinkLoss

LOSSES: dict[str, type[LinkLoss]] = {
    "logistic": tacit.LogisticLoss,
    "squared": tacit.SquaredLoss,
    "huber": tacit.HuberLoss,
    "smoothed-hinge": tacit.SmoothedHingeLoss,
    "hinge": tacit.HingeLoss,
    "absolute": tacit.AbsoluteLoss,
    "quantile": tacit.QuantileLoss,
}
"""Losses of a row of features and a label."""

LossName = Annotated[str, typer.Option("--loss", help=f"{', '.join(LOSSES)}, quadratic or linear.")]
DataNorm = Annotated[
    float, typer.Option(help="Public bound on the norm of a row of data; longer rows are scaled down.")
]
Regularisation = Annotated[
    float | None, typer.Option(help="Curvature s of a regulariser (s/2)|x|^2 that is added to the loss.")
]
Initial = Annotated[
    str | None, typer.Option(help="Public point where a pass begins: numbers with commas (default: the centre).")
]
GradientDeviation = Annotated[
    float | None,
    typer.Option(
        help="Declared: how far a record's gradient is from the mean one, in root mean square (utility only)."
    ),
]
HessianDeviation = Annotated[
    float | None, typer.Option(help="Declared: how fast that difference changes from point to point (utility only).")
]
Improper = Annotated[
    bool,
    typer.Option("--improper", help="Decisions may leave the domain, with which regret is compared (prediction)."),
]

InBox = Annotated[
    str | None,
    typer.Option("--domain", help="A set in place of the box, of --dim coordinates: ball, simplex, polytope:1,0,1;..."),
]


def experts(
    n: options.Number,
    horizon: options.Horizon = None,
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
) -> tacit.Experts:
    """Choose one of N experts each round; the losses of all of them are seen."""
    return tacit.Experts(n=n, horizon=horizon, loss_range=loss_range, delay=delay)


def tracking(
    n: options.Number,
    switches: options.Switches,
    horizon: options.Horizon = None,
    adversary: options.LossMaker = "oblivious",
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
) -> tacit.Tracking:
    """Choose one of N experts each round, when the best one changes."""
    return tacit.Tracking(
        n=n, horizon=horizon, switches=switches, adversary=adversary, loss_range=loss_range, delay=delay
    )


def arms(
    n: Annotated[int, typer.Option("--n", help="Number of arms.")],
    horizon: options.Horizon = None,
    adversary: options.ArmLossMaker = "oblivious",
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
) -> tacit.Arms:
    """Choose one of N arms each round; only the loss of the chosen one is seen, or nothing."""
    return tacit.Arms(n=n, horizon=horizon, adversary=adversary, loss_range=loss_range, delay=delay)


def convex(
    dim: Dimension = None,
    horizon: options.Horizon = None,
    domain: DomainName = "ball",
    radius: Radius = 1.0,
    chosen: Chosen = 1,
    loss: LossName = "logistic",
    data_norm: DataNorm = 1.0,
    improper: Improper = False,
    delay: options.Delay = 0,
) -> tacit.Convex:
    """Choose a point of a convex set; the whole convex loss is seen."""
    points, seen = domain_of(domain, dim, radius, chosen), loss_of(loss, data_norm)
    return tacit.Convex(domain=points, loss=seen, horizon=horizon, proper=not improper, delay=delay)


def convex_constants(
    dim: Dimension = None,
    horizon: options.Horizon = None,
    domain: DomainName = "ball",
    radius: Radius = 1.0,
    chosen: Chosen = 1,
    lipschitz: options.Lipschitz = 1.0,
    smoothness: Annotated[float, typer.Option(help="Largest curvature of a loss; inf if losses may have kinks.")] = 1.0,
    family: Annotated[str, typer.Option(help="linear, glm (generalised linear) or general.")] = "general",
    strong_convexity: Annotated[float, typer.Option(help="Smallest curvature of a loss.")] = 0.0,
    improper: Improper = False,
    delay: options.Delay = 0,
) -> tacit.Convex:
    """Choose a point of a convex set; the whole convex loss is seen. Its constants are enough to plan."""
    constants = tacit.ConvexFamily(lipschitz, smoothness, family, strong_convexity)
    points = domain_of(domain, dim, radius, chosen)
    return tacit.Convex(domain=points, loss=constants, horizon=horizon, proper=not improper, delay=delay)


convex_constants.__name__ = "convex"


def lipschitz(
    dim: Annotated[int, typer.Option("--dim", help="How many numbers are chosen: 1 or 2.")] = 1,
    horizon: options.Horizon = None,
    low: Annotated[float, typer.Option(help="Lower end of every coordinate.")] = 0.0,
    high: Annotated[float, typer.Option(help="Upper end of every coordinate.")] = 1.0,
    lipschitz: options.Lipschitz = 1.0,
    domain: InBox = None,
    radius: Radius = 1.0,
    delay: options.Delay = 0,
) -> tacit.Lipschitz:
    """Choose one or two numbers; the whole loss is seen, convex or not."""
    points = None if domain is None else domain_of(domain, dim, radius)
    return tacit.Lipschitz(
        dimension=dim, horizon=horizon, low=low, high=high, lipschitz=lipschitz, domain=points, delay=delay
    )


def stochastic_lipschitz(
    horizon: Annotated[int, typer.Option(help="Number of records.")],
    dim: Annotated[int, typer.Option("--dim", help="How many numbers are learned: 1 or 2.")] = 1,
    low: Annotated[float, typer.Option(help="Lower end of every coordinate.")] = 0.0,
    high: Annotated[float, typer.Option(help="Upper end of every coordinate.")] = 1.0,
    lipschitz: options.Lipschitz = 1.0,
    domain: InBox = None,
    radius: Radius = 1.0,
    convex: Annotated[bool, typer.Option("--convex", help="The expected loss is convex: decisions are averaged.")] = (
        False
    ),
) -> tacit.StochasticLipschitz:
    """Learn one or two numbers from records, each seen once; losses need not be convex."""
    points = None if domain is None else domain_of(domain, dim, radius)
    return tacit.StochasticLipschitz(
        dimension=dim, horizon=horizon, low=low, high=high, lipschitz=lipschitz, domain=points, convex=convex
    )


stochastic_lipschitz.__name__ = "stochastic-lipschitz"


def bandit(
    dim: Dimension = None,
    horizon: options.Horizon = None,
    domain: DomainName = "ball",
    radius: Radius = 1.0,
    chosen: Chosen = 1,
    value_range: options.ValueRange = (0.0, 1.0),
    lipschitz: options.Lipschitz = 1.0,
    margin: Annotated[float, typer.Option(help="How far beyond the set losses are defined; 0: only on it.")] = 0.0,
    delay: options.Delay = 0,
) -> tacit.Bandit:
    """Choose a point of a convex set; only the loss of that point is seen."""
    points = domain_of(domain, dim, radius, chosen)
    return tacit.Bandit(
        domain=points, horizon=horizon, value_range=value_range, lipschitz=lipschitz, margin=margin, delay=delay
    )


def stochastic(
    horizon: Annotated[int, typer.Option(help="Number of records.")],
    dim: Dimension = None,
    domain: DomainName = "ball",
    radius: Radius = 1.0,
    chosen: Chosen = 1,
    loss: LossName = "logistic",
    data_norm: DataNorm = 1.0,
    regularisation: Regularisation = None,
    initial: Initial = None,
    gradient_deviation: GradientDeviation = None,
    hessian_deviation: HessianDeviation = None,
) -> tacit.Stochastic:
    """Learn one model from records, each seen once."""
    seen = loss_of(loss, data_norm)
    return tacit.Stochastic(
        domain=domain_of(domain, dim, radius, chosen),
        loss=seen if regularisation is None else tacit.RegularisedLoss(seen, regularisation),
        horizon=horizon,
        initial=None if initial is None else point_of(initial),
        gradient_deviation=gradient_deviation,
        hessian_deviation=hessian_deviation,
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
        return tacit.LinearLoss(lipschitz=data_norm)
    if name == "quadratic":
        return tacit.QuadraticLoss(data_norm=data_norm)
    if name not in LOSSES:
        raise InvalidInput(f"--loss must be one of {', '.join(LOSSES)}, quadratic, linear. Got {name!r} instead.")
    return LOSSES[name](data_norm=data_norm)


PLANNED = (experts, tracking, convex_constants, lipschitz, bandit, arms, stochastic, stochastic_lipschitz)
"""Problems that are planned before any data: the constants of a convex loss are enough."""

SIMULATED = (experts, tracking, convex, lipschitz, bandit, arms)
"""Problems that are played in an environment."""

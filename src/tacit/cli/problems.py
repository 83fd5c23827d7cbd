"""The problems and the convex sets by name: the options that describe each, in one place for every command.

Some sets have a size alone (`--domain ball --dim 3`), others are written out behind a colon, or stand in a file, a row
a line, that is named behind `:@` (`--domain paths:s-a,a-t,s-t`, `--domain polytope:@rows.csv`).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import tacit
from tacit.cli import options
from tacit.domains.convex_set import ConvexSet
from tacit.errors import InvalidInput
from tacit.losses.loss import LinkLoss, RowLoss

SIZED: dict[str, Callable[[int, float, int], ConvexSet]] = {
    "ball": lambda dim, radius, chosen: tacit.domains.Ball(dim, radius),
    "l1-ball": lambda dim, radius, chosen: tacit.domains.L1Ball(dim, radius),
    "box": lambda dim, radius, chosen: tacit.domains.Box.cube(dim, radius),
    "simplex": lambda dim, radius, chosen: tacit.domains.Simplex(dim),
    "k-subsets": lambda dim, radius, chosen: tacit.domains.KSubsets(dim, chosen),
    "birkhoff": lambda dim, radius, chosen: tacit.domains.Birkhoff(dim),
}
"""Sets that --dim, --radius and --chosen describe."""

Rows = list[list[str]]


def _nuclear(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    sides = rows[0][0].split("x")
    if len(rows) > 1 or len(rows[0]) > 1 or len(sides) != 2:
        raise _malformed("nuclear-ball")
    tall, wide = (_whole(side, "nuclear-ball") for side in sides)
    return tacit.domains.NuclearBall(tall, wide, radius)


def _sides(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    ends = [cell.split("..") for row in rows for cell in row]
    if any(len(pair) != 2 for pair in ends):
        raise _malformed("box")
    low, high = ([_number(pair[side], "box") for pair in ends] for side in (0, 1))
    return tacit.domains.Box(np.array(low), np.array(high))


def _paths(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    edges = _edges(rows, "paths")
    return tacit.domains.Paths(edges, source=edges[0][0], sink=edges[-1][1])


def _polytope(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    numbers = [[_number(cell, "polytope") for cell in row] for row in rows]
    if len({len(row) for row in numbers}) != 1 or len(numbers[0]) < 2:
        raise _malformed("polytope")
    table = np.array(numbers)
    return tacit.domains.Polytope(table[:, :-1], table[:, -1])


def _matroid(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    groups = tuple(cell for row in rows for cell in row)
    return tacit.domains.Matroid.partition(groups, chosen)


def _submodular(rows: Rows, radius: float, chosen: int) -> ConvexSet:
    values = tuple(_number(cell, "submodular-base") for row in rows for cell in row)
    return tacit.domains.SubmodularBase.of_size(values)


WRITTEN: dict[str, tuple[Callable[[Rows, float, int], ConvexSet], str]] = {
    "box": (_sides, "box:-1..1,0..2, the ends of each coordinate"),
    "nuclear-ball": (_nuclear, "nuclear-ball:3x4, rows and columns of the matrix"),
    "spanning-trees": (
        lambda rows, radius, chosen: tacit.domains.SpanningTrees(_edges(rows, "spanning-trees")),
        "spanning-trees:a-b,b-c,a-c, the edges of the graph",
    ),
    "paths": (_paths, "paths:s-a,a-t,s-t, directed edges from the first one's tail to the last one's head"),
    "polytope": (_polytope, "polytope:@rows.csv, a row of A and its bound b on each line, for A x <= b"),
    "matroid": (_matroid, "matroid:red,red,blue, the group of each element; --chosen of each group at most"),
    "submodular-base": (_submodular, "submodular-base:1,1.5,1.75, the function at sets of 1, 2, ... elements"),
}
"""Sets that are written out, and how."""

NAMES = (*SIZED, *(name for name in WRITTEN if name not in SIZED))

DomainName = Annotated[
    str,
    typer.Option(
        "--domain",
        help=f"The set: {', '.join(SIZED)}; or written out (a file behind @): "
        f"{'; '.join(example for _, example in WRITTEN.values())}.",
    ),
]
Dimension = Annotated[
    int | None,
    typer.Option("--dim", help="Coordinates of a point (birkhoff: rows of the matrix); not of sets written out."),
]
Radius = Annotated[float, typer.Option(help="Radius of the balls, half width of the box.")]
Chosen = Annotated[
    int, typer.Option("--chosen", help="How many coordinates a k-subset takes, or a matroid of each group.")
]


def domain_of(name: str, dim: int | None, radius: float, chosen: int = 1) -> ConvexSet:
    """The set of that name."""
    kind, colon, text = name.partition(":")
    if kind not in NAMES:
        raise InvalidInput(f"--domain must be one of {', '.join(NAMES)}. Got {name!r} instead.")
    if not colon:
        if kind not in SIZED:
            raise InvalidInput(f"--domain {kind} must be written out, as in {WRITTEN[kind][1]}.")
        if dim is None:
            raise InvalidInput(f"--domain {kind} needs --dim, the number of coordinates.")
        return SIZED[kind](dim, radius, chosen)
    if kind not in WRITTEN:
        raise InvalidInput(f"--domain {kind} takes --dim, and nothing behind a colon. Got {name!r} instead.")
    made = WRITTEN[kind][0](_rows(kind, text), radius, chosen)
    if dim not in (None, made.dimension):
        raise InvalidInput(f"--domain {kind} has {made.dimension} coordinates as it is written out; --dim says {dim}.")
    return made


def _rows(kind: str, text: str) -> Rows:
    """Cells between commas; in a file a row a line."""
    if text.startswith("@"):
        path = Path(text[1:])
        if not path.is_file():
            raise InvalidInput(f"There is no file {text[1:]!r}, which --domain {kind} names.")
        try:
            lines = path.read_text("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise InvalidInput(f"{text[1:]} is not UTF-8 text.") from None
    else:
        lines = text.split(";")
    rows = [[cell.strip() for cell in line.split(",")] for line in lines if line.strip()]
    if not rows or not all(cell for row in rows for cell in row):
        raise _malformed(kind)
    return rows


def _edges(rows: Rows, kind: str) -> list[tuple[str, str]]:
    """Edges as tail-head, or in a file as a row of two."""
    if len(rows) > 1 and all(len(row) == 2 for row in rows):
        return [(tail, head) for tail, head in rows]
    pairs = [cell.split("-") for row in rows for cell in row]
    if any(len(pair) != 2 or not all(pair) for pair in pairs):
        raise _malformed(kind)
    return [(tail, head) for tail, head in pairs]


def _number(text: str, kind: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise _malformed(kind) from None


def _whole(text: str, kind: str) -> int:
    if not text.isdecimal():
        raise _malformed(kind)
    return int(text)


def _malformed(kind: str) -> InvalidInput:
    return InvalidInput(f"--domain {kind} must be written out as in {WRITTEN[kind][1]}.")


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
    adversary: options.LossMaker = "oblivious",
) -> tacit.Experts:
    """Choose one of N experts each round; the losses of all of them are seen."""
    return tacit.Experts(n=n, horizon=horizon, loss_range=loss_range, delay=delay, adversary=adversary)


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
    adversary: options.ArmLossMaker = "stochastic",
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
) -> tacit.Arms:
    """Choose one of N arms each round; only the loss of the chosen one is seen, or nothing."""
    return tacit.Arms(n=n, horizon=horizon, adversary=adversary, loss_range=loss_range, delay=delay)


def policies(
    n: Annotated[int, typer.Option("--n", help="Number of policies.")],
    actions: Annotated[int, typer.Option("--actions", help="Number of actions.")],
    horizon: options.Horizon = None,
    adversary: options.ArmLossMaker = "oblivious",
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
    recommendations: Annotated[
        str, typer.Option(help="Who may see what policies recommend: public (all), private (the round's person).")
    ] = "public",
) -> tacit.Policies:
    """Choose an action each round by the advice of N policies; only its loss is seen, or nothing."""
    return tacit.Policies(
        n=n,
        actions=actions,
        horizon=horizon,
        adversary=adversary,
        loss_range=loss_range,
        delay=delay,
        recommendations=recommendations,
    )


def contextual_arms(
    n: Annotated[int, typer.Option("--n", help="Number of actions.")],
    dim: Annotated[int, typer.Option("--dim", help="Number of features.")],
    horizon: Annotated[int, typer.Option(help="Number of rounds.")],
    radius: Annotated[
        float, typer.Option(help="Largest distance of an action's parameters from a common vector.")
    ] = 0.5,
    features: Annotated[
        str, typer.Option(help="private, or public (then all decisions may be published).")
    ] = "private",
    floor: Annotated[float, typer.Option(help="Lower bound of the smallest eigenvalue of E[x x'].")] = 0.0,
    misspecification: Annotated[float, typer.Option(help="How far expected losses may be from linear ones.")] = 0.0,
    missing_at_most: Annotated[float, typer.Option(help="Largest share of rounds whose feedback never comes.")] = 0.0,
    loss_range: options.LossRange = (0.0, 1.0),
    delay: options.Delay = 0,
) -> tacit.ContextualArms:
    """Choose one of N actions by the features of each round; only the loss of the chosen one is seen, or nothing."""
    return tacit.ContextualArms(
        n=n,
        dimension=dim,
        horizon=horizon,
        radius=radius,
        features=features,
        floor=floor,
        misspecification=misspecification,
        missing=missing_at_most,
        loss_range=loss_range,
        delay=delay,
    )


contextual_arms.__name__ = "contextual-arms"


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
    adversary: options.LossMaker = "oblivious",
) -> tacit.Convex:
    """Choose a point of a convex set; the whole convex loss is seen."""
    points, seen = domain_of(domain, dim, radius, chosen), loss_of(loss, data_norm)
    return tacit.Convex(
        domain=points, loss=seen, horizon=horizon, proper=not improper, delay=delay, adversary=adversary
    )


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
    adversary: options.LossMaker = "oblivious",
) -> tacit.Convex:
    """Choose a point of a convex set; the whole convex loss is seen. Its constants are enough to plan."""
    constants = tacit.losses.ConvexFamily(lipschitz, smoothness, family, strong_convexity)
    points = domain_of(domain, dim, radius, chosen)
    return tacit.Convex(
        domain=points, loss=constants, horizon=horizon, proper=not improper, delay=delay, adversary=adversary
    )


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
    adversary: options.LossMaker = "oblivious",
) -> tacit.Lipschitz:
    """Choose one or two numbers; the whole loss is seen, convex or not."""
    points = None if domain is None else domain_of(domain, dim, radius)
    return tacit.Lipschitz(
        dimension=dim,
        horizon=horizon,
        low=low,
        high=high,
        lipschitz=lipschitz,
        domain=points,
        delay=delay,
        adversary=adversary,
    )


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
    adversary: options.LossMaker = "oblivious",
) -> tacit.Bandit:
    """Choose a point of a convex set; only the loss of that point is seen."""
    points = domain_of(domain, dim, radius, chosen)
    return tacit.Bandit(
        domain=points,
        horizon=horizon,
        value_range=value_range,
        lipschitz=lipschitz,
        margin=margin,
        delay=delay,
        adversary=adversary,
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
    improper: Improper = False,
) -> tacit.Stochastic:
    """Learn one model from records, each seen once."""
    seen = loss_of(loss, data_norm)
    return tacit.Stochastic(
        domain=domain_of(domain, dim, radius, chosen),
        loss=seen if regularisation is None else tacit.losses.RegularisedLoss(seen, regularisation),
        horizon=horizon,
        initial=None if initial is None else point_of(initial),
        gradient_deviation=gradient_deviation,
        hessian_deviation=hessian_deviation,
        proper=not improper,
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

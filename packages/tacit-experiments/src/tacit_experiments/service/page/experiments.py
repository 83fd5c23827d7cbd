"""What the page shows of an experiment: shares, effects, reply rates, alerts, and who may act; all of it is public.

Shares are drawn by version. With many arms those with the largest shares have a colour of their own, and the others are
put together. Effects are drawn on one scale, so that intervals can be compared. Alerts are computed from public times,
acts and releases.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any, NamedTuple

from tacit_experiments.experiments import Experiments
from tacit_experiments.service.page.views import privacy

PARTS = 160  # versions that are drawn, the newest
SHOWN = 7  # arms that have a colour of their own
OTHERS = "others"
ACTS = 12  # that are listed, the newest
ENDS = ("low", "high")
SILENT, HEARD = 3.0, 6.0
"""Standard deviations of the noise: at most so many replies are none, and at least so many are some."""


class Interval(NamedTuple):
    """An effect and its interval, drawn from -100 to 100."""

    text: str
    low: float
    middle: float
    high: float


@dataclass(frozen=True)
class ArmView:
    """One arm as it is now."""

    name: str
    mark: str  # its colour
    default: bool  # whether others are measured against it
    share: float  # of the version that is served
    effect: Interval | None  # against the default arm
    verdict: str  # in a word
    replies: str  # the reply rate, in words (empty: not known)
    gone: str  # "killed", "removed", or nothing
    killable: bool  # whether an act can take it away


@dataclass(frozen=True)
class ExperimentView:
    """One experiment as it is now."""

    key: str  # names it in the page
    name: str
    about: dict[str, Any]  # what `Experiments.describe` says
    found: dict[str, Any]  # what `Experiments.results` says
    privacy: str  # epsilon and delta in a few words
    arms: list[ArmView]  # in their places
    alerts: list[str]  # what somebody should look at
    ledger: dict[str, Any] | None  # the account of the budget that is charged
    drawn: list[dict[str, Any]]  # the versions that are drawn
    paths: list[tuple[str, str]]  # their shares: colours, and what has each
    acts: list[dict[str, str]]  # who did what, newest first


def areas(marks: list[str], stacks: list[list[float]]) -> list[tuple[str, str]]:
    """Draw each colour: rectangles, those that stand beside each other at the same height put together.

    >>> areas(["c0", "c1"], [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]])
    [('c0', 'M0 50h2v50h-2zM2 80h1v20h-1z'), ('c1', 'M0 0h2v50h-2zM2 0h1v80h-1z')]
    """
    edges = [[0, *(round(100 * level) for level in accumulate(stack))] for stack in stacks]
    paths = []
    for index, mark in enumerate(marks):
        path, start = "", 0
        for (low, high), same in groupby(edge[index : index + 2] for edge in edges):
            width = len(list(same))
            if high > low:
                path += f"M{start} {100 - high}h{width}v{high - low}h{-width}z"
            start += width
        if path:
            paths.append((mark, path))
    return paths


def key_of(name: str) -> str:
    """Name an experiment so that a page can find it."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def view(experiments: Experiments, name: str, ledger: dict[str, Any] | None, overdue: int) -> ExperimentView:
    """Read an experiment as it is now."""
    about, found = experiments.describe(name), experiments.results(name)
    killed = set(experiments.kills(name)["killed"])
    document = experiments.contract(name)["contract"]
    drawn, design = about["versions"][-PARTS:], about["design"]
    marks = _marks([entry["arm"] for entry in found["arms"]], drawn[-1]["shares"] if drawn else {})
    named = [arm for arm in marks if arm != OTHERS]
    stacks = [_stack(version["shares"], named, OTHERS in marks) for version in drawn]
    widest = max((abs(entry["effect"][end]) for entry in found["arms"] if entry["effect"] for end in ENDS), default=0.0)
    arms = [
        ArmView(
            name=entry["arm"],
            mark=marks.get(entry["arm"], "rest"),
            default=entry["default"],
            share=entry["share"],
            effect=_interval(entry, widest, design["high"] - design["low"]),
            verdict="" if entry["default"] else entry["verdict"],
            replies=_rate(entry["reply_rate"]),
            gone="killed" if entry["arm"] in killed else "" if entry["active"] else "removed",
            killable=not entry["default"] and entry["active"] and about["state"] != "ended",
        )
        for entry in found["arms"]
    ]
    unit = "person and month" if design["identified"] else "reply"
    return ExperimentView(
        key=key_of(name),
        name=name,
        about=about,
        found=found,
        privacy=f"{privacy(document['epsilon'], document['delta'])} per {unit}",
        arms=arms,
        alerts=alerts(about, found, overdue),
        ledger=ledger,
        drawn=drawn,
        paths=areas(list(marks.values()), stacks),
        acts=about["acts"][: -ACTS - 1 : -1],
    )


def alerts(about: dict[str, Any], found: dict[str, Any], overdue: int) -> list[str]:
    """Say what somebody should look at."""
    said = []
    if overdue:
        many = "1 version is" if overdue == 1 else f"{overdue} versions are"
        said.append(
            f"{many} overdue: nothing closes, and after an hour nothing of it is released. Look at the service's log, "
            "its databases and its witness."
        )
    if found["sample_ratio"] == "mismatch":
        said.append(
            "Persons that were counted do not fit the shares: effects may be wrong, and shares stay as they are."
        )
    if about["state"] == "frozen":
        last = next(
            (act["act"] for act in reversed(about["acts"]) if act["act"].startswith(("froze", "stop"))), "frozen"
        )
        said.append(f"Frozen, nothing new counts: {last}.")
    if about["state"] == "running" and not about["counting"] and not _pauses(about):
        said.append("Replies to this version do not count: all versions that the month pays for have begun.")
    void = sum(version["state"] == "void" for version in about["versions"])
    if void:
        many = "1 version was" if void == 1 else f"{void} versions were"
        said.append(f"{many} void: nothing of it was released.")
    said += _silent(found["arms"])
    if about["state"] == "draft" and about["plan"]["advice"]:
        said.append(about["plan"]["advice"])
    return said


def _pauses(about: dict[str, Any]) -> bool:
    """Tell whether the version is the pause at the end of a week."""
    return bool(about["design"]["days"] == 7 and len(about["versions"]) > 1 and about["versions"][-2]["counting"])


def _silent(arms: list[dict[str, Any]]) -> list[str]:
    """Name arms without replies, where as many as the default arm has would be seen through the noise."""
    rates = {entry["arm"]: entry["reply_rate"] for entry in arms if entry["reply_rate"] and entry["active"]}
    default = next((rates.get(entry["arm"]) for entry in arms if entry["default"]), None)
    if default is None:
        return []
    return [
        f"{arm} has hardly any replies: it may be broken."
        for arm, rate in rates.items()
        if rate["estimate"] <= SILENT * rate["deviation"] and default["estimate"] >= HEARD * rate["deviation"]
    ]


def _marks(arms: list[str], latest: dict[str, float]) -> dict[str, str]:
    """Give colours to the arms with the largest shares, in the order of their places."""
    few = len(arms) <= SHOWN + 1
    shown = set(arms) if few else set(sorted(arms, key=lambda arm: -latest.get(arm, 0.0))[:SHOWN])
    marks = {arm: f"c{place}" for place, arm in enumerate(arm for arm in arms if arm in shown)}
    return marks if few else marks | {OTHERS: "rest"}


def _stack(shares: dict[str, float], named: list[str], others: bool) -> list[float]:
    stack = [shares.get(arm, 0.0) for arm in named]
    return [*stack, max(0.0, 1 - sum(stack))] if others else stack


def _interval(entry: dict[str, Any], widest: float, width: float) -> Interval | None:
    effect = entry["effect"]
    if effect is None:
        return None
    places = [100 * effect[end] / widest if widest else 0.0 for end in ("low", "estimate", "high")]
    unit, words = (100, " points") if width == 1 else (1, "")  # of a hundred, where values are from 0 to 1
    shown = [f"{unit * effect[end]:+.2f}" for end in ("estimate", "low", "high")]
    return Interval("{} ({} to {}){}".format(*shown, words), *(round(place, 1) for place in places))


def _rate(rate: dict[str, float] | None) -> str:
    return "" if rate is None else f"{100 * rate['estimate']:.1f}% \N{PLUS-MINUS SIGN} {100 * rate['deviation']:.1f}"

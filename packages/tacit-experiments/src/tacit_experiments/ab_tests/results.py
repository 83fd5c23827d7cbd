"""Results of a test: everything that is known of its arms, computed from releases and nothing else.

So results cost no privacy, whoever looks and however often. What is not known is null, and never NaN.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Any

import numpy as np

from tacit_experiments.ab_tests.design import ABTest
from tacit_experiments.ab_tests.inference import (
    ALPHA,
    Estimates,
    Intervals,
    alpha_of,
    cells_differ,
    compare,
    critical,
    estimate,
    ratio_alarm,
    ratio_chance,
    verdict,
)
from tacit_experiments.ab_tests.metrics import Metric, Ratio
from tacit_experiments.ab_tests.promise import Promise
from tacit_experiments.ab_tests.release import Block, Released, read_release
from tacit_experiments.ab_tests.weights import levels

DECIDED = ("better", "worse", "harmed")


def read_results(design: ABTest, promise: Promise, releases: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Write what is known after these looks, as JSON."""
    looks = [
        read_release(design, promise, look, [int(value) for value in releases[look]["sums"]])
        for look in sorted(releases)
    ]
    return {
        "test": design.name,
        "default": design.default,
        "epsilon": promise.guarantee.epsilon(),
        "delta": promise.delta,
        "confidence": 1 - ALPHA,
        "looks": design.looks,
        "looks_released": [released.look for released in looks],
        "by_look": [_look(design, released) for released in looks],
        "verdicts": _verdicts(design, looks),
        "assignment": "read from the file: the sample ratio is its only check",
    }


def _look(design: ABTest, released: Released) -> dict[str, Any]:
    total = released.total
    noise = sqrt(float(total.noise[0, 0]))
    chance = float(ratio_chance(total.moments[..., 0], noise**2, design.arm_shares))
    persons = total.moments[..., 0].tolist()
    return {
        "look": released.look,
        "persons": {arm: round(count, 1) for arm, count in zip(design.arms, persons, strict=True)},
        "persons_noise": noise,
        "sample_ratio": {"alarm": bool(ratio_alarm(design, total)), "chance": chance},
        "metrics": [_metric(design, metric, total, released.look) for metric in design.metrics],
        "segments": [
            {"segment": dimension, **_segment(design, cells, blocks, released.look)}
            for (dimension, cells), blocks in zip(design.segments.items(), released.cells, strict=True)
        ],
    }


def _segment(design: ABTest, cells: tuple[str, ...], blocks: list[Block], look: int) -> dict[str, Any]:
    shown = [
        {"cell": cell, "metrics": [_metric(design, metric, block, look) for metric in design.metrics]}
        for cell, block in zip(cells, blocks, strict=True)
    ]
    differ: dict[str, Any] = {}
    if look == design.looks:  # one question, at the last look only
        for metric in design.metrics:
            chances = {
                arm: cells_differ(design, metric, blocks, place)
                for place, arm in enumerate(design.arms)
                if place != design.default_place
            }
            differ[metric.name] = {arm: None if at is None else bool(at < ALPHA) for arm, at in chances.items()}
    return {"cells": shown, "differ": differ}


def _metric(design: ABTest, metric: Metric, block: Block, look: int) -> dict[str, Any]:
    estimates = estimate(design, metric, block)
    intervals = _intervals(design, metric, estimates, look)
    return {
        "metric": metric.name,
        "arms": [_arm(design, metric, estimates, intervals, place) for place in range(len(design.arms))],
    }


def _intervals(design: ABTest, metric: Metric, estimates: Estimates, look: int) -> Intervals:
    deviations = critical(alpha_of(design, metric), levels(design.looks)[look - 1])
    return compare(estimates, design.default_place, deviations)


def _arm(design: ABTest, metric: Metric, estimates: Estimates, intervals: Intervals, place: int) -> dict[str, Any]:
    scale = scale_of(design, metric)
    is_known = bool(estimates.known[place])
    shown: dict[str, Any] = {
        "arm": design.arms[place],
        "value": scale * float(estimates.value[place]) if is_known else None,
        "deviation": scale * sqrt(float(estimates.variance[place])) if is_known else None,
    }
    if place == design.default_place:
        return shown
    low, high = float(intervals.low[place]), float(intervals.high[place])
    difference, margin = float(intervals.difference[place]), float(intervals.margin[place])
    compared = bool(intervals.known[place])
    base = float(estimates.value[design.default_place])
    is_lift = compared and isfinite(low) and isfinite(high)
    shown["lift"] = {"estimate": difference / base, "low": low, "high": high} if is_lift else None
    ends = {"estimate": difference, "low": difference - margin, "high": difference + margin}
    shown["difference"] = {name: scale * end for name, end in ends.items()} if compared else None
    shown["state"] = verdict(design, metric, intervals, place) if compared else "nobody yet"
    return shown


def scale_of(design: ABTest, metric: Metric) -> float:
    """Return what a scaled value of 1 is in the user's units."""
    if isinstance(metric, Ratio):
        over, under = design.places(metric)
        return design.measures[over].high / design.measures[under].high
    return metric.high


def _verdicts(design: ABTest, looks: list[Released]) -> list[dict[str, Any]]:
    """Find for each metric and arm the first look that decided, and what the newest one says."""
    alarm = any(bool(np.any(ratio_alarm(design, released.total))) for released in looks)
    found = []
    for metric in design.metrics:
        states = []
        for released in looks:
            estimates = estimate(design, metric, released.total)
            states.append((released.look, estimates, _intervals(design, metric, estimates, released.look)))
        for place, arm in enumerate(design.arms):
            if place == design.default_place:
                continue
            said = [
                (look, verdict(design, metric, intervals, place) if intervals.known[place] else "nobody yet")
                for look, _, intervals in states
            ]
            first = next(((look, word) for look, word in said if word in DECIDED), None)
            found.append(
                {
                    "metric": metric.name,
                    "role": role_of(design, metric),
                    "arm": arm,
                    "verdict": "sample ratio alarm"
                    if alarm
                    else first[1]
                    if first
                    else said[-1][1]
                    if said
                    else "open",
                    "look": first[0] if first and not alarm else None,
                    "newest": said[-1][1] if said else "open",
                }
            )
    return found


def role_of(design: ABTest, metric: Metric) -> str:
    """Say whether a metric is the primary one, a guardrail, or a secondary one."""
    if metric.name == design.primary:
        return "primary"
    return "guardrail" if metric.name in design.guardrails else "secondary"


def results_text(design: ABTest, results: dict[str, Any]) -> str:
    """Write results in words: the newest look first of all, then every metric and segment."""
    if not results["by_look"]:
        return f"{design.name}: nothing was released yet."
    newest = results["by_look"][-1]
    lines = [f"{design.name}: look {newest['look']} of {design.looks}, default arm {design.default}"]
    if newest["sample_ratio"]["alarm"]:
        lines.append(
            "ALARM: the numbers of persons do not fit the shares of the arms. Persons were lost in one of them, and no "
            "comparison can be trusted."
        )
    said = {(entry["metric"], entry["arm"]): entry for entry in results["verdicts"]}
    for metric, shown in zip(design.metrics, newest["metrics"], strict=True):
        for arm in shown["arms"]:
            if arm["arm"] != design.default:
                words = _words(said[metric.name, arm["arm"]], newest["look"])
                lines.append(f"  {arm['arm']}: {metric.name} ({role_of(design, metric)}) {_ends(arm)}: {words}")
    counts = ", ".join(f"{arm} {max(0, round(count)):,}" for arm, count in newest["persons"].items())
    chance = newest["sample_ratio"]["chance"]
    lines.append(f"  persons +- {newest['persons_noise']:.0f}: {counts}; sample ratio: p = {chance:.2g}")
    for segment in newest["segments"]:
        for cell in segment["cells"]:
            primary = next(metric for metric in cell["metrics"] if metric["metric"] == design.primary)
            lines += [
                f"  {segment['segment']} = {cell['cell']}, {arm['arm']}: {design.primary} {_ends(arm)}"
                for arm in primary["arms"]
                if arm["arm"] != design.default
            ]
        for arm, differs in segment["differ"].get(design.primary, {}).items():
            words = {True: "differs", False: "not seen to differ", None: "not known"}[differs]
            lines.append(f"  {segment['segment']}, {arm}: the lift of {design.primary} between cells: {words}")
    lines.append("Intervals hold with 95%, at all looks together. An estimate at an early stop overstates.")
    return "\n".join(lines)


def _ends(arm: dict[str, Any]) -> str:
    if arm["lift"] is not None:
        return f"{arm['lift']['low']:+.1%} to {arm['lift']['high']:+.1%}"
    if arm["difference"] is not None:
        ends = arm["difference"]
        return f"lift not known yet, difference {ends['low']:+.4g} to {ends['high']:+.4g}"
    return "nobody yet"


def _words(said: dict[str, Any], newest: int) -> str:
    if said["look"] is None or said["look"] == newest or said["newest"] == said["verdict"]:
        return str(said["verdict"]) if said["verdict"] != "open" else "not known yet"
    return (
        f"{said['verdict']} at look {said['look']}, {'not known' if said['newest'] == 'open' else said['newest']} now"
    )

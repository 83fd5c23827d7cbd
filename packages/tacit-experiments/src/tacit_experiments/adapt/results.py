"""Results: everything that is known of the arms, computed from releases and public counts, and nothing else.

So results cost no privacy, whoever looks and however often. Shares of the next version are results, too. They use the
releases of all versions that closed before it begins by their public times. If one of these is missing, shares stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from typing import Any

import numpy as np

from tacit.validation import FloatArray
from tacit_experiments.contract import Promise
from tacit_experiments.design import Design
from tacit_experiments.records import RELEASED, VOID, Experiment, Release, Version
from tacit_experiments.versions import (
    HOLD,
    Releases,
    best,
    fit,
    loss_so_far,
    next_shares,
    result,
    sample_ratio,
)

LEVEL, HOPELESS = 0.05, 0.5
"""The chance that any interval of an experiment is ever wrong, and a lift that hardly any arm has."""
PER_DECISION = (
    "Effects are per decision of a version, and wrong where persons return: people are assigned afresh in each "
    "version, so who sees one arm and acts under another counts for the other (measured with returning visitors: 53% "
    "too small, and intervals of 95% held in 10%). Moving shares bias them too (-30% to +18% while an effect is not "
    "decided). Use them to send people to what works, not to read an effect."
)


def public_set(versions: Sequence[Version], begin: float) -> list[Version]:
    """Give the versions whose releases a version that begins then may use: a function of public times."""
    return [version for version in versions if version.counting and version.state != VOID and version.close_at <= begin]


def served_part(owner: Experiment, versions: Sequence[Version]) -> dict[str, float]:
    """Compute which part of its time each version was served, by salt: one that was stopped had fewer people.

    One that began in the future of a clock that was set right since had none.
    """
    part, end = {}, inf
    for version in reversed(versions):
        begin = version.policy.serve_from
        part[version.salt] = min(1.0, max(0.0, end - begin) / owner.design.serving)
        end = min(end, begin)
    return part


def collected(
    owner: Experiment, versions: Sequence[Version], releases: Sequence[Release], begin: float = inf
) -> Releases | None:
    """Collect what a version that begins then may use, oldest first; None if there is nothing."""
    known = {release.salt: release.content for release in releases}
    used = [version for version in public_set(versions, begin) if version.salt in known]
    part = served_part(owner, versions)
    if not used:
        return None
    k = len(owner.arms)
    sums, shares, alive = (np.zeros((len(used), k)) for _ in range(3))
    variances = np.zeros(len(used))
    for row, version in enumerate(used):
        content, policy = known[version.salt], version.policy
        units, count = content["noise"]["units"], len(policy.arms)
        sums[row, :count] = [pair[0] / units for pair in content["sums"]]
        shares[row, :count] = np.array(policy.shares) * part[version.salt]
        variances[row] = content["noise"]["deviation"] ** 2
        for arm in owner.arms:
            killed = arm.killed_at is not None and policy.serve_from <= arm.killed_at < policy.serve_until
            alive[row, arm.place] = not killed
    return Releases(sums, shares, alive.astype(bool), variances, owner.design.people)


def better(found: Releases, default: int) -> set[int]:
    """Find the arms that were declared better than the default, at any closing so far."""
    k, declared = found.sums.shape[1], set()
    for count in range(1, len(found.sums) + 1):
        part = Releases(
            found.sums[:count], found.shares[:count], found.used[:count], found.variances[:count], found.people
        )
        others = [arm for arm in range(k) if arm != default and arm not in declared]
        looks = {arm: result(part, arm, default, level=_level(k), with_lift=False) for arm in others}
        declared |= {arm for arm, look in looks.items() if look.verdict == "better"}
    return declared


def shares(
    owner: Experiment,
    versions: Sequence[Version],
    releases: Sequence[Release],
    begin: float,
    persons: dict[str, dict[int, int]],
) -> FloatArray:
    """Compute the shares of a version that begins now, for every arm that there ever was."""
    active = np.array([arm.active for arm in owner.arms])
    served = np.zeros(len(owner.arms))
    if versions:
        last = versions[-1].policy
        served[: len(last.arms)] = last.shares
    chosen = public_set(versions, begin)
    missing = any(version.state != RELEASED for version in chosen)
    if missing or (versions and ratio_alarm(owner, versions, persons)):
        return stay(owner, versions)
    found = collected(owner, versions, releases, begin)
    if found is None:
        return first_shares(owner, active)
    return np.asarray(
        next_shares(
            found,
            active=active,
            served=served,
            default=owner.default,
            beaten=_leader(found, active) in better(found, owner.default),
            hold=HOLD if owner.design.goal == "compare" else 0.0,
            changing=owner.design.changing,
            least_share=owner.design.min_share,
        )
    )


def first_shares(owner: Experiment, active: Any) -> FloatArray:
    """Give the shares before there is a release: equal ones, or those of the design; an arm that came later has 1/K."""
    equal = np.where(active, 1 / active.sum(), 0.0)
    if owner.design.shares is None:
        return equal
    given = np.array(owner.design.shares)
    wanted = np.concatenate([given, equal[len(given) :]]) * active
    return wanted / wanted.sum() if wanted.sum() > 0 else equal


def stay(owner: Experiment, versions: Sequence[Version]) -> FloatArray:
    """Keep the shares that are served; what inactive arms had goes to the default."""
    last = versions[-1].policy
    kept = np.zeros(len(owner.arms))
    kept[: len(last.arms)] = last.shares
    kept *= [arm.active for arm in owner.arms]
    kept[owner.default] += 1 - kept.sum()
    return kept


def _leader(found: Releases, active: Any) -> int | None:
    seen = np.flatnonzero(found.used.any(axis=0) & active).tolist()
    if len(seen) < 2:
        return None
    chances = best(fit(found), seen)
    return max(chances, key=lambda arm: chances[arm])


def _level(arms: int) -> float:
    return LEVEL / max(1, arms - 1)


def ratio_alarm(owner: Experiment, versions: Sequence[Version], persons: dict[str, dict[int, int]]) -> bool:
    """Tell whether the persons that the operator counted do not fit the shares: public counts only."""
    counted = [version for version in versions if version.counting and persons.get(version.salt)]
    if not counted:
        return False
    counts = np.zeros((len(counted), len(owner.arms)), dtype=np.int64)
    served = np.zeros(counts.shape)
    for row, version in enumerate(counted):
        served[row, : len(version.policy.arms)] = version.policy.shares
        for place, count in persons[version.salt].items():
            counts[row, place] = count
    return bool(sample_ratio(counts, served).any())


def results(
    owner: Experiment,
    versions: Sequence[Version],
    releases: Sequence[Release],
    persons: dict[str, dict[int, int]],
) -> dict[str, Any]:
    """Write what is known, as engineers expect it: each arm against the default, at all looks together."""
    found = collected(owner, versions, releases)
    k, default, design = len(owner.arms), owner.default, owner.design
    active = np.array([arm.active for arm in owner.arms])
    served = versions[-1].policy.shares if versions else ()
    chances: dict[int, float] = {}
    declared: set[int] = set()
    if found is not None:
        seen = np.flatnonzero(found.used.any(axis=0) & active).tolist()
        chances = best(fit(found), seen) if len(seen) > 1 else {}
        declared = better(found, default)
    rates = _reply_rates(owner, versions, releases)
    arms = []
    for arm in owner.arms:
        entry: dict[str, Any] = {
            "arm": arm.name,
            "default": arm.place == default,
            "active": arm.active,
            "share": served[arm.place] if arm.place < len(served) else 0.0,
            "probability_best": chances.get(arm.place),
            "effect": None,
            "lift": None,
            "verdict": "default" if arm.place == default else "open",
            "reply_rate": rates[arm.place],
            "persons": sum(counts.get(arm.place, 0) for counts in persons.values()) if persons else None,
        }
        if found is not None and arm.place != default:
            known = result(found, arm.place, default, level=_level(k))
            width = design.high - design.low
            if known.high < inf:
                ends = (known.effect, known.low, known.high)
                entry["effect"] = dict(zip(("estimate", "low", "high"), (width * end for end in ends), strict=True))
            if known.lift is not None:
                entry["lift"] = {"low": known.lift[0], "high": known.lift[1]}
            entry["verdict"] = "better" if arm.place in declared else known.verdict
        arms.append(entry)
    return {
        "experiment": owner.name,
        "state": owner.state,
        "confidence": 1 - LEVEL,
        "versions_released": 0 if found is None else len(found.sums),
        "arms": arms,
        "sample_ratio": "not counted"
        if not persons
        else "mismatch"
        if ratio_alarm(owner, versions, persons)
        else "fits",
        "loss_at_most": None if found is None else loss_so_far(found, level=LEVEL),
        "note": PER_DECISION,
    }


def _reply_rates(
    owner: Experiment, versions: Sequence[Version], releases: Sequence[Release]
) -> list[dict[str, float] | None]:
    """Compute (S + F)/n by arm, over all versions: persons who replied, of those expected."""
    known = {release.salt: release.content for release in releases}
    part = served_part(owner, versions)
    replied, expected, variance = (np.zeros(len(owner.arms)) for _ in range(3))
    for version in versions:
        if version.salt in known:
            content, count = known[version.salt], len(version.policy.arms)
            served = np.array(version.policy.shares) > 0
            units = content["noise"]["units"]
            replied[:count] += np.where(served, [sum(pair) / units for pair in content["sums"]], 0.0)
            expected[:count] += np.array(version.policy.shares) * owner.design.people * part[version.salt]
            variance[:count] += np.where(served, 2 * content["noise"]["deviation"] ** 2, 0.0)
    return [
        {"estimate": float(r / n), "deviation": float(sqrt(v) / n)} if n else None
        for r, n, v in zip(replied, expected, variance, strict=True)
    ]


def plan(design: Design) -> dict[str, Any]:
    """Say before anything is charged how large the noise is, and what can be found in a month."""
    promise, k = Promise.of(design), len(design.arms)
    months = design.versions
    expected = np.full((months, k), design.people * design.score / k)
    released = Releases(
        expected,
        np.full((months, k), 1 / k),
        np.ones((months, k), dtype=bool),
        np.full(months, promise.deviation**2),
        design.people,
    )
    known = result(released, 1, 0, level=_level(k))
    half = (known.high - known.low) / 2
    return {
        "versions_a_month": design.versions,
        "hours_of_a_version": design.serving / 3600,
        "closes_after_hours": design.closing / 3600,
        "noise": {**promise.noise, "deviation_in_persons": promise.deviation},
        "detects_in_a_month": {"difference": half * (design.high - design.low), "lift": half / design.score},
        "advice": f"Only a lift of {half / design.score:.0%} or more can be found in a month: take more people, fewer "
        "arms or a larger epsilon."
        if half > HOPELESS * design.score
        else "",
    }

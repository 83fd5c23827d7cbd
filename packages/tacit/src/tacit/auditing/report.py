"""What an audit found: certified against measured, the worst neighbours, and a verdict that never says "proved"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.accounting.rounding import rounded_up
from tacit.runtime.plan import Plan

CLEAN = "no violation found"
VIOLATION = "VIOLATION"


@dataclass(frozen=True)
class Finding:
    """One method on one instance.

    Attributes:
        method: how it was attacked.
        instance: what was attacked.
        quantity: what the two numbers are.
        certified: what the plan promises at most.
        lower: what was shown at least.
        violation: whether the promise was broken.
        failure: the probability that a violation is a false alarm (0 for exact methods).
        detail: what exactly was compared.
        stream: the worst stream found.
        neighbour: its neighbour.
        check: whether this asks if the algorithm is the certified one, and not how much it leaks.
    """

    method: str
    instance: str
    quantity: str
    certified: float
    lower: float
    violation: bool
    failure: float = 0.0
    detail: str = ""
    stream: tuple[Any, ...] = ()
    neighbour: tuple[Any, ...] = ()
    check: bool = False

    @property
    def tightness(self) -> float:
        """Lower bound over certified value; above 1 the promise is broken."""
        if self.certified == 0:
            return 0.0 if self.lower == 0 else float("inf")
        return self.lower / self.certified

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description."""
        return {
            "method": self.method,
            "instance": self.instance,
            "quantity": self.quantity,
            "certified": _finite(self.certified),
            "lower_bound": _finite(self.lower),
            "tightness": _finite(self.tightness),
            "verdict": VIOLATION if self.violation else CLEAN,
            "false_alarm": self.failure,
            "detail": self.detail,
            "stream": [_listed(row) for row in self.stream],
            "neighbour": [_listed(row) for row in self.neighbour],
        }


@dataclass(frozen=True)
class AuditReport:
    """The outcome of `tacit.audit`. A clean report means that these attacks failed, and nothing more."""

    plan: Plan
    findings: tuple[Finding, ...]
    seed: int

    @property
    def violation(self) -> bool:
        """Whether any attack broke the promise."""
        return any(finding.violation for finding in self.findings)

    @property
    def verdict(self) -> str:
        """ "no violation found" or "VIOLATION"."""
        return VIOLATION if self.violation else CLEAN

    @property
    def worst(self) -> Finding:
        """The finding that came nearest to its certificate, violations first."""
        return max(self.findings, key=lambda finding: (finding.violation, not finding.check, finding.tightness))

    @property
    def false_alarm(self) -> float:
        """A bound on the probability that a clean plan is reported as a violation."""
        return sum(finding.failure for finding in self.findings)

    @property
    def reproducer(self) -> str:
        """The worst finding in words: seed, method, instance, and the two streams (whole in `to_dict`)."""
        worst = self.worst
        lines = [f"seed {self.seed}, method {worst.method!r}, instance: {worst.instance}"]
        streams = ([_listed(row) for row in worst.stream], [_listed(row) for row in worst.neighbour])
        if len(streams[0]) <= 8:
            lines += [f"stream    {streams[0]}", f"neighbour {streams[1]}"] if streams[0] else []
        else:
            changed = [t for t, (one, other) in enumerate(zip(*streams, strict=True)) if one != other]
            lines += [f"round {t + 1} of {len(streams[0])}: {streams[0][t]} or {streams[1][t]}" for t in changed]
        return "\n".join(lines)

    def __str__(self) -> str:
        guarantee = self.plan.guarantee
        shown = f" at delta={guarantee.at_delta:g}" if guarantee.at_delta else " (pure)"
        lines = [
            f"Audit of {self.plan.algorithm}: {self.verdict}",
            f"certified: epsilon={rounded_up(guarantee.epsilon())}{shown}; neighbours: {guarantee.relation}",
            f"{'method':12s} {'certified':>10s} {'measured':>10s} {'tightness':>9s}  what",
        ]
        for finding in self.findings:
            mark = "  VIOLATION" if finding.violation else ""
            share = "" if finding.check else f"{finding.tightness:.3f}"
            lines.append(
                f"{finding.method:12s} {finding.certified:10.4g} {finding.lower:10.4g} {share:>9s}  "
                f"{finding.quantity}; {finding.instance}{mark}"
            )
            if finding.detail and finding.violation:
                lines.append(f"{'':12s} {finding.detail}")
        lines.append(f"false alarms: probability at most {rounded_up(self.false_alarm, 1)} in this audit")
        lines.append("worst neighbours found:" if not self.violation else "reproduce with:")
        lines.append(self.reproducer)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Give a JSON-ready description."""
        return {
            "algorithm": self.plan.algorithm,
            "verdict": self.verdict,
            "certified_epsilon": _finite(self.plan.guarantee.epsilon()),
            "delta": self.plan.guarantee.at_delta,
            "tightness": _finite(self.worst.tightness),
            "seed": self.seed,
            "findings": [finding.to_dict() for finding in self.findings],
        }


def _listed(row: Any) -> Any:
    if isinstance(row, np.ndarray):
        return row.tolist()
    if isinstance(row, tuple):
        return [_listed(part) for part in row]
    return row if isinstance(row, int | float | str) else repr(row)


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None

"""What is recorded of plans, decisions, contracts and states; and how two records differ.

Numbers are written with all their digits. On a processor whose elementary functions give the bits
of `arithmetic.txt`, records must agree in every bit. Elsewhere exp, log or a product of matrices
may differ in the last digit. There numbers must agree to `ELSEWHERE`, and integers and text
exactly; means of points are compared in place of their digests. Decisions that are options
(experts, arms, actions) depend on a last digit with negligible probability only, and must agree
everywhere. The tests were run as on another processor with these two variables, which take numpy's
and OpenBLAS's newer instructions away:

    NPY_DISABLE_CPU_FEATURES="AVX512F AVX2 FMA3 X86_V3 X86_V4" OPENBLAS_CORETYPE=Nehalem
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from base64 import b64decode
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

import tacit
from frozen import rounds
from frozen.expressions import evaluate, expression
from tacit import problems
from tacit.errors import InvalidInput, TacitError
from tacit.runtime.state import State

Record = dict[str, Any]
ROOT = Path(__file__).parent / "0.3"
LEARNER = b"frozen"
DELTAS = (0.0, 1e-9, 1e-6, 1e-3)
TWO_EPOCHS = 3000
"""Rounds for which epochs are certified here: all of the first epoch and most of the second."""
ELSEWHERE = 1e-7
ELSEWHERE_SEARCHED = 1e-3
"""Relative: how far numbers, and results of searches, may lie apart on another processor."""
NOTHING = 1e-12
"""Numbers this small are 0 on another processor."""
_NUMBER = re.compile(r"(?<![\w.])(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])")


def arithmetic() -> str:
    """Return a digest of elementary functions, special functions and products on this processor."""
    points = np.linspace(0.01, 20.0, 4001)
    parts = [np.exp(-points), np.log(points), np.sqrt(points), np.tanh(points), np.log1p(points)]
    parts += [np.expm1(points), points**1.7, np.sin(points), np.logaddexp(points, -points)]
    parts += [special.ndtr(-points), special.log_ndtr(-points), special.gammaln(points)]
    parts += [np.array([math.exp(-x), math.log(x), math.erfc(x)]) for x in points[::40].tolist()]
    square = points[:4000].reshape(100, 40)
    parts += [square @ square.T, np.linalg.inv(square.T @ square + np.eye(40)), square.sum(axis=0)]
    found = hashlib.sha256()
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


@cache
def same_bits() -> bool:
    """Return True if this processor computes with the bits of the one that wrote the files."""
    return (ROOT / "arithmetic.txt").read_text().split()[0] == arithmetic()


def tolerance() -> float:
    """Return how far numbers may lie apart here, relative; 0: not at all."""
    return 0.0 if same_bits() else ELSEWHERE


def tolerance_of_searches() -> float:
    """Return how far results of a search may lie apart here: it may stop at another step."""
    return 0.0 if same_bits() else ELSEWHERE_SEARCHED


def read(name: str) -> list[dict[str, Any]]:
    """Return the entries of a file, one a line."""
    text = (ROOT / name).read_text()
    return [json.loads(line) for line in text.splitlines()]


def read_folder(name: str) -> list[dict[str, Any]]:
    """Return the entries of all files of a folder."""
    files = sorted(path.name for path in (ROOT / name).iterdir())
    return [entry for file in files for entry in read(f"{name}/{file}")]


def written(entry: dict[str, Any]) -> str:
    """Return an entry as one line."""
    return json.dumps(entry, ensure_ascii=False) + "\n"


def plan_of(entry: dict[str, Any]) -> Any:
    """Return the plan of an entry: made of its parameters, or calibrated if it has epochs."""
    return evaluate(entry["plan"] or entry["asked"])


def is_epochs(plan: Any) -> bool:
    """Return True if a plan has epochs, hence no parameters that it can be made of."""
    return plan.horizon is None and hasattr(plan, "planned")


def plan_fields(plan: Any) -> dict[str, Any]:
    """Return the record of a plan besides its parameters."""
    guarantee = plan.guarantee if plan.private else None
    bound = plan.regret_bound_at(TWO_EPOCHS) if is_epochs(plan) else plan.regret_bound
    fields: dict[str, Any] = {"certificate": float(bound)}
    fields["theorem of the certificate"] = bound.formula
    fields["expected switches"] = plan.expected_switches
    if guarantee is not None:
        for delta in DELTAS:
            fields[f"epsilon at {delta:g}"] = guarantee.epsilon(delta)
        fields["delta"] = guarantee.at_delta
        for name in ("numerics", "released", "theorem", "unit", "assumed"):
            fields[name] = getattr(guarantee, name)
    if is_epochs(plan):
        fields["epochs"] = [expression(plan.epoch(index)) for index in (0, 1)]
    fields["audits"] = audits(plan)
    return fields


def audits(plan: Any) -> list[str]:
    """Return the attacks of the small instances of a plan, each with its label."""
    try:
        return [f"{small.attack}: {small.label}" for small in plan.small_instances()]
    except TacitError as refusal:
        return [f"refused: {refusal}"]


def decision_fields(plan: Any, count: int) -> dict[str, Any]:
    """Return digests of decisions with replayable noise, in all ways to play."""
    given = rounds.script(plan.problem, count)
    fields: dict[str, Any] = {}
    for way in ways(plan):
        learner = plan.start(tacit.Randomness.replayable(11))
        decisions = getattr(rounds, way)(learner, given, 0, count)
        fields[way] = rounds.digest(decisions)
        fields[f"summary of {way}"] = rounds.summary(decisions)
        fields[f"switches of {way}"] = learner.switches
        if hasattr(learner, "release"):
            model = np.asarray(learner.release())
            fields[f"model of {way}"] = rounds.digest([model])
            fields[f"summary of the model of {way}"] = rounds.summary([model])
    return fields


def ways(plan: Any) -> list[str]:
    """Return the ways to play a plan: functions of `rounds`."""
    if isinstance(plan.problem, problems.Bandit):
        return ["loop", "array"]
    return ["loop", "array", "late"]


def contract_of(plan: Any, name: str) -> dict[str, Any]:
    """Return the contract of a plan, or of a learner whose noise can be replayed."""
    if name.startswith("replayable"):
        return tacit.contract(plan.start(tacit.Randomness.replayable(11)))
    return tacit.contract(plan)


def verdict_fields(contract: dict[str, Any]) -> dict[str, Any]:
    """Return what the second accountant says of a contract."""
    try:
        return tacit.verify(contract).to_dict()
    except InvalidInput as refusal:
        return {"answer": "refused", "reason": str(refusal), "epsilon": None, "stated": []}


def sealed(state: bytes = b"") -> Any:
    """Return a private source whose draws are those of every other run."""
    return key().batch(plan="", learner=LEARNER, first=0, rows=b"", state=state)


def key() -> Any:
    """Return the sealed source of all secret learners."""
    return tacit.Randomness.sealed(bytes(range(32)))


def source_of(kind: str) -> Any:
    """Return the source of noise of a saved learner: replayable, or secret (then sealed)."""
    return sealed() if kind == "secret" else tacit.Randomness.replayable(11)


def unpacked(plan: Any, entry: dict[str, Any]) -> Any:
    """Return a learner of the packed form of a saved state, on the same sealed noise."""
    packed = b64decode(entry["packed"])
    learner = plan.start(sealed(b"state"))
    learner.load(State.unpacked(packed, plan.signature, key(), LEARNER))
    return learner


def following(learner: Any, entry: dict[str, Any]) -> dict[str, Any]:
    """Continue a restored learner; return what is recorded of its decisions."""
    given = rounds.script(learner.plan.problem, entry["rounds"])
    way = entry["way"]
    decisions = getattr(rounds, way)(learner, given, entry["decided"], entry["rounds"])
    fields = {
        "following": rounds.digest(decisions),
        "summary": rounds.summary(decisions),
        "switches": learner.switches,
    }
    if hasattr(learner, "release"):
        model = np.asarray(learner.release())
        fields["model"] = rounds.digest([model])
        fields["summary of the model"] = rounds.summary([model])
    return fields


def restored(plan: Any, kind: str, state: dict[str, Any]) -> Any:
    """Return a learner of a saved state; a secret one continues on sealed noise."""
    if kind == "replayable":
        return plan.restore(state)
    learner = plan.start(sealed(b"state"))
    learner.load_state_dict(state)
    return learner


def differences(saved: Record, found: Record, tolerance: float) -> Iterator[str]:
    """Yield a sentence for each field that is not as it was saved.

    Args:
        saved: the entry of a file.
        found: what the code gives now; only these fields are compared.
        tolerance: how far numbers may lie apart, relative; 0: every bit is compared.
    """
    for name, value in found.items():
        if name not in saved:
            yield f"{name}: not among the saved fields, now {value!r}"
        elif not agree(saved[name], value, tolerance):
            yield f"{name}: saved {saved[name]!r}, now {value!r}"


def agree(saved: Any, found: Any, tolerance: float) -> bool:
    """Return True if two values of a record agree."""
    if tolerance == 0:
        return json.dumps(saved) == json.dumps(found)
    if isinstance(saved, list) and isinstance(found, list | tuple):
        if len(saved) != len(found):
            return False
        pairs = zip(saved, found, strict=True)
        return all(agree(one, other, tolerance) for one, other in pairs)
    if isinstance(saved, dict) and isinstance(found, dict):
        if saved.keys() != found.keys():
            return False
        return all(agree(saved[name], found[name], tolerance) for name in saved)
    if isinstance(saved, float) and isinstance(found, float | int):
        near = math.isclose(saved, found, rel_tol=tolerance, abs_tol=NOTHING)
        return saved == found or near
    if isinstance(saved, str) and isinstance(found, str):
        both_points = saved.startswith(rounds.POINTS) and found.startswith(rounds.POINTS)
        return both_points or _same_text(saved, found, tolerance)
    return bool(saved == found)


def _same_text(saved: str, found: str, tolerance: float) -> bool:
    """Return True if two texts agree up to the last digits of the numbers in them."""
    ours = _NUMBER.split(saved)
    theirs = _NUMBER.split(found)
    if ours[::2] != theirs[::2]:
        return False
    pairs = zip(ours[1::2], theirs[1::2], strict=True)
    return all(agree(float(one), float(other), tolerance) for one, other in pairs)

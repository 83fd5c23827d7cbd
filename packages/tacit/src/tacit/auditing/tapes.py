"""Record and replay: run on one stream, freeze what the mechanisms released, run again on a neighbour.

With the mechanisms' outputs frozen, everything else must be identical on the neighbour: the same actions, the same
calls in the same order. If not, data reached a decision without passing a mechanism. Each mechanism's inputs may differ
by no more than was paid for: the shift of the inputs of running sums and noisy vectors over their noise gives the exact
mu or epsilon of the run. The recorder swaps `Accumulator.add` and `NoisyVectors.release` inside its own context.

Running sums are probed: released sums are A x + B z, x the data, z independent unit noises. One run of the shipped
accumulator on unit vectors of data gives A, one on unit vectors of noise gives B. Then

    Gaussian noise:  mu = |B^+ A dx| exactly (infinite if A dx leaves the range of B: an outcome without noise),
    Laplace noise:   epsilon = |B^-1 A dx|_1 exactly, for B with one fresh noise a step;
    cube noise:      the same with the largest coordinate of each step's noise, added up over the steps.

Sums on a lattice are asked which other draws would have released the same on a neighbour: the differences of the two
sequences of draws are what the noise has to hide, roundings and all. If there are none, the neighbours are told apart.

Epochs of a plan with doubling have the whole budget each, because no feedback enters two of them: streams that differ
in the first epoch only must make every later call with the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, count
from math import inf, sqrt
from typing import Any, Protocol, runtime_checkable

import numpy as np

from tacit.accounting.curves import Curve, Gaussian, Pure, SamplerError
from tacit.algorithms.stochastic.online_to_batch.norms import Norm
from tacit.auditing.instances import alphabet
from tacit.auditing.report import Finding
from tacit.auditing.script import Feedback, NotEnumerable, Script, ScriptedRandomness, Stream, played, swapped, symbols
from tacit.noise.noisy_vectors import NoisyVectors
from tacit.noise.randomness import Randomness
from tacit.noise.running_sums.accumulators import Accumulator, LossRecords, Records, SummedRecords
from tacit.noise.running_sums.running_sum import Grid, NoiseKind, RunningSum
from tacit.noise.sampler_bounds import GAUSSIAN_SIGMA
from tacit.runtime.doubling import Doubling
from tacit.runtime.plan import Plan
from tacit.validation import FloatArray

# Relative rounding of the solves; the plans round their noise up by more than that.
SOLVE_SLACK = 1e-9


@runtime_checkable
class SummingPlan(Protocol):
    """What the attacks on running sums need of a plan: its sum, and the mu or epsilon of it."""

    mechanism: RunningSum
    privacy: float


@runtime_checkable
class LatticePlan(SummingPlan, Protocol):
    """A plan whose sums may run on a lattice, and the mu or epsilon of each of the noises that hide the same sums."""

    grid: Grid
    privacy_per_stream: float


@dataclass(frozen=True)
class Response:
    """How the released sums answer to data (steps x steps) and to unit noises (steps x draws) of this kind."""

    data: FloatArray
    noise: FloatArray
    kind: NoiseKind

    def loss(self, shift: FloatArray, norms: Callable[[FloatArray], FloatArray] | None = None) -> float:
        """Compute mu (Gaussian) or epsilon between data that differ by `shift`, of shape (steps, dimension).

        `norms` gives the norm of each noise vector's density exp(-|z|) if it is not that of its kind.
        """
        moved = self.data @ shift
        white = np.asarray(np.linalg.lstsq(self.noise, moved, rcond=1e-12)[0], dtype=np.float64)
        left = np.abs(moved - self.noise @ white)
        if np.any(left > 1e-7 * max(1.0, float(np.max(np.abs(moved), initial=0.0)))):
            return inf
        if self.kind != "gaussian" and self.noise.shape[1] != self.noise.shape[0]:
            raise NotEnumerable("A pure sum with more noises than steps has no closed privacy loss.")
        return _size(self.kind, white) if norms is None or self.kind == "gaussian" else float(np.sum(norms(white)))


def noise_sizes(vectors: FloatArray, kind: str) -> FloatArray:
    """Compute the norm of each row in which pure noise of this kind is paid."""
    sizes = np.abs(vectors)
    return np.asarray(sizes.max(axis=1) if kind == "cube" else sizes.sum(axis=1))


def response(mechanism: RunningSum, scale: float, sensitivities: Sequence[float] | None = None) -> Response:
    """Probe the accumulator that `mechanism` starts at this scale."""
    steps = mechanism.steps
    growth = [1.0] * steps if sensitivities is None else list(sensitivities)
    calls = count(1)

    def sums(rows: FloatArray, source: Callable[[int], FloatArray]) -> FloatArray:
        accumulator = mechanism.start(rows.shape[1], scale, source)
        return np.array([accumulator.add(row, s) for row, s in zip(rows, growth, strict=True)])

    def quiet(size: int) -> FloatArray:
        next(calls)
        return np.zeros(size)

    data = sums(np.eye(steps), quiet)
    draws = max(1, next(calls) - 1)
    units = iter(np.eye(draws))
    return Response(data, sums(np.zeros((steps, draws)), lambda size: next(units, np.zeros(size))), mechanism.noise)


# Independent draws, so many of them, are correlated like that with probability below 1e-20.
FEWEST_DRAWS, SAME_NOISE = 15, 0.9999


@dataclass
class Release:
    """One output of a mechanism: its input on this stream, its noise, and what was released."""

    kind: str
    source: str
    value: FloatArray
    scale: float
    sensitivity: float
    output: FloatArray


@dataclass
class Tape(Script):
    """What a run released. A tape made from another one replays its outputs."""

    generator: np.random.Generator
    before: Tape | None = None
    releases: list[Release] = field(default_factory=list)
    choices: list[int] = field(default_factory=list)
    probabilities: list[tuple[float, ...]] = field(default_factory=list)
    raw: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    diverged: str = ""
    inside: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def choose(self, stream: str, law: Callable[[], Sequence[float]]) -> int:
        probabilities = tuple(law())
        place = len(self.choices)
        if self.before is None:
            choice = int(self.generator.choice(len(probabilities), p=np.array(probabilities) / sum(probabilities)))
        elif place < len(self.before.choices) and self.before.choices[place] < len(probabilities):
            choice = self.before.choices[place]
        else:
            self._diverge(f"the replay asks stream {stream!r} for an outcome that the first run never had")
            choice = int(np.argmax(probabilities))
        self.choices.append(choice)
        self.probabilities.append(probabilities)
        return choice

    def release(self, kind: str, source: str, value: FloatArray, scale: float, sensitivity: float, fresh: Any) -> Any:
        """Give the output of a mechanism: fresh, or frozen in a replay."""
        place = len(self.releases)
        if self.before is None:
            output = fresh()
        elif place < len(self.before.releases) and self.before.releases[place].output.shape == np.shape(value):
            output = self.before.releases[place].output
        else:
            self._diverge(f"the replay makes {kind} number {place + 1}, which the first run never made")
            output = np.zeros_like(value)
        frozen = np.array(output, dtype=float)
        self.releases.append(Release(kind, source, np.array(value, dtype=float), scale, sensitivity, frozen))
        return frozen.copy()

    def free(self, fresh: Callable[[], Any]) -> Any:
        """Give randomness that no data enters: the same numbers in both runs (inside a mechanism: its own noise)."""
        if self.inside:
            return fresh()
        place = len(self.raw)
        if self.before is None:
            number = fresh()
        elif place < len(self.before.raw):
            number = self.before.raw[place]
        else:
            self._diverge("the replay draws more numbers than the first run")
            number = fresh()
        self.raw.append(np.copy(number))
        return np.copy(number)[()]

    def _diverge(self, reason: str) -> None:
        self.diverged = self.diverged or reason


class TapeStream:
    """Numbers from a real generator, kept on the tape: what they decide is post-processing."""

    private = False  # as the scripted source: nothing here is secret

    def __init__(self, tape: Tape, name: str) -> None:
        self._tape = tape
        scripted = Stream(tape, name)
        self.decide, self.bytes = scripted.decide, scripted.bytes

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._tape.free(lambda: getattr(self._tape.generator, name)(*arguments))


@contextmanager
def recorded_sums(tape: Tape) -> Iterator[None]:
    """Put every `Accumulator.add` on the tape, or answer from the tape."""
    honest = Accumulator.add
    names: dict[int, str] = {}

    def add(self: Accumulator, x: FloatArray, sensitivity: float = 1.0) -> FloatArray:
        name = names.setdefault(id(self), f"sum {len(names)}")
        draw = partial(_inside, tape, lambda: honest(self, x, sensitivity))
        output: FloatArray = tape.release("sum", name, self.record(x, sensitivity), self._scale, sensitivity, draw)
        if tape.before is not None:
            self._step += 1
        return output

    def release(self: NoisyVectors, sums: FloatArray) -> FloatArray:
        draw = partial(_inside, tape, lambda: honest_release(self, sums))
        output: FloatArray = tape.release(self.noise, "noise", sums * self.grid.step, self.grid.scale, 1.0, draw)
        return output

    def noise(self: Grid, streams: Any, name: str) -> Any:
        return honest_noise(self, Randomness.replayable(0).child(id(self)), name)  # what is drawn is frozen anyway

    honest_noise, honest_release = Grid.noise, NoisyVectors.release
    with swapped((Accumulator, "add", add), (Grid, "noise", noise), (NoisyVectors, "release", release)):
        yield


def _inside(tape: Tape, draw: Callable[[], FloatArray]) -> FloatArray:
    """Give what a mechanism gives; numbers that the mechanism draws are its own, and not kept on the tape."""
    tape.inside = True
    try:
        return draw()
    finally:
        tape.inside = False


def replayed(
    streams: Sequence[Feedback], generator: np.random.Generator, run: Callable[[Tape, Feedback], None]
) -> tuple[Tape, Tape]:
    """Give the tapes of a run on one stream, and of its replay on another."""
    first = Tape(generator)
    second = Tape(generator, before=first)
    for tape, feedback in zip((first, second), streams, strict=True):
        run(tape, feedback)
    return first, second


def replay_noise(
    plan: Plan, stream: Feedback, neighbour: Feedback, generator: np.random.Generator
) -> tuple[float, str]:
    """Record a learner that adds noise to vectors, then replay it on the neighbour.

    Gives the exact mu (Gaussian) or epsilon (pure noise) of the mechanisms' inputs, all together, and what outside of
    the mechanisms differed, if anything.
    """

    def run(tape: Tape, feedback: Feedback) -> None:
        with recorded_sums(tape):
            tape.actions += played(plan.start(ScriptedRandomness(tape, TapeStream)), feedback)

    tapes = replayed((stream, neighbour), generator, run)
    reason = _difference(*tapes) or _shared_noise(plan, tapes[0])
    return (inf if reason else _noise_loss(plan, *tapes)), reason


def _difference(first: Tape, second: Tape) -> str:
    if second.diverged:
        return second.diverged
    if len(first.releases) != len(second.releases) or len(first.choices) != len(second.choices):
        return "the two runs call their mechanisms a different number of times"
    for place, (one, other) in enumerate(zip(first.actions, second.actions, strict=True)):
        if one != other:
            return f"with all outputs frozen, the action of round {place + 1} is {one!r} or {other!r}"
    for one_release, other_release in zip(first.releases, second.releases, strict=True):
        if one_release.scale != other_release.scale or one_release.sensitivity != other_release.sensitivity:
            return f"the noise of {one_release.source!r} depends on data that was not released"
    return ""


def _shared_noise(plan: Plan, tape: Tape) -> str:
    """Compare the draws behind several sums, whose losses add up because their noises are independent."""
    sums: dict[str, list[Release]] = {}
    for release in tape.releases:
        if release.kind == "sum":
            sums.setdefault(release.source, []).append(release)
    for one, other in combinations(sums, 2):
        pair = _draws(plan, sums[one]), _draws(plan, sums[other])
        same_size = pair[0].size == pair[1].size >= FEWEST_DRAWS
        if same_size and abs(np.dot(*pair)) > SAME_NOISE * np.linalg.norm(pair[0]) * np.linalg.norm(pair[1]):
            return f"{one!r} and {other!r} are hidden by one noise, so that what tells them apart is hidden by none"
    return ""


def _draws(plan: Plan, releases: Sequence[Release]) -> FloatArray:
    """Give the fresh noises that a sum was hidden by, in units of their scale."""
    assert isinstance(plan, SummingPlan)
    noise = np.array([release.output for release in releases]) - np.cumsum([r.value for r in releases], axis=0)
    answer = _response(plan.mechanism, releases).noise[: len(releases)]
    return np.asarray(np.linalg.lstsq(answer, noise, rcond=1e-12)[0]).ravel()


def _response(mechanism: RunningSum, releases: Sequence[Release]) -> Response:
    """Probe the accumulator that released these sums."""
    growth = [release.sensitivity for release in releases]
    growth += [growth[-1]] * (mechanism.steps - len(growth))
    return response(mechanism, releases[0].scale, growth)


def _noise_loss(plan: Plan, first: Tape, second: Tape) -> float:
    """Compute the exact mu or epsilon of all vectors that were hidden by noise."""
    losses = []
    for source in dict.fromkeys(release.source for release in first.releases):
        pairs = [(a, b) for a, b in zip(first.releases, second.releases, strict=True) if a.source == source]
        shift = np.array([b.value - a.value for a, b in pairs]).reshape(len(pairs), -1)
        head = pairs[0][0]
        if head.kind == "sum":
            assert isinstance(plan, SummingPlan)
            steps = np.pad(shift, ((0, plan.mechanism.steps - len(shift)), (0, 0)))
            grid: Grid | None = getattr(plan, "grid", None)
            whole = grid is not None and grid.units > 0  # the coordinates of the noise are independent: l1
            norm = getattr(plan, "norm", None)
            norms = norm.dual_sizes if isinstance(norm, Norm) and not whole else None
            losses.append(_response(plan.mechanism, [a for a, _ in pairs]).loss(steps, norms))
        else:
            losses.append(_size(head.kind, shift) / head.scale)
    return sum(losses) if isinstance(_ideal(plan), Pure) else sqrt(sum(loss**2 for loss in losses))


def _ideal(plan: Plan) -> Curve:
    """Give the curve of noise that has exactly its law."""
    curve = plan.guarantee.curve
    return curve.curve if isinstance(curve, SamplerError) else curve


def certified_loss(plan: Plan) -> float:
    """Give the most that the loss of a replay may be: mu or epsilon."""
    curve = _ideal(plan)
    assert isinstance(curve, Gaussian | Pure)
    return curve.mu if isinstance(curve, Gaussian) else curve.value


class _Given:
    """A noise source that gives out what it was told."""

    def __init__(self) -> None:
        self.draw: FloatArray = np.empty(0)

    def __call__(self, count: int) -> FloatArray:
        return self.draw


def moved_draws(
    mechanism: RunningSum,
    grid: Grid,
    pair: tuple[FloatArray, FloatArray],
    draws: FloatArray,
    sensitivities: FloatArray | None = None,
) -> tuple[FloatArray, float]:
    """Give the draws that release on the second stream what `draws` released on the first, minus `draws`.

    One row a step; and their size in the norm that the noise is paid in.
    """
    growth = np.ones(len(draws)) if sensitivities is None else sensitivities
    sides = [_Given(), _Given()]
    first, second = (mechanism._accumulator(draws.shape[1], grid.scale, side, grid) for side in sides)
    moved = np.zeros(draws.shape)
    for step, (row, other, draw) in enumerate(zip(*pair, draws, strict=True)):
        stretch = float(growth[step])
        sides[0].draw = draw
        released = first.add(row, stretch)
        sides[1].draw = np.rint((released - _quiet(second, sides[1], other, stretch)) / (grid.step * stretch))
        if not np.array_equal(second.add(other, stretch), released):
            return moved, inf
        moved[step] = sides[1].draw - draw
    return moved, _size(mechanism.noise, moved)


def promised_move(mechanism: RunningSum, grid: Grid) -> float:
    """Compute how far a person may move the draws, in the norm of the noise: what the lattice was made for."""
    if mechanism.noise != "gaussian":
        floors = grid.rounding.floors * grid.records.dimension
        return float(mechanism.nodes * grid.records.pure_shift(mechanism.noise, grid.units) + floors)
    records = grid.records
    shift, column = records.l2_shift(grid.units), mechanism.crowding(records.apart, records.spacing)
    column *= mechanism.column_norm
    return grid.rounding.moved(shift, column, mechanism.steps, grid.records.dimension)


def paid_move(mechanism: RunningSum, grid: Grid, privacy: float) -> float:
    """Compute how far the noise hides draws at this mu or epsilon."""
    return privacy * GAUSSIAN_SIGMA if mechanism.noise == "gaussian" else privacy / grid.rate


def extreme_pair(
    records: Records,
    units: int,
    steps: int,
    generator: np.random.Generator,
    first: int,
    shares: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Draw streams that differ as much as neighbours may, from step `first` on.

    `shares`: how long a record may be at each step, in sizes of the largest (None: as long as that).
    """
    shape = (steps, records.dimension)
    signs = np.where(generator.random(records.dimension) < 0.5, -1.0, 1.0)
    if isinstance(records, LossRecords):
        rows, changed, blank = generator.random(shape), (1 + signs) / 2, np.full(records.dimension, 0.5)
    else:
        rows = generator.standard_normal(shape)
        rows *= records.size * generator.random((steps, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
        changed, blank = signs * records.size / np.sqrt(records.dimension), np.zeros(records.dimension)
    other = rows.copy()
    chosen = slice(first, first + records.people * records.separation, records.separation)
    rows[chosen] = changed
    other[chosen] = 2 * blank - changed if records.sides == 2 else blank
    if shares is not None:
        rows, other = rows * shares[:, None], other * shares[:, None]
    if isinstance(records, SummedRecords):
        return records.each(rows, units), records.each(other, units)
    return rows, other


def _size(noise: str, moved: FloatArray) -> float:
    """Give the moves of all draws in l2, in l1, or for cube noise the largest coordinate of each step, added up."""
    return float(np.sqrt(np.sum(moved**2)) if noise == "gaussian" else noise_sizes(moved, noise).sum())


def _quiet(sums: Accumulator, source: _Given, row: FloatArray, stretch: float) -> FloatArray:
    """Give the next release without fresh noise; nothing has happened afterwards."""
    saved = sums.state_dict()
    source.draw = np.zeros(row.size)
    released = sums.add(row, stretch)
    sums.load_state_dict(saved)
    return released


# Rounds that are played in the second epoch: enough for a few coins.
_AFTER = 24


def epochs(plan: Plan, generator: np.random.Generator) -> Finding:
    """Replay a change in the last round of the first epoch; compare all later calls."""
    assert isinstance(plan, Doubling)
    first = plan.epoch(0)
    length = first.horizon or 1
    letters = alphabet(first)
    stream = letters.stream([int(k) for k in generator.integers(len(letters.symbols), size=length + _AFTER)])
    # Opposites that no learner may ignore: constant losses, first and last of the alphabet, change nothing.
    stream[length - 1], opposite = letters.symbols[1], letters.symbols[-2]
    neighbour = [*stream[: length - 1], opposite, *stream[length:]]
    worst, reason = 0.0, ""
    try:
        worst, reason = _later_difference(plan, stream, neighbour, generator, length, finite=True)
    except NotEnumerable:
        worst, reason = _later_difference(plan, stream, neighbour, generator, length, finite=False)
    return Finding(
        "epochs", f"epochs of {length} rounds", "largest change of a later call", 0.0, worst, worst > 0 or bool(reason),
        detail=reason or "data of one epoch reached a mechanism of the next",
        stream=tuple(stream[length - 2 : length + 1]), neighbour=tuple(neighbour[length - 2 : length + 1]), check=True,
    )  # fmt: skip


def _later_difference(
    plan: Plan, stream: list[Any], neighbour: list[Any], generator: np.random.Generator, length: int, *, finite: bool
) -> tuple[float, str]:
    marks: list[tuple[int, int]] = []

    def run(tape: Tape, feedback: Feedback) -> None:
        with symbols(), recorded_sums(tape):
            learner = plan.start(ScriptedRandomness(tape, None if finite else TapeStream))
            played(learner, feedback[:length])
            marks.append((len(tape.choices), len(tape.releases)))
            played(learner, feedback[length:])

    tapes = replayed((stream, neighbour), generator, run)
    if tapes[1].diverged or marks[0] != marks[1]:
        return 0.0, tapes[1].diverged or "the epochs call their mechanisms a different number of times"
    choices, releases = marks[0]
    worst = 0.0
    for one, other in zip(tapes[0].probabilities[choices:], tapes[1].probabilities[choices:], strict=True):
        worst = max(worst, float(np.max(np.abs(np.array(one) - np.array(other)), initial=0.0)))
    for before, after in zip(tapes[0].releases[releases:], tapes[1].releases[releases:], strict=True):
        worst = max(worst, float(np.max(np.abs(before.value - after.value), initial=0.0)))
    return worst, ""

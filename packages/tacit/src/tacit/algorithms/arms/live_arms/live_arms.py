"""Live arms: all arms at once, each in growing blocks of its own that are released once; shares by optimistic draws.

Every arm has its own stack of blocks: block j is complete when the arm has n_j rounds, n_{j+1} = ceil(1.5 n_j). No arm
waits for another, and no reply is thrown away.

    first: all arms in turns, n_1 rounds each; go on in turns until all first blocks are back
    then, each round: arm a with probability p_a, by a coin of that round; p changes only when a block comes back
    a round closes D rounds later: its bit is added to the open block of its arm
    when a block is complete: release its sum with fresh noise, once;  X_a = sum_j w_j Y_j;  recompute p
    p_a = P[theta_a is the largest],  P[theta_a > x] = exp(-heat Lambda_j(X_a, x))                       # hopes.py

It is Thompson sampling (Thompson 1933) whose posterior is a Chernoff tail that knows the noise. The horizon appears
nowhere. The certificate is that of `certificate.py`; proofs: docs/algorithms/live-arms.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, inf, log2, sqrt
from typing import Any, ClassVar

import numpy as np

from tacit.algorithms.arms.arm_plan import NAN, WORST, ArmPlan, BitLearner, pure
from tacit.algorithms.arms.live_arms.certificate import Certificate
from tacit.algorithms.arms.live_arms.hopes import Blocks, Hope, Noise, shares
from tacit.errors import PrivacyError
from tacit.noise.randomness import Randomness
from tacit.problems import Arms
from tacit.runtime.doubling import REFERENCE_ROUNDS
from tacit.runtime.plan import Plan
from tacit.runtime.small_instances import SmallInstance
from tacit.runtime.target import RegretBound, Target
from tacit.validation import FloatArray, IntArray, Rows, check_integer, check_number, invalid

FIRST = 16  # times rounds_per_person / (epsilon mean_at_most): the rounds of an arm's first block, without a delay
LEAST = 8  # with fewer rounds one bad block of the best arm can cost all of a short horizon
MOST_DELAY = 2**24  # a learner keeps the arm of every open round
MOST_ARMS = 10**4
MOST_BLOCKS = 100  # of one arm: 1.5^100 rounds
FEWEST, MOST = 256, 2**16  # rounds of an array that are decided ahead


@dataclass(frozen=True)
class LiveArms(ArmPlan):
    """Thompson sampling with tails that know the noise, on blocks that are released once: for live traffic.

    Privacy contract: every decision, every share and every noisy block sum, pure epsilon, one round's feedback,
    adaptive adversaries, any number of rounds. Enforced: losses in their range (others raise); missing feedback counts
    as the largest loss, or as `missing` says. Assumed for the regret only: independent losses, one law per arm; several
    rounds of one person are independent too. Numerics: exact.
    Regret, against the arm of smallest mean: Theorem 2 of its page, for every horizon at once.

    Page: docs/algorithms/live-arms.md.

    Attributes:
        epsilon: of all releases together.
        first: rounds of each arm's first block.
        mean_at_most: no arm's mean reward (1 - loss, in units of the loss range) exceeds it; 1 declares nothing.

    >>> plan = LiveArms.calibrate(Arms(n=20, horizon=None, adversary="stochastic"), epsilon=1.0, delta=0.0)
    >>> plan.first, plan.guarantee.notion, float(plan.regret_bound_at(100_000)) < 5_500
    (16, 'pure', True)
    """

    _no_delay: ClassVar[str] = ""
    _by_rule: ClassVar[bool] = True  # more noise may certify less regret, and has more of it
    _any_horizon: ClassVar[bool] = True
    certified_against: ClassVar[tuple[str, ...]] = ("stochastic",)
    released: ClassVar[str] = "every decision, every share and every noisy block sum"
    first: int
    mean_at_most: float = field(default=1.0, kw_only=True)

    def _check_parameters(self) -> None:
        owner, problem = self.algorithm, self.problem
        check_integer(owner, "first", self.first)
        check_number(owner, "mean_at_most", self.mean_at_most, above=0.0, below=1.0, closed_high=True)
        if problem.delay > MOST_DELAY or problem.n > MOST_ARMS:
            raise PrivacyError(
                f"LiveArms takes up to {MOST_ARMS:,} arms and a delay up to {MOST_DELAY:,}. Got {problem.n} arms and "
                f"delay={problem.delay} instead."
            )
        if problem.horizon is not None and problem.n * self.first + problem.delay > problem.horizon:
            raise invalid(owner, "first", "at most (horizon - delay) / n, so that first blocks come back", self.first)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of an arm, and what is known of them before any data."""
        release, largest = self.release(), min(self.mean_at_most, 0.5)
        return Blocks(self.first, Noise(1 / release.steps_per_round, release.rate), largest * (1 - largest))

    @property
    def _reference(self) -> int:
        return self.horizon or REFERENCE_ROUNDS

    @cached_property
    def regret_bound(self) -> RegretBound:
        """The certified regret for any means; for an unknown horizon `regret_bound_at` gives that of any length."""
        return self.regret_bound_at(self._reference)

    def regret_bound_at(self, rounds: int) -> RegretBound:
        """Give the certified regret after `rounds` rounds."""
        return self._bound(check_integer("regret_bound_at", "rounds", rounds), 0.0)

    def regret_if(self, gap: float) -> RegretBound:
        """Give the certified regret if every other arm's mean loss exceeds the smallest by at least `gap`.

        Args:
            gap: in units of loss.
        """
        width = self.problem.width
        found = check_number("regret_if", "gap", gap, above=0.0, below=width, closed_high=True)
        return self._bound(self._reference, found / width)

    def _bound(self, rounds: int, gap: float) -> RegretBound:
        means = "whatever the means" if not gap else f"every other arm worse by {gap * self.problem.width:g} at least"
        value = min(self.certificate.regret(rounds, gap), rounds * self.mean_at_most)
        at = () if self.horizon is not None else (f"at {rounds} rounds; regret_bound_at(T) gives any other",)
        return RegretBound(
            self.problem.width * value,
            "min_l (l T + int_l min(T, R(c x)) dx + sum over arms of max_x (x - l)^+ h((1-c) x))",
            (
                *at,
                f"stochastic adversary, {means}",
                *(() if self.mean_at_most == 1 else (f"mean rewards at most {self.mean_at_most:g}",)),
                "against the arm of smallest mean (the best arm in hindsight: sqrt(T ln(K)/2) more at most)",
                self.missing_counts_as,
            ),
        )

    @cached_property
    def certificate(self) -> Certificate:
        """The numbers of Theorem 2."""
        bits = self.release().steps_per_round == 1
        return Certificate(self.problem.n, self.blocks, self.mean_at_most, self.problem.delay, bits)

    @property
    def trivial_regret(self) -> float:
        """Every round the whole range; for an unknown horizon as for the reference one."""
        return self._reference * self.problem.width

    @classmethod
    def _calibrate(
        cls, problem: Arms, target: Target, *, missing: float | str = WORST, mean_at_most: float = 1.0
    ) -> LiveArms:
        if target.adversary != "stochastic" and problem.adversary != "stochastic":
            raise PrivacyError(
                "LiveArms has certified regret for stochastic losses only: say so with adversary='stochastic'."
            )
        if target.max_switches is not None:
            raise PrivacyError(
                f"LiveArms draws an arm every round and cannot promise max_switches={target.max_switches}."
            )
        if target.confidence is not None:
            raise PrivacyError("LiveArms has no bound for a single run: leave 'confidence' out.")
        contract = {**pure(target), "missing": missing, "mean_at_most": mean_at_most}
        unit = cls(replace(problem, horizon=None, adversary="stochastic"), target.epsilon, 1, **contract).scale
        first = max(LEAST, ceil(FIRST * unit / mean_at_most), ceil(problem.delay / (2 * problem.n)))
        if problem.horizon is not None:
            most = (problem.horizon - problem.delay) // problem.n
            if most < 1:
                raise PrivacyError(
                    f"LiveArms plays each of its {problem.n} arms once at least before feedback comes back. Got "
                    f"{problem.horizon} rounds and delay={problem.delay} instead."
                )
            first = min(first, max(1, most // 2))
        return cls(problem, target.epsilon, first, **contract)

    def _certifying_least(self, like: Plan | None) -> LiveArms:
        """Search for the first block, in powers of two about 2 sqrt(T/n): bold draws want it long in the worst case."""
        if isinstance(like, LiveArms):
            return replace(self, first=like.first)
        most = (self._reference - self.problem.delay) // self.problem.n
        if most < 1:  # no first block comes back within the rounds that are certified
            return self
        made = {self.first: self}

        def cost(first: int) -> float:
            if not 1 <= first <= most:
                return inf
            return float(made.setdefault(first, replace(self, first=first)).regret_bound)

        best = 2 ** round(log2(min(most, max(self.first, 2 * sqrt(self._reference / self.problem.n)))))
        for ratio in (0.5, 2.0):
            while cost(int(best * ratio)) < cost(best):
                best = int(best * ratio)
        return min(made.values(), key=lambda plan: float(plan.regret_bound))

    def small_instances(self) -> tuple[SmallInstance, ...]:
        """Give two arms with first blocks of one round."""
        counted = {"first": 1, "delta": 0.0}
        return self._enumerable({**counted, "epsilon": 1.0}, counted, rounds=3 + min(self.problem.delay, 1))

    def _learner(self, randomness: Randomness) -> LiveArmsLearner:
        return LiveArmsLearner(self, randomness)


class LiveArmsLearner(BitLearner):
    """Draws an arm every round; everything it keeps besides open blocks and open rounds is a function of releases."""

    plan: LiveArms
    _runs_all = True
    _state = (*BitLearner._state, "_recent", "_done", "_counts", "_totals", "_sums")

    def __init__(self, plan: LiveArms, randomness: Randomness) -> None:
        super().__init__(plan, randomness)
        self._blocks = plan.blocks
        self._recent = np.zeros(self._delay + 1, dtype=np.int64)  # the arm of each round that is not closed
        self._done = np.zeros(self._n, dtype=np.int64)  # released blocks of each arm
        self._counts = np.zeros(self._n, dtype=np.int64)  # closed rounds of its open block
        self._totals = np.zeros(self._n, dtype=np.int64)  # their steps
        self._sums = np.zeros(self._n)  # of the released mean rewards, times their precisions
        self._opens = True
        self._action = 0
        self._prepare()

    def _prepare(self) -> None:
        """What follows from the state: the blocks in hand, the draws of each arm, and the shares."""
        self._sizes = np.array([self._blocks.length(int(done) + 1) for done in self._done])
        self._hopes: dict[int, Hope] = {}
        self._in_turns = not self._done.all()
        self._shares = self._current_shares()

    # --- What was released, for everybody to see.

    @property
    def shares(self) -> FloatArray:
        """The probability of each arm in the next round; while arms take turns, those of the turns."""
        with self._looking("shares"):
            return self._shares.copy()

    @property
    def estimates(self) -> FloatArray:
        """The released estimate of each arm's mean loss, NaN before its first; a function of what was released."""
        with self._looking("estimates"):
            return self._low + (self._high - self._low) * (1 - self._rewards())

    # --- Rounds.

    def _at_opening(self, number: int) -> None:
        arm = self._draws.arm(self._law(number))
        self._recent[number % len(self._recent)] = arm
        self._move(arm)

    def _law(self, number: int) -> FloatArray:
        if not self._in_turns:
            return self._shares
        law = np.zeros(self._n)
        law[number % self._n] = 1.0
        return law

    def _absorb(self, loss: float | None) -> None:
        arm = int(self._recent[self._round % len(self._recent)])
        self._counts[arm] += 1
        self._totals[arm] += self._step(NAN if loss is None else loss)
        if self._counts[arm] == self._sizes[arm] and self._round + 1 + len(self._slots) != self._horizon:
            self._release(arm)  # unless nothing is decided after it

    @np.errstate(all="ignore")
    def _release(self, arm: int) -> None:
        """Release the open block of an arm, which is complete, and begin its next one."""
        total = int(self._totals[arm])
        self._counts[arm] = self._totals[arm] = 0
        self._done[arm] += 1
        done = int(self._done[arm])
        rounds = self._blocks.length(done)
        losses = self._draws.noisy(total) / self._steps
        self._sums[arm] += self._blocks.precision(done) * (1 - losses / rounds)
        self._sizes[arm] = self._blocks.length(done + 1)
        self._hopes.pop(arm, None)
        self._in_turns = not self._done.all()
        self._shares = self._current_shares()

    def _rewards(self) -> FloatArray:
        """X of each arm."""
        weights = np.array([self._blocks.stage(done).deviation ** -2 if done else 0.0 for done in self._done.tolist()])
        return np.where(weights > 0, self._sums / np.maximum(weights, 1e-300), np.nan)

    def _current_shares(self) -> FloatArray:
        """p: who has the largest draw, after the turns."""
        if self._in_turns:
            return np.full(self._n, 1 / self._n)
        rewards = self._rewards()
        for arm in range(self._n):
            if arm not in self._hopes:
                self._hopes[arm] = self._blocks.stage(int(self._done[arm])).hope(float(rewards[arm]))
        return shares([self._hopes[arm] for arm in range(self._n)])

    def _scatter(self, content: dict[str, Any]) -> None:
        super()._scatter(content)
        if not np.all((self._done >= 0) & (self._done < MOST_BLOCKS)):
            raise TypeError("blocks that can be complete expected")
        self._prepare()

    def _consistent(self) -> bool:
        counts = np.all((self._counts >= 0) & (self._counts <= self._sizes))
        sums = np.all((self._totals >= 0) & (self._totals <= self._counts * self._steps))
        recent = np.all((self._recent >= 0) & (self._recent < self._n))
        closed = sum(self._blocks.end(int(done)) for done in self._done) + int(self._counts.sum())
        return super()._consistent() and bool(counts and sums and recent) and closed == self._round

    # --- Arrays of rounds.

    def _run(self, rows: Rows | list[None]) -> IntArray:
        """Play rows in stretches between two releases: the same coins and bits as round by round."""
        blocks = self._read(rows) if isinstance(rows, Rows) else [np.full((len(rows), self._n), NAN)]
        parts = [self._play_rows(block) for block in blocks if len(block)]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _play_rows(self, rows: FloatArray) -> IntArray:
        """Decisions are made ahead with the shares in hand, and kept up to the one that the next release precedes.

        Rounds are numbered from the oldest open one. Round `waiting + i` of the array may be decided when
        `waiting + i - delay` of them are closed; without a delay each is closed at once.
        """
        waiting, count, started = len(self._slots), len(rows), self._round
        arms = np.concatenate([self._recent[(started + np.arange(waiting)) % len(self._recent)], np.zeros(count, int)])
        kept = [self._recalled(slot) for slot in self._slots.values()]
        losses = np.concatenate([np.array([NAN if loss is None else loss for loss in kept]), np.full(count, NAN)])
        decided, closed, last = 0, 0, self._action
        closings = waiting + count if not self._delay else max(0, waiting + count - 1 - self._delay)
        if self._played:
            arms[waiting], decided = last, 1
            losses[waiting] = self._scaled(rows[0, last])
        index, words = self._draws.arm_words(count - decided)
        before = decided
        while decided < count or closed < closings:
            ahead = min(count, decided + self._stretch)
            new = slice(waiting + decided, waiting + ahead)
            if self._in_turns:
                arms[new] = np.arange(started + new.start, started + new.stop) % self._n
            else:
                coins = slice(decided - before, ahead - before)
                arms[new] = self._draws.arms_of(index + coins.start, words[coins], self._shares)
            losses[new] = self._scaled(rows[np.arange(decided, ahead), arms[new]])
            due = min(closings, max(closed, waiting + ahead - self._delay))
            full = self._first_full(arms[closed:due])
            if full is not None:
                due = closed + full + 1
                ahead = min(ahead, max(decided, due + self._delay - waiting))
            self._close(arms[closed:due], losses[closed:due])
            decided, closed = ahead, due
            if full is not None and started + closed != self._horizon:
                self._release(int(arms[closed - 1]))
        self._switches += int(np.count_nonzero(np.diff(arms[waiting + before :], prepend=last)))
        self._keep_open(arms, losses, started, closed)
        return arms[waiting:]

    @property
    def _stretch(self) -> int:
        """How many rounds are decided ahead: about as many as come before the next release."""
        return max(FEWEST, min(MOST, int((self._sizes - self._counts).sum())))

    def _scaled(self, losses: Any) -> Any:
        return (losses - self._low) / (self._high - self._low)

    def _first_full(self, arms: IntArray) -> int | None:
        """Which of the rounds that close next, in this order, is the first to complete a block."""
        found = None
        for arm, left in enumerate((self._sizes - self._counts).tolist()):
            if left <= len(arms) and left > 0:
                places = np.flatnonzero(arms[:found] == arm)
                found = int(places[left - 1]) if len(places) >= left else found
        return found

    def _close(self, arms: IntArray, losses: FloatArray) -> None:
        """Add closed rounds to the open blocks of their arms."""
        self._counts += np.bincount(arms, minlength=self._n)
        self._totals += np.bincount(arms, weights=self._bits(losses), minlength=self._n).astype(np.int64)
        self._round += len(arms)

    def _keep_open(self, arms: IntArray, losses: FloatArray, started: int, closed: int) -> None:
        """Leave rounds whose window is not over in their slots."""
        held = dict(self._slots)
        for place in range(closed, len(arms)):
            number, loss = started + place, losses.item(place)
            self._slots[number] = held.get(number, None if loss != loss else loss)
        for number in range(started, started + closed):
            self._slots.pop(number, None)
        recent = np.arange(max(0, len(arms) - len(self._recent)), len(arms))
        self._recent[(started + recent) % len(self._recent)] = arms[recent]
        self._action, self._played = int(arms[-1]), False

"""Nonsense at every public entry point: a clear error that changes nothing, or a correct result. Never a warning.

(pytest turns every warning into an error, so that a numpy warning fails here.)
"""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import tacit
from tacit import TacitError
from tacit.audit import audit
from tacit.geometry import Ball, Box, KSubsets, L1Ball, Simplex
from tacit.learners.bandit import BanditFW
from tacit.learners.convex import CTRL, LipschitzGrid, PrivateFTRL
from tacit.learners.stochastic import OnlineToBatch
from tacit.losses import HuberLoss, LinearLoss, LogisticLoss, QuadraticLoss, SmoothedHingeLoss, SquaredLoss
from tacit.losses.linear_models import LinkLoss
from tacit.mechanisms.running_sums import Buffered, LaplaceTree, SquareRoot, Tree
from tacit.privacy.curves import Approximate, BoundedRange, Curve, Gaussian, Pure, Repeated, Sometimes
from tacit.privacy.guarantee import Guarantee
from tacit.problems import Bandit, Convex, Lipschitz, Stochastic
from tacit.randomness import Randomness

N = 3
few = settings(derandomize=True, deadline=None, max_examples=25, database=None)
many = settings(derandomize=True, deadline=None, max_examples=120, database=None)

ODD_NUMBERS = (0.0, -0.0, 1.0, 0.5, -1.0, 2.0, 1e308, -1e308, 5e-324, 1e-300, math.inf, -math.inf, math.nan, 1 + 1e-12)
numbers = st.sampled_from(ODD_NUMBERS) | st.floats(-2, 2)
values = (
    numbers
    | st.sampled_from([None, True, False, "1", "", b"x", [], (), {}, 1j, object, np.float32(0.5), np.int8(1)])
    | st.sampled_from([2**63, np.bool_(True), np.array(1.0), np.float64("nan"), [0.5], {1}])
    | st.integers(-5, 10**12)
)
dtypes = st.sampled_from(["f8", "f4", "f2", "i8", "u1", "?", "c16", "O", "U3", ">f8", "M8[s]"])


@st.composite
def odd_arrays(draw, columns=N, dimensions=(1, 2)):
    """Arrays of many shapes, types and layouts; often nearly right."""
    ndim = draw(st.sampled_from(dimensions))
    good = draw(st.booleans())
    width = columns if good else draw(st.integers(0, 5))
    shape = (width,) if ndim == 1 else (draw(st.integers(0, 4)), width)
    if not good and draw(st.integers(0, 5)) == 0:
        shape = (*shape, 1)
    entries = st.floats(0, 1) if draw(st.booleans()) else numbers
    array = draw(arrays.arrays(np.float64, shape, elements=entries))
    kind = draw(st.integers(0, 6))
    if kind == 0:
        dtype = draw(dtypes)
        if dtype in ("f4", "f2"):
            array = np.clip(array, -1, 1)
        if dtype in ("i8", "u1", "M8[s]"):
            array = np.where(np.isfinite(array), np.clip(array, 0, 1), 0)
        return array.astype(dtype)
    if kind == 1:
        array.setflags(write=False)
        return array
    if kind == 2:
        return np.repeat(array, 2, axis=-1)[..., ::2]  # not contiguous
    if kind == 3:
        return array.tolist()
    if kind == 4:
        return draw(values)
    return array


@cache
def expert_plans():
    experts = tacit.Experts(n=N, horizon=40)
    shifted = tacit.Experts(n=N, horizon=40, loss_range=(-0.5, 0.5))
    tracking = tacit.Tracking(n=N, horizon=40, switches=1, adversary="stochastic")
    return (
        tacit.LazyExperts(experts, eta=0.3, force=0.2, batch=2),
        tacit.LazyExperts(shifted, eta=0.3, force=0.2, max_switches=3),
        tacit.L2P(experts, eta=0.3, force=0.2, reference_force=0.2),
        tacit.ScheduledExperts(experts, eta=0.3),
        tacit.HedgeOnSums(experts, eta=0.3, mechanism=Buffered(39), privacy=1.0),
        tacit.HedgeOnSums(shifted, eta=0.3, mechanism=LaplaceTree(39, 3), privacy=1.0),
        tacit.RestartOnShift(tracking, epsilon=1.0, interval=3, slope=0.5, margin=0.0),
        tacit.LimitedUpdates(tracking, epsilon=1.0),
        tacit.LazyFixedShare(tracking, eta=0.3, force=0.2),
        tacit.LazyFixedShare(tracking, eta=0.3, force=0.2, prior="uniform"),
        tacit.SampledFixedShare(tracking, eta=0.3, epoch=5),
        tacit.NoisyMirrorDescent(tracking, eta=0.3, scale=3.0),
    )


@cache
def other_plans():
    privacy = {"epsilon": 1.0, "delta": 1e-6}
    return (
        PrivateFTRL.calibrate(Convex(domain=Ball(N), loss=LinearLoss(), horizon=30), **privacy),
        PrivateFTRL.calibrate(Convex(domain=Box.cube(N, 1.0), loss=LogisticLoss(), horizon=30), **privacy),
        CTRL(Convex(domain=Ball(N), loss=QuadraticLoss(), horizon=30), eta=0.5, sigma=3.0, force=0.2, log_phi=0.5),
        LipschitzGrid.calibrate(Lipschitz(horizon=30), bits=1, **privacy),
        BanditFW.calibrate(Bandit(domain=Ball(N, radius=0.5), horizon=400), **privacy),
        OnlineToBatch.calibrate(Stochastic(domain=Ball(N), loss=LogisticLoss(), horizon=30), **privacy),
    )


def frozen(state):
    """A state as a value that can be compared, NaN equal to NaN."""
    if isinstance(state, dict):
        return {key: frozen(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return (state.shape, state.dtype.str, state.tobytes())
    if isinstance(state, list | tuple):
        return [frozen(value) for value in state]
    return repr(state)


def extreme(value):
    """A number outside of 1e-12 to 1e15, where curves are not meant to be read."""
    real = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value != 0
    return real and not 1e-12 <= abs(value) <= 1e15


def attempt(learner, action):
    """Run `action`; after an error of tacit's the learner is where it was. None if it raised."""
    before = frozen(learner.state_dict())
    try:
        return action()
    except TacitError:
        assert frozen(learner.state_dict()) == before
        return None


@pytest.mark.parametrize("index", range(12))
@few
@given(feedback=odd_arrays(dimensions=(1, 1, 1, 2)), again=odd_arrays(dimensions=(1,)))
def test_expert_learners_observe(index, feedback, again):
    plan = expert_plans()[index]
    learner = plan.start(Randomness.replayable(1))
    for row in (feedback, again, [0.25] * N):
        learner.play()
        rounds = learner.rounds
        attempt(learner, lambda row=row: learner.observe(row))
        assert learner.rounds - rounds in (0, 1)
        assert 0 <= learner.play() < N
    assert learner.rounds >= 1  # the good row went through


@pytest.mark.parametrize("index", range(12))
@few
@given(feedback=odd_arrays(dimensions=(2, 2, 2, 1)))
def test_expert_learners_run(index, feedback):
    plan = expert_plans()[index]
    learner = plan.start(Randomness.replayable(2))
    actions = attempt(learner, lambda: learner.run(feedback))
    if actions is not None:
        twin = plan.start(Randomness.replayable(2))
        for action, row in zip(actions, feedback, strict=True):
            assert twin.play() == action
            twin.observe(row)
        assert twin.play() == learner.play()
    assert len(learner.run(np.full((2, N), 0.25))) == 2


@pytest.mark.parametrize("index", range(6))
@few
@given(feedback=odd_arrays(dimensions=(1, 1, 2)), label=values)
def test_other_learners_observe(index, feedback, label):
    plan = other_plans()[index]
    learner = plan.start(Randomness.replayable(3))
    for row in (feedback, (feedback, label), label):
        learner.play()
        attempt(learner, lambda row=row: learner.observe(row))
        assert np.all(np.isfinite(learner.play()))


@many
@given(n=values, horizon=values, low=values, high=values, switches=values)
def test_problems(n, horizon, low, high, switches):
    for make in (
        lambda: tacit.Experts(n=n, horizon=horizon, loss_range=(low, high)),
        lambda: tacit.Experts(n=3, horizon=10, loss_range=low),
        lambda: tacit.Tracking(n=n, horizon=horizon, switches=switches, adversary=low),
        lambda: Bandit(domain=Ball(2), horizon=horizon, value_range=(low, high), lipschitz=switches),
        lambda: Lipschitz(horizon=horizon, dimension=n, low=low, high=high, lipschitz=switches),
        lambda: Convex(domain=Ball(2), loss=n, horizon=horizon),
    ):
        try:
            problem = make()
        except TacitError:
            continue
        assert problem.horizon is None or problem.horizon >= 1


@few
@given(
    epsilon=values | st.floats(0.05, 5), delta=values | st.just(1e-6), relation=values | st.just("replace"),
    people=values | st.integers(1, 3), cap=values, adversary=values | st.just("adaptive"),
)  # fmt: skip
def test_planners(epsilon, delta, relation, people, cap, adversary):
    problem = tacit.Experts(n=3, horizon=30)
    arguments = {"epsilon": epsilon, "delta": delta, "relation": relation, "rounds_per_person": people}
    for make in (
        lambda: tacit.ScheduledExperts.calibrate(problem, adversary=adversary, **arguments),
        lambda: tacit.HedgeOnSums.calibrate(problem, max_switches=cap, **arguments),
        lambda: tacit.LimitedUpdates.calibrate(problem, **arguments),
    ):
        try:
            plan = make()
        except TacitError:
            continue
        assert plan.guarantee.epsilon(delta) <= epsilon * (1 + 1e-6)
        assert plan.guarantee.rounds_per_person == people


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-9, 1e-6), (1.0, 1e-300), (1.0, 0.999), (30.0, 0.0), (1e6, 1e-6)])
def test_extreme_targets(epsilon, delta):
    """Whatever can be promised is kept; what cannot is refused in words."""
    for algorithm in (tacit.ScheduledExperts, tacit.HedgeOnSums, tacit.LazyExperts):
        try:
            plan = algorithm.calibrate(tacit.Experts(n=2, horizon=12), epsilon=epsilon, delta=delta)
        except TacitError:
            continue
        assert plan.guarantee.delta(epsilon) <= delta * (1 + 1e-6)
        assert float(plan.regret_bound) >= 0


@few
@given(value=values)
def test_huge_and_odd_horizons(value):
    try:
        plan = tacit.ScheduledExperts(tacit.Experts(n=2, horizon=value), eta=0.1)
        assert plan.guarantee.epsilon(1e-6) >= 0
        plan.start(Randomness.replayable(1)).play()
    except TacitError:
        return


@many
@given(one=values, two=values, at=values, probability=values)
def test_curves(one, two, at, probability):
    assume(not any(extreme(value) for value in (one, two, at, probability)))  # see test_found_by_fuzzing
    for make in (
        lambda: Pure(one),
        lambda: Gaussian(one),
        lambda: BoundedRange(one),
        lambda: Approximate(one, two),
        lambda: Repeated(Pure(0.1), one),
        lambda: Sometimes(probability, BoundedRange(0.3)),
    ):
        try:
            curve = make()
            epsilon, delta = curve.epsilon(at), curve.delta(two)
        except TacitError:
            continue
        assert epsilon >= 0
        assert 0 <= delta <= 1
        assert Curve.from_dict(curve.to_dict()) == curve


@many
@given(
    text=st.text(max_size=40) | st.sampled_from(["{}", "[]", '{"curve": 1}', '{"curve": {"curve": "Pure"}}', "null"])
)
def test_guarantees_from_json(text):
    with pytest.raises(TacitError):
        Guarantee.from_json(text)


@few
@given(steps=values, scale=values, dimension=values, x=odd_arrays(dimensions=(1,)), sensitivity=numbers)
def test_running_sums(steps, scale, dimension, x, sensitivity):
    for kind in (Tree, Buffered, SquareRoot, LaplaceTree):
        try:
            mechanism = kind(steps)
            if mechanism.steps <= 1000 and not (isinstance(dimension, int) and dimension > 1000):
                mechanism.start(dimension, scale, np.zeros)
        except TacitError:
            pass
        sums = kind(5).start(N, 1.0, np.zeros)
        before = frozen(sums.state_dict())
        # Callers hand in vectors that they checked: only shapes and sensitivities are judged here.
        vector = np.asarray(x) if isinstance(x, np.ndarray) and x.dtype.kind in "fiu" else np.zeros(2)
        vector = np.where(np.abs(vector.astype(float)) < 1e300, vector, 0.0)
        try:
            released = sums.add(vector, sensitivity)
        except TacitError:
            assert frozen(sums.state_dict()) == before
        else:
            assert released.shape == (N,)


SETS = (Ball(N), Ball(N, radius=1e-3), L1Ball(N), Box.cube(N, 2.0), Simplex(N), KSubsets(N, 2))


@pytest.mark.parametrize("domain", SETS, ids=repr)
@few
@given(point=odd_arrays(dimensions=(1, 1, 2)))
def test_geometry(domain, point):
    for method in ("minimize_linear", "project", "contains"):
        if not hasattr(domain, method):
            continue
        try:
            result = getattr(domain, method)(point)
        except TacitError:
            continue
        if method != "contains":
            assert domain.contains(result, 1e-6 * max(1.0, domain.radius))


@few
@given(radius=values, dimension=values)
def test_sets_are_made_or_refused(radius, dimension):
    for make in (
        lambda: Ball(dimension),
        lambda: Ball(2, radius=radius),
        lambda: L1Ball(2, radius),
        lambda: Simplex(dimension),
        lambda: Box.cube(2, radius),
        lambda: KSubsets(3, dimension),
    ):
        try:
            domain = make()
        except TacitError:
            continue
        assert domain.dimension >= 1
        assert domain.diameter >= 0


@pytest.mark.parametrize(
    "loss",
    [LinearLoss(), QuadraticLoss(), LogisticLoss(), SquaredLoss(), HuberLoss(), SmoothedHingeLoss()],
    ids=lambda loss: type(loss).__name__,
)
@few
@given(data=odd_arrays(dimensions=(1,)), label=values)
def test_losses(loss, data, label):
    if isinstance(data, np.ndarray) and data.dtype == np.float64:
        assume(not np.any(np.abs(data) > 1e300))  # see test_found_by_fuzzing
    records = [(data, label), label] if isinstance(loss, LinkLoss) else [data, label]
    for record in records:
        try:
            gradient = loss.gradient(np.zeros(N), record)
        except TacitError:
            continue
        assert np.all(np.isfinite(gradient))
        assert np.all(np.linalg.norm(np.atleast_2d(gradient), axis=1) <= loss.constants(Ball(N)).lipschitz * (1 + 1e-9))


@few
@given(value=values)
def test_small_entry_points(value):
    for call in (
        lambda: Randomness.replayable(value),
        lambda: audit(value),
        lambda: expert_plans()[0].start(value) if value is not None else None,
        lambda: expert_plans()[0].restore(value if isinstance(value, dict) else {}),
    ):
        try:
            call()
        except TacitError:
            continue


@pytest.mark.parametrize(
    "call",
    [
        lambda: LinearLoss().gradient(np.zeros(N), np.full(N, 1e308)),  # numpy warns: overflow encountered in reduce
        lambda: LinearLoss().gradient(np.zeros(N), ([], 0.0)),  # numpy's ValueError about an inhomogeneous shape
        lambda: tacit.Experts(n=2, horizon=10**400) and Repeated(Pure(0.1), 10**400).pure(),  # OverflowError
        lambda: tacit.HedgeOnSums.calibrate(tacit.Experts(n=2, horizon=9), epsilon=1e-12, delta=1e-300),  # log1p(-1)
        lambda: Gaussian(1e-300).epsilon(5e-324),  # numpy warns: log1p(-1)
        lambda: BoundedRange(1e308).delta(0.0),  # OverflowError
        lambda: Sometimes(5e-324, BoundedRange(0.3)).delta(0.0),  # ValueError: math domain error
    ],
    ids=["long rows", "ragged rows", "huge integers", "tiny targets", "tiny mu", "huge width", "tiny probability"],
)
def test_found_by_fuzzing(call):
    try:
        call()
    except TacitError:
        return

"""The attacks on the life of noise, tried on every estimator: shared sources, forks, interrupts, pickles, numpy."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import tacit_models as estimators
from attacks import rows
from attacks.targets import models
from models.records import SOURCE, two_classes
from tacit.errors import ProtocolError
from tacit.noise.randomness import Randomness
from tacit.testing.noise import forked, interrupted
from tacit_models import Ledger, PrivacyWarning

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")  # few rows are enough here
CLASSIFIED = {"data_norm": 1.0, "classes": [0, 1]}
FITTED = {"data_norm": 1.0, "label_bound": 1.0}
MADE = {
    "PrivateLogisticRegression": lambda **own: estimators.PrivateLogisticRegression(**CLASSIFIED, **own),
    "PrivateLinearSVC": lambda **own: estimators.PrivateLinearSVC(**CLASSIFIED, **own),
    "PrivateRidge": lambda **own: estimators.PrivateRidge(**FITTED, **own),
    "PrivateStandardScaler": lambda **own: estimators.PrivateStandardScaler(bounds=(-1, 1), **own),
    "PrivateGridSearch": lambda **own: estimators.PrivateGridSearch(
        estimators.PrivateRidge(**FITTED), {"regularisation": [4.0, 8.0]}, **own
    ),
    "PrivatePipeline": lambda **own: estimators.private_pipeline(
        [estimators.PrivateStandardScaler(bounds=(-1, 1)), estimators.PrivateRidge(**FITTED)], **own
    ),
    "PrivateMean": lambda **own: estimators.PrivateMean(bounds=(-1, 1), **own),
    "PrivateHistogram": lambda **own: estimators.PrivateHistogram(edges=[-1, 0, 1], **own),
    "PrivateQuantile": lambda **own: estimators.PrivateQuantile(bounds=(-1, 1), steps=20, **own),
    "PrivateCovariance": lambda **own: estimators.PrivateCovariance(data_norm=1.0, **own),
    "PrivateScore": lambda **own: estimators.PrivateScore(GUESS, **own),
}
GUESS = DummyClassifier(strategy="constant", constant=1).fit([[0], [0]], [0, 1])
SHOWN = ("coef_", "mean_", "counts_", "quantiles_", "covariance_", "score_")
PASSES = ("PrivateLogisticRegression", "PrivateLinearSVC", "PrivateRidge")
STATISTICS = ("PrivateMean", "PrivateHistogram", "PrivateQuantile", "PrivateCovariance")
every = pytest.mark.parametrize("name", MADE)
every_pass = pytest.mark.parametrize("name", PASSES)
X, Y = two_classes(60)


@pytest.fixture
def make(name, record_property):
    """Makes the estimator that is attacked."""
    record_property("attacked", name)
    return lambda **own: MADE[name](ledger=Ledger(), **own)


def fitted(model, features=X):
    """What a fit shows."""
    model.fit(features[:, :1] if isinstance(model, estimators.PrivateHistogram) else features, Y)
    model = getattr(model, "best_estimator_", model)
    model = model[-1] if isinstance(model, estimators.PrivatePipeline) else model
    return np.asarray(next(getattr(model, name) for name in SHOWN if hasattr(model, name)))


def test_every_estimator_is_attacked():
    assert models() == set(MADE)
    assert {name for name in models() if "partial_fit" in dir(getattr(estimators, name))} == set(PASSES)


@pytest.mark.attack(rows.SHARE)
@every
def test_one_secret_source_for_two_fits(make):
    """Measured: the same noise twice; the difference of the models was the difference of the data."""
    secret = Randomness.secret()
    models = [make(random_state=secret) for _ in range(2)]
    assert not np.array_equal(*map(fitted, models))
    assert all(model.guarantee_.private for model in models)


@pytest.mark.attack(rows.FORK)
@every
def test_fits_in_forked_processes_share_no_noise(make):
    model = make(random_state=Randomness.secret())

    def shown_there():
        model.ledger = Ledger()  # the parent's refuses
        return fitted(model).tobytes().hex()

    shown = [forked(shown_there) for _ in range(2)] + [fitted(model).tobytes().hex()]
    assert len(set(shown)) == 3
    assert not [text for text in shown if "Error" in text]


@pytest.mark.attack(rows.FORK)
@every_pass
def test_a_forked_process_does_not_go_on_with_a_pass(make):
    model = make(horizon=60).partial_fit(X[:30], Y[:30])

    def tried():
        with pytest.raises(ProtocolError, match="another process"):
            model.partial_fit(X[30:], Y[30:])
        return "refused"

    assert forked(tried) == "refused"
    model.partial_fit(X[30:], Y[30:])


@pytest.mark.attack(rows.INTERRUPT)
@every_pass
def test_a_retry_after_an_interrupt_counts_nobody_twice(make):
    model = make(horizon=60).partial_fit(X[:20], Y[:20])
    keys = [stream.bit_generator.state["s"]["seed"].tobytes() for stream in model._pass._sums._source._streams]
    with interrupted(model._pass, "_run", True):
        model.partial_fit(X[20:40], Y[20:40])
    assert model._pass.rounds == 20
    fresh = [stream.bit_generator.state["s"]["seed"].tobytes() for stream in model._pass._sums._source._streams]
    assert not set(keys) & set(fresh)
    model.partial_fit(X[20:40], Y[20:40]).partial_fit(X[40:], Y[40:])
    with pytest.raises(ProtocolError, match="0 are left"):
        model.partial_fit(X[:1], Y[:1])


@pytest.mark.attack(rows.PICKLE)
@every_pass
def test_estimators_pickle_models_and_no_passes(name, record_property):
    """Measured: a pickle after partial_fit held raw pending records, raw sums and keys."""
    data = Randomness.replayable(7).stream("rows").random((45, 3))
    labels = np.arange(45) % 2
    record_property("attacked", name)
    model = MADE[name](horizon=5000, fit_intercept=False).partial_fit(data, labels)
    source = model._pass._sums._source._streams[0]
    inside = [*data, model._pass._sums._sum, *source.bit_generator.state["s"].values()]
    for how in (pickle.dumps, copy.deepcopy):
        with pytest.warns(PrivacyWarning, match="unfinished pass"):
            how(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stored = pickle.dumps(model)
    assert not any(secret.tobytes() in stored for secret in inside if isinstance(secret, np.ndarray) and secret.any())
    again = pickle.loads(stored)
    assert not hasattr(again, "_pass")
    np.testing.assert_array_equal(again.coef_, model.coef_)
    whole = MADE[name]().fit(data, labels)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(whole)).coef_, whole.coef_)


@pytest.mark.attack(rows.NUMPY)
@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e308])
@pytest.mark.parametrize("name", [*PASSES, "PrivateStandardScaler", *STATISTICS])
def test_settings_of_numpy_change_no_fit(make, scale):
    """Sums of statistics raised at underflows where numpy was told to, and those depend on the data."""
    fits = []
    for setting in ("ignore", "raise"):
        with np.errstate(all=setting):
            fits.append(fitted(make(random_state=SOURCE), np.sign(X) * scale))
    assert np.array_equal(*fits)

"""The scaler: means and scales, and what its bounds allow."""

import numpy as np
import pytest

from estimators.records import SOURCE
from tacit.errors import InvalidInput
from tacit.estimators import (
    Ledger,
    PrivateStandardScaler,
)
from tacit.noise.randomness import Randomness

pytestmark = pytest.mark.filterwarnings("ignore::tacit.estimators.UsefulnessWarning")  # few rows are enough here


def test_the_scaler():
    stream = Randomness.replayable(4).stream("data")
    X = stream.standard_normal((20_000, 3)) * [1.0, 2.0, 0.5] + [5.0, -3.0, 0.0]
    scaler = PrivateStandardScaler(1.0, bounds=(-20, 20), random_state=SOURCE, ledger=Ledger()).fit(X)
    assert scaler.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    assert scaler.scale_[1] == pytest.approx(2.0, abs=0.5)
    assert scaler.guarantee_.epsilon(1e-6) <= 1.0 * (1 + 1e-9)
    assert np.abs(scaler.transform(X).mean(axis=0)).max() < 0.2
    zero = PrivateStandardScaler(
        1.0, bounds=([-20] * 3, [20] * 3), relation="zero-out", random_state=SOURCE, ledger=Ledger()
    ).fit(X)
    assert zero.mean_ == pytest.approx([5.0, -3.0, 0.0], abs=0.1)
    for bad in ((1, 0), (0, np.inf), 3, ([0, 0], [1, 1])):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bad).fit(X)


def test_no_bounds_of_the_scaler_let_a_record_count_for_more():
    """Between 1 and the next float the middle is 1, and a record at the other end counted for (2, 3.5)."""
    high = np.nextafter(1.0, 2.0)
    scaler = PrivateStandardScaler(30.0, 0.5, bounds=(1.0, high), random_state=SOURCE, ledger=Ledger())
    scaler.fit(np.repeat([[1.0], [high]], 5_000, axis=0))
    assert scaler.scale_[0] / ((high - 1.0) / 2) == pytest.approx(0.5, abs=0.01)  # z is 0 or 1
    for bounds in ((0.0, 5e-324), (-1.7e308, 1.7e308), (1.0, 1.0), (0.0, np.nan)):
        with pytest.raises(InvalidInput, match="bounds"):
            PrivateStandardScaler(bounds=bounds, ledger=Ledger()).fit(np.zeros((3, 1)))

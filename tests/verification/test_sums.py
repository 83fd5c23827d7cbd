"""Columns of running sums, in closed form and by their definition."""

import mpmath as mp
import pytest

from tacit.verification.facts import Facts
from tacit.verification.sums import Shift, _columns

BUFFERED = {"kind": "Buffered", "steps": 60, "decays": [0.5, 0.9, 0.99], "weights": [0.2, 0.1, 0.05]}


def coefficients(mechanism):
    pairs = list(zip(mechanism["weights"], mechanism["decays"], strict=True))
    return [mp.mpf(1)] + [mp.fsum(mp.mpf(w) * mp.mpf(d) ** k for w, d in pairs) for k in range(1, 60)]


@pytest.mark.parametrize("mechanism", [BUFFERED], ids=lambda mechanism: mechanism["kind"])
@pytest.mark.parametrize("people", [1, 7, 60, 90])
def test_columns_of_a_person_in_neighbouring_steps(mechanism, people):
    with mp.workdps(30):
        c = coefficients(mechanism)
        count = min(people, 60)
        windows = [mp.fsum(c[max(0, k - count + 1) : k + 1]) for k in range(60)]
        norm = min(mp.sqrt(mp.fsum(w**2 for w in windows)) * people / count, people * mp.sqrt(mp.fsum(x**2 for x in c)))
        shift = Shift(losses=True, units=8, dimension=2, sides=2, people=people)
        together, total = _columns(Facts(mechanism, "mechanism"), shift)
        assert float(together / norm) == pytest.approx(1, abs=1e-20)
        assert float(total / mp.fsum(c)) == pytest.approx(1, abs=1e-20)

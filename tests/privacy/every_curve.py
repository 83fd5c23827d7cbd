"""One curve of every kind, and where they are asked."""

import pytest

from tacit.privacy.curves import (
    Approximate,
    BoundedRange,
    Gaussian,
    Pure,
    Renyi,
    Repeated,
    SamplerError,
    Sometimes,
    Sum,
)
from tacit.privacy.lazy import CappedChain, LazyChain

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 3.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.1)
CURVES = [
    Pure(0.7),
    Pure(0.0),
    Gaussian(0.6),
    Gaussian(0.0),
    Approximate(0.5, 1e-7),
    Approximate(0.5, 0.0),
    BoundedRange(0.3),
    Renyi([1.5, 2.0, 8.0, 64.0], [0.1, 0.12, 0.5, 3.0]),
    Sometimes(0.2, BoundedRange(0.4)),
    Sometimes(0.3, Gaussian(0.5)),
    Repeated(BoundedRange(0.1), 20),
    Repeated(Gaussian(0.1), 0),
    Sum((Pure(0.1), Gaussian(0.2), Repeated(BoundedRange(0.1), 3))),
    SamplerError(Gaussian(0.4), 1e-10, 5),
    SamplerError(Pure(0.4), 0.0, 0),
    LazyChain(10, 0.5, 0.7, 0.3, BoundedRange(0.6)),
    LazyChain(10, 0.3, 0.7, 0.9, BoundedRange(1.2), batch=2, rounds_per_person=2, drift=0.01),
    LazyChain.of_hazards(1e-15, 5e-17, decisions=10, bit=5e-17, draw=BoundedRange(1e-16)),
    CappedChain(LazyChain(10, 0.5, 0.7, 0.3, BoundedRange(0.6)), 4),
]
every = pytest.mark.parametrize("curve", CURVES, ids=repr)

"""One curve of every kind, and where they are asked."""

import pytest

from tacit.privacy import curves
from tacit.privacy.lazy import CappedChain, LazyChain

EPSILONS = (0.0, 0.01, 0.1, 0.5, 1.0, 3.0)
DELTAS = (1e-12, 1e-6, 1e-3, 0.1)
CURVES = [
    curves.Pure(0.7),
    curves.Pure(0.0),
    curves.Gaussian(0.6),
    curves.Gaussian(0.0),
    curves.Approximate(0.5, 1e-7),
    curves.Approximate(0.5, 0.0),
    curves.BoundedRange(0.3),
    curves.Renyi([1.5, 2.0, 8.0, 64.0], [0.1, 0.12, 0.5, 3.0]),
    curves.Sometimes(0.2, curves.BoundedRange(0.4)),
    curves.Sometimes(0.3, curves.Gaussian(0.5)),
    curves.Repeated(curves.BoundedRange(0.1), 20),
    curves.Repeated(curves.Gaussian(0.1), 0),
    curves.Sum((curves.Pure(0.1), curves.Gaussian(0.2), curves.Repeated(curves.BoundedRange(0.1), 3))),
    curves.SamplerError(curves.Gaussian(0.4), 1e-10, 5),
    curves.SamplerError(curves.Pure(0.4), 0.0, 0),
    LazyChain(10, 0.5, 0.7, 0.3, curves.BoundedRange(0.6)),
    LazyChain(10, 0.3, 0.7, 0.9, curves.BoundedRange(1.2), batch=2, rounds_per_person=2, drift=0.01),
    LazyChain.of_hazards(1e-15, 5e-17, decisions=10, bit=5e-17, draw=curves.BoundedRange(1e-16)),
    CappedChain(LazyChain(10, 0.5, 0.7, 0.3, curves.BoundedRange(0.6)), 4),
]
every = pytest.mark.parametrize("curve", CURVES, ids=repr)

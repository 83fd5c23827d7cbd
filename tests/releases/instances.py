"""One declaration of every kind, and the neighbours that it is asked for."""

from tacit.accounting.curves import Gaussian
from tacit.accounting.guarantee import ZERO_OUT
from tacit.noise.discrete_laplace import laplace_rate
from tacit.noise.lattice import LOSS_UNITS
from tacit.noise.running_sums import Buffered, CubeTree, LaplaceTree
from tacit.noise.sampler_bounds import GaussianSlack
from tacit.releases import (
    Apart,
    Billboard,
    ClippedCoin,
    Coin,
    Epochs,
    GibbsDraw,
    Grouped,
    Inexact,
    LazyChain,
    LinearProducts,
    Losses,
    Minimisers,
    Neighbours,
    NoisyBatches,
    NoisyBits,
    NoisySums,
    Nothing,
    OwnDraw,
    Passes,
    PerturbedMinimiser,
    Repeated,
    Response,
    Selection,
    Softmax,
    ThresholdTest,
    Together,
    Vectors,
)

ONE = Neighbours()
SEVERAL = Neighbours(rounds=3)
ZERO = Neighbours(ZERO_OUT, rounds=3)


def selection(privacy=0.5, made_for=ONE):
    """Return a selection whose rate is the largest that its privacy allows."""
    steps = made_for.sides * made_for.rounds * LOSS_UNITS
    return Selection(privacy, laplace_rate(privacy, steps), LOSS_UNITS, made_for=made_for)


def thresholds(privacy=(0.25, 0.125), units=64, made_for=ONE):
    """Return a threshold test whose rates are the largest that its privacy allows."""
    steps = made_for.sides * made_for.rounds * units
    rates = [laplace_rate(part, steps) for part in privacy]
    return ThresholdTest(privacy, *rates, units, made_for=made_for)


def bits(made_for=ONE, steps=1, neutral=None):
    """Return noisy bits that cost an epsilon of 1."""
    largest = NoisyBits(1e-9, 1.0, steps, neutral, made_for=made_for).change
    rate = laplace_rate(1.0, largest * made_for.rounds)
    return NoisyBits(rate, 1.0, steps, neutral, made_for=made_for)


def sums(made_for=ONE, **changes):
    """Return the running sum of four-dimensional gradients."""
    fields = {"records": Vectors(4, 1.0), "mechanism": Buffered(50), "privacy": 0.5, **changes}
    return NoisySums(**fields, made_for=made_for)


EXACT = {
    "nothing": (Nothing(), ONE),
    "softmax": (Softmax(0.01), SEVERAL),
    "selection": (selection(), ONE),
    "threshold test": (thresholds(), ONE),
    "response": (Response(0.25, 1.0, made_for=SEVERAL), SEVERAL),
    "composed responses": (Response(0.5, 0.0, made_for=SEVERAL), SEVERAL),
    "noisy bits": (bits(SEVERAL), SEVERAL),
    "noisy half bits": (bits(ZERO, 2, 1), ZERO),
    "noisy sums": (sums(), ONE),
    "sums of losses": (sums(records=Losses(3), mechanism=CubeTree(40, 3), privacy=1.0), ONE),
    "two streams": (sums(streams=2), ONE),
    "sums of batches": (sums(records=Vectors(4, 1.0, batch=5)), ONE),
    "sums of rows": (
        sums(Neighbours(rounds=5, separation=10), records=Vectors(4, 1.0, batch=9, once=True)),
        Neighbours(rounds=5, separation=10),
    ),
    "growing sums": (sums(mechanism=LaplaceTree(40, 3), multiple=1e-3), ONE),
    "noisy batches": (NoisyBatches(Losses(3), "gaussian", 20.0, 4), SEVERAL),
    "cube batches": (NoisyBatches(Losses(3), "cube", 20.0, 4), SEVERAL),
    "products": (LinearProducts(3, 5, 2**10, 2**30, 2**28, 4), SEVERAL),
    "public products": (LinearProducts(3, 5, 2**10, 2**30, 0, 4), ZERO),
    "passes": (Passes(20, 2**40, 7), ONE),
    "lazy chain": (LazyChain(50, Coin(0.1, 0.01, 2), Softmax(0.01)), SEVERAL),
    "capped chain": (LazyChain(50, Coin(0.1, 0.01), Softmax(0.01), cap=5), ONE),
    "two chains": (
        LazyChain(50, Coin(0.1, 0.01, 2, True, 1.5), Softmax(0.01), reference=0.1),
        SEVERAL,
    ),
    "repeated": (Repeated(Softmax(0.01), 30), SEVERAL),
    "repeated batches": (Repeated(NoisyBatches(Losses(3), "gaussian", 20.0, 4), 3), SEVERAL),
    "together": (Together((selection(), thresholds())), ONE),
    "together with sums": (Together((Softmax(0.01), sums())), ONE),
    "apart": (Apart(selection(), "windows", 0.5), ONE),
    "grouped": (Grouped(sums(), 3), ONE),
    "epochs": (Epochs((selection(), selection(0.25)), 0.5, 0.0, made_for=ONE), ONE),
    "epochs of several": (Epochs((sums(privacy=0.01),), 1.0, 1e-6, made_for=SEVERAL), SEVERAL),
    "billboard": (Billboard(LinearProducts(3, 5, 2**10, 2**30, 2**28, 4), own=True), ONE),
}
"""Declarations of programs on integers: the list of Theorem 4."""

MODELS = Minimisers(0.1, 0.2, True, True, 0.05, 0.049999, GaussianSlack(0, 0, 1e-30), 2, 5, False)
FLOATING = {
    "softmax in floats": (Softmax(0.01, 1e-9, exact=False), SEVERAL),
    "sums in floats": (sums(exact=False), ONE),
    "batches in floats": (NoisyBatches(Losses(3), "laplace", 20.0, 4, exact=False), SEVERAL),
    "gibbs draw": (GibbsDraw(1.0, 0.05, 60.0), SEVERAL),
    "perturbed minimiser": (PerturbedMinimiser(1.0, 0.01, 50.0, True, 3, 1e-3), SEVERAL),
    "own draw": (OwnDraw("Named", 0.01), SEVERAL),
    "own curve": (OwnDraw("Named", 0.01, lambda among: Gaussian(0.01 * among.rounds)), SEVERAL),
    "minimisers in floats": (
        Minimisers(0.1, 0.2, True, False, 0.05, None, GaussianSlack(0, 0, 1e-30), 1, 5, False),
        ONE,
    ),
    "pure minimisers": (
        Minimisers(0.1, 0.2, True, False, 0.05, None, GaussianSlack(0, 0, 0), 1, 5, True),
        ONE,
    ),
    "clipped coin": (
        LazyChain(
            50,
            ClippedCoin(0.1, 0.05, per_side=1e-4, per_round=1e-6, error=1e-9),
            PerturbedMinimiser(1.0, 0.01, 50.0, False, 3, 1e-3),
        ),
        SEVERAL,
    ),
    "clipped coin, exact draw": (LazyChain(50, ClippedCoin(0.1, 0.05), Softmax(0.01)), ONE),
    "chain of points": (LazyChain(50, Coin(0.1, 0.01), GibbsDraw(1.0, 0.05, 60.0)), ONE),
    "chain of floats": (LazyChain(50, Coin(0.1, 0.01), Softmax(0.01, 1e-9, exact=False)), ONE),
    "inexact": (Inexact(Repeated(GibbsDraw(1.0, 0.05, 60.0), 5), 1e-12, 5), ONE),
    "inexact, exact draw": (Inexact(Softmax(0.01), 1e-12, 1), ONE),
    "together with floats": (Together((Softmax(0.01), GibbsDraw(1.0, 0.05, 60.0))), ONE),
    "repeated floats": (Repeated(GibbsDraw(1.0, 0.05, 60.0), 3), ONE),
    "grouped floats": (Grouped(sums(exact=False), 3), ONE),
    "billboard of floats": (Billboard(sums(exact=False), own=False), ONE),
}
"""Declarations of which something is computed in float64."""

UP_TO = {
    "minimisers": (MODELS, ONE),
    "chain with a proved slack": (LazyChain(50, Coin(0.1, 0.01), Softmax(0.01, 1e-9)), ONE),
    "softmax with a proved slack": (Softmax(0.01, 1e-9), ONE),
}
"""Declarations in float64 whose errors are proved and charged."""

ALL = {**EXACT, **FLOATING, **UP_TO}

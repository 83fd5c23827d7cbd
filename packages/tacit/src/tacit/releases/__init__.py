"""What plans release, declared once: the kinds of releases, and the neighbours they are for."""

from tacit.releases.chains import ClippedCoin, Coin, LazyChain
from tacit.releases.combinators import (
    Apart,
    Billboard,
    Epochs,
    Grouped,
    Inexact,
    Repeated,
    Together,
)
from tacit.releases.draws import (
    GibbsDraw,
    NoisyBits,
    Nothing,
    OwnDraw,
    Response,
    Selection,
    Softmax,
    ThresholdTest,
)
from tacit.releases.minimisers import Minimisers, PerturbedMinimiser
from tacit.releases.neighbours import Neighbours
from tacit.releases.records import Losses, Vectors
from tacit.releases.release import Releases, Sized
from tacit.releases.sums import LinearProducts, NoisyBatches, NoisySums, Passes

__all__ = [
    "Apart",
    "Billboard",
    "ClippedCoin",
    "Coin",
    "Epochs",
    "GibbsDraw",
    "Grouped",
    "Inexact",
    "LazyChain",
    "LinearProducts",
    "Losses",
    "Minimisers",
    "Neighbours",
    "NoisyBatches",
    "NoisyBits",
    "NoisySums",
    "Nothing",
    "OwnDraw",
    "Passes",
    "PerturbedMinimiser",
    "Releases",
    "Repeated",
    "Response",
    "Selection",
    "Sized",
    "Softmax",
    "ThresholdTest",
    "Together",
    "Vectors",
]

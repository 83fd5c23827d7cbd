"""Generators with known keys, and generators that say what a test has planted."""

from types import SimpleNamespace

import numpy as np
from randomgen import AESCounter

from tacit.numerics.discrete_gaussian import DiscreteGaussian


def generator(key):
    return np.random.Generator(AESCounter(key=key))


def gaussian(key=3):
    """A replayable source on three streams of neighbouring keys."""
    return DiscreteGaussian(generator(key), generator(key + 1), generator(key + 2), private=False)


def planted(words):
    """A generator whose raw words are those of a list, then nothing."""
    left = list(words)

    def random_raw(count):
        assert count <= len(left), "more words were read than the definition allows"
        taken = [left.pop(0) for _ in range(count)]
        return np.array(taken, dtype=np.uint64)

    return SimpleNamespace(bit_generator=SimpleNamespace(random_raw=random_raw), left=left)

"""Generators with known keys, and generators that say what a test has planted."""

import hashlib
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
from randomgen import AESCounter

from tacit.noise.discrete_gaussian import DiscreteGaussian
from tacit.noise.randomness import Stream
from tacit.noise.source import POOL
from tacit.noise.uniforms import KEY_BYTES, Uniforms


def generator(key):
    """A replayable stream of this key."""
    return Stream(AESCounter(key=key), private=False)


def fixed_key(key):
    """A stream that gives this key to the further digits of uniforms."""
    stream = generator(key)
    stream.bytes = lambda count: bytes([key]) * count
    return stream


def gaussian(key=3):
    """A replayable source on three streams of neighbouring keys."""
    return DiscreteGaussian(generator(key), generator(key + 1), generator(key + 2))


def uniforms(key=3):
    """A replayable stream of uniforms."""
    return Uniforms(generator(key), fixed_key(key))


def planted_uniforms(words):
    """Uniforms with these first words, then zeros; their further digits are those of key 1."""
    return Uniforms(planted([*words, *[0] * POOL]), fixed_key(1))


def digit(index, count, key=1):
    """The 64 bits that follow, by their definition."""
    name = b"%d %d" % (index, count)
    return int.from_bytes(hashlib.blake2b(name, key=bytes([key]) * KEY_BYTES, digest_size=8).digest(), "little")


def long_uniform(index, word, key=1, count=24):
    """A uniform as a fraction of 64 (1 + count) bits."""
    value = word
    for j in range(count):
        value = value << 64 | digit(index, j + 1, key)
    return Fraction(value, 2 ** (64 * (count + 1)))


def planted(words):
    """A generator whose raw words are those of a list, then nothing."""
    left = list(words)

    def random_raw(count):
        assert count <= len(left), "more words were read than the definition allows"
        taken = [left.pop(0) for _ in range(count)]
        return np.array(taken, dtype=np.uint64)

    return SimpleNamespace(bit_generator=SimpleNamespace(random_raw=random_raw), left=left, private=False)

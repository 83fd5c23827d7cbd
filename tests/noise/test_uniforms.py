"""Uniforms are the same strings of digits however they are taken, and integers drawn from them are exact."""

import copy

import numpy as np
import pytest

from noise.keyed import digit, generator, long_uniform, planted_uniforms, uniforms
from tacit.errors import InvalidInput
from tacit.noise.uniforms import fractions


def test_words_have_the_index_of_their_place_in_the_stream():
    words = generator(3).bit_generator.random_raw(5000)
    source = uniforms(3)
    place = 0
    for count in (1, 0, 7, 300, 1, 2000, 5):
        index, taken = source.take(count)
        assert index == place
        np.testing.assert_array_equal(taken, words[place : place + count])
        place += count
    source.renew()
    index, word = source.take_one()
    assert index == 0, "a fresh key counts from its first word"
    assert word not in words


def test_further_digits_are_hashes():
    source = uniforms(3)
    digits = source.digits(17, 5)
    assert (digits.value, digits.length) == (5, 64)
    digits.extend()
    digits.extend()
    assert digits.length == 192
    assert digits.value == (5 << 128) + (digit(17, 1, key=3) << 64) + digit(17, 2, key=3)


def test_fractions_are_the_first_53_bits():
    words = np.array([0, 2**11 - 1, 2**11, 2**63, 2**64 - 1], dtype=np.uint64)
    assert fractions(words).tolist() == [0.0, 0.0, 2.0**-53, 0.5, 1 - 2.0**-53]


def test_integers_are_exact_floors(rng):
    bounds = np.array([1, 2, 3, 7, 10**9 + 7, 2**61 + 3, 2**62] * 30)
    words = rng.bit_generator.random_raw(bounds.size).tolist()
    for place in range(0, bounds.size, 3):  # words whose 64 bits leave floor(n U) open
        words[place] = min((2**64 * int(rng.integers(1, bounds[place] + 1))) // int(bounds[place]), 2**64 - 1)
    found = planted_uniforms(words).integers(bounds.reshape(3, -1)).ravel()
    wanted = [int(long_uniform(i, w) * n) for i, (w, n) in enumerate(zip(words, bounds.tolist(), strict=True))]
    assert found.tolist() == wanted
    one_by_one = planted_uniforms(words)
    assert [one_by_one.integer(n) for n in bounds.tolist()] == wanted


def test_integers_that_are_just_open():
    """n (word + 1) is one above a multiple of 2^64: the last n-th of the word's cell belongs to the next integer."""
    for n in (3, 5, 7):
        word = (1 - n) * pow(n, -1, 2**64) % 2**64
        found = planted_uniforms([word] * 100).integers(np.full(100, n))
        assert found.tolist() == [int(long_uniform(i, word) * n) for i in range(100)]
        assert len(set(found.tolist())) == 2


def test_states_and_copies():
    source, other = uniforms(3), uniforms(4)
    source.take(200)
    other.load_state_dict(source.state_dict())
    for twin in (copy.deepcopy(source), other):
        again = copy.deepcopy(source)
        index, words = again.take(1000)
        assert twin.take(1000)[0] == index == 200
        np.testing.assert_array_equal(uniforms(3).take(1200)[1][200:], words)
        assert twin.digits(5, 1)._key == source.digits(5, 1)._key


@pytest.mark.parametrize("spoil", [{"key": b"short"}, {"drawn": -1}, {"drawn": "1"}, {"streams": []}])
def test_malformed_states_change_nothing(spoil):
    source = uniforms(3)
    source.take(3)
    with pytest.raises(InvalidInput):
        source.load_state_dict({**uniforms(9).state_dict(), **spoil})
    assert source.take(100)[1].tolist() == uniforms(3).take(103)[1][3:].tolist()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: uniforms().integer(0), "'below' parameter"),
        (lambda: uniforms().integers(np.array([3, 0])), "from 1 to 2"),
        (lambda: uniforms().integers(np.array([2**62 + 1])), "from 1 to 2"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InvalidInput, match=words):
        call()

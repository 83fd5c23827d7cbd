import pytest

from numerics.keyed import generator


@pytest.fixture
def rng():
    return generator(101)

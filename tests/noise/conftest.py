import pytest

from noise.keyed import generator


@pytest.fixture
def rng():
    return generator(101)

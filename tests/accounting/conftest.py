"""What the exact references share: their digits, for the time of a test, so that no other test counts on them."""

import mpmath
import pytest


@pytest.fixture(autouse=True)
def forty_digits():
    with mpmath.workdps(40):
        yield

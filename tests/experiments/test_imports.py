"""What importing parts of tacit-experiments loads."""

import pytest

import tacit_experiments
from test_imports import heavy_among, loaded_by


def test_the_package_itself_loads_nothing_heavy():
    assert not heavy_among(loaded_by("import tacit_experiments"))


def test_tokens_need_no_web_framework():
    assert not heavy_among(loaded_by("import tacit_experiments.service.tokens")) - {"sqlalchemy"}


def test_public_names_are_found_and_others_are_not():
    assert set(tacit_experiments.__all__) <= set(dir(tacit_experiments))
    for name in tacit_experiments.__all__:
        assert getattr(tacit_experiments, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit_experiments.nonsense

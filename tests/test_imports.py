"""What `import tacit` loads: next to nothing, and heavy modules only when they are used."""

import ast
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit
from tacit.packages import MOVED, install_command

HEAVY = {
    "dp_accounting", "joblib", "matplotlib", "networkx", "rich", "sklearn", "typer",
    "sqlalchemy", "psycopg", "pandas", "pyspark", "fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn",
    "scipy.integrate", "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize", "scipy.signal",
    "scipy.sparse", "scipy.spatial", "scipy.stats",
}  # fmt: skip


def loaded_by(code):
    """The modules in a fresh process after this code."""
    report = "\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    command = [sys.executable, "-c", code + report]
    return set(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def heavy_among(modules):
    return {name for name in HEAVY for module in modules if module == name or module.startswith(f"{name}.")}


def test_import_loads_next_to_nothing():
    modules = loaded_by("import tacit")
    assert {name for name in modules if name.startswith("tacit")} == {"tacit", "tacit.packages", "tacit.version"}
    assert "numpy" not in modules
    assert not heavy_among(modules)


def test_planning_and_deciding_load_no_heavy_module():
    code = (
        "import tacit\n"
        "learner = tacit.plan(tacit.Experts(n=2, horizon=20), epsilon=1.0, delta=1e-6).start()\n"
        "learner.play(); learner.observe([0.0, 1.0])"
    )
    assert not heavy_among(loaded_by(code))


def test_no_public_name_needs_a_heavy_module_to_be_loaded():
    assert not heavy_among(loaded_by("from tacit import *"))


def test_the_table_the_types_and_all_agree():
    tree = ast.parse(Path(tacit.__file__).read_text())
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {(line.module, alias.name) for line in typed.body for alias in line.names}
    assert imports == {(home, name) for name, home in tacit._HOME_OF.items()}
    assert {name for _, name in imports} | {"__version__"} == set(tacit.__all__)


def test_names_of_the_last_release_work_and_say_where_they_are_now():
    for name, place in tacit._MOVED_TO.items():
        package, _, now = place.rpartition(".")
        with pytest.warns(DeprecationWarning, match=f"tacit.{name} is {place} now"):
            assert getattr(tacit, name) is getattr(import_module(package), now)
        assert name not in tacit.__all__


def test_names_and_packages_are_found_and_others_are_not():
    assert set(tacit.__all__) <= set(dir(tacit))
    for name in tacit.__all__:
        assert getattr(tacit, name) is not None
    assert tacit.environments.named.named_environment
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = tacit.nonsense


def test_audit_is_the_function_and_its_package_imports_normally():
    code = (
        "import tacit\nimport tacit.auditing.script\nassert callable(tacit.audit)\n"
        "assert tacit.auditing.script.__name__ == 'tacit.auditing.script'"
    )
    loaded_by(code)


@pytest.mark.parametrize("name", sorted(MOVED))
def test_names_of_0_3_that_moved_say_which_package_to_install(name):
    place = MOVED[name]
    package = place.partition(".")[0].replace("_", "-")
    words = re.escape(f"tacit.{name} is {place} since tacit 0.4, in the package {package}: pip install {package},")
    assert not hasattr(tacit, name)
    with pytest.raises(AttributeError, match=words):
        getattr(tacit, name)
    for code in (f"import tacit.{name}", f"import tacit.{name}.anything", f"from tacit import {name}"):
        with pytest.raises(ModuleNotFoundError, match=words):
            exec(code)


def test_other_modules_that_are_not_there_are_refused_as_ever():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'tacit\.nonsense'"):
        import_module("tacit.nonsense")


def test_commands_for_a_clone_name_every_package_that_is_needed():
    assert (
        install_command("tacit[plots]")
        == "pip install 'tacit[plots]', or in a clone of tacit pip install './packages/tacit[plots]'"
    )
    assert install_command("tacit-models").endswith("pip install ./packages/tacit ./packages/tacit-models")
    assert install_command("tacit-experiments[serve]").endswith(
        "pip install ./packages/tacit './packages/tacit-experiments[serve]'"
    )

"""The last column of `docs/coverage.md` is true: a wrong edit of the code of a row makes a test of that row fail."""

import inspect
import os
import subprocess
import sys

import pytest

from docs.coverage_mutations import MUTATIONS, ROOT, ROWS, edited, named
from docs.test_coverage import looked_up


def modules_of(cells):
    """The modules that define what the row names."""
    found = set()
    for name in named(cells[2]) + named(cells[3]):
        path = name.partition("(")[0]
        while path and not path.startswith("tacit "):
            thing = looked_up(path)
            thing = thing.fget if isinstance(thing, property) else getattr(thing, "func", thing)
            module = inspect.getmodule(thing) if thing is not None else None
            if module is not None:
                found.add(module.__name__)
            path = path.rpartition(".")[0]
    return found


def test_every_row_has_a_mutation():
    assert set(MUTATIONS) == set(ROWS)


def test_mutations_edit_the_code_that_their_rows_name():
    for key, (module, edit) in MUTATIONS.items():
        text = (ROOT / "src" / f"{module.replace('.', '/')}.py").read_text()
        changed = edited(text, *edit)
        compile(changed, module, "exec")
        assert changed != text, key
        assert module in modules_of(ROWS[key]), key


def test_an_edit_that_fits_nowhere_or_twice_is_refused():
    assert edited("c = a + b", "a + b", "a - b") == "c = a - b"
    for text in ("c = a", "c = a + b + a + b"):
        with pytest.raises(ValueError, match="once"):
            edited(text, "a + b", "a - b")


def outcome(*arguments):
    """The exit code of `python -m docs.coverage_mutations`, and what it printed."""
    sources = os.pathsep.join(path for path in (str(ROOT / "src"), os.environ.get("PYTHONPATH", "")) if path)
    done = subprocess.run(
        [sys.executable, "-m", "docs.coverage_mutations", *arguments],
        cwd=ROOT / "tests",
        env=os.environ | {"PYTHONPATH": sources},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("key", MUTATIONS)
def test_a_named_test_fails_with_the_mutation(key):
    code, printed = outcome(key)
    assert code == pytest.ExitCode.TESTS_FAILED, printed


@pytest.mark.slow
def test_the_named_tests_pass_without_mutations():
    code, printed = outcome()
    assert code == pytest.ExitCode.OK, printed

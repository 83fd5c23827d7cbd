"""Every set of the geometry package has a name on the command line, or a reason why it has none."""

import json

import numpy as np
import pytest

from cli.command import run_command
from tacit import domains as geometry
from tacit.cli.problems import NAMES, SIZED, WRITTEN, domain_of
from tacit.domains import Box, Matroid, Paths, Polytope, SpanningTrees, SubmodularBase
from tacit.errors import InvalidInput

EXAMPLES = {
    "box": ("box:-1..1,0..2", 2),
    "spanning-trees": ("spanning-trees:a-b,b-c,a-c", 3),
    "paths": ("paths:s-a,a-t,s-t", 3),
    "polytope": ("polytope:1,0,1;0,1,1;-1,-1,1", 2),
    "matroid": ("matroid:red,red,blue", 3),
    "submodular-base": ("submodular-base:1,1.5,1.75", 3),
}
NO_NAME = {"OracleSet": "a set by a function"}


def test_every_public_set_has_a_name():
    reached = {type(domain_of(name, 3, 1.0)).__name__ for name in SIZED}
    reached |= {type(domain_of(EXAMPLES[name][0], None, 1.0)).__name__ for name in WRITTEN}
    assert reached | set(NO_NAME) == set(geometry.__all__)
    assert not reached & set(NO_NAME)
    assert set(EXAMPLES) == set(WRITTEN)
    assert set(NAMES) == set(SIZED) | set(WRITTEN)


@pytest.mark.parametrize(("text", "expected"), [
    ("box:-1..1,0..2", Box(np.array([-1.0, 0.0]), np.array([1.0, 2.0]))),
    ("spanning-trees:a-b,b-c,a-c", SpanningTrees([("a", "b"), ("b", "c"), ("a", "c")])),
    ("paths:s-a,a-t,s-t", Paths([("s", "a"), ("a", "t"), ("s", "t")], "s", "t")),
    ("polytope:1,0,1;0,1,1;-1,-1,1", Polytope(np.array([[1, 0], [0, 1], [-1, -1]]), np.ones(3))),
])  # fmt: skip
def test_what_is_written_is_what_is_made(text, expected):
    assert domain_of(text, None, 0.5) == expected
    assert domain_of(text, expected.dimension, 0.5) == expected
    with pytest.raises(InvalidInput, match="--dim says 17"):
        domain_of(text, 17, 0.5)


def test_matroids_and_set_functions():
    matroid = domain_of("matroid:red,red,blue,blue", None, 1.0, chosen=1)
    assert isinstance(matroid, Matroid)
    np.testing.assert_array_equal(matroid.minimize_linear([2.0, 1.0, 5.0, 7.0]), [0, 1, 1, 0])
    assert "0x" not in repr(matroid)  # what a store and a sweep know it by
    base = domain_of("submodular-base:1,1.5,1.75", None, 1.0)
    assert isinstance(base, SubmodularBase)
    np.testing.assert_allclose(base.minimize_linear([2.0, 1.0, 3.0]), [0.5, 1.0, 0.25])


def test_files(tmp_path):
    rows = tmp_path / "rows.csv"
    rows.write_text("1, 0, 1\n0, 1, 1\n-1, -1, 1\n")
    assert domain_of(f"polytope:@{rows}", None, 1.0) == domain_of(EXAMPLES["polytope"][0], None, 1.0)
    rows.write_text("s,a\na,t\ns,t\n")
    assert domain_of(f"paths:@{rows}", None, 1.0) == domain_of(EXAMPLES["paths"][0], None, 1.0)
    rows.write_text("a-b\nb-c\na-c\n")
    assert domain_of(f"spanning-trees:@{rows}", None, 1.0) == domain_of(EXAMPLES["spanning-trees"][0], None, 1.0)
    rows.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="UTF-8"):
        domain_of(f"paths:@{rows}", None, 1.0)


@pytest.mark.parametrize(("text", "message"), [
    ("disc", "must be one of ball"),
    ("ball", "needs --dim"),
    ("ball:3", "nothing behind a colon"),
    ("paths", "written out, as in paths:"),
    ("paths:", "written out as in"),
    ("paths:a", "written out as in"),
    ("paths:a-b-c", "written out as in"),
    ("paths:a-b,,c-d", "written out as in"),
    ("paths:a-b,b-a,a-c", "cycle"),
    ("spanning-trees:a-b,c-d", "connected"),
    ("box:1", "written out as in"),
    ("box:1..x", "written out as in"),
    ("polytope:1,2;3", "written out as in"),
    ("polytope:1,0,1", "unbounded"),
    ("polytope:@nowhere.csv", "no file 'nowhere.csv'"),
    ("submodular-base:1,3,2", "submodular"),
])  # fmt: skip
def test_errors_say_what_is_allowed(text, message):
    with pytest.raises(InvalidInput, match=message):
        domain_of(text, None, 1.0)


@pytest.mark.parametrize("name", WRITTEN)
def test_plans_for_bandits(name, capsys):
    text, dimension = EXAMPLES[name]
    options = ("--domain", text, "--horizon", "40000", "--epsilon", "2", "--value-range", "0", "9", "--json")
    assert run_command("plan", "bandit", *options) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["chosen"] == "BanditFW"
    assert dimension == domain_of(text, None, 1.0).dimension


def test_convex_problems_on_a_polytope(tmp_path, capsys):
    rows, data = tmp_path / "triangle.csv", tmp_path / "data.csv"
    rows.write_text("1,0,1\n0,1,1\n-1,-1,1\n")
    data.write_text("a,b\n" + "0.5,0.5\n" * 20)
    domain = ("--domain", f"polytope:@{rows}")
    assert run_command("plan", "convex", *domain, "--horizon", "1000", "--epsilon", "1") == 0
    options = ("--loss", "linear", "--input", str(data), "--epsilon", "5", "--seed", "1")
    assert run_command("run", "convex", *domain, *options) == 0
    points = [[float(x) for x in line.split(",")] for line in capsys.readouterr().out.splitlines()[-20:]]
    assert all(domain_of(domain[1], None, 1.0).contains(point) for point in points)
    assert run_command("simulate", "convex", *domain, "--loss", "quadratic", "--horizon", "50", "--epsilon", "5",
                       "--runs", "1") == 0  # fmt: skip
    assert run_command("plan", "convex", "--domain", "paths:s-a,a-t,s-t", "--horizon", "100", "--epsilon", "1") == 2
    assert "project" in capsys.readouterr().err


def test_a_sweep_over_a_written_set(tmp_path, capsys):
    assert run_command(
        "sweep", "bandit", "--domain", "matroid:red,red,blue,blue", "--dim", "4", "--horizons", "400", "--epsilons",
        "2", "--value-range", "0", "3", "--runs", "1", "--jobs", "1", "--output", str(tmp_path / "out"),
    ) == 0  # fmt: skip
    assert "BanditFW" in capsys.readouterr().out


def test_no_privacy_on_the_command_line(tmp_path, capsys):
    data = tmp_path / "rows.csv"
    data.write_text("0.1,0.2,1\n" * 60)
    lazy = ("--epsilon", "inf", "--max-switches", "5")
    assert run_command("plan", "convex", "--dim", "2", "--horizon", "1000", *lazy, "--strong-convexity", "1") == 0
    assert "chosen; NOT PRIVATE" in capsys.readouterr().out
    assert run_command("run", "convex", "--input", str(data), "--algorithm", "LazyOCO", *lazy) == 0
    assert "NOT PRIVATE" in capsys.readouterr().err
    assert run_command("simulate", "convex", "--dim", "2", "--horizon", "60", *lazy, "--runs", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["mean_switches"] <= 5
    asked = ("--epsilon", "1", "--max-switches", "5", "--algorithm", "LazyOCO")
    assert run_command("run", "convex", "--input", str(data), *asked) == 2
    assert "LazyOCO is not private and meets no epsilon" in capsys.readouterr().err
    assert run_command("plan", "experts", "--n", "3", "--horizon", "99", "--epsilon", "inf") == 2
    assert "must be finite" in capsys.readouterr().err

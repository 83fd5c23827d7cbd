import json

import numpy as np
import pytest

from cli.command import refused, run_command


def test_plan_names_the_classes(capsys):
    code = run_command(
        "plan", "convex", "--dim", "10", "--radius", "1", "--lipschitz", "1", "--smoothness", "1", "--family", "glm",
        "--horizon", "1000000", "--epsilon", "1", "--delta", "1e-6", "--json",
    )  # fmt: skip
    assert code == 0
    answer = json.loads(capsys.readouterr().out)
    bounds = {candidate["algorithm"]: candidate["regret_bound"] for candidate in answer["candidates"]}
    assert answer["chosen"] == "PrivateFTRL"
    assert bounds["CTRL"] <= 1.03 * 8789
    assert bounds["PrivateFTRL"] == pytest.approx(4175, rel=0.03)
    assert all("expected_switches" in candidate for candidate in answer["candidates"])


def test_decisions_may_leave_the_domain(tmp_path, capsys):
    common = ("--dim", "2", "--radius", "0.1", "--horizon", "1000", "--epsilon", "8", "--improper")
    assert run_command("plan", "convex", *common, "--family", "glm") == 0
    assert "comparators in the domain, decisions anywhere" in capsys.readouterr().out
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n" + "1,1,1\n" * 300)
    assert run_command("run", "convex", *common[2:], "--input", str(path), "--seed", "1") == 0
    points = [[float(x) for x in line.split(",")] for line in capsys.readouterr().out.splitlines()]
    assert np.linalg.norm(points, axis=1).max() > 0.3
    assert "may have kinks" in refused(capsys, "plan", "convex", *common, "--smoothness", "inf")


def test_run_on_features_and_labels(tmp_path, capsys):
    path = tmp_path / "rows.csv"
    generator = np.random.Generator(np.random.PCG64(1))
    features = generator.standard_normal((40, 3))
    labels = np.sign(features[:, 0])
    rows = "\n".join(",".join(map(str, [*row, label])) for row, label in zip(features, labels, strict=True))
    path.write_text("a,b,c,label\n" + rows + "\n")
    common = ("run", "convex", "--epsilon", "1", "--input", str(path), "--seed", "1")
    assert run_command(*common) == 0
    captured = capsys.readouterr()
    points = [[float(x) for x in line.split(",")] for line in captured.out.splitlines()]
    assert np.shape(points) == (40, 3)
    assert np.all(np.linalg.norm(points, axis=1) <= 1 + 1e-9)
    assert "40 rounds" in captured.err
    assert "no column 'd'" in refused(capsys, *common, "--label", "d")
    assert "logistic, squared, huber, smoothed-hinge" in refused(capsys, *common, "--loss", "cubic")

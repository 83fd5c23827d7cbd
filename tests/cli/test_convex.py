import json

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


def test_decisions_may_leave_the_domain(capsys):
    common = ("--dim", "2", "--radius", "0.1", "--horizon", "1000", "--epsilon", "8", "--improper")
    assert run_command("plan", "convex", *common, "--family", "glm") == 0
    assert "comparators in the domain, decisions anywhere" in capsys.readouterr().out
    assert "may have kinks" in refused(capsys, "plan", "convex", *common, "--smoothness", "inf")

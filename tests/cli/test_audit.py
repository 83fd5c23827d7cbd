from typer.testing import CliRunner

import tacit
from tacit.auditing.report import AuditReport, Finding
from tacit.cli.app import app


def invoke(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


def test_a_clean_plan_leaves_with_zero_and_shows_no_progress_in_a_pipe():
    result = invoke("experts", "--n", "3", "--horizon", "100", "--epsilon", "1", "--budget", "0.02")
    assert result.exit_code == 0
    assert "no violation found" in result.output
    assert "..." not in result.output


def test_a_violation_leaves_with_one(monkeypatch):
    def broken(plan, **settings):
        settings["progress"] and settings["progress"]("x")
        return AuditReport(plan, (Finding("exact", "x", "mu", 1.0, 2.0, True),), 0)

    monkeypatch.setattr(tacit, "audit", broken)
    result = invoke("experts", "--n", "3", "--horizon", "9", "--epsilon", "1")
    assert result.exit_code == 1
    assert "VIOLATION" in result.output


def test_an_unknown_algorithm_is_refused():
    result = invoke("experts", "--n", "3", "--horizon", "50", "--epsilon", "1", "--algorithm", "Guess")
    assert result.exit_code != 0
    assert "LazyExperts" in str(result.exception)

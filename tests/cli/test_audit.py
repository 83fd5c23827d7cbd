import tacit
from cli.command import run_command
from tacit.auditing.report import AuditReport, Finding


def test_a_violation_leaves_with_one(monkeypatch, capsys):
    def broken(plan, **settings):
        settings["progress"] and settings["progress"]("x")
        return AuditReport(plan, (Finding("exact", "x", "mu", 1.0, 2.0, True),), 0)

    monkeypatch.setattr(tacit, "audit", broken)
    assert run_command("audit", "experts", "--n", "3", "--horizon", "9", "--epsilon", "1") == 1
    assert "VIOLATION" in capsys.readouterr().out

"""Experiments on the command line, from a draft to a contract that is verified."""

import json

from cli.command import refused, run_command
from experiments.world import pid


def test_a_life(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_command("token", "--store", "decisions.db", "--scopes", "sdk,privacy") == 0
    capsys.readouterr()

    def said(*words):
        assert run_command(*words) == 0
        return capsys.readouterr().out

    made = ("experiments", "make", "decisions.db", "home", "--arms", "control,short", "--ledger", "people")
    draft = said(*made, "--epsilon", "1", "--people-per-day", "20000", "--score", "0.03")
    assert "draft: nothing is charged" in draft
    assert "one calendar month" in draft
    assert "control, short" in said("experiments", "list", "decisions.db")
    assert "version 1 until" in said("experiments", "start", "decisions.db", "home")
    assert json.loads(said("tick", "decisions.db", "--json")) == {"released": 0, "void": 0, "opened": 0}
    assert "Killed in 'home': short" in said("experiments", "kill", "decisions.db", "home", "short")
    assert "0 versions released" in said("experiments", "results", "decisions.db", "home")
    contract = said("experiments", "contract", "decisions.db", "home", "--json")
    (tmp_path / "contract.json").write_text(contract)
    assert said("contract", "verify", "contract.json").startswith("yes: epsilon=0.99")
    assert "Promise. For every person and month" in said("experiments", "contract", "decisions.db", "home")
    assert "Nothing is held" in said("experiments", "held", "decisions.db", pid(1))
    assert "Erased in 1 open versions" in said("experiments", "erase", "decisions.db", pid(1))
    assert "is frozen" in said("experiments", "stop", "decisions.db", "home")
    assert "1 open versions are void" in said("experiments", "restore", "decisions.db")
    end = ("experiments", "stop", "decisions.db", "home", "--end")
    assert "killed or removed" in refused(capsys, *end, "--promote", "short")
    assert "is ended" in said(*end)
    assert "32 hex digits" in refused(capsys, "experiments", "erase", "decisions.db", "alice")
    assert "no store" in refused(capsys, "tick", "nothing.db")
    assert "no experiment" in refused(capsys, "experiments", "results", "decisions.db", "nobody")
    (tmp_path / "more.json").write_text("[]")
    assert "JSON object" in refused(capsys, *made, "--epsilon", "1", "--design", "more.json")
    assert "can be read" in refused(capsys, *made, "--epsilon", "1", "--design", "none.json")
    (tmp_path / "more.json").write_text('{"goal": "win"}')
    assert "goal" in refused(capsys, *made, "--epsilon", "1", "--design", "more.json")

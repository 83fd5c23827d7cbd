"""`tacit contract`: written, verified, refused."""

import json

import tacit
from cli.command import refused, run_command

PLAN = ("contract", "write", "experts", "--n", "3", "--horizon", "300", "--epsilon", "1")


def test_a_contract_is_written_and_verified(tmp_path, capsys):
    file = tmp_path / "contract.json"
    assert run_command(*PLAN, "--output", str(file)) == 0
    assert run_command("contract", "verify", str(file)) == 0
    assert "yes: epsilon=" in capsys.readouterr().out


def test_a_forged_one_is_refused(tmp_path, capsys):
    assert run_command(*PLAN) == 0
    made = json.loads(capsys.readouterr().out)
    file = tmp_path / "forged.json"
    file.write_text(json.dumps({**made, "epsilon": made["epsilon"] / 2}))
    assert run_command("contract", "verify", str(file), "--json") == 1
    assert json.loads(capsys.readouterr().out)["answer"] == "no"


def test_what_cannot_be_verified_leaves_with_two(tmp_path, capsys):
    file = tmp_path / "contract.json"
    assert run_command(*PLAN, "--output", str(file)) == 0
    file.write_text(json.dumps({**json.loads(file.read_text()), "algorithm": "MyOwn"}))
    assert run_command("contract", "verify", str(file)) == 2
    assert "not verifiable yet: MyOwn has no independent accountant yet." in capsys.readouterr().out


def test_what_is_not_private_leaves_with_three(tmp_path, capsys):
    plan = tacit.plan(tacit.Experts(n=3, horizon=50), epsilon=1.0, delta=1e-6)
    file = tmp_path / "contract.json"
    file.write_text(json.dumps(tacit.contract(plan.start(tacit.Randomness.replayable(1)))))
    assert run_command("contract", "verify", str(file)) == 3
    assert "not private: the noise can be replayed" in capsys.readouterr().out


def test_other_files_get_one_sentence(tmp_path, capsys):
    file = tmp_path / "losses.csv"
    for content, words in (
        (b"a,b\n", "must be JSON"),
        (b"\xff", "is not UTF-8"),
        (b"[" * 9**5, "must be JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "format"),
    ):
        file.write_bytes(content)
        error = refused(capsys, "contract", "verify", str(file))
        assert words in error
        assert "losses.csv" in error
    assert "There is no file" in refused(capsys, "contract", "verify", str(tmp_path / "none.json"))

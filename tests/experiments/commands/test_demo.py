import json

import pytest

from cli.command import refused, run_command
from tacit.data import digits_models
from tacit_experiments.commands import demo


def test_demo_is_an_experiment_that_ends_with_a_picture_and_the_contract(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(demo, "DAYS", 4)
    picture = tmp_path / "demo.png"
    assert run_command("demo", "--output", str(picture)) == 0
    shown = capsys.readouterr().out
    assert "What is protected. Everything reported about one person" in shown
    assert "Recomputed by the second accountant: yes" in shown
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert list(tmp_path.iterdir()) == [picture]
    assert run_command("demo", "--json", "--output", str(picture)) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["contract"]["unit"] == "person-month"
    assert told["visits"] == 80_000
    assert 0.02 < told["clicks"] / told["visits"] < 0.05
    assert sum(told["shares"].values()) == pytest.approx(1.0)


def test_traffic_moves_while_the_month_goes_on(tmp_path):
    """Noise hardly counts at this epsilon."""
    design = demo.Design("homepage", tuple(demo.RATES), 20.0, ledger="people", people_per_day=demo.VISITORS, days=1)
    with demo.Store(tmp_path / "decisions.db") as store:
        store.ledger("people", epsilon=20.0, delta=1e-6, renews="monthly")
        clicked, found = demo.run(store, design)
    assert len(found["shares"]["short"]) == demo.DAYS + 1
    assert found["shares"]["short"][0] == pytest.approx(0.25)
    assert found["shares"]["short"][-1] > 0.5
    assert clicked > demo.DAYS * demo.VISITORS * sum(demo.RATES.values()) / 4


def test_bundled_stream_is_zero_one():
    names, losses = digits_models()
    assert losses.shape == (1197, len(names)) == (1197, 8)
    assert set(losses.ravel()) == {0.0, 1.0}


def test_simulate_writes_json_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "regret.png"
    words = "simulate experts --n 4 --horizon 400 --epsilon 1 --runs 3 --json --plot"
    code = run_command(*words.split(), str(picture))
    assert code == 0
    assert '"mean_regret"' in capsys.readouterr().out
    assert picture.exists()
    assert run_command("simulate", "experts", "--n", "4", "--horizon", "9", "--epsilon", "1", "--environment", "x") == 2


@pytest.mark.parametrize(("name", "value"), [("epsilon", "inf"), ("delta", "2"), ("output", "demo.foo")])
def test_demo_says_nothing_before_its_options_are_checked(name, value, tmp_path, monkeypatch, capsys):
    words = f"'{value}'" if name == "output" else f"'{name}'"
    monkeypatch.chdir(tmp_path)
    assert run_command("demo", f"--{name}", value) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err


def test_the_name_of_a_picture_is_checked_before_the_work(tmp_path, capsys):
    arguments = ("simulate", "experts", "--n", "2", "--horizon", "50", "--epsilon", "1")
    assert "must end in one of" in refused(capsys, *arguments, "--plot", str(tmp_path / "x.foo"))
    assert ".png" in refused(capsys, *arguments, "--plot", str(tmp_path / "x.foo"))
    assert not list(tmp_path.iterdir())


def test_what_is_played_has_a_length(capsys):
    assert run_command("simulate", "experts", "--n", "2", "--epsilon", "1") == 2
    assert "--horizon" in capsys.readouterr().err

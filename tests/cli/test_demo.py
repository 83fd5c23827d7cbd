import pytest

from cli.command import refused, run_command
from tacit.cli.demo import digits_models


def test_demo_ends_with_a_picture_and_the_contract(tmp_path, capsys):
    picture = tmp_path / "demo.png"
    assert run_command("demo", "--runs", "3", "--output", str(picture)) == 0
    shown = capsys.readouterr().out
    assert "certified regret" in shown
    assert "neighbours: replace" in shown
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page = (tmp_path / "demo.html").read_text()
    assert "HedgeOnSums" in page
    assert "tacit demo" in page


def test_bundled_stream_is_zero_one():
    names, losses = digits_models()
    assert losses.shape == (1197, len(names)) == (1197, 8)
    assert set(losses.ravel()) == {0.0, 1.0}


def test_simulate_writes_json_and_a_picture(tmp_path, capsys):
    picture = tmp_path / "regret.png"
    code = run_command(
        "simulate",
        "experts",
        "--n",
        "4",
        "--horizon",
        "400",
        "--epsilon",
        "1",
        "--runs",
        "3",
        "--json",
        "--plot",
        str(picture),
    )
    assert code == 0
    assert '"mean_regret"' in capsys.readouterr().out
    assert picture.exists()
    assert run_command("simulate", "experts", "--n", "4", "--horizon", "9", "--epsilon", "1", "--environment", "x") == 2


@pytest.mark.parametrize(("name", "value"), [("runs", "0"), ("epsilon", "inf"), ("delta", "2"), ("output", "demo.foo")])
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

from cli.command import run_command
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

"""Every example runs to its picture, here with small arguments."""

import subprocess
import sys
from pathlib import Path

import pytest

from examples.loading import load

FOLDER = Path(__file__).parents[2] / "examples"
SMALL = {
    "model_routing": {"runs": 2},
    "switching_portfolio": {"every": 20},
    "private_classification": {"seeds": 1},
    "routing": {"horizon": 20_000},
}


def test_every_example_is_here():
    others = {"stream_from_disk", "live_decisions", "own_measure"}
    others |= {"fleet_of_shops", "private_torch"}  # in tests/experiments/fleet and tests/models/torch
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SMALL, *others}


def test_stream_from_disk(capsys):
    load(FOLDER / "stream_from_disk.py").main(rows=4000)
    assert "4,000 rows" in capsys.readouterr().out


def test_own_measure(capsys):
    load(FOLDER / "own_measure.py").main(rounds=2_000)
    assert "keeps the contract" in capsys.readouterr().out


def test_live_decisions():
    """In a process of its own, since it starts others from its file."""
    command = [sys.executable, FOLDER / "live_decisions.py", "12"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    assert "a process was killed; 6 requests were answered so far" in answer
    assert "a process ended; 12 requests were answered so far" in answer
    assert "of 2 at 1e-05" in answer


@pytest.mark.parametrize("name", sorted(SMALL))
def test_example_ends_with_a_picture(name, tmp_path, capsys):
    picture = tmp_path / f"{name}.png"
    load(FOLDER / f"{name}.py").main(str(picture), **SMALL[name])
    assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert f"picture: {picture}" in capsys.readouterr().out

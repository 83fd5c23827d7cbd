"""Planted bugs: every one is killed by its attack, and no attack cries wolf on the shipped code."""

import pytest

from planted_bugs.__main__ import run
from planted_bugs.catalogue import Control, all_controls, swap
from tacit.auditing.report import Finding

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")
CONTROLS = all_controls()
FAST = [control for control in CONTROLS if control.fast]


def test_there_are_enough_of_them_in_every_family():
    assert len(CONTROLS) >= 25
    assert len({control.name for control in CONTROLS}) == len(CONTROLS)
    families = {control.family for control in CONTROLS}
    assert families == {
        "sums", "experts", "tracking", "thresholds", "convex", "bandit", "stochastic", "accounting", "arms", "noise",
        "estimators", "delays", "losses", "fleet", "store", "service", "memory", "experiments", "contexts",
        "policies", "descent", "releases", "printed", "papers",
    }  # fmt: skip


@pytest.mark.parametrize("control", FAST, ids=lambda control: control.name)
def test_planted_bugs_are_killed(control):
    assert control.killed()


@pytest.mark.slow
@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_all_planted_bugs_are_killed_and_the_shipped_code_is_quiet(control):
    assert control.killed()
    assert control.quiet()


def test_bugs_leave_nothing_behind():
    class Honest:
        def answer(self):
            return 1

    kept = Honest.answer
    with swap(Honest, "answer", lambda honest: lambda self: honest(self) + 1)():
        assert Honest().answer() == 2
    assert Honest.answer is kept


def test_survivors_and_false_alarms_are_reported(capsys):
    found = Finding("x", "x", "x", 1.0, 2.0, True)
    clean = Finding("x", "x", "x", 1.0, 0.0, False)
    nothing = swap(type("Nothing", (), {"x": 1}), "x", lambda honest: honest)

    def broken():
        raise ValueError("broken attack")

    survivor = Control("survivor", "sums", nothing, lambda: clean)
    wolf = Control("wolf", "sums", nothing, lambda: found)
    crash = Control("crash", "sums", nothing, broken)
    assert run([survivor, wolf, crash]) == ["survivor", "wolf", "crash"]
    shown = capsys.readouterr()
    assert "SURVIVED" in shown.out
    assert "FALSE ALARM" in shown.out
    assert "broken attack" in shown.err
    assert run([Control("good", "sums", nothing, iter([found, clean]).__next__)], show=False) == []

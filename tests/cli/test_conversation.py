"""A program at the other end of the pipe: it gets the decision first, may stop at any time, or go away."""

import signal
import subprocess
import sys

import pytest

COMMON = ("--epsilon", "1", "--delta", "0", "--seed", "3", "--horizon", "50", "--input", "-")
EXPERTS = ("experts", *COMMON, "--n", "2")
KINDS = {
    "rows": (EXPERTS, "0.5,0.25\n", signal.SIGINT),
    "rows without feedback": (EXPERTS, "null\n", None),
    "convex": (("convex", *COMMON, "--dim", "1"), "0.5,1\n", signal.SIGTERM),
}


def talk(*arguments):
    pipe, command = subprocess.PIPE, [sys.executable, "-m", "tacit.cli.main", "run", *arguments]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.parametrize("kind", KINDS)
def test_decisions_come_first_and_the_end_of_the_rows_or_a_signal_shows_the_contract(kind):
    arguments, row, number = KINDS[kind]
    with talk(*arguments) as process:
        for _ in range(3):
            assert process.stdout.readline().strip()  # although no row, or none of this round, was sent
            process.stdin.write(row)
            process.stdin.flush()
        assert process.stdout.readline().strip()  # the fourth round has begun, and waits
        if number is None:
            process.stdin.close()
        else:
            process.send_signal(number)
        assert process.wait(60) == 0
        error = process.stderr.read()
    assert "3 rounds" in error
    assert "neighbours: replace" in error
    assert "Traceback" not in error


def test_a_reader_that_goes_away_is_no_error():
    with talk(*EXPERTS) as process:
        assert process.stdout.readline().strip() in ("0", "1")
        process.stdout.close()
        process.stdin.write("0.5,0.25\n" * 49)
        process.stdin.close()
        assert process.wait(60) == 0
        error = process.stderr.read()
    assert "1 round, 0 switches" in error
    assert "neighbours: replace" in error
    assert "Traceback" not in error
    assert "BrokenPipe" not in error


def test_a_signal_between_rows_ends_after_the_row_in_hand(monkeypatch, capsys):
    """The signal comes while the second row is observed: it is counted, and no third decision is made."""
    from cli.command import run_command
    from tacit.runtime.learner import Learner

    observe = Learner.observe
    before = signal.getsignal(signal.SIGTERM)

    def interrupted(learner, feedback):
        if learner.rounds == 1:
            signal.raise_signal(signal.SIGTERM)
        observe(learner, feedback)

    monkeypatch.setattr(Learner, "observe", interrupted)
    assert run_command("run", *EXPERTS, stdin="0.5,0.25\n" * 9) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 2
    assert "2 rounds" in captured.err
    assert signal.getsignal(signal.SIGTERM) is before


def test_closed_standard_streams_are_empty_ones():
    """Exit code 1 says that a contract was broken: a shell that closes a stream has broken none."""
    command = 'exec "$0" -m tacit.cli.main run experts --n 2 --horizon 5 --epsilon 1 --input - <&- >&-'
    ended = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0
    assert "0 rounds" in ended.stderr
    assert "Traceback" not in ended.stderr

"""Standard streams that are closed, or that nobody reads: exit code 1 says that a contract was broken, and none was."""

import subprocess
import sys

import pytest

PLAN = '"$0" -m tacit.cli.main plan experts --n 2 --horizon 50 --epsilon 1'


@pytest.mark.parametrize("command", [f"{PLAN} <&- >&-", f"{{ {PLAN}; echo $? >&2; }} | true"])
def test_nobody_listens(command):
    ended = subprocess.run(["sh", "-c", command, sys.executable], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stderr in ("", "0\n")

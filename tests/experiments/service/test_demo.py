"""`tacit serve --demo`: an example that is at work within seconds and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request

from cli.command import refused


def begun(folder, *options):
    code = "from tacit.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--demo", "--no-browser", "--port", "0", *options]
    environment = os.environ | {"TMPDIR": str(folder)}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)


def test_the_demo_is_at_work_and_leaves_nothing_behind(tmp_path):
    with begun(tmp_path, "--json") as child:
        try:
            told = json.loads(child.stdout.readline())
            assert told["browser"] is False
            token = told["page"].partition("#token=")[2]
            request = urllib.request.Request(told["address"], headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(request, timeout=20) as answer:
                page = answer.read().decode()
        finally:
            child.send_signal(signal.SIGTERM)
            out, err = child.communicate(timeout=30)
    assert child.returncode == 0
    assert (out, err) == (b"", b"")
    assert "Effect against control" in page
    assert "of 3 left" in page
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_ended_before_it_is_ready_leaves_nothing_behind(tmp_path):
    with begun(tmp_path) as child:
        while not list(tmp_path.glob("tacit-demo-*/*")) and child.poll() is None:
            time.sleep(0.005)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_a_store_or_the_demo(capsys):
    for options, words in (([], "needs --store FILE, or --demo"), (["--demo", "--store", "x.db"], "not both")):
        assert words in refused(capsys, "serve", *options)

"""`tacit serve --demo`: an example that is at work within seconds and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from unittest.mock import patch

from cli.command import refused
from tacit.server import demo


def test_the_demo_is_at_work_and_leaves_nothing_behind(tmp_path):
    code = "from tacit.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--demo", "--no-browser", "--port", "0", "--json"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
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
    code = "from tacit.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--demo", "--no-browser", "--port", "0"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        while not list(tmp_path.glob("tacit-demo-*/*")) and child.poll() is None:
            time.sleep(0.005)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=30)
    assert (child.returncode, out, err) == (0, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_the_browser_gets_an_address_that_signs_in():
    told = []
    with (
        patch.object(
            demo,
            "serve",
            lambda store, host, port, ready, experiments: (
                ready("http://127.0.0.1:1"),
                experiments.close(),
                store.close(),
            ),
        ),
        patch.object(demo, "come", lambda *_: None),
        patch.object(demo, "PAST", 2),
        patch.object(demo.webbrowser, "open", lambda page: told.append(page) or True),
    ):
        demo.demo("127.0.0.1", 0, lambda *answer: told.append(answer))
    assert told[0].startswith("http://127.0.0.1:1/#token=tacit_")
    assert told[1] == (told[0], True)


def test_a_store_or_the_demo(capsys):
    for options, words in (([], "needs --store FILE, or --demo"), (["--demo", "--store", "x.db"], "not both")):
        assert words in refused(capsys, "serve", *options)

"""Servers that load an application and then fork: no two workers share noise, and none goes on with a learner."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from attacks import rows

FOLDER = Path(__file__).parent
REQUESTS = 1000


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def program(name):
    """Return the path of a program beside this Python or on the path, or skip."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed: .ci/hostile installs it")
    return found


@contextmanager
def running(command, port):
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(command, cwd=FOLDER, start_new_session=True, **quiet)
    try:
        for _ in range(300):
            with socket.socket() as asking:
                if asking.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None, "the server ended"
            time.sleep(0.1)
        yield
    finally:
        os.killpg(server.pid, signal.SIGKILL)  # uWSGI gives workers a minute to end
        server.wait()


def answers(port, count):
    """Ask until there are so many answers; a worker that ends between two requests may drop one."""
    drawn = []
    for _ in range(20 * count):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
                drawn.append(answer.read().decode().split())
        except OSError:
            time.sleep(0.02)
        if len(drawn) == count:
            return drawn
    raise AssertionError(f"{len(drawn)} of {count} requests were answered")


@pytest.mark.slow
@pytest.mark.attack(rows.FORK_BELOW)
@pytest.mark.parametrize("count", [REQUESTS])
def test_workers_of_uwsgi_share_no_noise(count):
    """Each worker answers one request; the master looks for ended ones once a second, and forks them again."""
    port = free_port()
    paths = [path for path in sys.path if path]
    command = [program("uwsgi"), "--http-socket", f"127.0.0.1:{port}", "--wsgi-file", str(FOLDER / "preloaded.py")]
    command += ["--master", "--processes", "16", "--max-requests", "1", "--min-worker-lifetime", "0", "--die-on-term"]
    command += [f"--pythonpath={path}" for path in paths]
    with running(command, port):
        drawn = answers(port, count)
    assert len({word for word, _ in drawn}) == count
    assert {learner for _, learner in drawn} == {"refused"}


@pytest.mark.slow
@pytest.mark.attack(rows.FORK_BELOW)
def test_workers_of_gunicorn_share_no_noise():
    port = free_port()
    command = [program("gunicorn"), "--preload", "--workers", "4", "--max-requests", "5"]
    command += ["--bind", f"127.0.0.1:{port}", "--pythonpath", str(FOLDER), "preloaded:application"]
    with running(command, port):
        drawn = answers(port, 100)
    assert len({word for word, _ in drawn}) == 100
    assert {learner for _, learner in drawn} == {"refused"}

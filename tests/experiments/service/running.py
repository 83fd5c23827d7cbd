"""A service of our own on loopback: in a thread of this process, or as a process."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from contextlib import ExitStack, contextmanager, nullcontext
from unittest.mock import patch

import tacit_experiments
from tacit_experiments.experiments import Experiments
from tacit_experiments.service import server
from tacit_experiments.service.app import create_app
from tacit_experiments.service.http import Limits
from tacit_experiments.service.tokens import SCOPES, Tokens
from tacit_experiments.storage import engines

PROBLEM = {"kind": "experts", "n": 3, "horizon": 400, "delay": 20}
BODY = {"name": "home", "problem": PROBLEM, "epsilon": 1.0, "delta": 1e-6}
LOSSES = [0.0, 0.5, 1.0]


class Service:
    """A running service, and requests to it."""

    def __init__(self, url, store, token):
        self.url, self.store, self.token = url, store, token

    @property
    def tokens(self):
        return Tokens(self.store)

    def client(self, **options):
        return tacit_experiments.Client(self.url, self.token, **options)

    def ask(self, method, path, body=None, token=None, headers=None, raw=None):
        """(status, headers, text) of one request."""
        sent = {"Content-Type": "application/json"} | (headers or {})
        shown = self.token if token is None else token
        if shown:
            sent["Authorization"] = f"Bearer {shown}"
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, dict(response.headers), response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read().decode()

    def post(self, path, body, **options):
        status, _, text = self.ask("POST", path, body, **options)
        return status, json.loads(text) if text else None

    def get(self, path, **options):
        status, _, text = self.ask("GET", path, **options)
        return status, json.loads(text)

    def made(self, **changed):
        """Make a learner."""
        status, answer = self.post("/v1/learners", BODY | changed)
        assert status in (200, 201), answer
        return answer


def unsynced():
    """A block in which stores are opened that no power failure threatens."""
    return patch.object(engines, "PRAGMAS", (*engines.PRAGMAS, "synchronous=OFF"))


@contextmanager
def running(path, *, quick=False, **limits):
    """A service in a thread; ends by itself. A quick one syncs nothing; other stores do."""
    allowed = Limits(**limits)
    with ExitStack() as stack:
        with unsynced() if quick else nullcontext():  # connections that are open stay as they are
            store = stack.enter_context(tacit_experiments.Store(path))
            experiments = Experiments(store)
        token, listener = Tokens(store).make(list(SCOPES)), stack.enter_context(server.listening("127.0.0.1", 0))
        running = server.Server(server.configured(create_app(store, allowed, experiments), allowed))
        thread = threading.Thread(target=running.run, args=([listener],))
        thread.start()
        try:
            while not running.started:
                time.sleep(0.005)
            yield Service(f"http://127.0.0.1:{listener.getsockname()[1]}", store, token)
        finally:
            running.handle_exit(signal.SIGTERM, None)
            thread.join()
            experiments.close()


def start(where, *options):
    """`tacit serve` as a process, and its address."""
    code = "from tacit.cli.main import main; main()"
    command = [sys.executable, "-c", code, "serve", "--store", str(where), "--port", "0", "--json", *options]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ)
    line = child.stdout.readline()
    if not line:
        raise AssertionError(child.communicate()[1].decode())
    return child, json.loads(line)["address"]

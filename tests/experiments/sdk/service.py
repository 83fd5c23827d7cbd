"""A service that follows sdk/SPECIFICATION.md, as small as possible, with faults on order."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from make_vectors import document

TOKEN = "tacit_token"
TYPES = {".js": "text/javascript", ".json": "application/json", ".html": "text/html"}
SECRET = b"a secret of 32 bytes, for tests."


class Service:
    """What is served, what came, and what goes wrong.

    Attributes:
        policy: the text of the policy, or None.
        killed: names of arms.
        replies: the largest value by (salt, pid).
        rows: every row that came, in order.
        asked: (method, last part of the path, headers) of each request.
        fails: what the next requests are answered with in place of an answer, by the last part of the path.
        closed: salts of closed versions.
        files: a folder whose files are served under /files.
    """

    def __init__(self):
        self.policy, self.killed = json.dumps(lasting()), []
        self.replies, self.rows, self.asked, self.fails, self.closed = {}, [], [], {}, set()
        self.files = None
        self.changed = threading.Condition()

    def answer(self, method, what, headers, body):
        """(status, etag, body) of a request, or None to hang up."""
        with self.changed:
            self.asked.append((method, what, headers))
            self.changed.notify_all()
            if self.fails.get(what):
                status = self.fails[what].pop(0)
                if status != 200:
                    return None if status is None else (status, None, b'{"detail": "No."}')
            if what == "policy":
                return self.document(self.policy, headers)
            if what == "kills":
                return self.document(json.dumps({"killed": self.killed}), headers)
            if what == "replies":
                return self.take(json.loads(body)["replies"])
            return 404, None, b""

    def document(self, text, headers):
        if text is None:
            return 404, None, b""
        etag = f'"{hash(text)}"'
        return (304, etag, b"") if headers.get("If-None-Match") == etag else (200, etag, text.encode())

    def take(self, rows):
        closed = [place for place, (salt, _, _) in enumerate(rows) if salt in self.closed]
        malformed = [place for place, (_, _, value) in enumerate(rows) if value == 0.666]
        for place, (salt, pid, value) in enumerate(rows):
            self.rows.append((salt, pid, value))
            if place not in closed and place not in malformed:
                self.replies[salt, pid] = max(value, self.replies.get((salt, pid), 0))
        return 202, None, json.dumps({"closed": closed, "malformed": malformed}).encode()

    def wait_until(self, condition, seconds=10):
        with self.changed:
            assert self.changed.wait_for(condition, seconds)


def lasting(**changed):
    """A policy that is served for years."""
    return document(**{"serve_until": "2998-01-01T00:00:00Z", "close_at": "2999-01-01T00:00:00Z"} | changed)


@contextmanager
def serving():
    """Run such a service at a port of its own: (service, address)."""
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = "application/json"
            path, what = self.path.split("?")[0].rsplit("/", 1)
            if path == "/v1/experiments/homepage" and self.headers.get("Authorization") != f"Bearer {TOKEN}":
                answer = 401, None, b""
            elif path.startswith("/files"):
                file = service.files / f"{path}/{what}".removeprefix("/files/")
                kind, answer = TYPES[file.suffix], (200, None, file.read_bytes())
            else:
                answer = service.answer(self.command, what, dict(self.headers), body)
            if answer is None:
                self.close_connection = True
                return
            status, etag, content = answer
            self.send_response(status)
            self.send_header("Content-Type", kind)
            if etag:
                self.send_header("ETag", etag)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_):
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):
            """Say nothing of clients that hang up."""

    with Quiet(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield service, f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()

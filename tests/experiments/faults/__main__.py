"""`make faults`: whatever fails, every promise of a store is kept. Exit code 1 if one is not.

    python -m faults [kills on SQLite] [kills on PostgreSQL] [kills of a service] [kills of half of four services]
                     [kills of a service with experiments, and of one of four on PostgreSQL]

Everything happens in temporary files and over a local socket.
"""

import json
import sys
import tempfile
import time
from pathlib import Path

from experiments.faults.experiments import Places, killed_experiments, killed_restores
from experiments.faults.kills import kill_often, two_writers
from experiments.faults.places import full_disk
from experiments.faults.postgres import server
from experiments.faults.services import killed_services

# Two processes of eight clients stay within the window of 100 rounds: SQLite may let one of them wait for many turns,
# and feedback that is late by then would be refused, as it should be.
ROUNDS_EACH = 6
BAD = ("lost", "doubled", "unlike the twin", "unnoticed", "unanswered", "left behind")


def main(kills=300, postgres=50, services=40, halves=12, experiments=150):
    """Run everything; whether any promise was broken."""
    broken = False

    def report(name, make):
        nonlocal broken
        begun = time.monotonic()
        found = make()
        broken |= any(found.get(word, 0) for word in BAD)
        print(f"{name}: {json.dumps(found)} ({time.monotonic() - begun:.0f} s)", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        report("kill -9, SQLite", lambda: kill_often(files / "killed.db", kills))
        report("two writers, SQLite", lambda: two_writers(files / "two.db", ROUNDS_EACH))
        report("kill -9, service", lambda: killed_services(files / "served.db", services))
        report("full disk", lambda: full_disk(files / "full.db", 10))
        beside = files / "key", files / "witness"
        report(
            "kill -9, experiments",
            lambda: killed_experiments(Places(files / "e.db", files / "replies.db", *beside), experiments),
        )
        report("kill -9, restore of experiments", lambda: killed_restores(files))
        with server() as address:
            report("kill -9, PostgreSQL", lambda: kill_often(address("killed"), postgres))
            report("two writers, PostgreSQL", lambda: two_writers(address("two"), ROUNDS_EACH))
            report("kill -9, four services, PostgreSQL", lambda: killed_services(address("served"), halves, several=4))
            places = Places(address("experiments"), address("replies"), files / "key2", files / "witness2")
            report(
                "kill -9 of services and of the database, experiments, PostgreSQL",
                lambda: killed_experiments(places, experiments, several=4, interrupt=address.restart),
            )
    print("BROKEN" if broken else "every promise was kept")
    return broken


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))

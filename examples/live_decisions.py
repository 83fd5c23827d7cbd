"""Decide behind live traffic, be killed in the middle, and go on: every promise that was made is still there.

A process serves requests from a store until it is killed without a warning; a second one goes on. Feedback comes late,
and some of it never. Run: `python examples/live_decisions.py [requests]`.
"""

import argparse
import multiprocessing
import signal
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

import tacit
import tacit_experiments

MODELS = ("small", "medium", "large")
LATE = 3  # requests until the feedback of one is there


def serve(path: Path, traffic: Connection) -> None:
    """Answer requests until none comes, and report the feedback of earlier ones."""
    store = tacit_experiments.Store(path)
    people = store.ledger("visitors", epsilon=2.0, delta=1e-5, renews="monthly")
    problem = tacit.Experts(n=len(MODELS), horizon=10_000, delay=20)
    live = store.open("which model answers", problem, epsilon=1.0, delta=1e-6, ledger=people)
    while (request := traffic.recv()) is not None:
        decision = live.decide(key=f"request {request}")
        traffic.send((decision.round, decision.action))
        late = decision.round - LATE
        if late >= 0 and late % 4:  # one in four visitors never says anything
            live.settle(late, [0.6, 0.5, 0.2 if late % 2 else 0.3])


def main(requests: int = 60) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "decisions.db"
        answers: dict[int, tuple[int, int]] = {}
        for last in (requests // 2, requests):
            here, there = multiprocessing.Pipe()
            process = multiprocessing.get_context("spawn").Process(target=serve, args=(path, there))
            process.start()
            for request in range(len(answers), last):
                here.send(request)
                answers[request] = here.recv()
            here.send(last if last < requests else None)
            if last < requests:  # killed with a request in its hand, which the next process is asked again
                process.kill()
            process.join()
            ending = "was killed" if process.exitcode == -signal.SIGKILL else "ended"
            print(f"a process {ending}; {len(answers)} requests were answered so far")
        with tacit_experiments.Store(path) as store:
            exported = store.export("which model answers")
            kept = {entry["round"]: entry["action"] for entry in exported["decisions"]}
            assert all(kept[round] == action for round, action in answers.values())
            chosen = [MODELS[action] for action in kept.values()]
            print({name: chosen.count(name) for name in MODELS})
            print(store.ledger("visitors").table())
            print(exported["contract"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("requests", nargs="?", type=int, default=60, help="how many requests come")
    main(parser.parse_args().requests)

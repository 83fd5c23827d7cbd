"""The way of feedback from the socket to the database, through the event loop and a thread."""

import sys
import threading
from pathlib import Path

import tacit
import tacit_experiments
from experiments.service.running import LOSSES, running

ROOTS = [Path(package.__file__).parent for package in (tacit, tacit_experiments)]
MOST = 10  # files between the socket and the statement that writes
ENTERED = 16  # files that are asked for anything on the way, checks and codes among them; 22 before


def place(frame):
    path = Path(frame.f_code.co_filename)
    for root in ROOTS:
        if path.is_relative_to(root):
            return path.relative_to(root).as_posix()
    return None


def stack(frame):
    """The files of a call stack, the outermost first."""
    files = []
    while frame is not None:
        files.append(place(frame))
        frame = frame.f_back
    return [file for file in files[::-1] if file is not None]


def test_feedback_crosses_few_files(tmp_path):
    entered, crossed, done = [], [], threading.Event()

    def watch(frame, event, _argument):
        file = place(frame) if event == "call" and not done.is_set() else None
        if file is None:
            return
        entered.append(file)
        if (file, frame.f_code.co_name) == ("store/batches.py", "later"):  # the event loop hands it over here
            crossed.extend(stack(frame))
        if (file, frame.f_code.co_name) == ("storage/engines.py", "run_all"):
            crossed.extend(stack(frame))
            done.set()

    before = threading.getprofile()
    threading.setprofile(watch)
    try:
        with running(tmp_path / "a.db") as service:
            service.made(name="walk")
            number = service.post("/v1/learners/walk/decisions", {"key": "a"})[1]["round"]
            done.clear()
            entered.clear()
            crossed.clear()
            assert service.post(f"/v1/learners/walk/rounds/{number}/feedback", {"feedback": LOSSES})[0] == 204
    finally:
        threading.setprofile(before)
        sys.setprofile(None)
    way = list(dict.fromkeys(crossed))
    assert way[0].startswith("service/")
    assert way[-1] == "storage/engines.py"
    assert len(way) <= MOST, " ".join(way)
    assert len(set(entered)) <= ENTERED, " ".join(dict.fromkeys(entered))

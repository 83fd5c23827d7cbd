"""`tacit run --store` under kill -9: every decision is written out, no row is absorbed twice."""

import json
import os
import signal
import sys
import time

import numpy as np

from cli.command import run_command

OPTIONS = ("run", "experts", "--epsilon", "20", "--delta", "1e-6", "--seed", "7", "--json")


def killed_runs(folder, kills, rows=400, seed=3):
    """Kill so many runs over one file of rows, then let one end; what was lost, changed or written again."""
    losses, lines, plain = folder / "losses.csv", folder / "decisions.txt", folder / "plain.txt"
    losses.write_text("a,b\n" + "".join(f"{n * 7 % 11 / 10},{n % 3 / 2}\n" for n in range(rows)))
    kept = ("--input", str(losses), "--name", "home", "--store")
    scratch, store = str(folder / "scratch.db"), str(folder / "run.db")
    # A whole run, and one that finds nothing left to do: kills shall come between their times, spread over the rows.
    whole, start = (_seconds(plain if at == 0 else os.devnull, *OPTIONS, *kept, scratch) for at in range(2))
    moments = np.random.Generator(np.random.Philox(seed))
    for _ in range(kills):
        child = _begin(lines, *OPTIONS, *kept, store)
        time.sleep(start + moments.uniform(0, 1.5 * max(whole - start, 0.0) / kills))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    _seconds(lines, *OPTIONS, *kept, store)
    expected = {entry["round"]: entry for entry in map(json.loads, plain.read_text().splitlines())}
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    return {
        "kills": kills,
        "rows": rows,
        "lost": len(expected.keys() - {entry["round"] for entry in found}) + (len(expected) != rows),
        "unlike the twin": sum(expected.get(entry["round"]) != entry for entry in found),
        "shown again": len(found) - len({entry["round"] for entry in found}),
        "doubled": max(0, len(found) - rows - kills),
    }


def _seconds(output, *arguments):
    """How long the command takes."""
    begun = time.monotonic()
    os.waitpid(_begin(output, *arguments), 0)
    return time.monotonic() - begun


def _begin(output, *arguments):
    """Fork a process that runs the command and appends its decisions to a file."""
    child = os.fork()
    if child:
        return child
    try:
        target = os.open(output, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        quiet = os.open(os.devnull, os.O_WRONLY)
        sys.stdout, sys.stderr = os.fdopen(target, "w"), os.fdopen(quiet, "w")
        run_command(*arguments)
        sys.stdout.flush()
    finally:
        os._exit(0)

"""Local decisions of the SDKs: how many a second, and how they compare with the two hashes that each decision needs.

A decision is one HMAC-SHA-256 and one SHA-256 of short texts, and what is made of them. The ratio is the time of a
decision over that of both hashes as the standard library (or node) offers them. All times are processor times of the
fastest of a few runs.

Run: `make test-sdk` once, which builds the package, then `python -m benchmarks sdk`.
"""

import hashlib
import hmac
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

FOLDER = Path(__file__).parents[1] / "sdk"
SPEED = FOLDER / "typescript" / "test" / "speed.js"
COUNT, REPEATS = 100_000, 7
LEAST = "(at least 200,000)"


def measure() -> dict[str, float]:
    return told("Python", in_python(COUNT, REPEATS)) | told("TypeScript", in_typescript(COUNT, REPEATS))


def told(language: str, seconds: dict[str, float]) -> dict[str, float]:
    if not seconds:
        return {}
    return {
        f"decisions a second {LEAST}, {language}": COUNT / seconds["decide"],
        f"time of a decision over that of its two hashes, {language}": seconds["decide"] / seconds["bare"],
    }


def in_python(count: int, repeats: int) -> dict[str, float]:
    """Seconds of all decisions, and of all hashes."""
    sys.path[:0] = [str(FOLDER), str(FOLDER / "python" / "src")]
    from make_vectors import SECRET, document
    from tacit_sdk import Client

    policy = document(serve_until="2998-01-01T00:00:00Z", close_at="2999-01-01T00:00:00Z")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "policy.json"
        file.write_text(json.dumps(policy))
        client = Client(
            "http://127.0.0.1:9", "-", "homepage", secret=SECRET, default="control", bootstrap=file, start=False
        )
    people = [f"user-{number}" for number in range(count)]
    begin = f"tacit/assign/1\0{policy['salt']}\0".encode()

    def bare(person: str) -> bytes:
        pid = hmac.digest(SECRET, b"tacit/person/1\0" + person.encode(), "sha256")[:16].hex()
        return hashlib.sha256(begin + pid.encode()).digest()

    assert client.decide("user-1").reason == "policy"
    return {"decide": best(client.decide, people, repeats), "bare": best(bare, people, repeats)}


def best(work: Callable[[str], Any], people: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = process_time()
        for person in people:
            work(person)
        times.append(process_time() - start)
    return min(times)


def in_typescript(count: int, repeats: int) -> dict[str, float]:
    """The same in node, if there is one and the package was built; else nothing."""
    node = shutil.which("node")
    if node is None or not (FOLDER / "typescript" / "dist").exists():
        return {}
    done = subprocess.run([node, SPEED, str(count), str(repeats)], capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found

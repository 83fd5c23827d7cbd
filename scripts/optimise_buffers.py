"""Make packages/tacit/src/tacit/noise/running_sums/buffered.json: the weights and decays of `Buffered`.

For each horizon T (a power of two) and number of buffers B this minimises the largest noise over the steps, which
is the last step's, times the column norm. The objective is exact and in closed form, the search deterministic: BFGS
from quadratures of the square root's integral (tacit.noise.running_sums.search) and from the solution of half the
horizon. The smallest B is kept whose last-step noise is within TOLERANCE of the
square root's. Run from the root of the project: `python scripts/optimise_buffers.py` (about a minute).
"""

import json
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from tacit.noise.running_sums.search import noise, pack, quadrature, rounded, unpack
from tacit.noise.running_sums.toeplitz import Buffered

OUTPUT = Path(__file__).parents[1] / "packages/tacit/src/tacit/noise/running_sums/buffered.json"
HORIZONS = [2**power for power in range(1, 28)]
TOLERANCE = 0.002
MOST_BUFFERS = 10


def square_root_noise(horizon: int) -> float:
    """||c||^2 of the square root: its column norm times its last row norm."""
    total, last = 0.0, 1.0
    for first in range(0, horizon, 1 << 20):
        k = np.arange(first, min(first + (1 << 20), horizon))
        ratios = np.ones(k.size)
        ratios[k > 0] -= 0.5 / k[k > 0]
        ratios[0] *= last
        c = np.cumprod(ratios)
        total, last = total + float(np.sum(c**2)), float(c[-1])
    return total


def stretched(mechanism: Buffered) -> np.ndarray:
    """The solution of half the horizon, its slow decays moved out by a factor that tends to two."""
    gaps = 1 - np.array(mechanism.decays)
    order = np.linspace(0, 1, gaps.size) if gaps.size > 1 else np.ones(1)
    ranks = np.argsort(np.argsort(-gaps))
    return pack(1 - gaps / 2 ** order[ranks], np.array(mechanism.weights) / 2 ** (0.5 * order[ranks]))


def optimise(buffers: int, horizon: int, previous: Buffered | None) -> tuple[float, Buffered]:
    starts = [quadrature(buffers, horizon * factor) for factor in (0.3, 1.0, 3.0)]
    if previous is not None:
        starts.append(stretched(previous))
    found = [
        minimize(
            lambda point: noise(unpack(point, horizon)) if np.all(np.abs(point) < 30) else 1e3,
            start,
            method="BFGS",
            jac="3-point",
            options={"gtol": 1e-8, "maxiter": 3000},
        )
        for start in starts
    ]
    mechanism = rounded(unpack(min(found, key=lambda result: result.fun).x, horizon))
    return mechanism.column_norm * mechanism.row_norm(horizon), mechanism


def main() -> None:
    solutions: dict[tuple[int, int], Buffered] = {}
    entries, fewest = [], 1
    for horizon in HORIZONS:
        target = square_root_noise(horizon)
        for buffers in range(fewest, MOST_BUFFERS + 1):
            found, mechanism = optimise(buffers, horizon, solutions.get((buffers, horizon // 2)))
            solutions[buffers, horizon] = mechanism
            if found <= target * (1 + TOLERANCE):
                break
        fewest = buffers
        entries.append({"horizon": horizon, "decays": mechanism.decays, "weights": mechanism.weights})
        print(f"{horizon:>10} {buffers:>3} buffers, noise {found:.4f}, {100 * (found / target - 1):+.3f}%", flush=True)
    content = {"made_by": "scripts/optimise_buffers.py", "tolerance": TOLERANCE, "entries": entries}
    OUTPUT.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

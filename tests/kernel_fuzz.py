"""Call the loops in C with arrays of every length, kind and content: what does not fit is refused, nothing breaks.

`python kernel_fuzz.py SEED COUNT` in an environment whose `_kernels` is first on the path: that of a sanitizer, which
ends the process at the first access or operation that the language forbids.
"""

import sys

import numpy as np

INDICES = (0, 1, 2, 3, 5, 7, 63, 64, -1, 10**6, 2**62, -(2**62))
NUMBERS = (
    0.0,
    1.0,
    0.5,
    -1.0,
    2.0,
    1e-9,
    1e308,
    -1e308,
    np.inf,
    -np.inf,
    np.nan,
    2.0**-24,
    16777216.0,
    2.0**30,
    2.0**31,
)
KINDS = (np.float64, np.float64, np.int64, np.int64, np.uint64, np.int16, np.float32, np.uint8, np.bool_)
# For each function, the kinds of arguments it takes: d, q, Q, h arrays; m an array of rows; i index; f number; b flag.
ARGUMENTS = {
    "check_losses": "ddff", "add_losses": "dqib", "sum_losses": "mq", "play_until_lost": "mdiiqQffiffbf",
    "softmax": "qfff", "add_loss_record": "dfqiddddfd", "add_vector_record": "dffqiddddfd", "leader": "dfd",
    "decode": "Qhqq", "resolve": "QqQQhqq", "buffered": "dddddd", "tsallis": "ddfiffffffffi", "weights": "qfd",
    "clip_vector": "dfd", "nearest_in_ball": "dfd",
}  # fmt: skip


def array(rng, kind, size):
    """An array of that kind, or now and then of another kind, order or length."""
    if rng.random() < 0.03:
        return rng.choice(np.array([None, 3, "text", b"bytes"], dtype=object))
    odd = rng.random() < 0.05
    dtype = {"d": np.float64, "m": np.float64, "q": np.int64, "Q": np.uint64, "h": np.int16}[kind]
    dtype = KINDS[rng.integers(len(KINDS))] if odd else dtype
    if kind == "h":
        size = 65537 if rng.random() < 0.8 else size
    shape = (int(rng.integers(0, 5)), size) if kind == "m" and rng.random() < 0.95 else (size,)
    values = content(rng, int(np.prod(shape))).reshape(shape)
    with np.errstate(all="ignore"):
        made = (values * (2.0**30 if np.dtype(dtype).kind in "iu" and rng.random() < 0.5 else 1.0)).astype(dtype)
    way = rng.random()
    if way < 0.02:
        made = made[..., ::-1]
    elif way < 0.04:
        made.flags.writeable = False
    elif way < 0.05:
        made = np.frombuffer(b"\0" + made.tobytes(), dtype=np.uint8)[1:].view(dtype) if made.size else made
    return made


def content(rng, count):
    """Numbers in [0, 1], or with a few that are not, or any bits at all."""
    way = rng.random()
    if way < 0.6:
        return rng.random(count)
    if way < 0.9:
        mixed = rng.random(count)
        mixed[rng.random(count) < 0.2] = NUMBERS[rng.integers(len(NUMBERS))]
        return mixed
    return rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)


def argument(rng, kind, size):
    if kind == "i":
        small = rng.random() < 0.8
        return int(rng.integers(0, max(1, size))) if small else INDICES[rng.integers(len(INDICES))]
    if kind == "f":
        return float(rng.random()) if rng.random() < 0.6 else NUMBERS[rng.integers(len(NUMBERS))]
    if kind == "b":
        return bool(rng.integers(2))
    length = size if rng.random() < 0.9 else int(rng.integers(0, 2 * size + 2))
    return array(rng, kind, length * (4 if rng.random() < 0.2 else 1))


def fitting(rng, name, n):
    """Arguments that fit together."""
    losses, total = rng.random(n), np.zeros(n, dtype=np.int64)
    rows, words = rng.random((4, n)), rng.integers(0, 2**64, 5, dtype=np.uint64)
    buffers, pool = rng.random((3, n)), rng.integers(-(2**33), 2**33, n + 3)
    kept = (pool, 2, rng.random(3), rng.random((3, 1)), buffers, rng.random(n), 0.1, np.empty(n))
    guide = rng.integers(-4224, 4225, 65537).astype(np.int16)
    guide[rng.random(guide.size) < 0.2] = -(2**15)
    edges = np.sort(rng.integers(0, 2**64, 8448, dtype=np.uint64))
    first = np.sort(rng.integers(0, 8449, 65537)).astype(np.int16)
    places = rng.integers(0, 20, 9)
    more, undecided = rng.integers(0, 2**64, 9, dtype=np.uint64), np.zeros(9, dtype=np.int64)
    sums, open_ = np.zeros(5, dtype=np.int64), np.zeros(20, dtype=np.int64)
    return {
        "check_losses": [losses, np.empty(n), 0.0, 1.0],
        "add_losses": [losses, total, n - 1, True],
        "sum_losses": [rows, total],
        "play_until_lost": [rows, np.empty(n), 0, n // 2, total, words, -1.0, 3.0, 2, 0.9, 1e-8, True, 2.0**-44],
        "softmax": [rng.integers(0, 2**40, n), 2.0**-35, 0.7, 2.0**-43],
        "add_loss_record": [losses, 2.0**20, *kept],
        "add_vector_record": [losses, float(n), 2.0**20, *kept],
        "leader": [losses, 0.3, rng.random(n)],
        "decode": [words, guide, sums, open_],
        "resolve": [words, places, more, edges, first, sums, undecided],
        "buffered": [rows, rng.random((4, n)), rng.random(3), rng.random(3), buffers, rng.random((5, n))],
        "tsallis": [losses, np.full(n, 1 / n), -3.0, 0, 0.5, 2.0, 2.0, 0.3, 0.2, 0.1, 1e-300, 1e-12, 100],
        "weights": [rng.integers(0, 2**62, n), 2.0**-30, np.empty(n)],
        "clip_vector": [losses, 0.5, np.empty(n + 1)],
        "nearest_in_ball": [losses, 0.5, np.empty(n)],
    }[name]


def main(seed: int, count: int) -> None:
    import _kernels  # of the sanitizer: this file is also collected where there is none

    rng = np.random.default_rng(seed)
    done, tried = dict.fromkeys(ARGUMENTS, 0), dict.fromkeys(ARGUMENTS, 0)
    for _ in range(count):
        _kernels.use(int(rng.integers(_kernels.LEVEL + 1)))
        name = list(ARGUMENTS)[rng.integers(len(ARGUMENTS))]
        n = int(rng.choice([1, 2, 3, 7, 8, 9, 16, 63, 64, 65, 130, 511, 513, 1030]))
        given = fitting(rng, name, n)
        tried[name] += 1
        for place, kind in enumerate(ARGUMENTS[name]):  # none, one or several of them no longer fit
            if rng.random() < 0.5 / len(given):
                given[place] = argument(rng, kind, n)
        if rng.random() < 0.02:
            given = given[:-1]
        try:
            getattr(_kernels, name)(*given)
        except (TypeError, ValueError, BufferError, OverflowError, AttributeError):
            continue
        done[name] += 1
    print(done)
    if not all(tried[name] / 3 < done[name] < tried[name] for name in ARGUMENTS):
        sys.exit("a function was hardly ever reached, or never refused")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))

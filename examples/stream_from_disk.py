"""Train privately on a file larger than memory would allow: one pass, in chunks, every model on the way private.

The file is memory-mapped and read a chunk at a time; the model, the learner and its noise need a few kilobytes
however long the stream is. Run: `python examples/stream_from_disk.py [rows]`.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from tacit.noise.randomness import Randomness
from tacit_models import PrivateLogisticRegression

FEATURES = 20
CHUNK = 20_000


def write_stream(path: Path, rows: int) -> np.ndarray:
    """A file of rows (features, label), written in chunks; returns the weights that made the labels."""
    stream = Randomness.replayable(7).stream("example")
    weights = stream.standard_normal(FEATURES)
    file = np.memmap(path, dtype=np.float32, mode="w+", shape=(rows, FEATURES + 1))
    for first in range(0, rows, CHUNK):
        chunk = file[first : first + CHUNK]
        features = stream.standard_normal((len(chunk), FEATURES))
        features /= np.linalg.norm(features, axis=1)[:, None]
        chunk[:, :-1] = features
        chunk[:, -1] = features @ weights + 0.3 * stream.standard_normal(len(chunk)) > 0
    file.flush()
    return weights


def main(rows: int = 400_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stream.f32"
        weights = write_stream(path, rows)
        model = PrivateLogisticRegression(epsilon=1.0, delta=1e-6, data_norm=1.0, classes=[0, 1], horizon=rows)
        data = np.memmap(path, dtype=np.float32, mode="r", shape=(rows, FEATURES + 1))
        seen = 0
        while seen < rows:
            chunk = np.asarray(data[seen : seen + CHUNK], dtype=np.float64)
            model.partial_fit(chunk[:, :-1], chunk[:, -1].astype(int))
            seen += len(chunk)
            if seen % (5 * CHUNK) == 0 or seen == rows:
                cosine = model.coef_[0] @ weights / np.linalg.norm(model.coef_) / np.linalg.norm(weights)
                print(f"{seen:>9,} rows   angle to the truth {np.degrees(np.arccos(cosine)):5.1f} degrees", flush=True)
        del data
    print(model.guarantee_)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=int, default=400_000, help="length of the stream")
    main(parser.parse_args().rows)

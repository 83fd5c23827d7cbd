"""Train a classifier on private records: accuracy against epsilon.

Real data: 1,797 handwritten digits (UCI) that ship with scikit-learn, small ones (0 to 4) against large ones (5 to 9).
Each row is brought to length 1 by itself, which needs nothing from the other records. Run:
`python examples/private_classification.py [picture.png]`.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tacit.report.plots import line_style, save_figure, start_figure
from tacit_models import PrivateLogisticRegression, UsefulnessWarning

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


def main(output: str = "private_classification.png", seeds: int = 10) -> None:
    warnings.simplefilter("ignore", UsefulnessWarning)  # the picture shows where epsilon is too small
    pixels, digits = load_digits(return_X_y=True)
    large = (digits >= 5).astype(int)
    accuracy = np.zeros((len(EPSILONS), seeds))
    floor = np.zeros(seeds)
    for seed in range(seeds):
        train, test, train_labels, test_labels = train_test_split(pixels, large, test_size=0.3, random_state=seed)
        plain = make_pipeline(Normalizer(), LogisticRegression(C=100, max_iter=1000)).fit(train, train_labels)
        floor[seed] = plain.score(test, test_labels)
        for row, epsilon in enumerate(EPSILONS):
            # Secret randomness: these models are private. The bound and the classes are public knowledge.
            private = PrivateLogisticRegression(epsilon=epsilon, delta=1e-6, data_norm=1.0, classes=[0, 1])
            accuracy[row, seed] = make_pipeline(Normalizer(), private).fit(train, train_labels).score(test, test_labels)
    for epsilon, scores in zip(EPSILONS, accuracy, strict=True):
        print(f"epsilon {epsilon:4g}: accuracy {scores.mean():.3f} +- {scores.std() / np.sqrt(seeds):.3f}")
    print(f"not private:  accuracy {floor.mean():.3f}")

    figure, axes = start_figure()
    error = 2 * accuracy.std(axis=1) / np.sqrt(seeds)
    axes.errorbar(EPSILONS, accuracy.mean(axis=1), yerr=error, capsize=3, label="private, one release", **line_style(0))
    axes.axhline(floor.mean(), color="0.5", linestyle=":", label="not private")
    axes.axhline(max(large.mean(), 1 - large.mean()), color="0.7", linestyle="--", label="always the larger class")
    axes.set_xscale("log")
    axes.set_xlabel("epsilon of one training run")
    axes.set_ylabel("test accuracy")
    axes.set_title("Small digits against large digits, 1,257 private records")
    axes.legend(frameon=False)
    note = f"epsilon as shown; {seeds} train-test split(s) a point, bars: two standard errors"
    save_figure(figure, output, f"{private.guarantee_}\n{note}")
    print(f"picture: {output}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", default="private_classification.png", help="where the picture goes")
    main(parser.parse_args().output)

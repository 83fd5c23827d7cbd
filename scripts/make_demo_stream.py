"""Make packages/tacit/src/tacit/data/digits_models.csv: errors of eight classifiers on a stream of handwritten digits.

The data are the 1,797 digits of the UCI "Optical Recognition of Handwritten Digits" set (CC BY 4.0), as
shipped inside scikit-learn. The first 600 train the classifiers; the other 1,197 are the stream, in their
order. A loss is 1 if the classifier named the wrong digit, else 0. Everything is deterministic.
"""

from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

MODELS = {
    "nearest_neighbour": KNeighborsClassifier(1),
    "fifteen_neighbours": KNeighborsClassifier(15),
    "logistic": LogisticRegression(max_iter=5000),
    "ridge": RidgeClassifier(),
    "naive_bayes": GaussianNB(),
    "nearest_centroid": NearestCentroid(),
    "shallow_tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "support_vectors": SVC(C=0.5, gamma=0.0005),
}
TRAIN = 600


def main() -> None:
    digits, labels = load_digits(return_X_y=True)
    errors = {}
    for name, model in MODELS.items():
        model.fit(digits[:TRAIN], labels[:TRAIN])
        errors[name] = (model.predict(digits[TRAIN:]) != labels[TRAIN:]).astype(int)
    target = Path(__file__).parents[1] / "packages/tacit/src/tacit/data/digits_models.csv"
    rows = zip(*errors.values(), strict=True)
    lines = [",".join(errors), *(",".join(map(str, row)) for row in rows)]
    target.write_text("\n".join(lines) + "\n")
    for name, column in errors.items():
        print(f"{name:20s} {column.mean():.4f}")


if __name__ == "__main__":
    main()

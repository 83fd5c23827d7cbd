"""Public tables: every cell by itself, nothing learned, nothing refused."""

import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

from attacks import rows
from models.records import SOURCE
from tacit.errors import InvalidInput
from tacit.noise.randomness import Randomness
from tacit_models import (
    Bounds,
    Categories,
    Hashed,
    Ledger,
    PrivacyWarning,
    PrivateGridSearch,
    PrivateLogisticRegression,
    PublicTable,
    private_pipeline,
)

pytestmark = pytest.mark.filterwarnings("ignore::tacit_models.UsefulnessWarning")
SECRET = "SECRET77"


class Stubborn:
    """A cell that raises whatever it is asked."""

    def __float__(self):
        raise RuntimeError(SECRET)

    def __str__(self):
        raise RuntimeError(SECRET)

    def __ne__(self, other):
        raise RuntimeError(SECRET)

    __hash__ = None


ODD = [
    None, float("nan"), pd.NA, pd.NaT, "", "  ", SECRET, "1e999", "-inf", 10**400, -(10**400), 1e308, 5e-324, True,
    "TRUE", b"7", b"\xff", "\udc80 words", [1, 2], {"a": 1}, (), np.float32(3), decimal.Decimal("0.5"), 1j, Stubborn(),
    pd.Timestamp("2020-01-01"), "1_0", "x" * 5000,
]  # fmt: skip


def schema(**options):
    columns = {"age": Bounds(0, 100), "country": Categories(["AT", "BE", "CH"]), "text": Hashed(64)}
    return PublicTable(columns, **options)


def people(count=400):
    stream = Randomness.replayable(5).stream("people")
    age, country = stream.uniform(0, 100, count), stream.integers(3, size=count)
    frame = pd.DataFrame(
        {
            "name": [f"{SECRET} {place}" for place in range(count)],
            "age": age,
            "country": np.array(["AT", "BE", "CH"])[country],
            "text": np.where(age > 50, "long ago", "quite young"),
        }
    )
    return frame, (age + 20 * (country == 1) > 55).astype(int)


def dense(made):
    return made.toarray() if sparse.issparse(made) else np.asarray(made)


@pytest.mark.attack(rows.CELLS)
@pytest.mark.parametrize("missing", [None, {"age": 30, "country": "BE", "text": "none"}])
@pytest.mark.parametrize("error", ["warn", "raise"])
def test_no_cell_raises_or_moves_another_row(missing, error, record_property):
    record_property("attacked", "PublicTable")
    table = schema(missing=missing)
    frame = people(12)[0].astype(object)
    alone = dense(table.fit_transform(frame))
    for column in ("age", "country", "text"):
        for odd in ODD:
            changed = frame.copy()
            cells = list(changed[column])
            cells[7] = odd
            changed[column] = pd.Series(np.fromiter(cells, dtype=object), index=changed.index, dtype=object)
            with np.errstate(all=error), warnings.catch_warnings():
                warnings.simplefilter("error")
                made = table.fit_transform(changed)
            assert sparse.issparse(made)
            made = dense(made)
            assert np.isfinite(made).all()
            assert np.array_equal(np.delete(made, 7, axis=0), np.delete(alone, 7, axis=0))
            assert np.linalg.norm(made[7]) <= table.row_norm
    assert made.shape[1] == table.width == len(table.get_feature_names_out())


@pytest.mark.attack(rows.CELLS)
def test_one_cell_does_not_change_how_others_are_read(record_property, tmp_path):
    """A word among numbers makes pandas read all of them as texts, and a missing cell makes floats of integers."""
    record_property("attacked", "PublicTable")
    table = PublicTable(
        {"n": Bounds(0, 10), "code": Categories([1, 2, 10]), "id": Hashed(32), "yes": Categories([True, False])}
    )
    made = []
    for odd in ("2", "", "word"):
        lines = [f"{place % 10},{(1, 2, 10)[place % 3]},{place},{place % 2 == 0}" for place in range(20)]
        lines[7] = ",".join([odd] * 4)
        (tmp_path / "people.csv").write_text("n,code,id,yes\n" + "\n".join(lines))
        frame = pd.read_csv(tmp_path / "people.csv")
        made.append(np.delete(dense(table.fit_transform(frame)), 7, axis=0))
        if odd == "word":
            assert not pd.api.types.is_numeric_dtype(frame["n"])
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(made[0], made[2])
    assert made[0][:, 1:4].sum() == made[0][:, -2:].sum() == 19


def test_what_cells_become():
    table = PublicTable({0: Bounds(-1, 3), 2: Categories(["a", 7], other=True)})
    cells = [[3, "-", "a"], ["0", "-", "7.0"], [None, "-", "new"], [-9, "-", None]]
    expected = [[1, 1, 0, 0], [-0.5, 0, 1, 0], [0, 0, 0, 1], [-1, 0, 0, 0]]
    assert table.fit_transform(cells).tolist() == expected
    assert table.transform(np.array(cells, dtype=object)).tolist() == expected
    assert list(table.get_feature_names_out()) == ["0", "2=a", "2=7", "2=other"]
    masked = np.ma.masked_array([[3.0, 1.0], [2.0, 7.0]], mask=[[True, False], [False, False]])
    assert PublicTable({"x": Bounds(0, 4), "y": Bounds(0, 4)}).transform(masked).tolist() == [[0, -0.5], [0, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matrices are on their way out
        assert PublicTable({0: Bounds(0, 4)}).transform(np.matrix([[3.0], [2.0]])).tolist() == [[0.5], [0]]
    again = clone(table).set_output(transform="pandas").fit(pd.DataFrame(cells, columns=list("xyz")))
    assert again.transform(pd.DataFrame(cells, columns=list("xyz"))).to_numpy().tolist() == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bounds(1, 1), "apart"),
        (lambda: Bounds(0, np.inf), "high"),
        (lambda: Categories([]), "one or more"),
        (lambda: Categories([7, "7.0"]), "are the same"),
        (lambda: Categories(["a", None]), "none of them empty"),
        (lambda: Hashed(0), "columns"),
        (lambda: PublicTable({}).fit([[1]]), "at least one column"),
        (lambda: PublicTable({"a": (0, 1)}).fit([[1]]), "Bounds, Categories or Hashed"),
        (lambda: PublicTable({"a": type("Own", (Bounds,), {})(0, 1)}).fit([[1]]), "Bounds, Categories or Hashed"),
        (lambda: PublicTable({"a": Bounds(0, 1)}, missing="mean").fit([[1]]), "dictionary of constants"),
        (lambda: PublicTable({"a": Bounds(0, 1)}, missing={"b": 0}).fit([[1]]), "not among its columns"),
        (lambda: PublicTable({"a": Categories(["x", "y"])}, missing={"a": "z"}).fit([[1]]), "column's categories"),
        (lambda: PublicTable({"a": Bounds(0, 1)}, missing={"a": "z"}).fit([[1]]), "missing"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit([[1, 2]]), "in their order. Got 2"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit([[1], [2, 3]]), "of one length"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit(np.zeros(3)), "two axes"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit([{"a": 1}]), "two axes"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit([b"1"]), "two axes"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit(sparse.csr_array((3, 1))), "no sparse"),
        (lambda: PublicTable({"a": Bounds(0, 1)}).fit(pd.DataFrame({"b": [1]})), "'a' exactly once"),
    ],
)
def test_bad_declarations_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def model(**options):
    return PrivateLogisticRegression(classes=[0, 1], **options)


def test_a_table_in_a_pipeline():
    frame, y = people(1000)
    ledger = Ledger()
    pipe = private_pipeline([schema(), model()], epsilon=4.0, random_state=SOURCE, ledger=ledger)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyWarning)
        pipe.fit(frame, y)
    assert pipe[-1].data_norm_ == pipe[0].row_norm  # declared by the table
    assert pipe[-1].data_norm is None
    assert pipe.score(frame, y) > 0.8
    assert len(ledger) == 1
    assert pipe.public_guarantee(1000, 4).curve == pipe.guarantee_.curve
    odd = frame.astype(object)
    odd.iloc[3] = None
    assert len(pipe.predict(odd)) == 1000
    search = PrivateGridSearch(
        private_pipeline([schema(), model()]),
        {"privatelogisticregression__fit_intercept": [True, False]},
        epsilon=6.0, random_state=SOURCE, ledger=Ledger(),
    )  # fmt: skip
    assert search.fit(odd, y).score(frame, y) > 0.75


@pytest.mark.parametrize(
    "step",
    [
        ColumnTransformer([("age", FunctionTransformer(np.log1p), [0])]),
        FeatureUnion([("age", FunctionTransformer(np.log1p))]),
        make_pipeline(FunctionTransformer(np.log1p)),
        SimpleImputer(strategy="constant", fill_value=0.5),
    ],
)
def test_steps_that_may_learn_are_named(step):
    frame, y = people(60)
    pipe = private_pipeline([step, model(data_norm=6.0)], random_state=SOURCE, ledger=Ledger())
    with pytest.warns(PrivacyWarning, match="fitted on the data"):
        pipe.fit(frame[["age"]].to_numpy(), y)


def test_sparse_rows_inside_of_a_pipeline_are_planned_as_such(monkeypatch):
    """The table is dense, and what the model gets is not: "auto" would have planned one and made the other."""
    monkeypatch.setattr("tacit_models.linear_model.LARGEST_OBJECTIVE", 1000)
    frame, y = people(60)
    pipe = private_pipeline([schema(), model()], random_state=SOURCE, ledger=Ledger()).fit(frame, y)
    assert pipe[-1].algorithm_ == "descent"  # and not one pass
    assert "every iterate and the model" in pipe.guarantee_.released


class Mixing(PublicTable):
    """A table whose heir looks at other rows."""

    def transform(self, X):
        made = super().transform(X)
        return made * np.sign(made[-1, 0])


def test_heirs_of_a_table_are_not_covered():
    X, y = [[0.1], [0.9]] * 20, [0, 1] * 20
    model = PrivateLogisticRegression(classes=[0, 1], random_state=SOURCE)
    fitted = private_pipeline([Mixing({0: Bounds(0, 1)}), model], epsilon=1.0, delta=1e-6, ledger=Ledger())
    with pytest.warns(PrivacyWarning, match="fitted on the data"):
        fitted.fit(X, y)

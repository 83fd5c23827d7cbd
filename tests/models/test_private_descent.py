"""Which algorithm an estimator fits by, chosen by public numbers."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits

from tacit import InvalidInput
from tacit_models import Ledger, PrivateLogisticRegression


@pytest.mark.filterwarnings("ignore::tacit_models.PrivacyWarning")
def test_estimators_choose_it_by_public_numbers():
    digits, labels = load_digits(n_class=4, return_X_y=True)
    model = PrivateLogisticRegression(
        data_norm=60.0, classes=range(4), relation="zero-out", random_state=0, ledger=Ledger()
    ).fit(digits[:500], labels[:500])
    assert model.algorithm_ == "descent"
    assert model.score(digits[500:], labels[500:]) > 0.8
    assert np.allclose(model.predict_proba(digits[:5]).sum(axis=1), 1)
    assert model.guarantee_.epsilon(1e-6) <= 1.0
    assert model.public_guarantee(500, 64, 4).to_json() == model.guarantee_.with_randomness("computational").to_json()
    cancer = load_breast_cancer(return_X_y=True)
    for options, chosen in (({}, "descent"), ({"regularisation": 1e7}, "objective"), ({"delta": 0.0}, "objective")):
        two = PrivateLogisticRegression(data_norm=1e3, classes=[0, 1], ledger=Ledger(), random_state=0, **options)
        assert two.fit(*cancer).algorithm_ == chosen
    with pytest.raises(InvalidInput, match="takes no regularisation"):
        PrivateLogisticRegression(algorithm="descent", regularisation=1.0, data_norm=1.0, classes=[0, 1]).fit(*cancer)

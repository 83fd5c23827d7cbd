"""scikit-learn's own checks of every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from tacit.estimators import PrivateLinearSVC, PrivateLogisticRegression, PrivateRidge, PrivateStandardScaler

# A large epsilon: some checks ask for accuracy on a few dozen rows.
ESTIMATORS = [
    PrivateLogisticRegression(epsilon=30.0, random_state=0),
    PrivateLogisticRegression(epsilon=30.0, random_state=0, algorithm="one-pass", horizon=1000, relation="zero-out"),
    PrivateLinearSVC(epsilon=30.0, random_state=0, relation="zero-out"),
    PrivateRidge(epsilon=30.0, random_state=0),
    PrivateRidge(epsilon=30.0, random_state=0, algorithm="objective", horizon=1000),
    PrivateStandardScaler(epsilon=30.0, random_state=0),
]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

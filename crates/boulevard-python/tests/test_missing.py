"""Missing values: an error that says what to do, and models from files that know what takes their place."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from boulevard import SVC, SVR, BoostedSVC, LinearSVC, OneClassSVM


@pytest.mark.parametrize("cls", [SVC, SVR, OneClassSVM, LinearSVC, BoostedSVC], ids=lambda cls: cls.__name__)
def test_holes_are_refused_with_the_way_out(cls, two):
    X, y = two
    holes = X.copy()
    holes[3, 2] = np.nan
    expected = rf"(?s)Input X contains NaN.*make_pipeline\(SimpleImputer\(strategy='median'\), {cls.__name__}\(\)\).*sklearn.impute"
    for table in (holes, holes.tolist(), sp.csr_matrix(holes), holes.astype(np.float32)):
        with pytest.raises(ValueError, match=expected):
            cls().fit(table, y)
    model = cls().fit(X, y)
    with pytest.raises(ValueError, match=expected):
        model.predict(holes)
    holes[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        cls().fit(holes, y)


def test_the_way_out_works(two):
    X, y = two
    holes = X.copy()
    holes[::7, 2] = np.nan
    assert make_pipeline(SimpleImputer(strategy="median"), SVC()).fit(holes, y).score(holes, y) > 0.7

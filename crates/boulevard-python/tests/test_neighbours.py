"""Other people's tools: a Dask cluster on this machine, skops files."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from boulevard import SVC, SVR, OneClassSVM
from boulevard.datasets import make_banana


def test_grid_search_on_a_dask_cluster():
    distributed = pytest.importorskip("dask.distributed")
    X, y = make_banana(200, random_state=0)
    grid = {"C": [1, 10], "gamma": [0.5, 2.0]}
    alone = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    with distributed.Client(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None):
        with joblib.parallel_backend("dask"):
            together = GridSearchCV(SVC(), grid, cv=3).fit(X, y)
    assert together.best_params_ == alone.best_params_
    np.testing.assert_array_equal(together.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"])


@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM()], ids=lambda e: type(e).__name__)
def test_skops_files_hold_nothing_but_our_own_classes(estimator):
    skops = pytest.importorskip("skops.io")
    X, y = make_banana(80, random_state=0)
    model = estimator.fit(X, y)
    data = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=data)
    assert all(name.startswith("boulevard.") for name in untrusted), untrusted
    np.testing.assert_array_equal(skops.loads(data, trusted=untrusted).predict(X), model.predict(X))

"""Where a fit runs: names of devices, and what happens where there is no card."""

import numpy as np
import pytest

import boulevard
from boulevard.exceptions import DataError, DeviceError

CLASSES = [boulevard.SVC, boulevard.NuSVC, boulevard.SVR, boulevard.NuSVR, boulevard.OneClassSVM]


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, (X[:, 0] + 0.1 * rng.normal(size=60) > 0).astype(float)


@pytest.mark.parametrize("cls", CLASSES)
def test_the_processor_is_there_and_a_card_that_is_not_is_an_error(cls):
    X, y = data()
    cpu, auto = cls(device="cpu").fit(X, y), cls().fit(X, y)
    assert cls().get_params()["device"] == "auto"
    np.testing.assert_array_equal(cpu.dual_coef_, auto.dual_coef_)
    with pytest.raises(DeviceError, match="^device cuda:99: [^\n]+$"):
        cls(device="cuda:99").fit(X, y)


def test_devices_have_names():
    X, y = data()
    with pytest.raises(DataError, match="device must be auto, cpu, cuda or cuda:N, got gpu"):
        boulevard.SVC(device="gpu").fit(X, y)
    with pytest.raises(ValueError, match="device"):
        boulevard.SVC(device=0).fit(X, y)

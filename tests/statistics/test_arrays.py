"""The special functions beside those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from tooltrace.statistics.arrays import codes_of, log_gamma, log_sum_exp


def test_log_gamma_as_scipy():
    x = np.concatenate([np.geomspace(1e-6, 1e12, 400), np.arange(1, 40) / 2])
    assert log_gamma(x) == pytest.approx(special.gammaln(x), rel=1e-12, abs=1e-13)
    assert float(log_gamma(0.5)) == pytest.approx(np.log(np.pi) / 2)


def test_log_sum_exp_as_scipy():
    x = np.array([-1e4, -1e4 + 1, 900.0, 901.0])
    assert log_sum_exp(x) == pytest.approx(special.logsumexp(x))


def test_codes_are_equal_for_equal_ids():
    assert codes_of(np.array(["b", "a", "b"])).tolist() == [1, 0, 1]

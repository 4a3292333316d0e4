"""Calibration of confidences, under its public name; see :mod:`tooltrace.analysis.statistics`."""

from __future__ import annotations

from tooltrace.analysis.statistics import Curve, Fit, beta, out_of_fold, platt, smooth_ece

__all__ = ["Curve", "Fit", "beta", "out_of_fold", "platt", "smooth_ece"]

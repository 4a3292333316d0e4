"""Statistics over arrays: pure functions that know neither SQL nor a store.

Every function states its shapes, units, formula and source. ``tooltrace.statistics.NAME`` loads numpy when it is first needed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tooltrace.statistics.arrays import cluster_sums, codes_of
    from tooltrace.statistics.binomial import beta_cdf, binomial_band, lower_bound
    from tooltrace.statistics.breaker import Trips, replay, streaks
    from tooltrace.statistics.calibration import Calibration, Gap, gap, isotonic, labelling_depends, measure_calibration
    from tooltrace.statistics.changes import Change, Dependence, alarm, find_change, measure_dependence
    from tooltrace.statistics.excess import excess_p, fisher_upper
    from tooltrace.statistics.quantiles import GRID, percentile, percentile_limits
    from tooltrace.statistics.recalibration import Curve, Fit, beta, out_of_fold, platt, smooth_ece
    from tooltrace.statistics.rhythm import Rhythm, fit_rhythm
    from tooltrace.statistics.runs import Incidents, find_incidents
    from tooltrace.statistics.segments import State, find_segments, find_state
    from tooltrace.statistics.sequential import rate_evidence, rate_shown
    from tooltrace.statistics.shares import ClusterSums, Proportion, difference, interval, t_quantile, wilson
    from tooltrace.statistics.survival import kaplan_meier
    from tooltrace.statistics.thresholds import Threshold, find_thresholds

_MODULES = {
    "arrays": ("cluster_sums", "codes_of"),
    "binomial": ("beta_cdf", "binomial_band", "lower_bound"),
    "calibration": ("Calibration", "Gap", "gap", "measure_calibration", "isotonic", "labelling_depends"),
    "breaker": ("Trips", "replay", "streaks"),
    "changes": ("Change", "Dependence", "alarm", "find_change", "measure_dependence"),
    "excess": ("excess_p", "fisher_upper"),
    "quantiles": ("GRID", "percentile", "percentile_limits"),
    "recalibration": ("Curve", "Fit", "beta", "out_of_fold", "platt", "smooth_ece"),
    "rhythm": ("Rhythm", "fit_rhythm"),
    "runs": ("Incidents", "find_incidents"),
    "segments": ("State", "find_segments", "find_state"),
    "sequential": ("rate_evidence", "rate_shown"),
    "thresholds": ("Threshold", "find_thresholds"),
    "shares": ("ClusterSums", "Proportion", "difference", "interval", "t_quantile", "wilson"),
    "survival": ("kaplan_meier",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "GRID",
    "Calibration",
    "Change",
    "ClusterSums",
    "Curve",
    "Dependence",
    "Fit",
    "Gap",
    "Incidents",
    "Proportion",
    "Rhythm",
    "State",
    "Threshold",
    "Trips",
    "alarm",
    "beta",
    "beta_cdf",
    "binomial_band",
    "cluster_sums",
    "codes_of",
    "difference",
    "excess_p",
    "find_change",
    "find_incidents",
    "find_segments",
    "find_state",
    "find_thresholds",
    "fisher_upper",
    "fit_rhythm",
    "gap",
    "interval",
    "isotonic",
    "kaplan_meier",
    "labelling_depends",
    "lower_bound",
    "measure_calibration",
    "measure_dependence",
    "out_of_fold",
    "percentile",
    "percentile_limits",
    "platt",
    "rate_evidence",
    "rate_shown",
    "replay",
    "smooth_ece",
    "streaks",
    "t_quantile",
    "wilson",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__

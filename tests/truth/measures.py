"""Measures of each query: intervals against the true value, and verdicts that must not occur."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.truth.cells import (
    ACCURACY,
    APPROVED,
    FLAGGED,
    HIDDEN,
    LABELLED,
    LEVEL_SHARES,
    LEVELS,
    OTHER_CODE,
    PARTIAL,
    RETRIED,
    SOURCED,
    WITH_CONFIDENCE,
    WITH_SOURCE_ID,
    Cell,
)
from tests.truth.histories import slowest

Rows = Mapping[str, NDArray[Any]]
Truth = Callable[[Cell, Rows], Any]


@dataclass(frozen=True, slots=True)
class Measure:
    """A query, with parameters and rows of its answer. ``alone``: it is asked for one history at a time."""

    query: str
    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    where: str = "true"
    alone: bool = False
    applies: Callable[[Cell], bool] = lambda cell: True


@dataclass(frozen=True, slots=True)
class Interval(Measure):
    """The columns ``low`` and ``high`` are a 95 % interval of ``truth``.

    ``marked``: the condition that the answer is too small, if the query's ``too_few`` is about another figure.
    """

    low: str = "low"
    high: str = "high"
    truth: Truth = lambda cell, rows: cell.attempt_rate
    marked: str | None = None


@dataclass(frozen=True, slots=True)
class Alarm(Measure):
    """The expression ``alarm`` is true in a row although nothing is wrong. ``per_history``: any row of a history."""

    alarm: str = "false"
    per_history: bool = False


def has_truth(measure: Interval | Alarm, cell: Cell) -> bool:
    """Return whether the cell states what ``measure`` should find.

    Calls that repeat the state before them have no rate but that of their window, which is what they show: they only test that
    ``drift`` and ``incidents`` do not take chains for changes. ``test_intervals.py`` has a rate that drifts.
    """
    return measure.applies(cell) and (
        not cell.lag or (isinstance(measure, Alarm) and measure.query in ("drift", "incidents"))
    )


def _fixed(value: float) -> Truth:
    return lambda cell, rows: value


def _call_rate(cell: Cell, rows: Rows) -> float:
    return cell.call_rate


def _plain(cell: Cell) -> bool:
    return not cell.gates


def _retried(cell: Cell) -> bool:
    return cell.attempts > 1


def _gated(cell: Cell) -> bool:
    return cell.gates


def _sides(cell: Cell) -> bool:
    return cell.clusters >= 2


def _without_retries(cell: Cell) -> bool:
    return cell.attempts == 1 and not cell.gates


def _within(k: int) -> Truth:
    """Return the share of calls that succeed within ``k`` attempts; with ``naive``, given up ones count as failed."""
    return lambda cell, rows: 1 - cell.mean(lambda p: p**k)


def _naive(k: int) -> Truth:
    return lambda cell, rows: sum(cell.mean(lambda p, i=i: (1 - p) * (RETRIED * p) ** i) for i in range(k))  # type: ignore[misc]


def _flag_precision(cell: Cell, rows: Rows) -> float:
    """Return the share of failed and retried attempts whose call succeeded later, by attempts."""
    again = [_retried_at_least(cell, k) for k in range(1, cell.attempts)]
    good = [
        cell.mean(lambda p, k=k: (RETRIED * p) ** k * (1 - p))  # type: ignore[misc]
        for first in range(1, cell.attempts)
        for k in range(first, cell.attempts)
    ]
    return sum(good) / sum(again) if sum(again) else float("nan")


def _retried_at_least(cell: Cell, times: int) -> float:
    return cell.mean(lambda p: (RETRIED * p) ** times)


def _retry_followed(cell: Cell, rows: Rows) -> float:
    failed = [cell.mean(lambda p, k=k: p * (RETRIED * p) ** k) for k in range(cell.attempts)]  # type: ignore[misc]
    return RETRIED * sum(failed[:-1]) / sum(failed) if sum(failed) else float("nan")


def _retry_share(cell: Cell, rows: Rows) -> float:
    made = [_retried_at_least(cell, k) for k in range(cell.attempts)]
    return sum(made[1:]) / sum(made)


def _band(cell: Cell, rows: Rows) -> NDArray[np.float64]:
    inside = {"low": LEVELS < 0.5, "middle": (LEVELS >= 0.5) & (LEVELS < 0.8), "high": LEVELS >= 0.8}
    means = {band: float(LEVELS[of] @ LEVEL_SHARES[of] / LEVEL_SHARES[of].sum()) for band, of in inside.items()}
    return np.array([means[str(band)] for band in rows["band"]])


def _at_level(cell: Cell, rows: Rows) -> NDArray[np.float64]:
    return rows["confidence"]


def _of_status(cell: Cell, rows: Rows) -> float:
    return 1 - cell.attempt_rate


def _above(cell: Cell, rows: Rows) -> NDArray[np.float64]:
    return np.array([float(LEVEL_SHARES[LEVELS >= t - 1e-9].sum()) for t in rows["threshold"]])


def _steps(cell: Cell) -> bool:
    return cell.attempts == 1 and not cell.gates and cell.ids == "conversation" and not cell.lag and cell.size > 1


def _after_error(cell: Cell, rows: Rows) -> float:
    return cell.mean(lambda p: p * p) / cell.rate if cell.rate else float("nan")


def _lift_after_error(cell: Cell, rows: Rows) -> float:
    return _after_error(cell, rows) / cell.rate if cell.rate else float("nan")


WINDOW = {"parts": 1}
MEASURES: tuple[Interval | Alarm, ...] = (
    Interval("failure_rate", "rate"),
    Interval("failure_rate", "call_rate", low="call_low", high="call_high", truth=_call_rate),
    Interval("failure_rate", "partial_rate", low="partial_low", high="partial_high",
             truth=lambda cell, rows: PARTIAL * (1 - cell.attempt_rate), applies=_without_retries),
    Interval("timeline", "rate", WINDOW),
    Interval("changes", "rate", {"limit": 100_000}, where="kind = 'version'", applies=_sides),
    Interval("burn_rate", "burn_long", {"until": "2026-03-14 00:00:00", "since": "2026-03-01 00:00:00", "objective": 0.9},
             where="windows = '3 d and 6 h' AND attempts > 0", low="burn_low", high="burn_high",
             truth=lambda cell, rows: cell.attempt_rate / 0.1, applies=lambda cell: cell.clusters >= 20),
    Interval("overview", "rate", alone=True),
    Interval("overview", "call_rate", low="call_low", high="call_high", truth=_call_rate, alone=True),
    Interval("overview", "retried_share", low="retried_low", high="retried_high", alone=True, applies=_retried,
             truth=lambda cell, rows: RETRIED * cell.rate),
    Interval("overview", "p95", low="p95_low", high="p95_high", truth=lambda cell, rows: slowest(0.95), alone=True,
             applies=_without_retries),
    Interval("latency", "p50", low="p50_low", high="p50_high", truth=lambda cell, rows: slowest(0.5), applies=_without_retries),
    Interval("latency", "p95", low="p95_low", high="p95_high", truth=lambda cell, rows: slowest(0.95), applies=_without_retries),
    Interval("ranking", "rate", truth=_call_rate),
    Interval("errors", "share", where="code = 'TIMEOUT'", alone=True, low="share_low", high="share_high",
             truth=_fixed(1 - OTHER_CODE), applies=_without_retries),
    Interval("errors", "retryable_share", low="retryable_low", high="retryable_high", truth=_fixed(FLAGGED),
             applies=_without_retries),
    Interval("laundering", "share", {"limit": 1_000_000}, where="span_id IN (SELECT min(span_id) FROM answer GROUP BY tool)",
             truth=_fixed(HIDDEN), applies=_without_retries),
    Interval("paths", "rate after an error", {"limit": 1_000_000}, where="from_status = 'error' AND failures IS NOT NULL",
             truth=_after_error, applies=_steps),
    Interval("paths", "lift after an error", {"limit": 1_000_000}, where="from_status = 'error' AND failures IS NOT NULL",
             low="lift_low", high="lift_high", truth=_lift_after_error, applies=_steps),
    Interval("paths", "share of errors at the end", {"limit": 1_000_000}, where="from_status = 'error' AND to_tool = '(end)'",
             low="share_low", high="share_high", truth=lambda cell, rows: 1 / cell.size, applies=_steps),
    Interval("gates", "approved_share", low="approved_low", high="approved_high", truth=_fixed(APPROVED), applies=_gated),
    Interval("gates", "failure_rate", low="failure_low", high="failure_high", applies=_gated),
    # too_few goes by the attempts whose action is known: without the histories that it marks, the share is too high
    Interval("next_action", "advised_share", where="advice = 'retry'", low="advised_low", high="advised_high",
             marked="n / advised_share < 20"),
    Interval("next_action", "followed_share", where="advice = 'retry'", low="followed_low", high="followed_high",
             truth=_retry_followed, applies=_retried),
    Interval("next_action", "succeeded_when_followed", where="advice = 'continue'", low="low_when_followed",
             high="high_when_followed", truth=_fixed(ACCURACY), applies=_without_retries),
    Interval("sources", "missing_id_share", low="missing_id_low", high="missing_id_high", where="source IS NOT NULL",
             truth=_fixed(1 - WITH_SOURCE_ID), applies=_without_retries),
    Interval("sources", "labelled_share", low="labelled_low", high="labelled_high", where="source IS NOT NULL",
             truth=_fixed(LABELLED), applies=_without_retries),
    Interval("sources", "accuracy", where="source IS NOT NULL", truth=_fixed(ACCURACY), applies=_without_retries),
    Interval("sources", "overconfident_by", low="overconfident_low", high="overconfident_high",
             where="source IS NOT NULL", truth=_fixed(0.0), applies=_without_retries),
    Interval("sources", "unsourced_share", low="unsourced_low", high="unsourced_high", where="source IS NOT NULL",
             truth=_fixed(1 - SOURCED), applies=_without_retries),
    Interval("retries", "flag_precision", low="flag_low", high="flag_high", truth=_flag_precision, applies=_retried),
    Interval("retry_survival", "km (k = 1)", where="k = 1", low="km_low", high="km_high", truth=_within(1), applies=_plain),
    Interval("retry_survival", "km (k = 3)", where="k = 3", low="km_low", high="km_high", truth=_within(3), applies=_retried),
    Interval("retry_survival", "naive (k = 3)", where="k = 3", low="naive_low", high="naive_high", truth=_naive(3),
             applies=_retried),
    Interval("retry_storms", "failure_rate", {"window_s": 86_400}, low="failure_low", high="failure_high"),
    Interval("retry_storms", "retry_share", {"window_s": 86_400}, low="retry_low", high="retry_high", truth=_retry_share,
             applies=_retried),
    Alarm("retry_storms", "rising, by window", {"window_s": 86_400}, alarm="rising"),
    Alarm("retry_storms", "rising, by history", {"window_s": 86_400}, alarm="rising", per_history=True),
    Alarm("incidents", "an incident, by history", alarm="by_chance IS NOT NULL AND NOT bursty", per_history=True),
    Alarm("incidents", "an incident, by history, bursty ones too", alarm="by_chance IS NOT NULL", per_history=True),
    Alarm("drift", "change of failure_rate", where="statistic = 'failure_rate'", alarm="change_point IS NOT NULL AND NOT weak"),
    Alarm("drift", "change of latency", where="statistic = 'latency'", alarm="change_point IS NOT NULL AND NOT weak"),
    Alarm("drift", "change of accuracy", where="statistic = 'accuracy'", alarm="change_point IS NOT NULL AND NOT weak"),
    Alarm("drift", "change of failure_rate, weak ones too", where="statistic = 'failure_rate'", alarm="change_point IS NOT NULL"),
    Alarm("drift", "alarm of failure_rate", where="statistic = 'failure_rate'", alarm="alarm_at IS NOT NULL"),
    Alarm("drift", "alarm of latency", where="statistic = 'latency'", alarm="alarm_at IS NOT NULL"),
    Interval("drift", "overall failure_rate", where="statistic = 'failure_rate'", low="overall_low", high="overall_high"),
    *(
        Interval("compare", f"difference of {measure}", {"before": "version:v1", "after": "version:v2"},
                 where=f"measure = '{measure}'", truth=_fixed(0.0), applies=_sides)
        for measure in ("failure_rate", "call_failure_rate", "p50", "p95", "accuracy", "confidence_gap", "attempts_per_call")
    ),
    Alarm("compare", "worse or better, by history", {"before": "version:v1", "after": "version:v2"}, alone=True,
          alarm="verdict IN ('worse', 'better')", per_history=True, applies=_sides),
    Interval("calibration", "accuracy", low="accuracy_low", high="accuracy_high", truth=_fixed(ACCURACY), applies=_without_retries),
    Interval("calibration", "gap", low="gap_low", high="gap_high", truth=_fixed(0.0), applies=_without_retries),
    Interval("calibration", "ece", low="ece_low", high="ece_high", truth=_fixed(0.0), applies=_without_retries),
    Interval("calibration", "labelled_share", low="labelled_low", high="labelled_high", truth=_fixed(LABELLED),
             applies=_without_retries),
    Interval("calibration", "missing_confidence_share", low="missing_low", high="missing_high",
             truth=_fixed(1 - WITH_CONFIDENCE), applies=_without_retries),
    Alarm("calibration", "miscalibrated", alarm="miscalibrated", applies=_without_retries),
    Alarm("calibration", "cox_p < 0.05", alarm="cox_p < 0.05", applies=_without_retries),
    Interval("gap", "gap", low="gap_low", high="gap_high", truth=_fixed(0.0), alone=True, applies=_without_retries),
    Alarm("audit", "point 11 not passed", {"points": 15}, where="point = 11 AND n >= 20 AND clusters >= 5", alarm="NOT passed",
          applies=_without_retries),
    Interval("confidence_bands", "accuracy", truth=_band, applies=_without_retries),
    Interval("confidence_bands", "labelled_share", low="labelled_low", high="labelled_high", truth=_fixed(LABELLED),
             applies=_without_retries),
    Interval("signals", "difference", truth=_fixed(0.0), applies=_without_retries),
    Interval("signals", "accuracy_with", low="with_low", high="with_high", truth=_fixed(ACCURACY), applies=_without_retries),
    Interval("reliability", "accuracy", where="series = 'bin'", truth=_at_level, applies=_without_retries),
    Alarm("reliability", "outside", where="series = 'bin'", alarm="outside", applies=_without_retries),
    # too_few goes by the labelled attempts of a bin: without the bins that it marks, the share is too high
    Interval("reliability", "labelled_share", where="series = 'bin'", low="labelled_low", high="labelled_high",
             marked="n / labelled_share < 20", truth=_fixed(LABELLED), applies=_without_retries),
    Interval("thresholds", "coverage", where="precision_asked = 0.8 AND threshold IS NOT NULL", low="coverage_low",
             high="coverage_high", truth=_above, applies=_without_retries),
    Alarm("thresholds", "precision below the requested one", where="precision_asked < 0.99",
          alarm="coalesce(threshold < CASE precision_asked WHEN 0.8 THEN 0.64 WHEN 0.9 THEN 0.84 ELSE 0.94 END, false)",
          applies=_without_retries),
)  # fmt: skip

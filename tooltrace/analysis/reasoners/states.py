"""States: what the history of each group says about now, and about the times of a higher rate that are over."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from tooltrace.analysis.reasoners.histories import Columns, histories, seconds
from tooltrace.analysis.reasoning import RowDict
from tooltrace.statistics.arrays import cluster_sums, codes_of
from tooltrace.statistics.changes import find_change
from tooltrace.statistics.segments import Segment, find_state
from tooltrace.statistics.shares import Proportion
from tooltrace.store.result import Gathered

CHRONIC: Final = 0.05
"""Rate above which a tool is bad all along, if the lower limit of its interval is above it."""
SURE: Final = math.log(20)
"""Logarithm of how many times as likely a change of the median must be as none (Kass and Raftery 1995: strong evidence)."""
MISUSED: Final = ("INVALID_PARAM", "NOT_FOUND")
"""Codes of failures that the caller can avoid."""
ORDER: Final = ("broken", "regressed", "chronic", "recovered", "new", "fine")
"""The states, the most urgent first."""


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[RowDict]:
    """Return a row for the state of each group now, and for each time of a higher rate before it; the most urgent first."""
    found = list(histories(gathered))
    rows = [row | names for names, columns in found for row in _states(columns, len(found), parameters["min_n"])]
    return sorted(rows, key=lambda row: (ORDER.index(row["state"]), -(row["excess"] or 0)))


def _states(columns: Columns, count: int, min_n: int) -> Iterator[RowDict]:
    """Yield the rows of one history. ``count``: of histories in the answer."""
    columns["cluster"] = codes_of(columns["cluster"])
    columns["is_bad"] = np.asarray(columns["is_bad"], dtype=float)
    columns["ms"] = np.asarray(columns["ms"], dtype=float)
    n = len(columns["is_bad"])
    state = find_state(seconds(columns["started_at"]), columns["is_bad"], columns["cluster"], histories=count)
    usual = state.usual
    if usual is None and state.run and state.first:
        usual = Segment(0, state.first, _share(columns, 0, state.first))
    now = _share(columns, state.first, n)
    if state.run:
        name = "broken"
    elif usual is not None:
        name = "regressed"
    elif now.n < min_n:
        name = "new" if n < min_n else "fine"
    else:
        name = "chronic" if now.low > CHRONIC and not now.has_few_clusters else "fine"
    figures = _figures(columns, state.first, n, usual, min_n)
    yield {"state": name, "bad_in_a_row": state.run, **figures, **_slower(columns, min_n)}
    for past in state.past:
        figures = _figures(columns, past.first, past.end, past.usual, min_n)
        yield {"state": "recovered", "bad_in_a_row": 0, **figures, **dict.fromkeys(_SLOWER)}


def _slower(columns: Columns, min_n: int) -> RowDict:
    """Return since when half of the finished calls take longer than before; NULL where one median explains them."""
    known = ~columns["is_cut_off"].astype(bool) & ~np.isnan(columns["ms"])
    ms = columns["ms"][known]
    if len(ms) < 2 * min_n:
        return dict.fromkeys(_SLOWER)
    above = (ms > np.median(ms)).astype(float)
    change = find_change(seconds(columns["started_at"][known]), above, columns["cluster"][known])
    if change.at is None or (change.log_bayes_factor or 0.0) < SURE or change.dependence.few_clusters:
        return dict.fromkeys(_SLOWER)
    before, after = float(np.median(ms[: change.at])), float(np.median(ms[change.at :]))
    if after <= before:
        return dict.fromkeys(_SLOWER)
    since = columns["started_at"][known][change.at].item()
    return dict(zip(_SLOWER, (since, before, after, len(ms) - change.at), strict=True))


_SLOWER: Final = ("slower_since", "median_before", "median_after", "calls_since")


def _share(columns: Columns, first: int, end: int) -> Proportion:
    return cluster_sums(columns["cluster"][first:end], columns["is_bad"][first:end]).proportion()


def _figures(columns: Columns, first: int, end: int, usual: Segment | None, min_n: int) -> RowDict:
    part = {name: column[first:end] for name, column in columns.items()}
    found, before = _share(columns, first, end), usual.found if usual else None
    bad = part["is_bad"] == 1
    started = part["started_at"]
    code, message = _cause(part["bad_code"][bad].tolist(), part["bad_message"][bad].tolist())
    is_late = part["is_cut_off"].astype(bool) | (part["bad_code"] == "TIMEOUT")
    late, timely = _known(part["ms"][is_late]), _known(part["ms"][~is_late])
    return {
        "since": started[bad][0].item() if bad.any() else started[0].item(),
        "until": columns["started_at"][end].item() if end < len(columns["is_bad"]) else None,
        "calls": found.n,
        "bad": found.k,
        "rate": found.share,
        "low": found.low,
        "high": found.high,
        "cut_off": int(np.count_nonzero(part["is_cut_off"])),
        "lost": int(np.count_nonzero(part["is_lost"])),
        "misused": int(np.count_nonzero(np.isin(part["bad_code"][bad].astype(str), MISUSED))),
        "usual_rate": before.share if before else None,
        "usual_low": before.low if before else None,
        "usual_high": before.high if before else None,
        "usual_calls": before.n if before else 0,
        "excess": found.k - (before.share if before else 0.0) * found.n,
        "lost_ms": float(np.nansum(part["ms"][bad])),
        "code": code,
        "message": message,
        **_versions(columns, part["used_version"][bad], usual),
        "last_bad_at": started[bad][-1].item() if bad.any() else None,
        "last_called_at": started[-1].item(),
        "p95": float(np.quantile(timely, 0.95)) if len(timely) else None,
        "timeout_ms": float(np.median(late)) if len(late) else None,
        "unread": int(np.count_nonzero(part["is_unread"])),
        "clusters": found.clusters,
        "design_effect": found.design_effect,
        "too_few": found.is_below(min_n),
    }


def _cause(codes: list[str], messages: list[str | None]) -> tuple[str | None, str | None]:
    """Return the most frequent code, and the last message with it."""
    if not codes:
        return None, None
    counted = Counter(codes)
    code = max(counted, key=lambda one: (counted[one], one))
    last = [message for one, message in zip(codes, messages, strict=True) if one == code][-1]
    return code or None, last or None


def _versions(columns: Columns, bad: Any, usual: Segment | None) -> RowDict:
    """Return the versions of most bad calls and of most calls before, where they are known and differ."""
    before = columns["used_version"][usual.first : usual.end] if usual else ()
    versions = [_most(values) for values in (bad, before)]
    if None in versions or versions[0] == versions[1]:
        versions = [None, None]
    return dict(zip(("version_since", "version_before"), versions, strict=True))


def _most(values: Any) -> str | None:
    counted = Counter(value for value in values if value is not None)
    return min(counted, key=lambda one: (-counted[one], one), default=None)


def _known(values: Any) -> Any:
    return values[~np.isnan(values)]

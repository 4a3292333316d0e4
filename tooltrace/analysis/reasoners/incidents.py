"""Incidents: runs of failures of each history, with the code that they began with and how likely chance explains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from tooltrace.analysis.reasoners.histories import Columns, histories
from tooltrace.statistics.arrays import codes_of
from tooltrace.statistics.runs import Incidents, find_incidents
from tooltrace.store.result import Gathered

CAUSES: Final = ("code", "rule", "rule_grade")
"""Groups that belong to an incident by its first failure that has one."""
WITHIN: Final = (*CAUSES, "status", "day", "hour")
"""Groups that do not split a history."""

Row = dict[str, Any]


def reason(gathered: Gathered, parameters: Mapping[str, Any]) -> list[Row]:
    """Return a row for each incident that chance does not explain: open ones first, then by failures, then the newest."""
    rows = [
        {**names, **row}
        for names, columns in histories(gathered, WITHIN)
        for row in _of_history(gathered, columns, parameters)
    ]
    rows.sort(key=lambda row: row["started"], reverse=True)
    return sorted(rows, key=lambda row: (row["ended"] is not None, -row["failures"]))


def _of_history(gathered: Gathered, columns: Columns, parameters: Mapping[str, Any]) -> Iterator[Row]:
    refused = columns["started_at"][columns["refused"] == 1]
    if len(refused):
        columns = {name: column[columns["refused"] != 1] for name, column in columns.items()}
    failed = np.asarray(columns["failed"], dtype=float)
    finished = np.flatnonzero(~np.isnan(failed))
    found = find_incidents(
        failed[finished] == 1,
        codes_of(columns["cluster"][finished]),
        failing=parameters["failing"],
        recovering=parameters["recovering"],
    )
    edges = np.append(finished, len(failed))  # of the attempt that ends an open incident: behind the last one
    for i in np.flatnonzero(~(found.by_chance >= parameters["chance"])):
        first, end = int(edges[found.first[i]]), int(edges[found.end[i]])
        of_it = {name: column[first:end] for name, column in columns.items()}
        started, is_open = columns["started_at"][first], bool(found.open[i])
        until = columns["started_at"][-1 if is_open else end]
        lasted = float((until - started) / np.timedelta64(1, "us")) / 1000
        meanwhile = refused if is_open else refused[refused < until]
        row = _figures(found, int(i), of_it, parameters) | {
            "started": started.item(),
            "ended": None if is_open else until.item(),
            "time_to_recovery_ms": None if is_open else lasted,
            "lasted_ms": lasted,
            "refused": int(np.count_nonzero(meanwhile >= started)),
        }
        within = {name: of_it[name][:1].tolist()[0] for name in gathered.groups if name in ("day", "hour")}
        yield row | within | {"status": "error"}


def _figures(found: Incidents, i: int, of_it: Columns, parameters: Mapping[str, Any]) -> Row:
    failed = np.asarray(of_it["failed"], dtype=float)
    attempts = int(found.end[i] - found.first[i])
    by_chance, by_bursts = float(found.by_chance[i]), float(found.by_bursts[i])
    known = by_chance == by_chance  # noqa: PLR0124 - NaN: the tool never succeeded
    return {
        "failures": int(found.failures[i]),
        "attempts": attempts,
        **{name: _first_known(of_it[f"failed_{name}"][failed == 1]) for name in CAUSES},
        "cut_off": int(np.count_nonzero(of_it["is_cut_off"])),
        "unfinished": int(np.count_nonzero(np.isnan(failed))),
        "may_be_older": int(found.first[i]) == 0,
        "too_few": attempts < parameters["min_n"] or bool(found.few_clusters[i]),
        "by_chance": by_chance if known else None,
        "clusters": int(found.clusters[i]),
        "by_bursts": by_bursts if known else None,
        "bursty": known and by_bursts >= parameters["chance"],
    }


def _first_known(values: Any) -> Any:
    return next((value for value in values.tolist() if value is not None), None)

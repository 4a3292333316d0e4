"""The horizon of a pruned store: the day before which attempts are counted in rollups, and what queries can still say.

The horizon is the day after the last one that has rollups. A query whose window reaches before it either reads the
rollups too, by whole days, or cannot be answered for those days.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Final

from tooltrace.errors import QueryError
from tooltrace.store.result import Statement

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_SINCE: Final = ("since", "before_since", "after_since")
"""Starts of the window, or of the two windows of a comparison; None is the beginning of the history."""
_UNTIL: Final = ("until", "before_until", "after_until")
_STARTS: Final = ("before", *_SINCE)
_TIMES: Final = (*_STARTS, *_UNTIL)


def horizon(con: DuckDBPyConnection, tool: str | None = None) -> date | None:
    """Return the day before which attempts, or those of ``tool``, were pruned; None where none was pruned."""
    row = con.execute(
        "SELECT max(started_at) FROM rollups WHERE $tool IS NULL OR tool = $tool", {"tool": tool}
    ).fetchone()
    last: datetime | None = row[0] if row else None
    return None if last is None else (last + timedelta(days=1)).date()


def within_horizon(con: DuckDBPyConnection, statement: Statement) -> tuple[Statement, str]:
    """Return ``statement`` as it can be answered on ``con``, and a note on what the answer stands on, or "".

    Raises QueryError where its window begins before the horizon and the rollups do not contain what it reads, unless
    the statement allows a later start.
    """
    params = statement.params or {}
    if statement.name is None or not _has_window(params):
        return statement, ""
    day = horizon(con, params.get("tool"))
    if day is None or not _reaches_before(params, day):
        return statement, ""
    if statement.rollup_sql is None:
        return _from_horizon(statement, params, day)
    moved = {name: _midnight(value) for name, value in params.items() if _is_inside_day(name, value, day)}
    note = f"Calls before {day} were pruned: their counts are from daily rollups, their durations precise to 1 %."
    for name, value in moved.items():
        note += f" {name} was moved to the start of its day, {value:%Y-%m-%d}."
    return replace(statement, sql=statement.rollup_sql, params={**params, **moved}), note


def _has_window(params: Mapping[str, Any]) -> bool:
    return any(since in params and until in params for since, until in zip(_SINCE, _UNTIL, strict=True))


def _reaches_before(params: Mapping[str, Any], day: date) -> bool:
    starts = [params[name] for name in _STARTS if name in params and params[name] is not None]
    return any(params.get(name, day) is None for name in _SINCE) or min(starts) < _start_of(day)


def _from_horizon(statement: Statement, params: Mapping[str, Any], day: date) -> tuple[Statement, str]:
    start = _start_of(day)
    is_over = any(params.get(name) is not None and params[name] <= start for name in _UNTIL)
    is_given = any(params.get(name) is not None and params[name] < start for name in _SINCE)
    if not statement.may_start_later and (is_over or is_given):
        tool = f" of the tool {params['tool']}" if params.get("tool") else ""
        grouped = f" grouped by {', '.join(statement.groups)}" if statement.groups else ""
        raise QueryError(
            f"query {statement.name}{grouped} cannot be answered before {day}: the calls{tool} before that day were "
            f"pruned, and their rollups do not contain what it reads; pass since='{day}' or later"
        )
    later = {name: start for name in _STARTS if name in params and (params[name] is None or params[name] < start)}
    # None omits the earlier of two windows, and not its limit: it stays omitted
    if params.get("before", start) is None:
        later.pop("before")
    note = f"Calls before {day} were pruned, and this query cannot read their rollups: it begins on that day."
    return replace(statement, params={**params, **later}), note


def _is_inside_day(name: str, value: Any, day: date) -> bool:
    return name in _TIMES and isinstance(value, datetime) and value < _start_of(day) and value != _midnight(value)


def _midnight(value: datetime) -> datetime:
    return datetime.combine(value.date(), time())


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time())

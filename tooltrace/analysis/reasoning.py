"""From what a query gathered to its answer: the columns of the heading, in its order.

The reasoner that the heading names turns the gathered rows into rows of figures. What it leaves out, and everything where no
reasoner is named, comes from the sums of shares: a column ``rate`` of the unit ``share`` from ``sums(…) AS rate``, columns of the
units ``low(rate)`` and ``high(rate)``, and of the first share ``clusters``, ``design_effect`` and ``too_few``. Rows in the
heading's order are as many as a parameter ``limit`` says.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from tooltrace.analysis.gather import SUMS
from tooltrace.errors import QueryError
from tooltrace.statistics.shares import MIN_N, ClusterSums, Proportion
from tooltrace.store.result import Gathered, QueryResult, ResultColumn

if TYPE_CHECKING:
    from tooltrace.analysis.query import Query

RowDict = dict[str, Any]
Reasoner = Callable[[Gathered, Mapping[str, Any]], Iterable[RowDict]]
"""Function from what was gathered, and the query's parameters, to the rows of the answer.

A row has the columns by which the rows are grouped, and further columns by name; it may keep the sums of a share.
"""

_TYPES: Final = {
    **dict.fromkeys(("count", "aside"), "BIGINT"),
    **dict.fromkeys(("share", "points", "ratio", "ms", "number"), "DOUBLE"),
    **dict.fromkeys(("flag", "mark"), "BOOLEAN"),
    **dict.fromkeys(("text", "parts"), "VARCHAR"),
    "time": "TIMESTAMP",
    "json": "JSON",
}
"""DuckDB's type of a column that was not gathered, by its unit."""


def reasoner_of(name: str) -> Reasoner:
    """Return the function ``reason`` of the module ``name`` of ``tooltrace.analysis.reasoners``."""
    function: Reasoner = import_module(f"tooltrace.analysis.reasoners.{name}").reason
    return function


def describe(query: Query) -> str:
    """Return which function makes the answer of what ``query`` gathers, in a sentence; empty where the rows are the answer."""
    if not query.gathers:
        return ""
    if not query.header.reasoner:
        return "Python adds the intervals of shares to these rows: tooltrace.statistics.ClusterSums."
    function = reasoner_of(query.header.reasoner)
    return f"Python makes the answer of these rows: {function.__module__}. {(function.__doc__ or '').splitlines()[0]}"


def conclusion(query: Query, groups: Sequence[str], parameters: Mapping[str, Any]) -> Callable[[Gathered], QueryResult]:
    """Return the function that makes the answer to ``query``, grouped by ``groups``, of what its SQL gathered."""
    return partial(_conclude, query, tuple(groups), dict(parameters))


def _conclude(query: Query, groups: tuple[str, ...], parameters: dict[str, Any], gathered: Gathered) -> QueryResult:
    gathered.groups = groups
    name = query.header.reasoner
    rows = list(reasoner_of(name)(gathered, parameters)) if name else gathered.rows()
    columns = query.value_columns_of(groups)
    fields = [*(ResultColumn(name=group, unit=gathered.unit(group), meaning="") for group in groups), *columns]
    finish = _Finish(query, columns, parameters.get("min_n", MIN_N), gathered.types)
    answers = [(*(row[group] for group in groups), *finish.values(row)) for row in rows]
    for column, descending in reversed(query.header.order):
        _sort(answers, fields, column, descending, len(groups))
    if query.header.order and "limit" in parameters:
        del answers[parameters["limit"] :]
    types = [_type(field, gathered) for field in fields]
    return QueryResult(fields, types, answers, groups=len(groups))


class _Finish:
    """Completes rows: each column of the heading is in the row, or follows from the sums of a share."""

    def __init__(self, query: Query, columns: Sequence[ResultColumn], min_n: int, gathered: Container[str]) -> None:
        self._query = query
        self._gathered = gathered
        self._columns = columns
        self._min_n = min_n
        self._shares = [column.name for column in query.header.columns if column.unit == "share"]
        self._ends = {column.name: column.end_of or ("", column.name) for column in columns}

    def values(self, row: RowDict) -> list[Any]:
        """Return the values of the columns in ``row``."""
        known: dict[str, Proportion] = {}
        return [
            self._given(row[column.name], column) if column.name in row else self._derived(row, column, known)
            for column in self._columns
        ]

    def _given(self, value: Any, column: ResultColumn) -> Any:
        """Return ``value``, and 0 for a number of items that the engine added up over no rows."""
        added_up = column.name in self._gathered and column.unit in ("count", "aside")
        return 0 if value is None and added_up else value

    def _derived(self, row: RowDict, column: ResultColumn, known: dict[str, Proportion]) -> Any:
        end, of = self._ends[column.name]
        if not end and column.unit != "share":
            first = next((name for name in self._shares if f"{name}_n" in row), None)
            if first is None or column.name not in ("clusters", "design_effect", "too_few"):
                raise QueryError(f"query {self._query.name} has no value for its column {column.name!r}")
            found = _proportion(row, first, known)
            return found.is_below(self._min_n) if column.name == "too_few" else _known(found, column.name)
        if f"{of}_n" not in row:
            raise QueryError(
                f"query {self._query.name} has no value for its column {column.name!r}, and no sums of {of!r}"
            )
        return _known(_proportion(row, of, known), end or "share")


def sums_of(row: RowDict, name: str) -> ClusterSums:
    """Return the sums of ``sums(…) AS name`` in ``row``; unknown ones are 0."""
    return ClusterSums(*(row[f"{name}_{key}"] or 0 for key in SUMS))


def _proportion(row: RowDict, name: str, known: dict[str, Proportion]) -> Proportion:
    if name not in known:
        known[name] = sums_of(row, name).proportion()
    return known[name]


def _known(found: Proportion, name: str) -> Any:
    """Return the figure ``name`` of a share; NULL where there are no items, of which nothing is known."""
    return getattr(found, name) if found.n or name == "clusters" else None


def _sort(
    rows: list[tuple[Any, ...]], fields: Sequence[ResultColumn], column: str, descending: bool, groups: int
) -> None:
    """Sort ``rows`` by one column, unknown values last; equal ones keep their order. ``groups``: by the groups."""
    positions = range(groups) if column == "groups" else [[field.name for field in fields].index(column)]
    for position in reversed(positions):
        known = [row for row in rows if row[position] is not None]
        known.sort(key=lambda row: row[position], reverse=descending)
        rows[:] = known + [row for row in rows if row[position] is None]


def _type(field: ResultColumn, gathered: Gathered) -> str:
    # sums of counts are of 128 bits in the engine
    if field.unit not in ("count", "aside") and (found := gathered.types.get(field.name)):
        return found
    return "DOUBLE" if field.end_of else _TYPES[field.unit]

"""The query type that a store backend accepts, and the result type that every backend returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, overload

from tooltrace.errors import BadParameter, near
from tooltrace.store.database.schema import quote_identifier

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    import polars  # noqa: ICN001 - pl is a method here
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from duckdb import DuckDBPyConnection, DuckDBPyRelation

Row = tuple[Any, ...]
Cut = Literal["rows", "bytes"]
"""The limit because of which a result lacks rows."""

ALL_CONTENT: Final = ("all",)
"""``Statement.content`` of a query that is about content as a whole."""
_END = re.compile(r"(low|high)\((\w+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultColumn:
    """One column of a result."""

    name: str
    unit: str
    """A unit of ``tooltrace.analysis.header.UNITS``; ``low(x)`` or ``high(x)`` for a limit of the interval of ``x``."""
    meaning: str

    @property
    def end_of(self) -> tuple[str, str] | None:
        """``low`` or ``high``, and the interval's column, for a limit of an interval; None for other columns."""
        found = _END.fullmatch(self.unit)
        return (found[1], found[2]) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One SELECT over the tables of a store, in DuckDB's SQL, and the known properties of its result."""

    sql: str
    params: Mapping[str, Any] | None = None
    """Values of the ``$name`` parameters in ``sql``."""
    name: str | None = None
    """The named query that ``sql`` comes from; None for SQL that a user wrote."""
    columns: tuple[ResultColumn, ...] = ()
    """Columns of the result whose units and meanings are known."""
    groups: tuple[str, ...] = ()
    """Names of the first columns, by which the rows are grouped."""
    only: tuple[str, ...] = ()
    """Columns of the result that are returned; empty: all. Those by which the rows are grouped come first."""
    conclude: Callable[[Gathered], QueryResult] | None = None
    """Function that makes the answer of the rows that ``sql`` gathers; None where these are the answer."""
    content: tuple[str, ...] = ()
    """Columns that are unknown where content was removed; ``("all",)``: the query is about content as a whole."""

    @property
    def selected_sql(self) -> str:
        """The SQL with the columns of ``only``, so that the engine computes no others."""
        if not self.only or self.conclude:
            return self.sql
        return f"SELECT {', '.join(map(quote_identifier, self.only))} FROM (\n{self.sql}\n)"


class Gathered:
    """The rows that the SQL of a query gathered, read once: as dicts, or as arrays."""

    def __init__(self, source: DuckDBPyConnection | DuckDBPyRelation | _FetchedRows) -> None:
        """Read from ``source``, a connection that executed the SQL, or a relation."""
        described = [(str(column[0]), str(column[1])) for column in source.description or ()]
        self.types: dict[str, str] = dict(described)
        """The type of each column in the engine, by name."""
        self.groups: tuple[str, ...] = ()
        """The columns that the rows are grouped by."""
        self._source = source

    def unit(self, column: str) -> str:
        """Return the unit of a gathered column, by its type."""
        return _unit(self.types.get(column, ""))

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column name."""
        names = list(self.types)
        return [dict(zip(names, row, strict=True)) for row in self._source.fetchall()]

    def arrays(self) -> dict[str, Any]:
        """Return the columns as numpy arrays by name: NaN and NaT for NULL in numbers and times, None in texts."""
        import numpy as np

        def plain(column: Any) -> Any:
            if not isinstance(column, np.ma.MaskedArray):
                return column
            if column.dtype.kind == "O":
                texts = column.data.copy()
                texts[np.ma.getmaskarray(column)] = None
                return texts
            if column.dtype.kind in "biu":
                column = column.astype(float)
            return column.filled(np.datetime64("NaT") if column.dtype.kind == "M" else np.nan)

        return {name: plain(column) for name, column in self._source.fetchnumpy().items()}

    def series(self) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Yield the values of the groups, and the arrays of the other columns, for each group.

        The SQL must order the rows by the groups first, ``ORDER BY {by}, started_at``.
        """
        import numpy as np

        columns = self.arrays()
        length = len(next(iter(columns.values()), ()))
        changed = np.zeros(max(length - 1, 0), dtype=bool)
        for group in self.groups:
            values = columns[group]
            changed |= values[1:] != values[:-1]
        edges = [0, *(np.flatnonzero(changed) + 1).tolist(), length]
        for start, end in pairwise(edges):
            if end > start:
                yield (
                    {group: _python(columns[group][start]) for group in self.groups},
                    {name: column[start:end] for name, column in columns.items() if name not in self.groups},
                )


class _FetchedRows:
    """Rows that a backend has fetched, with the methods of a connection of DuckDB that executed their SQL."""

    def __init__(self, columns: Sequence[tuple[str, Any]], rows: Sequence[Any]) -> None:
        self.description = columns
        self._rows = rows

    def fetchall(self) -> Sequence[Any]:
        return self._rows

    def fetchnumpy(self) -> dict[str, Any]:
        values = zip(*self._rows, strict=True) if self._rows else ((),) * len(self.description)
        return {name: _array(column, str(kind)) for (name, kind), column in zip(self.description, values, strict=True)}


def _array(values: Sequence[Any], kind: str) -> Any:
    import numpy as np

    if kind == "DATE" or kind.startswith("TIMESTAMP"):
        return np.array(values, dtype="datetime64[us]")
    if kind == "BOOLEAN" or kind.endswith("INT") or kind in ("INTEGER", "DOUBLE", "FLOAT"):
        type_ = {"BOOLEAN": bool, "DOUBLE": float, "FLOAT": float}.get(kind, object if kind == "HUGEINT" else np.int64)
        unknown = [value is None for value in values]
        return np.ma.masked_array([0 if value is None else value for value in values], unknown, dtype=type_)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _python(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


class QueryResult:
    """The rows of a query, with the names, types and meanings of their columns.

    ``for row in result``, ``result[0]`` and ``len(result)`` are about rows, each a tuple. A terminal and a notebook show the
    result as a table. No connection stays open: the rows are Python objects, with times in naive UTC.
    """

    __slots__ = ("_columns", "cut", "fields", "groups", "ms", "note", "rows", "types")

    def __init__(
        self,
        fields: Sequence[ResultColumn],
        types: Sequence[Any],
        rows: Sequence[Any],
        *,
        groups: int = 0,
        cut: Cut | None = None,
        ms: float = 0.0,
        note: str = "",
    ) -> None:
        """Create a result of ``rows``, each with a value for each of ``fields``."""
        self.fields = tuple(fields)
        """The columns with their units and meanings."""
        self.types = [str(kind) for kind in types]
        """The name of DuckDB's type of each column, such as ``BIGINT``."""
        self.rows: list[Row] = rows if isinstance(rows, list) else list(rows)
        """All rows, each a tuple."""
        self.groups = groups
        """Number of the first columns that identify the group of a row."""
        self.cut = cut
        """The limit because of which rows were left out; None where the result has all rows."""
        self.ms = ms
        """Duration of the query in milliseconds; 0 where it was not measured."""
        self.note = note
        """A sentence on content that was removed and that the query would read; empty otherwise."""
        self._columns = [field.name for field in self.fields]

    @classmethod
    def of_rows(
        cls, columns: Sequence[tuple[str, Any]], rows: Sequence[Any], statement: Statement, cut: Cut | None = None
    ) -> QueryResult:
        """Return the result of ``statement``: of ``rows`` under ``columns``, each a name and a DuckDB type."""
        if statement.conclude:
            return _concluded(_FetchedRows(columns, rows), statement, "")
        names, types = [name for name, _ in columns], [kind for _, kind in columns]
        return cls(_fields(statement, names, types), types, rows, groups=len(statement.groups), cut=cut)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._columns)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column name."""
        return [dict(zip(self._columns, row, strict=True)) for row in self.rows]

    def values(self, column: str) -> list[Any]:
        """Return the values of one column. Raises BadParameter for an unknown name."""
        position = self._position(column)
        return [row[position] for row in self.rows]

    def select(self, *columns: str) -> QueryResult:
        """Return a result with these columns only, in this order. Raises BadParameter for an unknown name."""
        return with_columns_at(self, [self._position(name) for name in columns])

    def df(self) -> pd.DataFrame:
        """Return a pandas DataFrame. Raises MissingPackage without pandas."""
        from tooltrace.store.result_frames import to_pandas

        return to_pandas(self)

    def pl(self) -> polars.DataFrame:
        """Return a Polars DataFrame. Raises MissingPackage without polars."""
        from tooltrace.store.result_frames import to_polars

        return to_polars(self)

    def arrow(self) -> pa.Table:
        """Return an Arrow table. Raises MissingPackage without pyarrow."""
        from tooltrace.store.result_frames import to_arrow

        return to_arrow(self)

    def show(self, max_rows: int = 20) -> None:
        """Print the first ``max_rows`` rows as a table, with the columns for which the terminal is wide enough."""
        from tooltrace.store.result_text import as_text

        print(as_text(self, max_rows))  # noqa: T201 - its purpose

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if not isinstance(at, int | slice):
            raise TypeError(
                f"a result is indexed by row, as in result[0]; got {at!r}: result.values({at!r}) has the values of a column"
            )
        return self.rows[at]

    def __repr__(self) -> str:
        from tooltrace.store.result_text import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from tooltrace.store.result_text import as_html

        return as_html(self)

    def _position(self, column: str) -> int:
        if column not in self._columns:
            raise BadParameter(
                f"the result has no column {column!r}: its columns are {', '.join(self._columns)}{near(column, self._columns)}"
            )
        return self._columns.index(column)


def result_of(relation: DuckDBPyRelation, statement: Statement, note: str = "") -> QueryResult:
    """Return the result of ``statement``, which ``relation`` has; its rows are read."""
    if statement.conclude:
        return _concluded(relation, statement, note)
    types = list(map(str, relation.types))
    columns = without_zones(types)
    rows = (relation if columns is None else relation.project(columns)).fetchall()
    fields = _fields(statement, relation.columns, types)
    return QueryResult(fields, types, rows, groups=len(statement.groups), note=note)


def read(con: DuckDBPyConnection, statement: Statement, note: str = "") -> QueryResult:
    """Return the result of the named query ``statement`` on ``con``."""
    con.execute(statement.selected_sql, statement.params)
    if statement.conclude:
        return _concluded(con, statement, note)
    described = con.description or ()
    types = [str(column[1]) for column in described]
    fields = _fields(statement, [column[0] for column in described], types)
    return QueryResult(fields, types, con.fetchall(), groups=len(statement.groups), note=note)


def _concluded(
    source: DuckDBPyConnection | DuckDBPyRelation | _FetchedRows, statement: Statement, note: str
) -> QueryResult:
    assert statement.conclude is not None
    result = statement.conclude(Gathered(source))
    result.note = note
    return result.select(*statement.only) if statement.only else result


def limited(result: QueryResult, max_rows: int) -> QueryResult:
    """Return the first ``max_rows`` rows; ``cut`` is ``"rows"`` where there were more."""
    return with_rows(result, result.rows[:max_rows], cut="rows" if len(result) > max_rows else result.cut)


def with_rows(result: QueryResult, rows: Sequence[Row], *, cut: Cut | None = None) -> QueryResult:
    """Return a result with the same columns and other rows."""
    return QueryResult(result.fields, result.types, rows, groups=result.groups, cut=cut, ms=result.ms, note=result.note)


def with_columns_at(result: QueryResult, positions: Sequence[int]) -> QueryResult:
    """Return a result with the columns at ``positions`` only."""
    return QueryResult(
        [result.fields[at] for at in positions],
        [result.types[at] for at in positions],
        [tuple(row[at] for at in positions) for row in result.rows],
        groups=sum(at < result.groups for at in positions),
        cut=result.cut,
        ms=result.ms,
        note=result.note,
    )


def _fields(statement: Statement, names: Sequence[str], types: Sequence[Any]) -> tuple[ResultColumn, ...]:
    """Return the columns of a result; those that ``statement`` does not describe get the unit of their type."""
    known = {column.name: column for column in statement.columns}
    return tuple(
        known[name]
        if at >= len(statement.groups) and name in known
        else ResultColumn(name=name, unit=_unit(str(kind)), meaning="")
        for at, (name, kind) in enumerate(zip(names, types, strict=True))
    )


def _unit(kind: str) -> str:
    if kind == "JSON":
        return "json"
    return "time" if kind == "DATE" or kind.startswith("TIMESTAMP") else "text"


_ZONED: Final = "TIMESTAMP WITH TIME ZONE"


def without_zones(types: Sequence[str]) -> str | None:
    """Return the SELECT list that removes time zones from a result with columns of these DuckDB types.

    DuckDB needs pytz to return such times, and tooltrace does not depend on pytz. Times become naive UTC; lists and
    structs that contain times with a zone become text. Returns None where no column has such times.
    """
    if not any(_ZONED in type_ for type_ in types):
        return None
    return ", ".join(
        f"CAST(#{number} AS {'TIMESTAMP' if type_ == _ZONED else 'VARCHAR'})" if _ZONED in type_ else f"#{number}"
        for number, type_ in enumerate(types, 1)
    )

"""The query type that a store backend accepts, and the result type that every backend returns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from tooltrace.store.schema import quote_identifier

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]
    import polars  # noqa: ICN001 - pl is a method here
    import pyarrow as pa  # type: ignore[import-not-found, import-untyped, unused-ignore]
    from duckdb import DuckDBPyRelation

Row = tuple[Any, ...]
Cut = Literal["rows", "bytes"]
"""The limit because of which a result lacks rows."""

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
    rollup_sql: str | None = None
    """The same SELECT over the rows and over the rollups of those that were pruned; None where rollups cannot answer."""
    only: tuple[str, ...] = ()
    """Columns of the result that are returned; empty: all. Those by which the rows are grouped come first."""
    may_start_later: bool = False
    """Whether a window that begins before the horizon may begin there instead; otherwise that is an error."""

    @property
    def selected_sql(self) -> str:
        """The SQL with the columns of ``only``, so that the engine computes no others."""
        return f"SELECT {', '.join(map(quote_identifier, self.only))} FROM (\n{self.sql}\n)" if self.only else self.sql


class QueryResult:
    """The complete result of one query, usable without an open store.

    All other methods of a DuckDB relation are available too, whichever backend ran the query:
    ``result.project("tool, n")``, ``result.filter("n > 3")``, ``result.show()``.
    """

    __slots__ = ("_relation", "_rows", "_types", "cut", "fields", "groups", "ms", "note")

    def __init__(
        self,
        fields: tuple[ResultColumn, ...],
        types: Sequence[Any],
        rows: Sequence[Any] | None = None,
        *,
        relation: DuckDBPyRelation | None = None,
        groups: int = 0,
        cut: Cut | None = None,
        ms: float = 0.0,
        note: str = "",
    ) -> None:
        """Create a result from ``rows`` or from a ``relation``.

        The data of ``relation`` must be in memory, and its connection must stay open.
        """
        self.fields = fields
        """The columns with their units and meanings."""
        self.groups = groups
        """Number of the first columns that identify the group of a row."""
        self.cut = cut
        """The limit because of which rows were left out; None where the result has all rows."""
        self.ms = ms
        """Duration of the query in milliseconds; 0 where it was not measured."""
        self.note = note
        """A sentence on what the result stands on where calls were pruned; empty otherwise."""
        self._types = types
        self._rows = None if rows is None else list(rows)
        self._relation = relation

    @classmethod
    def of_relation(cls, relation: DuckDBPyRelation, statement: Statement, note: str = "") -> QueryResult:
        """Return the result of ``statement`` that ``relation`` holds."""
        fields = _fields(statement, relation.columns, relation.types)
        return cls(fields, relation.types, relation=relation, groups=len(statement.groups), note=note)

    @classmethod
    def of_rows(
        cls, columns: Sequence[tuple[str, Any]], rows: Sequence[Any], statement: Statement, cut: Cut | None = None
    ) -> QueryResult:
        """Return the result of ``statement``: ``rows`` under ``columns``, each a name and a DuckDB type."""
        names, types = [name for name, _ in columns], [kind for _, kind in columns]
        return cls(_fields(statement, names, types), types, rows, groups=len(statement.groups), cut=cut)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.fields]

    @property
    def types(self) -> list[Any]:
        """The DuckDB type of each column; ``str()`` gives its name."""
        return list(self._types)

    @property
    def rows(self) -> list[Row]:
        """All rows. Times are naive UTC."""
        if self._rows is None:
            self._rows = _unzoned(self.relation, self._types).fetchall()
        return self._rows

    @property
    def relation(self) -> DuckDBPyRelation:
        """The result as a DuckDB relation. Loads DuckDB, whichever backend ran the query."""
        if self._relation is None:
            self._relation = _relation_of(self.columns, self._types, self._rows or [])
        return self._relation

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dicts by column name."""
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def values(self, column: str) -> list[Any]:
        """Return the values of one column. Raises ValueError for an unknown name."""
        position = self.columns.index(column)
        return [row[position] for row in self.rows]

    def limited(self, max_rows: int) -> QueryResult:
        """Return the first ``max_rows`` rows as Python objects; ``cut`` is ``"rows"`` where there were more."""
        if self._rows is None and self._relation is not None:
            rows = _unzoned(self._relation.limit(max_rows + 1), self._types).fetchall()
        else:
            rows = self.rows
        return self.with_rows(rows[:max_rows], cut="rows" if len(rows) > max_rows else self.cut)

    def detached(self) -> QueryResult:
        """Return the result as Python objects only, independent of any DuckDB connection."""
        return self.with_rows(self.rows, cut=self.cut)

    def with_rows(self, rows: Sequence[Any], *, cut: Cut | None = None) -> QueryResult:
        """Return a result with the same columns and other rows."""
        return QueryResult(self.fields, self._types, rows, groups=self.groups, cut=cut, ms=self.ms, note=self.note)

    def with_columns_at(self, positions: Sequence[int]) -> QueryResult:
        """Return a result with the columns at ``positions`` only."""
        return QueryResult(
            tuple(self.fields[at] for at in positions),
            [self._types[at] for at in positions],
            [tuple(row[at] for at in positions) for row in self.rows],
            groups=sum(at < self.groups for at in positions),
            cut=self.cut,
            ms=self.ms,
            note=self.note,
        )

    def fetchall(self) -> list[Row]:
        """Return all rows as tuples."""
        return list(self._rows or ()) if self._relation is None else self._relation.fetchall()

    def fetchone(self) -> Row | None:
        """Return the next row that was not fetched, or None."""
        return self.relation.fetchone()  # type: ignore[operator, no-any-return]  # absent from the stubs

    def project(self, *columns: object) -> DuckDBPyRelation:
        """Return these columns or expressions, such as ``project("tool, n")``."""
        return self.relation.project(*columns)

    def filter(self, condition: object) -> DuckDBPyRelation:
        """Return the rows that satisfy ``condition``, such as ``filter("n > 3")``."""
        return self.relation.filter(condition)

    def order(self, columns: object) -> DuckDBPyRelation:
        """Return the rows in the order of ``columns``, such as ``order("n DESC")``."""
        return self.relation.order(columns)

    def limit(self, rows: int, offset: int = 0) -> DuckDBPyRelation:
        """Return at most ``rows`` rows after the first ``offset``."""
        return self.relation.limit(rows, offset)

    def df(self) -> pd.DataFrame:
        """Return a pandas DataFrame. Needs pandas."""
        return self.relation.df()

    def pl(self) -> polars.DataFrame:
        """Return a polars DataFrame. Needs polars and pyarrow; ``polars.DataFrame(result)`` needs polars only."""
        return self.relation.pl()  # type: ignore[no-any-return]

    def arrow(self) -> pa.RecordBatchReader:
        """Return the result in Arrow format. Needs pyarrow."""
        return self.relation.arrow()

    @property
    def description(self) -> Any:
        """The columns in the format of Python's database API."""
        return self.relation.description

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") and name != "__arrow_c_stream__":  # copy and pickle look these up before __init__
            raise AttributeError(name)
        return getattr(self.relation, name)

    def __getitem__(self, name: str) -> Any:
        return self.relation[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(self.relation) if self._rows is None else len(self._rows)

    def __str__(self) -> str:
        return str(self.relation)

    __repr__ = __str__


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


def _unzoned(relation: DuckDBPyRelation, types: Sequence[Any]) -> DuckDBPyRelation:
    """Return ``relation`` with times in naive UTC: DuckDB needs pytz to return a time with a zone."""
    columns = without_zones([str(kind) for kind in types])
    return relation if columns is None else relation.project(columns)


def _relation_of(names: Sequence[str], types: Sequence[Any], rows: Sequence[Row]) -> DuckDBPyRelation:
    """Return a relation over a table in memory. The second of two columns with the same name gets a number."""
    from tooltrace.store.connection import connect

    unique = [name if name not in names[:at] else f"{name}_{at}" for at, name in enumerate(names)]
    con = connect()
    columns = ", ".join(f"{quote_identifier(name)} {kind}" for name, kind in zip(unique, types, strict=True))
    con.execute(f"CREATE TABLE result ({columns})")
    if rows:
        con.executemany(f"INSERT INTO result VALUES ({', '.join('?' for _ in names)})", rows)
    return con.table("result")


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

"""The answer of a named query on a connection, with methods by which a test reads it."""

from __future__ import annotations

from typing import Any

import duckdb

from tooltrace.analysis import find
from tooltrace.analysis.query import GroupBy
from tooltrace.store.database.connection import connect
from tooltrace.store.database.schema import quote_identifier
from tooltrace.store.result import QueryResult, Row, read


class Answer(QueryResult):
    """A result that DuckDB's expressions can select from."""

    __slots__ = ()

    def project(self, columns: str) -> Any:
        """Return the named columns; expressions are evaluated by DuckDB, at the cost of a table."""
        names = columns.replace('"', "").split(", ")
        return _answer(self.select(*names)) if set(names) <= set(self.columns) else self.relation.project(columns)

    def filter(self, condition: str) -> duckdb.DuckDBPyRelation:
        return self.relation.filter(condition)

    def order(self, columns: str) -> duckdb.DuckDBPyRelation:
        return self.relation.order(columns)

    def fetchall(self) -> list[Row]:
        return self.rows

    def fetchone(self) -> Row | None:
        return next(iter(self.rows), None)

    @property
    def relation(self) -> duckdb.DuckDBPyRelation:
        con = connect()
        columns = ", ".join(
            f"{quote_identifier(name)} {kind}" for name, kind in zip(self.columns, self.types, strict=True)
        )
        con.execute(f"CREATE TABLE result ({columns})")
        if self.rows:
            con.executemany(f"INSERT INTO result VALUES ({', '.join('?' for _ in self.types)})", self.rows)
        return con.table("result")


def run(con: duckdb.DuckDBPyConnection, name: str, *, by: GroupBy | None = None, **params: Any) -> Answer:
    """Run the query ``name`` as ``tooltrace.analysis.run`` does, but at once.

    A relation is planned again for each method that is called on it, and planning is most of what a query of a few rows
    costs.
    """
    return _answer(read(con, find(name).statement(by, **params)))


def _answer(result: QueryResult) -> Answer:
    return Answer(result.fields, result.types, result.rows, groups=result.groups)

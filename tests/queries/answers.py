"""The answer of a named query on a connection: rows that are fetched once."""

from __future__ import annotations

from typing import Any, Self

import duckdb

from tooltrace.analysis import find
from tooltrace.analysis.query import GroupBy
from tooltrace.store.result import QueryResult, Statement


class Answer(QueryResult):
    """A result that also selects columns without a query of its own."""

    __slots__ = ()

    def project(self, columns: str) -> Self | Any:
        """Return the named columns as tuples; expressions are evaluated by DuckDB."""
        names = columns.replace('"', "").split(", ")
        if set(names) <= set(self.columns):
            return self.with_columns_at([self.columns.index(name) for name in names])
        return self.relation.project(columns)

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.rows), None)


def run(con: duckdb.DuckDBPyConnection, name: str, *, by: GroupBy | None = None, **params: Any) -> Answer:
    """Run the query ``name`` as ``tooltrace.analysis.run`` does, but at once.

    A relation is planned again for each method that is called on it, and planning is most of what a query of a few rows
    costs.
    """
    query = find(name)
    statement = Statement(sql=query.render(by), params=query.bind(**params), name=name, groups=query.groups(by))
    con.execute(statement.sql, statement.params)
    described = [(column[0], column[1]) for column in con.description or ()]
    return Answer.of_rows(described, con.fetchall(), statement)

"""The answer of a query where retention has removed content, and what the answer says about it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, time
from typing import TYPE_CHECKING

from tooltrace.store.database.content import content_since
from tooltrace.store.result import ALL_CONTENT, QueryResult, Statement, read

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def read_stating(con: DuckDBPyConnection, statement: Statement) -> QueryResult:
    """Return the result of a named query on ``con``, with a note where content was removed that it would read.

    A query about content as a whole begins on the first day that has it; other queries have unknown values before it.
    """
    if not statement.content or (day := content_since(con)) is None:
        return read(con, statement)
    params, start = dict(statement.params or {}), datetime.combine(day, time())
    since = params.get("since")
    if isinstance(since, datetime) and since >= start:
        return read(con, statement)
    removed = f"The content of calls before {day} was removed by the retention of the store"
    if statement.content == ALL_CONTENT:
        later = replace(statement, params={**params, "since": start})
        return read(con, later, f"{removed}: this query begins on that day.")
    names = ", ".join(statement.content)
    result = read(
        con, statement, f"{removed}: {names} {'is' if len(statement.content) == 1 else 'are'} unknown for them."
    )
    if "since" not in params and not any(at < start for at in _starts(result)):
        result.note = ""
    return result


def _starts(result: QueryResult) -> list[datetime]:
    return [at for at in result.values("started_at") if at is not None] if "started_at" in result.columns else []

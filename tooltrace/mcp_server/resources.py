"""The resources: the schema as DDL with comments, the SQL of the named queries, and a call."""

from __future__ import annotations

from typing import Final

from tooltrace.analysis import catalogue, find
from tooltrace.errors import QueryError
from tooltrace.mcp_server.answer import dumped
from tooltrace.mcp_server.calls import call_answer
from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.store.database.documented_tables import documented_tables
from tooltrace.store.database.schema import quote_identifier

SCHEMA: Final = "tooltrace://schema"
QUERIES: Final = "tooltrace://queries"
QUERY: Final = "tooltrace://queries/{name}"
CALL: Final = "tooltrace://call/{call_id}"

FIXED: Final = (
    (SCHEMA, "schema", "The tables and views for sql, as DDL with comments", "application/sql"),
    (QUERIES, "queries", "The named queries: name and question", "text/plain"),
)
"""Address, name, description and media type of each resource without a variable part."""
TEMPLATES: Final = (
    (QUERY, "query", "The SQL of a named query, with the meaning of its columns", "application/sql"),
    (CALL, "call", "One call in full, as the tool call answers", "application/json"),
)
"""The same of the others."""


async def read(store: ServedStore, uri: str) -> tuple[str, str]:
    """Return the text and the media type of a resource. Raises QueryError for an unknown address, and UnknownQuery."""
    if uri == SCHEMA:
        return ddl(), "application/sql"
    if uri == QUERIES:
        return "\n".join(f"{name}: {query.question}" for name, query in catalogue().items()), "text/plain"
    for template, media_type in ((QUERY, "application/sql"), (CALL, "application/json")):
        begin = template.partition("{")[0]
        if uri.startswith(begin) and (rest := uri[len(begin) :]):
            text = find(rest).text if template is QUERY else dumped(await call_answer(store, rest))
            return text, media_type
    raise QueryError(f"there is no such resource: the resources are {SCHEMA}, {QUERIES}, {QUERY} and {CALL}")


def ddl() -> str:
    """Return the documented tables as CREATE TABLE statements with comments."""
    statements = []
    for table in documented_tables():
        columns = [
            f"  {quote_identifier(column.name)} {column.type}{',' if column is not table.columns[-1] else ''} -- {column.comment}"
            for column in table.columns
        ]
        statements.append(f"-- {table.comment}\nCREATE TABLE {table.name} (\n" + "\n".join(columns) + "\n);")
    return "\n\n".join(statements) + "\n"

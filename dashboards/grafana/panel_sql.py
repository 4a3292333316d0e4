"""The named queries as one statement each, for a Grafana panel over ClickHouse.

The statement queries the views of :mod:`tooltrace.clickhouse.views` in the dashboard's ``${database}``, for its time
range and, if present, its ``${tool}``. Macros and variables are those of the plugin grafana-clickhouse-datasource.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import pairwise
from typing import Any, Final

import sqlglot
from sqlglot import Token, TokenType

from tooltrace.analysis import find
from tooltrace.analysis.query import Query
from tooltrace.clickhouse.attribute_sql import quote_identifier
from tooltrace.clickhouse.sql.functions import SETTINGS
from tooltrace.clickhouse.sql.rewrites import TempTable
from tooltrace.clickhouse.sql.translate import TranslatedQuery, to_clickhouse
from tooltrace.errors import QueryError
from tooltrace.store.database.views import NAMES

DATABASE: Final = "${database:raw}"
TOOL: Final = "${tool:percentencode}"
_STARTS: Final = "toUnixTimestamp64Milli($__fromTime_ms)"
_ENDS: Final = "toUnixTimestamp64Milli($__toTime_ms)"

MACROS: Final[Mapping[str, tuple[Any, str]]] = {
    "since": (datetime(2001, 1, 1, 1, 1, 1, 1), "toDateTime64($__fromTime_ms, 6, 'UTC')"),  # noqa: DTZ001  bound values are naive UTC
    "until": (datetime(2002, 2, 2, 2, 2, 2, 2), "toDateTime64($__toTime_ms, 6, 'UTC')"),  # noqa: DTZ001  as above
    "before": (
        datetime(2003, 3, 3, 3, 3, 3, 3),  # noqa: DTZ001  as above
        f"toDateTime64(fromUnixTimestamp64Milli(2 * {_STARTS} - {_ENDS}), 6, 'UTC')",
    ),
    # A tool's name may contain anything, and inside quotes a backslash or a quote would become SQL; this encoding
    # contains neither.
    "tool": ("the tool of the page", f"decodeURLComponent('{TOOL}')"),
}
"""Placeholder value of each parameter during translation, and the Grafana macro that replaces it."""


@dataclass(frozen=True, slots=True)
class PanelQuery:
    """A named query as used by a panel."""

    name: str
    by: tuple[str, ...] = ()
    params: Mapping[str, Any] = field(default_factory=dict)
    """Values of parameters; the dashboard sets those in :data:`MACROS` itself."""
    one_tool: bool = False
    """Whether the query covers only the dashboard's tool."""

    @property
    def definition(self) -> Query:
        """The named query. Raises UnknownQuery."""
        return find(self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the result columns."""
        return self.definition.columns(self.by if self.definition.header.by else None)

    def sql(self, columns: Mapping[str, str] | None = None, order: str = "") -> str:
        """Return the statement. ``columns``: only these columns, by their new names, ordered by ``order``.

        Raises QueryError if the query does not fit into one statement, or a column does not exist.
        """
        script = _translated(
            self.definition.render(self.by if self.definition.header.by else None), tuple(self._values().items())
        )
        sql = script.select
        if columns is not None:
            self.require(columns.values())
            named = ", ".join(f"{old} AS {new}" if old != new else old for new, old in columns.items())
            sql = f"SELECT {named} FROM ({sql})" + (f" ORDER BY {order}" if order else "")
        text = qualify_tables(_merged(TranslatedQuery(script.temp_tables, sql), self.name))
        for placeholder, macro in _macro_by_placeholder().items():
            text = text.replace(placeholder, macro)
        return f"-- {self._title()}\n{text}\n{_settings(SETTINGS)}"

    def _values(self) -> dict[str, Any]:
        query = self.definition
        names = {parameter.name for parameter in query.header.parameters} - (set() if self.one_tool else {"tool"})
        values: dict[str, Any] = dict(query.bind(**self.params))
        return values | {name: value for name, (value, _) in MACROS.items() if name in names}

    @property
    def by_columns(self) -> tuple[str, ...]:
        """Names of the columns by which the rows are grouped."""
        return self.definition.groups(self.by)

    def require(self, columns: Iterable[str]) -> None:
        """Raise QueryError if one of ``columns`` is not in the result."""
        if missing := set(columns) - set(self.columns):
            raise QueryError(
                f"query {self.name} has no column {', '.join(sorted(missing))}: use {', '.join(self.columns)}"
            )

    def _title(self) -> str:
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"tooltrace query {self.name}{by}"


@cache
def _translated(sql: str, values: tuple[tuple[str, Any], ...]) -> TranslatedQuery:
    """Return the translation of a query: several panels show columns of the same one."""
    return to_clickhouse(sql, dict(values))


@cache
def _macro_by_placeholder() -> dict[str, str]:
    """Return the macro of each placeholder, by the placeholder's text in ClickHouse's SQL."""
    return {
        to_clickhouse("SELECT $value", {"value": value}).select.removeprefix("SELECT "): macro
        for value, macro in MACROS.values()
    }


def _merged(script: TranslatedQuery, name: str) -> str:
    """Merge ``script`` into one statement without temporary tables."""
    if not script.temp_tables:
        return script.select
    before = ", ".join(map(_step, script.temp_tables))
    if script.select.upper().startswith("WITH RECURSIVE "):
        raise QueryError(f"query {name} cannot be one ClickHouse statement: it is recursive and has temporary tables")
    if script.select.startswith("WITH "):
        return f"WITH {before}, {script.select.removeprefix('WITH ')}"
    return f"WITH {before} {script.select}"


def _step(table: TempTable) -> str:
    """Return ``table`` as a CTE over an array of its rows.

    ClickHouse inserts the text of a CTE at each use, and plans and executes it as often. It executes a scalar subquery once.
    """
    if table.read_again or not table.columns:
        return f"{table.name} AS ({table.sql})"
    row, rows = f"{table.name}_row", f"{table.name}_rows"
    names = [quote_identifier(name) for name in table.columns]
    items = ", ".join(f"{row}.{number} AS {name}" for number, name in enumerate(names, 1))
    return (
        f"(SELECT groupArray(tuple({', '.join(names)})) FROM ({table.sql})) AS {rows}, "
        f"{table.name} AS (SELECT {items} FROM (SELECT arrayJoin({rows}) AS {row}))"
    )


def qualify_tables(sql: str) -> str:
    """Qualify each of the store's tables in ``sql`` with the dashboard's database. Raises QueryError."""
    tokens = sqlglot.tokenize(sql, read="clickhouse")
    if both := NAMES.intersection(_ctes(tokens)):
        raise QueryError(f"{', '.join(sorted(both))} is a table and a CTE of the query: rename the CTE in {sql}")
    text = sql
    for token in reversed(list(_tables(tokens))):
        text = f"{text[: token.start]}{quote_identifier(DATABASE)}.{text[token.start :]}"
    return text


def _tables(tokens: list[Token]) -> Iterator[Token]:
    for before, token in pairwise(tokens):
        if before.token_type in (TokenType.FROM, TokenType.JOIN) and token.text in NAMES:
            yield token


def _ctes(tokens: list[Token]) -> Iterator[str]:
    for name, word, bracket in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if word.token_type == TokenType.ALIAS and bracket.token_type == TokenType.L_PAREN:
            yield name.text


def _settings(settings: Mapping[str, Any]) -> str:
    return "SETTINGS " + ", ".join(f"{name} = {value!r}" for name, value in settings.items())

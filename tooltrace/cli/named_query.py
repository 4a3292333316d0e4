"""Running a named query for a command: its parameters, its output in every format, and what to read next."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from tooltrace.analysis import Query, catalog, find, query_store
from tooltrace.analysis.query_verdict import also_verdict, most_telling_row, row_verdict
from tooltrace.cli.errors import UsageError
from tooltrace.cli.known_names import require_known, require_sides
from tooltrace.cli.next_command import OVERVIEW, next_of, print_next, program
from tooltrace.cli.store_name import is_store_name
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.errors import StoreMissing, UnknownQuery, near
from tooltrace.report.history_window import ALL, DEFAULT_SPAN, history_window
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, Row, Statement, limited, with_columns_at
from tooltrace.wording.i18n import Translations
from tooltrace.wording.sentences import as_text

if TYPE_CHECKING:
    from tooltrace.cli.table_layout import TableLayout

SIDES_EXAMPLES = (
    "tooltrace compare version:1.0 version:2.0   (two values of any dimension: agent:a agent:b)",
    "tooltrace compare 7d                        (the last 7 days, and the 7 days before)",
    "tooltrace compare 14d..7d 7d                (two windows of time)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryOutput:
    """How to print a result."""

    form: str
    limit: int | None = None
    columns: tuple[str, ...] = ()
    """The columns to print; empty: all, as far as they say something and fit."""
    everything: bool = False
    """Whether a table shows rows and columns that say nothing, and those that do not fit."""


def run_query(
    query: Query, by: Sequence[str] | None, params: Mapping[str, Any], output: QueryOutput, store: StoreBackend
) -> QueryResult:
    """Run ``query``, print and return the result, and print for people on standard error what is hidden and the next command.

    Raises UsageError for an unknown tool, version or column, BadParameter, and StoreError.
    """
    params = _with_limit(query, params, output.limit)
    if query.has_sides and params.get("after") is None:
        raise UsageError(sides_missing())
    query.statement(by, **with_default_span(query, params))  # a wrong value is reported before the store is read
    unknown = [name for name in output.columns if name not in query.columns(by)]
    if unknown:
        hint = near(unknown[0], query.columns(by)) or f"; its columns are {', '.join(query.columns(by))}"
        raise UsageError(f"query {query.name} has no column {unknown[0]!r}{hint}")
    try:
        versions = [params.get(name) for name in ("before_version", "version")]
        require_known(store, tools=[params.get("tool")], versions=versions)
        if comparison := query.comparison(by, **params):
            require_sides(store, comparison)
        result = store.query(in_stated_window(query, by, params, store))
    except StoreMissing:
        if output.form != "table":  # programs get an empty result in their format; people get only the message
            columns = [(column, "VARCHAR") for column in output.columns or query.columns(by)]
            _print(QueryResult.of_rows(columns, (), Statement(sql="")), query, output)
        raise
    verdict_row = most_telling_row(query, result) if output.form == "table" else None
    if output.form == "table":
        _print_verdicts(query, result, verdict_row)
    rows = _print(result, query, output)
    if result.note:
        click.echo(result.note, err=True)
    if not result.rows:
        reason = ", ".join(f"{name} {value}" for name, value in params.items())
        _print_empty(reason, store, is_table=output.form == "table")
    elif output.form == "table":
        # the next command is about the tool that the verdict names
        first = [] if verdict_row is None else [tuple(verdict_row.values())]
        print_next(next_of(query, result.columns, [*first, *rows], params), store)
    return result


def _print_verdicts(query: Query, result: QueryResult, row: Mapping[str, Any] | None) -> None:
    sentences = (None if row is None else row_verdict(query, result, row), also_verdict(query, result))
    for sentence in filter(None, sentences):
        echo_sentence(as_text(sentence, Translations("en")), err=True)


def with_default_span(query: Query, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``params`` with the default start of the time range, which is open for ALL."""
    if not query.has_window:
        return dict(params)
    since = params.get("since") or DEFAULT_SPAN
    return {**params, "since": None if since == ALL else since}


def in_stated_window(
    query: Query, by: Sequence[str] | None, params: Mapping[str, Any], store: StoreBackend
) -> Statement:
    """Return the statement of ``query``, and print its time range for people on standard error.

    Raises BadParameter and StoreError.
    """
    if not query.has_window:
        return query.statement(by, **params)
    window = history_window(store, since=params.get("since"), until=params.get("until"))
    echo_sentence(window.sentence(Translations("en")), err=True)
    return query.statement(by, **{**params, "since": window.since})


def find_query(name: str) -> Query:
    """Return the query of that name. Raises UnknownQuery, and UsageError where ``name`` is the file of a store."""
    try:
        return find(name)
    except UnknownQuery as error:
        if is_store_name(name):
            raise UsageError(
                f"unknown query {name!r}; to name the store, pass it after the query: {program()} query overview {name}"
            ) from error
        if catalog.nearest(name):
            raise
        raise UsageError(
            f"unknown query {name!r}; the queries are:\n{_columns([query.name for query in catalog.listed()])}"
        ) from error


def _columns(names: Sequence[str]) -> str:
    """Return ``names`` in columns of equal width, in the order of lines, as wide as the terminal."""
    width = max(map(len, names)) + 2
    count = max((shutil.get_terminal_size().columns - 2) // width, 1)
    lines = ("".join(name.ljust(width) for name in names[at : at + count]) for at in range(0, len(names), count))
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def sides_missing() -> str:
    """Return the message for a comparison without sides."""
    return "a comparison needs two sides, values of a dimension or times:\n" + "\n".join(
        f"  {each}" for each in SIDES_EXAMPLES
    )


def _with_limit(query: Query, params: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """Return ``params`` with ``limit`` where the query itself has that parameter, so that it may return more rows too."""
    has_limit = any(parameter.name == "limit" for parameter in query.header.parameters)
    return {"limit": limit, **params} if has_limit and limit is not None else dict(params)


def _print(result: QueryResult, query: Query, output: QueryOutput) -> Sequence[Row]:
    """Print the result, and return the printed rows."""
    from tooltrace.cli.output import write

    positions = [result.columns.index(name) for name in output.columns]
    if output.form != "table":
        result = result if output.limit is None else limited(result, output.limit)
        write(with_columns_at(result, positions) if positions else result, output.form)
        return result.rows
    layout = _write_table(result, query, output, positions)
    if note := layout.note():
        echo_sentence(note, err=True)
    return layout.rows


def _write_table(result: QueryResult, query: Query, output: QueryOutput, positions: Sequence[int]) -> TableLayout:
    """Print the table, and return what it shows."""
    from tooltrace.cli.table import console, write_table
    from tooltrace.cli.table_layout import choose, everything

    if positions:
        layout = replace(everything(result, output.limit), positions=tuple(positions))
    elif output.everything:
        layout = everything(result, output.limit)
    else:
        of = query.header
        layout = choose(result, important=of.important, hidden=of.hidden, limit=output.limit, width=console().width)
    write_table(result, layout)
    return layout


def _print_empty(reason: str, store: StoreBackend, *, is_table: bool) -> None:
    has_calls = bool(query_store(store, "recent", limit=1))
    if not reason and not has_calls:
        reason = "no call has been recorded"
    echo_sentence(f"No results in {store}{f' ({reason})' if reason else ''}.", err=True)
    if is_table:
        print_next(OVERVIEW if has_calls else "demo", store)

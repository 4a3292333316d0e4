"""``tooltrace clickhouse``: prepare a ClickHouse database for use as a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.errors import CommandError, CommandGroup, UsageError
from tooltrace.cli.options import examples
from tooltrace.cli.sanitize import clean
from tooltrace.clickhouse import SCHEMES
from tooltrace.errors import StoreMissing
from tooltrace.recording.settings import default_address
from tooltrace.store.url import Address, address_of

if TYPE_CHECKING:
    from tooltrace.clickhouse.client import ClickHouseConnection

VIEWS_COST = (
    "Views: no storage and no cost on insert, except a small table of corrections that ClickHouse fills from otel_logs. "
    "Each query reads the complete attribute maps of the days it covers, and counts a span twice if the collector "
    "delivered it twice."
)
TABLES_COST = (
    "Tables: each insert of the collector also writes its tool calls to them (`tooltrace clickhouse check` prints the bytes). "
    "Creating them reads all of otel_traces and otel_logs once. Queries then read only the columns they name, and count each span once."
)
EXTERNAL_SPANS_COST = (
    "Spans of other instrumentations: queries read the spans twice and take 1.3 to 3 times as long. A call that is "
    "recorded by two instrumentations counts twice, and results are not interpreted."
)
INDEX_COST = (
    "Indexes: three on otel_traces (tooltrace_by_tool, _by_span, _by_trace), about 2 bytes per span; otherwise the table "
    "does not change, and ALTER TABLE … DROP INDEX removes them. Queries for one tool, attempt or trace skip other data."
)


def _clickhouse_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "-s",
        "--store",
        "address",
        callback=_address,
        help="Address: clickhouse://[user[:password]@]host[:port]/database. Default: $TOOLTRACE_STORE.",
    )(command)


def _address(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Address:
    address = address_of(text) if text else default_address()
    if address is None or address.scheme not in SCHEMES:
        raise UsageError(
            "no ClickHouse address: use --store clickhouse://host/database, or set $TOOLTRACE_STORE to such an address"
        )
    return address


@click.group(
    cls=CommandGroup,
    short_help="Prepare a ClickHouse database as a store.",
    epilog=examples("tooltrace clickhouse init --help"),
)
def clickhouse() -> None:
    """Use the traces that the OpenTelemetry Collector exports to ClickHouse as a store.

    `init` creates the views, `check` counts the recorded tool calls.
    """


@clickhouse.command(
    short_help="Print the SQL of the views, or create them.",
    epilog=examples(
        "tooltrace clickhouse init --store clickhouse://localhost/otel",
        "tooltrace clickhouse init -s clickhouse://localhost/otel --tables --apply",
    ),
)
@click.option(
    "--apply",
    is_flag=True,
    help="Create the views. Without this option the SQL is printed, and no connection is opened.",
)
@click.option("--tables", is_flag=True, help="Also create materialized views, for many calls.")
@click.option(
    "--days",
    type=click.IntRange(min=1),
    help="With --tables: remove their content after this many days. Default: never.",
)
@click.option(
    "--row-days",
    type=click.IntRange(min=1),
    help="With --tables: delete their rows after this many days. Default: never.",
)
@click.option("--foreign", is_flag=True, help="Include tool spans of other instrumentations.")
@click.option(
    "--indexes", is_flag=True, help="Also create indexes on otel_traces, for queries of one tool, attempt or trace."
)
@_clickhouse_option
def init(
    *, apply: bool, tables: bool, days: int | None, row_days: int | None, foreign: bool, indexes: bool, address: Address
) -> None:
    """Print the SQL of the views tool_calls, calls, outcomes, … over the exporter's tables otel_traces and otel_logs.

    Only --indexes changes the exporter's own tables. The costs of each option are printed on standard error.
    """
    from tooltrace.clickhouse.client import ClickHouseConnection

    if (days or row_days) and not tables:
        raise UsageError(
            "--days and --row-days need --tables. To limit otel_traces itself, set 'ttl' in the exporter's configuration"
        )
    connection = ClickHouseConnection(address)
    statements = _statements(connection, tables=tables, days=days, row_days=row_days, foreign=foreign, indexes=indexes)
    for enabled, cost in (
        (True, VIEWS_COST),
        (tables, TABLES_COST),
        (foreign, EXTERNAL_SPANS_COST),
        (indexes, INDEX_COST),
    ):
        if enabled:
            click.echo(cost, err=True)
    if not apply:
        click.echo(";\n\n".join(statements) + ";")
        return
    with connection.client() as client:
        for statement in statements:
            _execute(connection, client, statement)
    click.echo(
        clean(
            f"{len(statements)} statements executed in {connection.database}. Next: tooltrace query --store {address} failure_rate"
        )
    )


def _execute(connection: ClickHouseConnection, client: Any, statement: str) -> None:
    try:
        connection.run(lambda: client.command(statement))
    except StoreMissing as error:
        raise CommandError(
            f"{connection.tables.of(connection.tables.traces)} or {connection.tables.of(connection.tables.logs)} does not exist: "
            "the collector's exporter creates them. For other table names add ?traces=…&logs=… to the address "
            f"({error.__cause__})"[:400]
        ) from error


def _statements(
    connection: ClickHouseConnection,
    *,
    tables: bool,
    days: int | None,
    row_days: int | None,
    foreign: bool,
    indexes: bool,
) -> list[str]:
    from tooltrace.clickhouse import materialized, views

    source = replace(connection.tables, foreign=foreign)
    index_sql = materialized.index_statements(source) if indexes else []
    table_sql = (
        materialized.table_statements(source, connection.database, days=days, row_days=row_days) if tables else []
    )
    return [*index_sql, *table_sql, *views.statements(source, connection.database, materialized=tables)]


@clickhouse.command(
    short_help="Count the recorded tool calls.",
    epilog=examples("tooltrace clickhouse check --store clickhouse://localhost/otel"),
)
@_clickhouse_option
def check(*, address: Address) -> None:
    """Count the tool calls, their bytes, and the spans that were delivered twice.

    Exit code 1 if queries count such spans twice.
    """
    from tooltrace.clickhouse.client import ClickHouseConnection
    from tooltrace.clickhouse.stats import store_stats

    connection = ClickHouseConnection(address)
    with connection.client() as client:
        stats = store_stats(connection, client)
    for line in stats.lines():
        click.echo(clean(line))
    if stats.duplicates:
        raise CommandError(
            "some spans were delivered twice, and views count them twice. To count each once, run: tooltrace clickhouse init --tables --apply"
        )

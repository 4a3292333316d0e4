"""``tooltrace clickhouse``: prepare a ClickHouse database for use as a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.sanitize import clean
from tooltrace.clickhouse import SCHEMES
from tooltrace.store.url import Address, address_of

if TYPE_CHECKING:
    from tooltrace.clickhouse.client import ClickHouseConnection

VIEWS_COST = (
    "Views cost nothing while nobody asks. Each question then reads the map of attributes whole, of the days it is about, "
    "and counts a span twice that the collector delivered twice."
)
TABLES_COST = (
    "Tables: each insert of the collector writes its tool calls once more (the bytes are those of `tooltrace clickhouse check`), "
    "and filling them now reads all of otel_traces and otel_logs once. Questions read the columns that they name, and each span once."
)

FOREIGN_COST = (
    "Tool spans of other instrumentations as tool calls: questions read the spans twice, and take a third to twice as "
    "long again. A call that two instrumentations tell of, or tooltrace and another, is there twice; what a "
    "result means is not read."
)
INDEX_COST = (
    "Indexes: otel_traces itself gets three (tooltrace_by_tool, _by_span, _by_trace), of about 2 bytes a span; nothing else of it "
    "changes, and ALTER TABLE … DROP INDEX takes them back. A question after one tool, one attempt or one trace skips the rest."
)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "address",
        callback=_address,
        help="clickhouse://[user[:password]@]host[:port]/database. Default: $TOOLTRACE_STORE.",
    )(command)


def _address(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Address:
    from tooltrace.recording.settings import default_address

    address = address_of(text) if text else default_address()
    if address is None or address.scheme not in SCHEMES:
        raise UsageError("which ClickHouse? --store clickhouse://host/database, or such a $TOOLTRACE_STORE")
    return address


@click.group(short_help="Make a database of ClickHouse a store.")
def clickhouse() -> None:
    """Ask what the collector's exporter wrote into ClickHouse: `init` makes the views, `check` says what is there."""


@clickhouse.command(short_help="Print, or make, the views.")
@click.option("--apply", is_flag=True, help="Make them; without it they are printed, and nothing is connected to.")
@click.option("--tables", is_flag=True, help="Tables too, which ClickHouse fills by itself: for many calls.")
@click.option(
    "--days", type=click.IntRange(min=1), help="With --tables: how long their rows are kept. Default: for ever."
)
@click.option("--foreign", is_flag=True, help="Tool spans of other instrumentations are tool calls too.")
@click.option(
    "--indexes", is_flag=True, help="Indexes over otel_traces too: one tool, attempt or trace is found faster."
)
@_where
def init(*, apply: bool, tables: bool, days: int | None, foreign: bool, indexes: bool, address: Address) -> None:
    """Make the views tool_calls, calls, outcomes, … over the exporter's tables otel_traces and otel_logs.

    The exporter's tables are left as they are, but for --indexes. What it costs is said on standard error.
    """
    from tooltrace.clickhouse.client import ClickHouseConnection

    if days and not tables:
        raise UsageError("--days is of the tables of --tables; how long otel_traces keeps is the exporter's ttl")
    house = ClickHouseConnection(address)
    statements = _statements(house, tables=tables, days=days, foreign=foreign, indexes=indexes)
    for asked, cost in ((True, VIEWS_COST), (tables, TABLES_COST), (foreign, FOREIGN_COST), (indexes, INDEX_COST)):
        if asked:
            click.echo(cost, err=True)
    if not apply:
        click.echo(";\n\n".join(statements) + ";")
        return
    with house.client() as client:
        for statement in statements:
            _made(house, client, statement)
    click.echo(
        clean(f"{len(statements)} statements done in {house.database}: tooltrace query --store {address} failure_rate")
    )


def _made(house: ClickHouseConnection, client: Any, statement: str) -> None:
    from tooltrace.errors import StoreMissing

    try:
        house.run(lambda: client.command(statement))
    except StoreMissing as error:
        raise CommandError(
            f"{house.tables.of(house.tables.traces)} and {house.tables.of(house.tables.logs)} are not both there: the collector's "
            f"exporter makes them, or ?traces=…&logs=… in the address names others; stopped there ({error.__cause__})"[
                :400
            ]
        ) from error


def _statements(
    house: ClickHouseConnection, *, tables: bool, days: int | None, foreign: bool, indexes: bool
) -> list[str]:
    from dataclasses import replace

    from tooltrace.clickhouse import materialized, views
    from tooltrace.clickhouse.materialized import index_statements as indexed

    over = replace(house.tables, foreign=foreign)
    made = materialized.table_statements(over, house.database, days) if tables else []
    more = indexed(over) if indexes else []
    return [*more, *made, *views.statements(over, house.database, materialized=tables)]


@clickhouse.command(short_help="Say what is there.")
@_where
def check(*, address: Address) -> None:
    """Say how many tool calls there are, how many bytes each takes, and whether any was delivered twice."""
    from tooltrace.clickhouse.client import ClickHouseConnection
    from tooltrace.clickhouse.stats import store_stats

    house = ClickHouseConnection(address)
    with house.client() as client:
        found = store_stats(house, client)
    for line in found.lines():
        click.echo(clean(line))
    if found.duplicates:
        raise CommandError(
            "spans that are there twice count twice in views alone: tooltrace clickhouse init --tables --apply"
        )

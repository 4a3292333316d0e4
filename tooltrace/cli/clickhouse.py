"""``tooltrace clickhouse``: make a database of ClickHouse a store."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tooltrace.address import Address, place_of
from tooltrace.cli.group import Failed, Misused
from tooltrace.cli.text import clean

if TYPE_CHECKING:
    from tooltrace.clickhouse.client import House

VIEWS_COST = (
    "Views cost nothing while nobody asks. Each question then reads the map of attributes whole, of the days it is about, "
    "and counts a span twice that the collector delivered twice."
)
TABLES_COST = (
    "Tables: each insert of the collector writes its tool calls once more (the bytes are those of `tooltrace clickhouse check`), "
    "and filling them now reads all of otel_traces and otel_logs once. Questions read the columns that they name, and each span once."
)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option(
        "--store",
        "address",
        callback=_address,
        help="clickhouse://[user[:password]@]host[:port]/database. Default: $TOOLTRACE_STORE.",
    )(command)


def _address(_ctx: click.Context, _param: click.Parameter, text: str | None) -> Address:
    from tooltrace.settings import default_address

    place = place_of(text) if text else default_address()
    if not isinstance(place, Address):
        raise Misused("which ClickHouse? --store clickhouse://host/database, or such a $TOOLTRACE_STORE")
    return place


@click.group(short_help="Make a database of ClickHouse a store.")
def clickhouse() -> None:
    """Ask what the collector's exporter wrote into ClickHouse: `init` makes the views, `check` says what is there."""


@clickhouse.command(short_help="Print, or make, the views.")
@click.option("--apply", is_flag=True, help="Make them; without it they are printed, and nothing is connected to.")
@click.option("--tables", is_flag=True, help="Tables too, which ClickHouse fills by itself: for many calls.")
@click.option(
    "--days", type=click.IntRange(min=1), help="With --tables: how long their rows are kept. Default: for ever."
)
@_where
def init(*, apply: bool, tables: bool, days: int | None, address: Address) -> None:
    """Make the views tool_calls, calls, outcomes, … over the exporter's tables otel_traces and otel_logs.

    The exporter's tables are left as they are. What it costs is said on standard error.
    """
    from tooltrace.clickhouse.client import House

    house = House(address)
    statements = _statements(house, tables=tables, days=days)
    click.echo(f"{VIEWS_COST}{f'{chr(10)}{TABLES_COST}' if tables else ''}", err=True)
    if not apply:
        click.echo(";\n\n".join(statements) + ";")
        return
    with house.client() as client:
        for statement in statements:
            house.told(lambda statement=statement: client.command(statement))  # type: ignore[misc]
    click.echo(
        clean(f"{len(statements)} statements done in {house.database}: tooltrace query --store {address} failure_rate")
    )


def _statements(house: House, *, tables: bool, days: int | None) -> list[str]:
    from tooltrace.clickhouse import kept, views

    made = kept.statements(house.tables, house.database, days) if tables else []
    return [*made, *views.statements(house.tables, house.database, kept=tables)]


@clickhouse.command(short_help="Say what is there.")
@_where
def check(*, address: Address) -> None:
    """Say how many tool calls there are, how many bytes each takes, and whether any was delivered twice."""
    from tooltrace.clickhouse.client import House
    from tooltrace.clickhouse.figures import figures

    house = House(address)
    with house.client() as client:
        found = figures(house, client)
    for line in found.lines():
        click.echo(clean(line))
    if found.twice:
        raise Failed(
            "spans that are there twice count twice in views alone: tooltrace clickhouse init --tables --apply"
        )

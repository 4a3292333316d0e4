"""``tooltrace`` and ``tooltrace state``: the store, its findings, the first tools of the ranking, and what to run next."""

from __future__ import annotations

import shlex

import click

from tooltrace.analysis import find, query_store
from tooltrace.cli.findings import print_findings
from tooltrace.cli.next_command import program, store_words
from tooltrace.cli.options import examples, history_options, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import echo_command, echo_sentence
from tooltrace.core.plural import format_count
from tooltrace.diagnosis.diagnose import diagnose_store
from tooltrace.diagnosis.finding import Finding
from tooltrace.diagnosis.summary import Summary, summarize
from tooltrace.errors import StoreMissing
from tooltrace.report.history_window import history_window
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, limited, with_columns_at
from tooltrace.wording.i18n import Translations
from tooltrace.wording.sentences import as_text

_TOOLS = 8
_COMMANDS = 6
_COMMAND_COLUMNS = ("command", "failures", "attempts", "rate", "low", "high", "code", "worked", "worked_next")
_FINDINGS = 8
"""Findings that are printed; the others are counted."""
_COLUMNS = ("tool", "failed_calls", "cut_off", "calls", "rate", "low", "high", "p95", "code", "message")


@click.command(
    short_help="Show the state of a store; the same as no command.",
    epilog=examples("tooltrace", "tooltrace agent.duckdb", "tooltrace --store agent.duckdb --since 24h"),
)
@history_options
@place_option
def state(*, since: str | None, until: str | None, store: StoreBackend) -> None:
    """Show which tools of the store fail, since when and why, and what to run next.

    The name of the command may be left out: tooltrace agent.duckdb --since 24h.
    """
    show_state(store, since=since, until=until)


def show_state(store: StoreBackend, *, since: str | None, until: str | None, commands: bool = False) -> None:
    """Print which tools of ``store`` fail, since when and why, and what to run next; ``commands``: also which shell commands."""
    words = Translations("en")
    try:
        window = history_window(store, since=since, until=until)
    except StoreMissing:
        click.echo(clean(f"No call has been recorded: found no store at {store}."))
        _print_commands(["demo", "--help"], store)
        return
    params = {name: value for name, value in window.range().params.items() if name == "since" or until}
    click.echo(clean(f"Store {store}. {window.sentence(words)}"))
    ranking = query_store(store, "ranking", **params)
    summary = summarize(diagnose_store(store, window.since, until=until), ranking)
    found = [one for one in summary.findings if one.severity != "note" or not one.open]
    echo_sentence(_summary(summary, words))
    print_findings(found[:_FINDINGS])
    if len(found) > _FINDINGS:
        click.echo(f"… and {len(found) - _FINDINGS:,} more: {program()} findings")
    if ranking.rows:
        _print_table(ranking, "ranking", _COLUMNS, _TOOLS, "more tools")
    if commands and (failing := query_store(store, "commands", **params)).rows:
        _print_table(failing, "commands", _COMMAND_COLUMNS, _COMMANDS, "more commands: tooltrace query commands")
    given = {"since": since, "until": until}
    chosen = "".join(f" --{name} {shlex.quote(text)}" for name, text in given.items() if text)
    _print_commands(_next(found, ranking, chosen), store)


def _summary(summary: Summary, words: Translations) -> str:
    """Return how many problems and warnings there are, and in how many calls of the window none was found."""
    counted = [
        format_count(number, severity)
        for severity in ("problem", "warning")
        if (number := sum(one.severity == severity for one in summary.findings))
    ]
    seen = as_text(summary.seen, words)
    return f"{' and '.join(counted)}: {seen}" if counted else seen


def _print_table(result: QueryResult, name: str, columns: tuple[str, ...], most: int, rest: str) -> None:
    """Print the first rows of ``result``, of the query ``name``; ``rest``: what the others are."""
    from tooltrace.cli.table import console, write_table
    from tooltrace.cli.table_layout import choose

    positions = [result.columns.index(column) for column in columns]
    short = limited(with_columns_at(result, positions), most)
    write_table(short, choose(short, important=find(name).header.important, width=console().width))
    if len(result.rows) > most:
        click.echo(f"… and {len(result.rows) - most:,} {rest}")


def _next(found: list[Finding], ranking: QueryResult, window: str) -> list[str]:
    if not found and not ranking.rows:
        return ["query recorded --since all", "serve", "--help"]
    commands = ["findings", f"query ranking{window}", "serve", "--help"]
    return [found[0].query, *commands] if found else commands[1:]


def _print_commands(commands: list[str], store: StoreBackend) -> None:
    click.echo("Next:")
    for command in commands:
        words = "" if command == "--help" else store_words(store)
        echo_command(f"{program()} {command}{words}", indent=2)

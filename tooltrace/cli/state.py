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


def show_state(store: StoreBackend, *, since: str | None, until: str | None) -> None:
    """Print which tools of ``store`` fail, since when and why, and what to run next."""
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
        _print_ranking(ranking)
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


def _print_ranking(ranking: QueryResult) -> None:
    from tooltrace.cli.table import console, write_table
    from tooltrace.cli.table_layout import choose

    positions = [ranking.columns.index(name) for name in _COLUMNS]
    short = limited(with_columns_at(ranking, positions), _TOOLS)
    write_table(short, choose(short, important=find("ranking").header.important, width=console().width))
    if len(ranking.rows) > _TOOLS:
        click.echo(f"… and {len(ranking.rows) - _TOOLS:,} more tools")


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

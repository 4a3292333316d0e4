"""``tooltrace`` without a command: the store, the verdict, the first tools of the ranking, and what to run next."""

from __future__ import annotations

import shlex

import click

from tooltrace.analysis import find, query_store
from tooltrace.analysis.verdict import INCIDENT_FAILURES, Verdict, tools_verdict
from tooltrace.cli.next_command import program, store_words
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import echo_command, echo_sentence
from tooltrace.errors import StoreMissing
from tooltrace.recording.settings import default_address, default_store
from tooltrace.report.i18n import Translations
from tooltrace.report.sentences import as_text
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.result import QueryResult, limited, with_columns_at

WINDOW = "7d"
"""Time range of the status screen, the same as that of the pages."""
_TOOLS = 8
_COLUMNS = ("tool", "failed_calls", "calls", "rate", "low", "high", "changed_at", "version_since", "code", "message")


def print_status() -> None:
    """Print the state of the default store. Raises StoreError."""
    store = open_store(default_address() or default_store())
    try:
        ranking = query_store(store, "ranking", since=WINDOW)
        incidents = query_store(store, "incidents", since=WINDOW, failing=INCIDENT_FAILURES)
    except StoreMissing:
        click.echo(clean(f"No call has been recorded: found no store at {store}."))
        _print_commands(["demo", "--help"], store)
        return
    click.echo(clean(f"Store {store}, the last 7 days:"))
    verdict = tools_verdict(ranking, incidents)
    for sentence in verdict.sentences:
        echo_sentence(as_text(sentence, Translations("en")))
    if ranking.rows:
        _print_ranking(ranking)
    _print_commands(_next(verdict, ranking), store)


def _print_ranking(ranking: QueryResult) -> None:
    from tooltrace.cli.table import console, write_table
    from tooltrace.cli.table_layout import choose

    positions = [ranking.columns.index(name) for name in _COLUMNS]
    short = limited(with_columns_at(ranking, positions), _TOOLS)
    write_table(short, choose(short, important=find("ranking").header.important, width=console().width))
    if len(ranking.rows) > _TOOLS:
        click.echo(f"… and {len(ranking.rows) - _TOOLS:,} more tools")


def _next(verdict: Verdict, ranking: QueryResult) -> list[str]:
    if verdict.state == "empty":
        return ["query overview", "serve", "--help"]
    commands = ["query ranking --since 7d", "serve", "--help"]
    if verdict.state != "failing":
        return commands
    first = ranking.dicts()[0]
    tool = shlex.quote(str(first["tool"]))
    causes = [f"query errors --tool {tool} --since 7d"]
    if first["version_since"] is not None:
        versions = shlex.quote(f"version:{first['version_before']}..{first['version_since']}")
        causes.append(f"compare {versions} --tool {tool}")
    return [*causes, *commands]


def _print_commands(commands: list[str], store: StoreBackend) -> None:
    click.echo("Next:")
    for command in commands:
        words = "" if command == "--help" else store_words(store)
        echo_command(f"{program()} {command}{words}", indent=2)

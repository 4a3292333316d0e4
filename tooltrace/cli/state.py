"""``tooltrace`` and ``tooltrace state``: the store, the verdict, the first tools of the ranking, and what to run next."""

from __future__ import annotations

import shlex

import click

from tooltrace.analysis import find, query_store
from tooltrace.analysis.verdict import INCIDENT_FAILURES, Verdict, tools_verdict
from tooltrace.cli.next_command import program, store_words
from tooltrace.cli.options import examples, history_options, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import echo_command, echo_sentence
from tooltrace.errors import StoreMissing
from tooltrace.report.history_window import history_window
from tooltrace.report.i18n import Translations
from tooltrace.report.sentences import as_text
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, limited, with_columns_at

_TOOLS = 8
_COLUMNS = ("tool", "failed_calls", "calls", "rate", "low", "high", "changed_at", "version_since", "code", "message")


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
    verdict = tools_verdict(ranking, query_store(store, "incidents", **params, failing=INCIDENT_FAILURES))
    for sentence in verdict.sentences:
        echo_sentence(as_text(sentence, words))
    if ranking.rows:
        _print_ranking(ranking)
    given = {"since": since, "until": until}
    chosen = "".join(f" --{name} {shlex.quote(text)}" for name, text in given.items() if text)
    _print_commands(_next(verdict, ranking, chosen), store)


def _print_ranking(ranking: QueryResult) -> None:
    from tooltrace.cli.table import console, write_table
    from tooltrace.cli.table_layout import choose

    positions = [ranking.columns.index(name) for name in _COLUMNS]
    short = limited(with_columns_at(ranking, positions), _TOOLS)
    write_table(short, choose(short, important=find("ranking").header.important, width=console().width))
    if len(ranking.rows) > _TOOLS:
        click.echo(f"… and {len(ranking.rows) - _TOOLS:,} more tools")


def _next(verdict: Verdict, ranking: QueryResult, window: str) -> list[str]:
    if verdict.state == "empty":
        return ["query recorded --since all", "serve", "--help"]
    commands = [f"query ranking{window}", "serve", "--help"]
    if verdict.state != "failing":
        return commands
    first = ranking.dicts()[0]
    tool = shlex.quote(str(first["tool"]))
    causes = [f"query errors --tool {tool}{window}"]
    if first["version_since"] is not None:
        versions = shlex.join(f"version:{first[name]}" for name in ("version_before", "version_since"))
        causes.append(f"compare {versions} --tool {tool}")
    return [*causes, *commands]


def _print_commands(commands: list[str], store: StoreBackend) -> None:
    click.echo("Next:")
    for command in commands:
        words = "" if command == "--help" else store_words(store)
        echo_command(f"{program()} {command}{words}", indent=2)

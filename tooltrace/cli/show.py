"""``tooltrace show``: every attempt of one call."""

from __future__ import annotations

import difflib
from itertools import groupby
from typing import Any

import click

from tooltrace.analysis import query_store
from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import examples, limit_option, output_options, place_option
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.errors import QueryError
from tooltrace.store.base import StoreBackend, open_store


@click.command(
    short_help="Show every attempt of a call, or the steps of a conversation.",
    epilog=examples(
        "tooltrace show call_17",
        "tooltrace show call_17 --full",
        "tooltrace show --conversation session-17",
        "tooltrace show call_17 agent.duckdb -f json -o call.json",
    ),
)
@click.argument("call_id", required=False)
@click.option(
    "--conversation", metavar="ID", help="Show the steps of this conversation, or trace, as a tree instead of a call."
)
@click.option("--full", is_flag=True, help="Do not shorten long texts and JSON; show each attempt of a retried call.")
@limit_option("Maximum number of calls, if several have this id.", default=5)
@output_options("table", "json")
@place_option
def show(
    *, call_id: str | None, conversation: str | None, full: bool, limit: int, form: str, store: StoreBackend
) -> None:
    """Show every attempt of a call, or with --conversation the steps of a conversation.

    The output contains timing, arguments, result, error, sources, signals, the model's message, human approvals and
    labels. With --conversation, the outcome and the loops of the conversation come first. CALL_ID may also be a span id, or
    a unique prefix of either.
    """
    from tooltrace.cli.output import write

    if conversation is not None:
        # click gives the first argument to CALL_ID: with --conversation it is the store
        _show_conversation(conversation, open_store(call_id or store), form, full=full)
        return
    if call_id is None:
        raise UsageError("show needs the id of a call, or --conversation ID")
    result = query_store(store, "call", id=call_id, limit=limit)
    rows = result.dicts()
    if not rows:
        raise _unknown(call_id, store)
    if rows[0]["match"] == "prefix" and rows[0]["named"] > 1:
        raise _ambiguous(call_id, rows)
    if form == "json":
        write(result, "json")
    else:
        _print(rows, store, full=full)
    if rows[0]["named"] > limit:
        click.echo(
            f"Showing the newest {limit} of {rows[0]['named']} calls with this id; use a span id to select one, or --limit.",
            err=True,
        )


def _show_conversation(conversation: str, store: StoreBackend, form: str, *, full: bool) -> None:
    from tooltrace.cli.conversation_view import conversation_lines
    from tooltrace.cli.output import write
    from tooltrace.cli.table import console

    result = query_store(store, "steps", conversation=conversation)
    is_trace = not result.rows  # loops of calls without a conversation have the id of their trace
    if is_trace:
        result = query_store(store, "steps", trace_id=conversation)
    if not result.rows:
        raise QueryError(
            f"no conversation in {store} has the id {conversation!r}, and no trace; `tooltrace query conversations` lists them"
        )
    if form == "json":
        write(result, "json")
        return
    out = console()
    loops = query_store(store, "loops", conversation=conversation).dicts()
    facts = [] if is_trace else query_store(store, "conversations", conversation=conversation).dicts()
    for line in conversation_lines(result.dicts(), full=full, loops=loops, outcome=facts[0] if facts else None):
        print_wrapped(out, line, indent=len(line.plain) - len(line.plain.lstrip()) + 4)


def _print(rows: list[dict[str, Any]], store: StoreBackend, *, full: bool) -> None:
    from tooltrace.cli.call_view import call_lines
    from tooltrace.cli.table import console

    out = console()
    labels, gates = (query_store(store, name, call_id=rows[0]["call_id"]).dicts() for name in ("labels", "call_gates"))
    for _, attempts in groupby(rows, key=lambda row: row["place"]):
        for line in call_lines(list(attempts), labels, gates, full=full):
            print_wrapped(out, line, indent=len(line.plain) - len(line.plain.lstrip()) + 2)


def _ambiguous(call_id: str, rows: list[dict[str, Any]]) -> Exception:
    names = dict.fromkeys(f"{row['call_id']} ({row['tool']})" for row in rows)
    more = ", …" if rows[0]["named"] > len(names) else ""
    return QueryError(
        f"{call_id!r} is a prefix of {rows[0]['named']} call ids: {', '.join(names)}{more}. Pass a longer prefix"
    )


def _unknown(call_id: str, store: StoreBackend) -> Exception:
    recent = query_store(store, "recent", limit=500).values("call_id")
    near = difflib.get_close_matches(call_id, recent, 1)
    hint = f"did you mean {near[0]!r}?" if near else "`tooltrace query recent` lists the latest calls"
    return QueryError(f"no call or span in {store} has an id that begins with {call_id!r}; {hint}")

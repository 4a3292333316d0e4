"""``tooltrace show``: a call, a span, a conversation or a trace."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import click

from tooltrace.analysis import query_store
from tooltrace.cli.options import examples, limit_option, output_options, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.core.plural import format_count
from tooltrace.errors import QueryError
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult

if TYPE_CHECKING:
    from rich.text import Text

KINDS: Final = ("call", "span", "conversation", "trace")
_LISTED: Final = 5
"""Maximum number of ids that a message lists."""


@click.command(
    short_help="Show a call, a span, a conversation or a trace.",
    epilog=examples(
        "tooltrace show call_17",
        "tooltrace show call_17 --full",
        "tooltrace show session-17",
        "tooltrace show 4bf92f3577b34da6a3ce929d0e0e4736",
        "tooltrace show call_17 agent.duckdb -f json -o call.json",
    ),
)
@click.argument("given", metavar="ID")
@click.option("--full", is_flag=True, help="Do not shorten long texts and JSON; show each attempt of a retried call.")
@limit_option("Maximum number of calls, if several have this id.", default=5)
@output_options("table", "json")
@place_option
def show(*, given: str, full: bool, limit: int, form: str, store: StoreBackend) -> None:
    """Show the call, the span, the conversation or the trace that has this ID, or the only one whose id begins with it.

    Of a call: every attempt with timing, arguments, result, error, sources, signals, the model's message, human approvals and
    labels. Of a conversation or a trace: its steps as a tree, after its outcome and its loops. call:ID, span:ID,
    conversation:ID and trace:ID choose where several have one id.
    """
    kind, found = _resolve(given, store)
    if kind == "call":
        _show_call(found, store, form, limit=limit, full=full)
    elif kind == "span":
        _print(query_store(store, "span", span_id=found), form, lambda rows: _span_lines(rows, full=full))
    else:
        _show_steps(kind, found, store, form, full=full)


def _resolve(given: str, store: StoreBackend) -> tuple[str, str]:
    """Return the kind of the thing that ``given`` names, and its id. Raises QueryError where that is none, or several."""
    rows = query_store(store, "ids", id=given).dicts()
    prefix, _, rest = given.partition(":")
    kind = prefix if not rows and prefix in KINDS and rest else ""
    if kind:
        given, rows = rest, [row for row in query_store(store, "ids", id=rest).dicts() if row["kind"] == kind]
    # a conversation that only spans of other libraries name
    if not rows and kind in ("", "conversation") and query_store(store, "steps", conversation=given, limit=1).rows:
        return "conversation", given
    if not rows:
        raise QueryError(_unknown(given, store))
    kinds = dict.fromkeys(row["kind"] for row in rows)
    if rows[0]["exact"]:
        if len(kinds) > 1 and list(kinds) != ["conversation", "trace"]:
            forms = " or ".join(f"{kind}:{given}" for kind in kinds)
            raise QueryError(f"a {' and a '.join(kinds)} have the id {given!r}: pass {forms}")
        return rows[0]["kind"], given
    if len(rows) > 1:
        raise QueryError(_ambiguous(given, rows))
    return rows[0]["kind"], rows[0]["id"]


def _show_call(call_id: str, store: StoreBackend, form: str, *, limit: int, full: bool) -> None:
    from tooltrace.cli.call_view import call_lines

    result = query_store(store, "call", id=call_id, limit=limit)
    rows = result.dicts()
    labels, gates = (query_store(store, name, call_id=rows[0]["call_id"]).dicts() for name in ("labels", "call_gates"))

    def lines(rows: list[dict[str, Any]]) -> Iterable[Text]:
        for _, attempts in groupby(rows, key=lambda row: row["place"]):
            yield from call_lines(list(attempts), labels, gates, full=full)

    _print(result, form, lines)
    if rows[0]["named"] > limit:
        click.echo(
            f"Showing the newest {limit} of {rows[0]['named']} calls with this id; use a span id to select one, or --limit.",
            err=True,
        )


def _show_steps(kind: str, found: str, store: StoreBackend, form: str, *, full: bool) -> None:
    from tooltrace.cli.conversation_view import conversation_lines

    is_trace = kind == "trace"
    steps = query_store(store, "steps", trace_id=found if is_trace else None, conversation=None if is_trace else found)
    # loops of calls without a conversation have the id of their trace
    loops = query_store(store, "loops", conversation=found).dicts()
    facts = [] if is_trace else query_store(store, "conversations", conversation=found).dicts()
    outcome = facts[0] if facts else None
    _print(steps, form, lambda rows: conversation_lines(rows, full=full, loops=loops, outcome=outcome), more=4)


def _span_lines(rows: list[dict[str, Any]], *, full: bool) -> Iterable[Text]:
    from tooltrace.cli.conversation_view import span_lines

    return span_lines(rows[0], full=full)


def _print(
    result: QueryResult, form: str, lines: Callable[[list[dict[str, Any]]], Iterable[Text]], *, more: int = 2
) -> None:
    """Print ``result`` as JSON, or as the ``lines`` about its rows, which continue ``more`` columns further right."""
    from tooltrace.cli.output import write
    from tooltrace.cli.table import console

    if form == "json":
        write(result, "json")
        return
    out = console()
    for line in lines(result.dicts()):
        print_wrapped(out, line, indent=len(line.plain) - len(line.plain.lstrip()) + more)
    if result.note:
        click.echo(result.note, err=True)


def _ambiguous(given: str, rows: list[dict[str, Any]]) -> str:
    count = rows[0]["matches"]
    names = [f"{row['kind']} {row['id']}" + (f" ({row['name']})" if row["name"] else "") for row in rows[:_LISTED]]
    more = ", …" if count > len(names) else ""
    return clean(f"{given!r} begins {format_count(count, 'id')}: {', '.join(names)}{more}. Pass more of the id")


def _unknown(given: str, store: StoreBackend) -> str:
    recent = query_store(store, "recent", limit=500)
    known = {*recent.values("call_id"), *filter(None, recent.values("conversation"))}
    near = difflib.get_close_matches(given, known, 1)
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else "`tooltrace query recent` lists the latest calls, `tooltrace query conversations` the conversations"
    )
    return clean(f"no call, span, conversation or trace in {store} has an id that begins with {given!r}; {hint}")

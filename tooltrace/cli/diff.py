"""``tooltrace diff``: two conversations side by side."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.analysis import query_store
from tooltrace.analysis.alignment import AlignedPair, align
from tooltrace.cli.options import examples, output_options, place_option
from tooltrace.cli.sanitize import clean
from tooltrace.errors import QueryError
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, Statement

_MARKS = {"same": " ", "changed": "~", "removed": "-", "added": "+"}
_STYLES = {"same": "", "changed": "yellow", "removed": "red", "added": "green"}
_COLUMNS = (
    *("kind", "tool", "changes", "a_call_id", "b_call_id", "a_status", "b_status", "a_duration_ms", "b_duration_ms"),
    *("a_arguments", "b_arguments", "a_result", "b_result", "a_error", "b_error"),
)


@click.command(
    name="diff",
    short_help="Compare two conversations call by call.",
    epilog=examples(
        "tooltrace diff session-17 session-18",
        "tooltrace diff session-17 session-18 -f markdown",
        "tooltrace diff session-17 session-18 agent.duckdb -f json -o diff.json",
    ),
)
@click.argument("a")
@click.argument("b")
@output_options("table", "json", "markdown", "csv")
@place_option
def diff(*, a: str, b: str, form: str, store: StoreBackend) -> None:
    """Compare the conversations A and B: their calls, aligned by the sequence of tools.

    \b
      same in both    ~ other arguments, result, answer, status, code or error
    - only in A       + only in B

    Times are printed, and are not a difference.
    """  # noqa: D301 - click needs a real backspace to keep the line breaks
    from tooltrace.cli.output import write

    pairs = align(_calls(store, a), _calls(store, b))
    if form == "table":
        _print(pairs)
    else:
        columns = [(name, "DOUBLE" if name.endswith("_ms") else "VARCHAR") for name in _COLUMNS]
        write(QueryResult.of_rows(columns, [_row(pair) for pair in pairs], Statement(sql="", name="diff")), form)


def _calls(store: StoreBackend, conversation: str) -> list[dict[str, Any]]:
    rows = query_store(store, "conversation_calls", conversation=conversation).dicts()
    if not rows:
        raise QueryError(
            f"no conversation in {store} has the id {conversation!r}; `tooltrace query conversations` lists them"
        )
    return rows


def _row(pair: AlignedPair) -> tuple[Any, ...]:
    sides = {"a": pair.a or {}, "b": pair.b or {}}
    known = {"kind": pair.kind, "tool": (pair.a or pair.b or {})["tool"], "changes": ", ".join(pair.changes)}
    return tuple(known[name] if name in known else sides[name[0]].get(name[2:]) for name in _COLUMNS)


def _print(pairs: list[AlignedPair]) -> None:
    from rich.text import Text

    from tooltrace.cli.table import console, format_value
    from tooltrace.cli.wrapping import print_wrapped

    out = console()
    for pair in pairs:
        times = " → ".join(
            "–" if call is None or call["duration_ms"] is None else f"{format_value(call['duration_ms'], 'ms')} ms"
            for call in (pair.a, pair.b)
        )
        line = Text(f"{_MARKS[pair.kind]} {clean((pair.a or pair.b or {})['tool'])}  {times}", _STYLES[pair.kind])
        print_wrapped(out, line, 4)
        if pair.a is not None and pair.b is not None:
            for name in pair.changes:
                for mark, call in (("-", pair.a), ("+", pair.b)):
                    value = "" if call[name] is None else clean(str(call[name]))
                    print_wrapped(out, Text(f"    {mark} {name}: {value[:300]}", "dim"), 8)
    counts = {kind: sum(pair.kind == kind for pair in pairs) for kind in _MARKS}
    click.echo(", ".join(f"{count} {kind}" for kind, count in counts.items()), err=True)

"""``tooltrace diff``: two conversations, or two versions, side by side."""

from __future__ import annotations

from typing import Any

import click

from tooltrace.analysis import query_store
from tooltrace.analysis.alignment import AlignedPair, align
from tooltrace.cli.errors import UsageError
from tooltrace.cli.options import examples, output_options, place_option, tool_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import print_wrapped
from tooltrace.errors import QueryError
from tooltrace.store.base import StoreBackend
from tooltrace.store.result import QueryResult, Statement

_VERSION = "version:"
_MARKS = {"same": " ", "changed": "~", "removed": "-", "added": "+"}
_STYLES = {"same": "", "changed": "yellow", "removed": "red", "added": "green"}
_COLUMNS = (
    *("kind", "tool", "changes", "a_call_id", "b_call_id", "a_status", "b_status", "a_duration_ms", "b_duration_ms"),
    *("a_arguments", "b_arguments", "a_result", "b_result", "a_error", "b_error", "duration_factor"),
)


@click.command(
    name="diff",
    short_help="Compare two conversations call by call: where do they part?",
    epilog=examples(
        "tooltrace diff session-17 session-18",
        "tooltrace diff session-17 session-18 -f markdown",
        "tooltrace diff version:1.2 version:2.0 --tool fetch",
        "tooltrace diff session-17 session-18 agent.duckdb -f json -o diff.json",
    ),
)
@click.argument("a")
@click.argument("b")
@tool_option("With versions: those of this tool only.")
@output_options("table", "json", "markdown", "csv")
@place_option
def diff(*, a: str, b: str, tool: str | None, form: str, store: StoreBackend) -> None:
    """Compare two conversations A and B call by call, to see where they part.

    Their calls are aligned by the sequence of tools. 'tooltrace compare' compares all calls of two sides in figures instead.

    A and B may be versions, as version:1.2: the newest conversations with each version that begin with the same call
    are compared, and named. 'tooltrace query version_pairs' lists further ones.

    \b
      same in both    ~ other arguments, result, answer, status, code or error
    - only in A       + only in B

    The id of a trace names a run without a conversation. A duration alone makes no call different: it is marked where one side
    took at least twice as long as the other, and 100 ms longer.
    """  # noqa: D301 - click needs a real backspace to keep the line breaks
    from tooltrace.cli.output import write

    if a.startswith(_VERSION) or b.startswith(_VERSION):
        a, b = _conversations_of_versions(store, a, b, tool)
    elif tool is not None:
        raise UsageError("--tool chooses versions: pass version:A version:B, or leave --tool out")
    pairs = align(_calls(store, a), _calls(store, b))
    if form == "table":
        _print(pairs)
    else:
        columns = [(name, "DOUBLE" if name.endswith(("_ms", "_factor")) else "VARCHAR") for name in _COLUMNS]
        write(QueryResult.of_rows(columns, [_row(pair) for pair in pairs], Statement(sql="", name="diff")), form)


def _conversations_of_versions(store: StoreBackend, a: str, b: str, tool: str | None) -> tuple[str, str]:
    """Return the pair of conversations to compare for two versions, and print it to stderr."""
    before, after = (text.removeprefix(_VERSION) for text in (a, b))
    if not (a.startswith(_VERSION) and b.startswith(_VERSION)) or not before or not after or before == after:
        raise UsageError(
            f"A and B must be two conversations, or two versions as version:1.2 version:2.0. Got {a!r} and {b!r}"
        )
    rows = query_store(store, "version_pairs", before_version=before, version=after, tool=tool, limit=1).dicts()
    if not rows:
        raise QueryError(
            f"{store} has no conversations with only one of the versions {before!r} and {after!r}"
            f"{f' of the tool {tool!r}' if tool else ''}; `tooltrace query failure_rate --by version` lists the versions, and "
            f"`tooltrace compare version:{before} version:{after}` compares calls without conversations"
        )
    (pair,) = rows
    begin = (
        f"both begin with the same call of {pair['first_tool']}"
        if pair["same_start"]
        else "they begin with different calls"
    )
    counts = f"{pair['before_conversations']} and {pair['after_conversations']} conversations have one of the versions"
    click.echo(clean(f"A: {pair['before']}, B: {pair['after']}: {begin}; {counts}"), err=True)
    return pair["before"], pair["after"]


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
    known["duration_factor"] = pair.duration_factor
    return tuple(known[name] if name in known else sides[name[0]].get(name[2:]) for name in _COLUMNS)


def _duration_words(factor: float) -> str:
    return f"{factor:.3g} × as long" if factor > 1 else f"{1 / factor:.3g} × as fast"


def _print(pairs: list[AlignedPair]) -> None:
    from rich.text import Text

    from tooltrace.cli.table import console, format_value

    out = console()
    for pair in pairs:
        times = " → ".join(
            "–" if call is None or call["duration_ms"] is None else f"{format_value(call['duration_ms'], 'ms')} ms"
            for call in (pair.a, pair.b)
        )
        line = Text(f"{_MARKS[pair.kind]} {clean((pair.a or pair.b or {})['tool'])}  {times}", _STYLES[pair.kind])
        if pair.duration_factor is not None:
            line.append(f"  {_duration_words(pair.duration_factor)}", "magenta")
        print_wrapped(out, line, 4)
        if pair.a is not None and pair.b is not None:
            for name in pair.changes:
                for mark, call in (("-", pair.a), ("+", pair.b)):
                    value = "" if call[name] is None else clean(str(call[name]))
                    print_wrapped(out, Text(f"    {mark} {name}: {value[:300]}", "dim"), 8)
    counts = {kind: sum(pair.kind == kind for pair in pairs) for kind in _MARKS}
    click.echo(", ".join(f"{count} {kind}" for kind, count in counts.items()), err=True)

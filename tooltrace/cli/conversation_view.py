"""Views of one conversation and of one span for people: a tree of its turns and steps, one line for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.text import Text

from tooltrace.analysis.running_calls import LoopRow, stuck
from tooltrace.cli.call_view import block, fact
from tooltrace.cli.sanitize import clean
from tooltrace.cli.table import format_value
from tooltrace.cli.tail import STYLES
from tooltrace.core.plural import format_count
from tooltrace.server.steps import ConversationTurn, StepLine, layout

SEEN = 120
"""Characters that are printed of what the model received."""


def conversation_lines(
    rows: list[dict[str, Any]],
    *,
    full: bool = False,
    loops: Iterable[LoopRow] = (),
    outcome: dict[str, Any] | None = None,
) -> Iterator[Text]:
    """Yield the lines of a conversation; ``rows`` are those of the query ``steps``.

    ``loops``: rows of the query ``loops``; ``outcome``: the row of the query ``conversations``. They come first, and the last
    call of a loop has a mark.

    The attempts of a retried call are one line; ``full``: the attempts follow, each on a line of its own. Below a call is the
    beginning of what the model received, where it is recorded.
    """
    found = stuck(loops)
    if outcome is not None and outcome["correct"] is not None:
        yield _outcome(outcome)
    yield from map(_loop, found)
    last = {loop["call_id"]: loop for loop in found}
    laid = layout(rows, turns=True)
    for turn in laid.turns:
        yield _head(turn)
        for line in laid.lines(turn):
            if full or not line.hidden:
                yield _line(line, None if line.hidden else last.get(line.row["call_id"]))
                if line.row["seen"] and not (full and line.attempts):
                    yield _seen(line)


def _head(turn: ConversationTurn) -> Text:
    parts = [f"turn {turn.number}  {turn.started_at:%Y-%m-%d %H:%M:%S} UTC", f"{format_value(turn.lasted_ms, 'ms')} ms"]
    parts.append(format_count(turn.calls, "call"))
    parts += [f"{turn.failed} failed"] * bool(turn.failed)
    parts += [f"{format_value(turn.pause_ms, 'ms')} ms after the turn before"] * bool(turn.pause_ms)
    return Text("  ".join(parts), style="bold")


def _outcome(row: dict[str, Any]) -> Text:
    text = Text("outcome  ").append(*(("goal reached", "green") if row["correct"] else ("goal missed", "red")))
    parts = [f"score {format_value(row['score'], 'number')}"] * (row["score"] not in (None, 0.0, 1.0))
    return text.append(f"  {', '.join([*parts, 'by ' + clean(row['labeler'])])}", "dim")


def _loop(row: LoopRow) -> Text:
    text = Text("loop  ", "bold magenta").append(
        f"{clean(row['tools'])}: {row['kind']}, {format_count(row['repeats'], 'round')}"
    )
    text.append(", running" if row["running"] else "", "bold red")
    wasted = f"{format_value(row['wasted_ms'], 'ms')} ms, {format_count(row['wasted_tokens'], 'token')} wasted"
    return text.append(f"  {wasted}, last call {clean(row['call_id'])}", "dim")


def _seen(line: StepLine) -> Text:
    first, *rest = line.row["seen"].strip().split("\n", 1)
    first = clean(first)
    shown = f"{first[:SEEN]}…" if rest or len(first) > SEEN else first
    return Text(f"{'  ' * (line.depth + 1)}  > {shown}", "dim")


def _line(line: StepLine, loop: LoopRow | None) -> Text:
    row = line.row
    text = Text(f"{'  ' * (line.depth + 1)}+{format_value(line.offset_ms, 'ms')} ms  ")
    text.append(clean(row["tool"] or row["span"] or ""), "bold" if row["kind"] == "tool" else "")
    if row["kind"] != "tool":
        text.append(f" ({row['kind']}{' ' + clean(row['model']) if row['model'] else ''})", "dim")
    if line.attempts:
        text.append(f" ×{line.attempts}", "yellow")
    if loop is not None:
        text.append("  running loop" if loop["running"] else "  loop", "bold magenta")
    state = row["status"] or row["ending"]
    if state:
        text.append(f"  {clean(state)}", STYLES.get(row["status"], "dim"))
    if line.lasted_ms is not None:
        text.append(f"  {format_value(line.lasted_ms, 'ms')} ms")
    rest = "  ".join(clean(row[name]) for name in ("code", "message", "call_id") if row[name])
    return text.append(f"  {rest}", "dim") if rest else text


_FACTS = ("scope", "scope_version", "span_kind", "status", "status_message", "service", "host", "pid")
_DATA = ("attributes", "events", "links")


def span_lines(row: dict[str, Any], *, full: bool = False) -> Iterator[Text]:
    """Yield the lines about one span; ``row`` is that of the query ``span``."""
    yield Text(clean(f"{row['name']}  span {row['span_id']}"), style="bold")
    line = Text(f"  {row['started_at']:%Y-%m-%d %H:%M:%S.%f} UTC")
    if row["duration_ms"] is not None:
        line.append(f"  {format_value(row['duration_ms'], 'ms')} ms")
    yield line
    for name in _FACTS:
        if row[name] is not None:
            yield fact(name, format_value(row[name]))
    for name in _DATA:
        if row[name] is not None:
            yield from block(name, row[name], as_json=True, full=full)
    parent = f"  parent {row['parent_span_id']}" if row["parent_span_id"] else ""
    yield Text(clean(f"  trace {row['trace_id']}{parent}"), style="dim")

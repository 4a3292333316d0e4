"""View of one conversation for people: its turns and steps as a tree, one line for each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from tooltrace.cli.sanitize import clean
from tooltrace.cli.table import format_value
from tooltrace.cli.tail import STYLES
from tooltrace.server.steps import ConversationTurn, StepLine, layout

SEEN = 120
"""Characters that are printed of what the model received."""


def conversation_lines(rows: list[dict[str, Any]], *, full: bool = False) -> Iterator[Text]:
    """Yield the lines of a conversation; ``rows`` are those of the query ``steps``.

    The attempts of a retried call are one line; ``full``: the attempts follow, each on a line of its own. Below a call is the
    beginning of what the model received, where it is recorded.
    """
    laid = layout(rows, turns=True)
    for turn in laid.turns:
        yield _head(turn)
        for line in laid.lines(turn):
            if full or not line.hidden:
                yield _line(line)
                if line.row["seen"] and not (full and line.attempts):
                    yield _seen(line)


def _head(turn: ConversationTurn) -> Text:
    parts = [f"turn {turn.number}  {turn.started_at:%Y-%m-%d %H:%M:%S} UTC", f"{format_value(turn.lasted_ms, 'ms')} ms"]
    parts.append(f"{turn.calls} call{'' if turn.calls == 1 else 's'}")
    parts += [f"{turn.failed} failed"] * bool(turn.failed)
    parts += [f"{format_value(turn.pause_ms, 'ms')} ms after the turn before"] * bool(turn.pause_ms)
    return Text("  ".join(parts), style="bold")


def _seen(line: StepLine) -> Text:
    first, *rest = line.row["seen"].strip().split("\n", 1)
    first = clean(first)
    shown = f"{first[:SEEN]}…" if rest or len(first) > SEEN else first
    return Text(f"{'  ' * (line.depth + 1)}  > {shown}", "dim")


def _line(line: StepLine) -> Text:
    row = line.row
    text = Text(f"{'  ' * (line.depth + 1)}+{format_value(line.offset_ms, 'ms')} ms  ")
    text.append(clean(row["tool"] or row["span"] or ""), "bold" if row["kind"] == "tool" else "")
    if row["kind"] != "tool":
        text.append(f" ({row['kind']}{' ' + clean(row['model']) if row['model'] else ''})", "dim")
    if line.attempts:
        text.append(f" ×{line.attempts}", "yellow")
    state = row["status"] or row["ending"]
    if state:
        text.append(f"  {clean(state)}", STYLES.get(row["status"], "dim"))
    if line.lasted_ms is not None:
        text.append(f"  {format_value(line.lasted_ms, 'ms')} ms")
    rest = "  ".join(clean(row[name]) for name in ("code", "message", "call_id") if row[name])
    return text.append(f"  {rest}", "dim") if rest else text

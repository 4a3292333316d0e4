"""View of one call for people: each attempt with its arguments, its result and its duration."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from rich.text import Text

from tooltrace.cli.sanitize import clean
from tooltrace.cli.table import format_value
from tooltrace.cli.tail import STYLES
from tooltrace.core.plural import format_count
from tooltrace.report.json_values import json_safe

Attempt = dict[str, Any]

_SHORT = 100
_LINES = 20
_MAX_DEPTH = 40
_INDENT = "    "

_TEXTS = ("error_message", "traceback", "suggestion", "user_message", "text", "explanation", "seen_text")
_DATA = ("arguments", "result", "sources", "signals", "stats", "context", "attributes", "flags")


def call_lines(
    attempts: list[Attempt], labels: list[dict[str, Any]], gates: list[dict[str, Any]], *, full: bool = False
) -> Iterator[Text]:
    """Yield the lines about one call.

    ``attempts`` are rows of the query ``call``; ``labels`` and ``gates`` belong to the same call.
    """
    yield from _head(attempts)
    spans = {attempt["span_id"] for attempt in attempts}
    yield from (_label(label) for label in labels if label["span_id"] is None)
    before: Attempt | None = None
    for attempt in attempts:
        if before is not None:
            yield _gap(before, attempt)
        yield from _attempt(attempt, full=full)
        yield from (_gate(gate) for gate in gates if gate["span_id"] == attempt["span_id"])
        yield from (_label(label) for label in labels if label["span_id"] in spans & {attempt["span_id"]})
        before = attempt
    yield Text()


def _head(attempts: list[Attempt]) -> Iterator[Text]:
    first = attempts[0]
    version = f" {first['tool_version']}" if first["tool_version"] else ""
    yield Text(clean(f"{first['tool']}{version}  call {first['call_id']}"), style="bold")
    context = (
        ("conversation", first["conversation"]),
        ("agent", first["agent"]),
        ("model", first["model"]),
        ("service", first["service"]),
        ("release", first["release"]),
        ("environment", first["environment"]),
    )
    known = [f"{name} {value}" for name, value in context if value]
    known.append(format_count(len(attempts), "attempt"))
    known.append(f"{format_value(sum(attempt['duration_ms'] or 0 for attempt in attempts), 'ms')} ms in the tool")
    yield Text(clean("  ".join(known)), style="dim")


def _attempt(attempt: Attempt, *, full: bool) -> Iterator[Text]:
    yield Text()
    yield _first_line(attempt)
    for name in (
        "code",
        "error_type",
        "retryable",
        "next_action",
        "confidence",
        "cached",
        "rule",
        "rule_grade",
        "status_recorded",
        "seen_error",
    ):
        if attempt[name] is not None:
            yield fact(name, format_value(attempt[name]))
    for name in (*_TEXTS, *_DATA):
        if attempt[name] is not None:
            yield from block(name + _cut(attempt, name), attempt[name], as_json=name in _DATA, full=full)
    if attempt["redacted"]:
        yield Text("  redacted: secrets were removed before storage", style="yellow")
    process = ":".join(str(attempt[name]) for name in ("host", "pid") if attempt[name] is not None)
    yield Text(clean(f"  span {attempt['span_id']}  trace {attempt['trace_id']}  {process}".rstrip()), style="dim")


def _first_line(attempt: Attempt) -> Text:
    status = attempt["status"] or "no status"
    line = Text().append(f"attempt {attempt['attempt']}  ", "bold")
    line.append(f"{clean(status)}, {clean(attempt['ending'])}", STYLES.get(attempt["status"], "magenta"))
    line.append(f"  {attempt['started_at']:%Y-%m-%d %H:%M:%S.%f} UTC")
    durations = (
        ("duration_ms", "in the tool"),
        ("first_item_ms", "to the first item"),
        ("consumer_ms", "in the consumer"),
    )
    for name, where in durations:
        if attempt[name] is not None:
            line.append(f"  {format_value(attempt[name], 'ms')} ms {where}")
    return line


def _gap(before: Attempt, after: Attempt) -> Text:
    gap = (after["started_at"] - _end(before)).total_seconds() * 1000
    later = f"{format_value(gap, 'ms')} ms later" if gap >= 0 else "before the previous attempt ended"
    return Text(f"  … {later}", style="dim")


def _end(attempt: Attempt) -> datetime:
    duration = min(max(0, (attempt["duration_ms"] or 0) + (attempt["consumer_ms"] or 0)), 1e12)
    started: datetime = attempt["started_at"]
    return started + timedelta(milliseconds=duration)


def _gate(gate: dict[str, Any]) -> Text:
    who = f" by {gate['answered_by']}" if gate["answered_by"] else ""
    if gate["decision"] is None:
        return Text(clean(f"  waiting for a person ({gate['kind']})"), style="magenta")
    words = f"{gate['decision']}{who} after {format_value(gate['waited_ms'], 'ms')} ms ({gate['kind']})"
    note = f": {gate['note']}" if gate["note"] else ""
    changed = f"; changed {format_json(json_safe(gate['changed'], 'json'))}" if gate["changed"] else ""
    return Text(clean(f"  {words}{note}{changed}"), style="magenta")


def _label(label: dict[str, Any]) -> Text:
    verdict = {True: "right", False: "wrong", None: ""}[label["correct"]]
    score = "" if label["score"] is None else f"score {label['score']:g}"
    reason = f": {label['reason']}" if label["reason"] else ""
    words = " ".join(word for word in ("labelled", verdict, score, f"by {label['labeler']}") if word)
    return Text(clean(f"  {words}, {label['labeled_at']:%Y-%m-%d %H:%M:%S} UTC{reason}"), style="cyan")


def _cut(attempt: Attempt, name: str) -> str:
    sizes = json_safe(attempt["full_sizes"], "json") if attempt["truncated"] else None
    size = sizes.get(name) if isinstance(sizes, dict) else None
    return f" (truncated; {size:,} in full)" if isinstance(size, int) else ""


def fact(name: str, text: str) -> Text:
    """Return the line about one value."""
    return Text().append(f"  {clean(name).replace('_', ' ')}: ", "dim").append(text)


def block(name: str, value: str, *, as_json: bool, full: bool) -> Iterator[Text]:
    """Yield the lines of a text or of JSON; without ``full``, only the first ones."""
    lines = (
        clean(format_json(json_safe(value, "json")), lines=True) if as_json else clean(value, lines=True)
    ).splitlines()
    if len(lines) <= 1 and (len(value) <= _SHORT or not as_json):
        yield fact(name, _fold_line(lines[0] if lines else "", full=full))
        return
    yield fact(name, "")
    shown = lines if full else lines[:_LINES]
    yield from (Text(_INDENT + _fold_line(line, full=full)) for line in shown)
    if len(lines) > len(shown):
        yield Text(f"{_INDENT}… {len(lines) - len(shown):,} more lines (--full)", style="dim")


def _fold_line(line: str, *, full: bool) -> str:
    longest = 1000
    return line if full or len(line) <= longest else f"{line[:longest]}… {len(line) - longest:,} more (--full)"


def format_json(value: Any, indent: str = "") -> str:
    """Return ``value`` as JSON: on one line if it is short, else one line for each member."""
    short = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(short) <= _SHORT or not isinstance(value, dict | list) or len(indent) >= _MAX_DEPTH:
        return short
    inner = indent + "  "
    if isinstance(value, list):
        opening, closing, parts = "[", "]", [format_json(item, inner) for item in value]
    else:
        opening, closing = "{", "}"
        parts = [f"{json.dumps(name, ensure_ascii=False)}: {format_json(item, inner)}" for name, item in value.items()]
    lines = f",\n{inner}".join(parts)
    return f"{opening}\n{inner}{lines}\n{indent}{closing}"

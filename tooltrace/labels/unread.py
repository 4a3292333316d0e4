"""The shapes of a tool's unread results, each with a rule that reads them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from tooltrace.store.base import Store, open_store

_COLUMNS: Final = ("result", '"text"', "call_id", "first_item_ms")
_UNREAD: Final = """status IS NOT NULL AND ending = 'returned' AND rule_grade = 'unread' AND tool = $tool
  AND (CAST($since AS TIMESTAMP) IS NULL OR started_at >= $since)"""
_STATES: Final = ("status", "state", "outcome", "result", "code", "type", "message", "detail", "reason")
"""Members whose value tells kinds of answers apart."""
_MOST_NAMES, _LEAD, _MOST_SHAPES = 8, 24, 5_000
_NAMED = re.compile(r"['\"`‘“«][^'\"`’”»\n]{1,80}['\"`’”»]|\S*\d\S*|https?://\S+|(?<!\w)/\S+")
"""Parts of a text that differ from call to call: quoted names, numbers, addresses, paths."""


@dataclass(slots=True)
class Shape:
    """Unread results of one shape."""

    label: str
    """The members of an object, or the beginning of a text."""
    condition: str
    """The Python expression over ``value`` that is true of these results."""
    count: int = 0
    example: Any = None
    call_id: str | None = None
    """The first call with such a result."""


@dataclass(slots=True)
class UnreadReport:
    """The unread results of a tool."""

    tool: str
    total: int = 0
    """Unread results."""
    not_stored: int = 0
    """Those whose content was not stored."""
    shapes: list[Shape] = field(default_factory=list)
    """The most frequent shapes, the most frequent first."""


def unread_shapes(store: Store, tool: str, *, since: datetime | None = None, limit: int = 10) -> UnreadReport:
    """Return the most frequent shapes among the unread results of ``tool``.

    ``since``: an aware time. Raises StoreError, UnsupportedByStore.
    """
    report = UnreadReport(tool)
    found: dict[str, Shape] = {}
    params = {"since": None if since is None else since.astimezone(UTC).replace(tzinfo=None), "tool": tool}
    for rows, _total in open_store(store).scan_attempts(_COLUMNS, _UNREAD, params):
        for result, text, call_id, first_item_ms in rows:
            report.total += 1
            if result is None and not text:
                report.not_stored += 1
                continue
            value = text if result is None or (first_item_ms is not None and text) else orjson.loads(result)
            shape = shape_of(value)
            kept = found.setdefault(shape.label, shape) if len(found) < _MOST_SHAPES else found.get(shape.label, shape)
            if not kept.count:
                kept.example, kept.call_id = value, call_id
            kept.count += 1
    report.shapes = sorted(found.values(), key=lambda shape: (-shape.count, shape.label))[:limit]
    return report


def shape_of(value: Any) -> Shape:
    """Return the shape of a result: its label, and the condition that is true of results like it."""
    if isinstance(value, str):
        return _of_text(value)
    if isinstance(value, dict):
        return _of_object(value)
    if isinstance(value, list):
        inner = shape_of(value[0]).label if value else "nothing"
        condition = "isinstance(value, list)" + (" and value" if value else " and not value")
        return Shape(f"list of {inner}", condition)
    return Shape(
        type(value).__name__, f"type(value) is {type(value).__name__}" if value is not None else "value is None"
    )


def _of_object(value: dict[str, Any]) -> Shape:
    names = list(value)[:_MOST_NAMES]
    state = next((name for name in _STATES if isinstance(value.get(name), str | bool | int) and name in value), None)
    shown = ", ".join(names) + (", …" if len(value) > len(names) else "")
    if state is not None and _is_word(value[state]):
        return Shape(f"{{{shown}}} with {state} = {value[state]!r}", f"value[{state!r}] == {value[state]!r}")
    return Shape(
        f"{{{shown}}}",
        f"isinstance(value, dict) and value.keys() >= {{{', '.join(map(repr, names))}}}" if names else "value == {}",
    )


def _is_word(state: Any) -> bool:
    """Whether a member's value is one of a few: a word, a flag or a code."""
    return not isinstance(state, str) or (0 < len(state) <= _LEAD * 2 and _NAMED.search(state) is None)


def _of_text(value: str) -> Shape:
    line = value.strip().partition("\n")[0]
    differing = _NAMED.search(line)
    lead = line[: differing.start()] if differing is not None else line
    if len(lead) > _LEAD:
        lead = lead[:_LEAD].rpartition(" ")[0] or lead[:_LEAD]
    if len(lead.strip()) < 3:  # nothing constant to go by
        return Shape("text", "isinstance(value, str)")
    return Shape(
        f"text that begins with {lead.strip()!r}",
        f"isinstance(value, str) and value.lstrip().startswith({lead.strip()!r})",
    )


def rules_to_paste(report: UnreadReport) -> Sequence[str]:
    """Return one line of Python for each shape: the rule that reads its results as failures."""
    counted: Counter[str] = Counter()
    stem = re.sub(r"\W+", "_", report.tool).strip("_") or "tool"
    lines = []
    for shape in report.shapes:
        counted[stem] += 1
        name = f"{stem}_{counted[stem]}"
        lines.append(f"{name} = tt.rule({name!r}, failed=lambda value: True if {shape.condition} else None)")
    return lines

"""Provenance of result columns: which values tooltrace computed, and who wrote the texts of the others.

Numbers, times and flags cannot instruct a reader. A text can, so each text of a trace is marked as copied, with its writer.
A few text columns hold one word of a fixed list, such as a status; they count as computed as long as the value is a word.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

from tooltrace.core.visible import shortened, visible_name
from tooltrace.store.result import ResultColumn

Writer = Literal["tool", "model", "application", "recorder", "person", "tooltrace", "unknown"]
"""Who wrote a text: the tool, the model that called it, the application around them, the recorder (ids), a labeler or
another person, or tooltrace out of such texts. ``unknown``: any of them, as in the result of SQL."""

_NOT_TEXT: Final = frozenset({"count", "aside", "share", "points", "ratio", "ms", "time", "flag", "mark", "number"})
_WORDS: Final = frozenset(
    {
        *("status", "status_recorded", "ending", "verdict", "measure", "unit", "counted", "kind", "relation", "series"),
        *("statistic", "field", "rule", "rule_grade", "advice", "next_action", "decision", "period", "span_kind"),
    }
)
"""Text columns whose values are words of fixed lists."""
_WORD: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")

_WRITERS: Final[dict[str, Writer]] = {
    **dict.fromkeys(
        (
            *("tool", "tool_version", "version", "version_since", "version_before", "agent", "conversation"),
            *("service", "release", "environment", "name"),
        ),
        "application",
    ),
    **dict.fromkeys(("attributes", "user_message_for", "model", "scope", "scope_version", "other_tool", "tools"), "application"),
    **dict.fromkeys(("arguments", "call_id", "example_call_id"), "model"),
    **dict.fromkeys(("span_id", "trace_id", "parent_span_id", "resumed_span_id", "host", "full_sizes", "flags"), "recorder"),
    **dict.fromkeys(("before", "match", "after"), "unknown"),  # of find: the column field names the writer
    **dict.fromkeys(("reason", "note", "labeler", "answered_by"), "person"),
    **dict.fromkeys(("figures", "fix", "windows", "band", "reads", "flag_recall_reason"), "tooltrace"),
}  # fmt: skip
"""Writers of text columns by name; those of other columns are tools."""


def writer_of(column: str) -> Writer:
    """Return who wrote the texts of a column of a named query."""
    return "application" if column.startswith("attributes.") else _WRITERS.get(column, "tool")


def is_computed(column: ResultColumn, values: list[Any]) -> bool:
    """Whether no value of the column can be a sentence: numbers, times, flags, or words of a fixed list."""
    if column.end_of is not None or column.unit in _NOT_TEXT:
        return not any(isinstance(value, str) and not _WORD.fullmatch(value) for value in values)
    if column.name in _WORDS:
        return all(value is None or (isinstance(value, str) and _WORD.fullmatch(value)) for value in values)
    return bool(values) and not any(
        isinstance(value, str | dict | list | bytes) for value in values if value is not None
    )


def column_name(name: str) -> str:
    """Return the name of a column as an answer has it: SQL can make names out of the values of a trace."""
    return shortened(visible_name(name))

"""View of one span of another library for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from tooltrace.cli.call_view import block, fact
from tooltrace.cli.sanitize import clean
from tooltrace.cli.table import format_value

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

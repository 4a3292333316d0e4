"""Types that all span conventions share, and values that are JSON text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.otel.span_data import SpanData

_OPENS = ("{", "[")


def structure(value: Any, *, scalars: bool = True) -> Any:
    """What ``value`` says: the data of a text that is JSON, else the value itself. ``scalars``: "3" is 3 too, not only
    objects and arrays."""
    if not isinstance(value, str) or not value:
        return value
    if not scalars and not value.lstrip()[:1].startswith(_OPENS):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


def named(value: Any) -> Any:
    """Arguments by name. What decorators write down as ``{"args": […], "kwargs": {…}}`` is opened."""
    value = structure(value)
    if not isinstance(value, dict) or set(value) != {"args", "kwargs"}:
        return value
    positional, by_name = value["args"], value["kwargs"]
    if not isinstance(by_name, dict) or "args" in by_name:
        return value
    return {**by_name, "args": positional} if positional else by_name


def text(value: Any) -> str | None:
    """A name or an id; numbers count, nothing else does."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**128 else None


Key = tuple[str, str]
"""A span's trace and its own id: what it is known by."""

TEXTS = ("tool", "call_id", "conversation_id", "agent", "tool_version", "tool_type", "tool_description")
"""Fields of a record that a dialect may say as a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanToolCall:
    """A tool call as one span shows it; unknown is None."""

    form: SpanData
    conventions: tuple[str, ...]
    """In which ways of writing it down, the best first."""
    tool: str | None = None
    call_id: str | None = None
    conversation_id: str | None = None
    agent: str | None = None
    tool_version: str | None = None
    tool_type: str | None = None
    tool_description: str | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    error_type: str | None = None
    """What the dialect calls the error, where the span's own events do not say."""
    error_message: str | None = None
    ending: str | None = None
    """Where the dialect knows one that no status shows: ``paused``."""

    @property
    def key(self) -> Key:
        """What the span is known by."""
        return self.form.trace_id, self.form.span_id


@dataclass(frozen=True, slots=True)
class SpanConvention:
    """One way to write a tool call into a span's attributes."""

    name: str
    knows: Callable[[str, Mapping[str, Any]], bool]
    """Whether a span with this name and these attributes is a tool call."""
    reads: Mapping[str, tuple[str, ...]]
    """Field of a sighting to the attributes that say it, the first that is there counts."""
    correct: Callable[[dict[str, Any], SpanData], None] = lambda _fields, _form: None
    """Put right what was read, where a table does not say it all."""
    texts: frozenset[str] = field(default_factory=frozenset)
    """Attributes among them whose value is a text, even where it looks like a number in JSON."""

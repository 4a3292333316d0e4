"""Types shared by all span conventions, and parsing of values that are JSON text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.otel.span_data import SpanData

_OPENS = ("{", "[")


def structure(value: Any, *, scalars: bool = True) -> Any:
    """Return the data of a JSON text; any other value unchanged.

    Unless ``scalars`` is true, only objects and arrays are parsed: "3" stays text.
    """
    if not isinstance(value, str) or not value:
        return value
    if not scalars and not value.lstrip()[:1].startswith(_OPENS):
        return value
    try:
        return orjson.loads(value)
    except ValueError:
        return value


WRAPPER_MEMBERS = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
"""Parameters of the functions that instrumentations wrap: of any ``*args, **kwargs``, and of smolagents' tools."""


def named(value: Any) -> Any:
    """Return arguments by name; unpack ``{"args": […], "kwargs": {…}}``, which decorators write.

    ``args`` may be missing, and smolagents' ``sanitize_inputs_outputs`` present.
    """
    value = structure(value)
    if not isinstance(value, dict) or "kwargs" not in value or not value.keys() <= WRAPPER_MEMBERS:
        return value
    positional, by_name = value.get("args"), value["kwargs"]
    if not isinstance(by_name, dict) or "args" in by_name:
        return value
    return {**by_name, "args": positional} if positional else by_name


def failed_with(text: Any) -> dict[str, Any]:
    """Return the result of a failed call that has only a text, in the form of MCP, which the rules read."""
    return {"content": [{"type": "text", "text": text}] if isinstance(text, str) else [], "isError": True}


def text(value: Any) -> str | None:
    """Return a name or an id as text; None unless ``value`` is a text or an integer."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**128 else None


Key = tuple[str, str]
"""Trace id and span id, which identify a span."""

TEXTS = ("tool", "call_id", "conversation_id", "agent", "model", "tool_version", "tool_type", "tool_description")
"""Text fields of a record that a convention may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanToolCall:
    """A tool call as one span shows it; None means unknown."""

    form: SpanData
    conventions: tuple[str, ...]
    """Names of the conventions that the span follows, the preferred one first."""
    tool: str | None = None
    call_id: str | None = None
    conversation_id: str | None = None
    agent: str | None = None
    model: str | None = None
    tool_version: str | None = None
    tool_type: str | None = None
    tool_description: str | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    error_type: str | None = None
    """The convention's name for the error, used when the span's events do not name it."""
    error_message: str | None = None
    ending: str | None = None
    """An ending that a span status cannot express, ``paused``; else None."""

    @property
    def key(self) -> Key:
        """Trace id and span id of the span."""
        return self.form.trace_id, self.form.span_id


@dataclass(frozen=True, slots=True)
class SpanConvention:
    """A convention that describes a tool call in a span's attributes."""

    name: str
    knows: Callable[[str, Mapping[str, Any]], bool]
    """Whether a span with this name and these attributes is a tool call."""
    reads: Mapping[str, tuple[str, ...]]
    """Map from field of ``SpanToolCall`` to the attributes that hold it; the first one present is used."""
    correct: Callable[[dict[str, Any], SpanData], None] = lambda _fields, _form: None
    """Function that corrects the fields where the map ``reads`` is not sufficient."""
    texts: frozenset[str] = field(default_factory=frozenset)
    """Attributes in ``reads`` whose value stays text, even if it looks like JSON."""

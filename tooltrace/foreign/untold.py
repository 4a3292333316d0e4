"""What ``capture="metadata"`` leaves out of a record that comes in: the same as of a call that is recorded here."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, TypeVar, cast

import orjson

from tooltrace.record import Gate, Json, Message, Record, Span, ToolCall
from tooltrace.settings import Settings

CONTENT: Final = ("arguments", "result", "text", "seen_text", "explanation", "stats", "context", "signals", "sources")


_R = TypeVar("_R", bound=Record)


def untold(record: _R, settings: Settings) -> _R:
    """``record`` as ``settings.capture`` lets it be kept: that the model was given a text, not which; that an argument
    was changed, not to what. Of a span of another library nothing but its frame."""
    return record if settings.capture == "full" else cast("_R", _without(record))


def _without(record: Record) -> Record:
    if isinstance(record, ToolCall):
        return ToolCall.of({**vars(record), **dict.fromkeys(CONTENT)})
    if isinstance(record, Message):
        return replace(record, text=None)
    if isinstance(record, Gate) and record.changed is not None:
        return replace(record, changed=Json(orjson.dumps(dict.fromkeys(orjson.loads(record.changed))).decode()))
    if isinstance(record, Span):
        return replace(record, attributes=None, events=None, links=None)
    return record

"""A record of what a foreign file says of an attempt: normalized, redacted and bounded like every other."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson

from tooltrace.assemble import to_call
from tooltrace.attempt import UNSET, Attempt
from tooltrace.capture import scrub, snapshot
from tooltrace.record import ToolCall
from tooltrace.settings import Settings
from tooltrace.spec import ToolSpec, named_spec
from tooltrace.surroundings import CallContext

NO_RESULT = UNSET
"""The file has no result of the attempt."""

LONGEST_NAME = 1024
"""Characters that are kept of a name or an id."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One attempt, in the words of the record; unknown is None."""

    tool: str
    trace: tuple[Any, ...]
    """What tells its trace from all others: the trace id is made of it."""
    span: tuple[Any, ...]
    """What tells it from all other attempts: the span id is made of it."""
    started_at: datetime
    """Aware."""
    call_id: str | None = None
    attempt: int = 1
    conversation_id: str | None = None
    agent: str | None = None
    duration_ms: float | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    ending: str = "returned"


def build(foreign: Foreign, settings: Settings) -> ToolCall:
    """The record of ``foreign``. Where and by whom it was made the file does not say, so nor does the record."""

    def safe(text: str | None) -> str | None:
        if text is None or settings.redaction.clean(text):
            return text and scrub(text)[:LONGEST_NAME]
        return settings.redaction.text(scrub(text))[:LONGEST_NAME]

    around = CallContext(conversation_id=safe(foreign.conversation_id), agent=safe(foreign.agent))
    attempt = Attempt(_spec(safe(foreign.tool) or ""), settings, around)
    attempt._parent = None  # noqa: SLF001 - a foreign attempt stands alone in its trace
    attempt.trace_id = hashed(16, *foreign.trace)
    attempt.span_id = hashed(8, *foreign.span)
    attempt.call_id, attempt.number = safe(foreign.call_id), foreign.attempt
    attempt.started_ns = (foreign.started_at - _EPOCH) // timedelta(microseconds=1) * 1000
    attempt.ending = foreign.ending
    if foreign.duration_ms is not None:
        attempt.duration_ns = round(foreign.duration_ms * 1e6)
    if foreign.arguments is not None and attempt.full:
        named = foreign.arguments if isinstance(foreign.arguments, dict) else {"input": foreign.arguments}
        attempt.arguments = snapshot(named)
    if foreign.result is not NO_RESULT:
        attempt.take(foreign.result)
    return ToolCall.of({**vars(to_call(attempt)), "service": None, "host": None, "pid": None})


def hashed(size: int, *parts: Any) -> int:
    """A number of ``size`` bytes, never 0, that is the same for the same JSON values."""
    digest = sha256(orjson.dumps(snapshot_of(parts))).digest()
    return int.from_bytes(digest[:size], "big") or 1


def snapshot_of(parts: tuple[Any, ...]) -> list[Any]:
    """``parts`` as values that JSON can say, told apart by their kind: "1" is not 1."""
    return [part if part is None else f"{type(part).__name__}:{scrub(str(part))}" for part in parts]


@lru_cache(maxsize=1024)
def _spec(tool: str) -> ToolSpec:
    return named_spec(tool)

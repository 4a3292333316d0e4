"""Records of attempts that other sources describe: normalized, redacted and bounded like all records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from msgspec.structs import replace
from opentelemetry.trace import SpanContext

from tooltrace.core.records import ToolCall
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.call_numbers import REUSED_ID, CallNumbers, CallUse, digest
from tooltrace.recording.context import CallContext
from tooltrace.recording.record_builder import build_record
from tooltrace.recording.result_copy import set_result
from tooltrace.recording.settings import Settings
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import snapshot
from tooltrace.redact.texts import fix_unicode

NO_RESULT: Any = object()
"""The result is unknown."""

MAX_NAME_LENGTH = 1024
"""Maximum length of a name or an id, in characters."""
MAX_DURATION_NS = 10**18
"""Upper bound of a duration: about thirty years. A longer duration is a mistake and is stored as unknown."""
MAX_TIME_NS = 253_402_300_799 * 10**9
"""The last second of the year 9999: the latest time that a date can represent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExternalCall:
    """One attempt, with the field names of the record; None means unknown."""

    tool: str
    trace_id: int
    span_id: int
    parent_span_id: int | None = None
    started_ns: int
    """Nanoseconds since the epoch."""
    duration_ns: int | None = None
    call_id: str | None = None
    attempt: int | None = None
    """Number of the attempt, where the source states it; else it is counted."""
    use: CallUse | None = None
    """The call that it is an attempt of, where that is known."""
    conversation_id: str | None = None
    agent: str | None = None
    model: str | None = None
    tool_version: str | None = None
    tool_type: str | None = None
    tool_description: str | None = None
    arguments: Any = None
    result: Any = NO_RESULT
    """Any value, including a ``ToolResponse``; the rules interpret it."""
    error: ExceptionSummary | None = None
    """The exception that the tool raised."""
    ending: str | None = "returned"
    attributes: dict[str, Any] | None = None
    service: str | None = None
    release: str | None = None
    environment: str | None = None
    host: str | None = None
    pid: int | None = None


def build_call(external: ExternalCall, settings: Settings, numbers: CallNumbers | None = None) -> ToolCall:
    """Return the record of ``external``. ``numbers``: the calls before it.

    Service, release, environment, host and process are those of ``external``, even if unknown; never those of this process.
    """

    def safe(text: str | None) -> str | None:
        return safe_name(text, settings.redaction)

    context = CallContext(
        conversation_id=safe(external.conversation_id), agent=safe(external.agent), model=safe(external.model)
    )
    attempt = Attempt.begin(_spec_for(safe(external.tool) or "", safe(external.tool_version)), settings, context)
    _set_identity(attempt, external)
    attempt.call_id = safe(external.call_id)
    attempt.use, attempt.number = external.use, external.attempt or 1
    if attempt.use is None and numbers is not None and external.call_id is not None:
        attempt.use, attempt.number = begin_attempt(external, numbers)
    if attempt.first_span_id is not None:
        attempt.flags = (REUSED_ID,)
    attempt.ending, attempt.error = external.ending, external.error
    if external.arguments is not None and attempt.captures_content:
        attempt.arguments = snapshot(_named(external.arguments))
    # Without content a result is still read for its outcome, unless the exception is the outcome.
    if external.result is not NO_RESULT and (attempt.captures_content or external.error is None):
        set_result(attempt, external.result)
    if external.attributes:
        attempt.custom_attributes = snapshot(external.attributes)
    origin = {name: safe(getattr(external, name)) for name in ("service", "release", "environment", "host")}
    described = safe_name(external.tool_description, settings.redaction, settings.field_limit)
    kind = {"tool_type": safe(external.tool_type), "tool_description": described}
    call = replace(build_record(attempt), **kind, **origin, pid=external.pid)
    if attempt.use is not None:
        attempt.use.recorded(call)
    return call


def begin_attempt(external: ExternalCall, numbers: CallNumbers) -> tuple[CallUse, int]:
    """Return the call of ``external`` among those before it, by what the macro ``call_key`` compares, and its number."""
    key = (external.tool, external.call_id, external.conversation_id or (external.host, external.pid))
    return numbers.begin(key, external.span_id, digest(_named(external.arguments)), number=external.attempt)


def _named(arguments: Any) -> dict[str, Any] | None:
    return arguments if arguments is None or isinstance(arguments, dict) else {"input": arguments}


def _set_identity(attempt: Attempt, external: ExternalCall) -> None:
    """Set the ids, the parent and the times of the attempt."""
    attempt.trace_id, attempt.span_id = external.trace_id, external.span_id
    parent = external.parent_span_id
    attempt.parent = None if parent is None else SpanContext(external.trace_id, parent, is_remote=True)
    attempt.start_time = min(max(external.started_ns, 0), MAX_TIME_NS)
    duration = external.duration_ns
    attempt.duration_ns = duration if duration is not None and 0 <= duration < MAX_DURATION_NS else None


def safe_name(text: str | None, redaction: Redaction, longest: int = MAX_NAME_LENGTH) -> str | None:
    """Return ``text`` as valid Unicode, redacted and cut to ``longest`` characters; None if it is empty."""
    if not text:
        return None
    text = fix_unicode(text)
    return (text if redaction.may_skip(text) else redaction.redact_text(text))[:longest]


def stable_id(size: int, *parts: Any) -> int:
    """Return a number of ``size`` bytes, never 0, that is the same for the same JSON values."""
    digest = sha256(json_of(_distinct_id(parts))).digest()
    return int.from_bytes(digest[:size], "big") or 1


def _distinct_id(parts: tuple[Any, ...]) -> list[Any]:
    """Return ``parts`` as JSON values prefixed with their type, so that "1" and 1 differ."""
    return [part if part is None else f"{type(part).__name__}:{fix_unicode(str(part))}" for part in parts]


@lru_cache(maxsize=1024)
def _spec_for(tool: str, version: str | None) -> ToolSpec:
    return named_spec(tool, version=version)

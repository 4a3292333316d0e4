"""Questions to a person about a call, and the answers, as ``Gate`` records."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from opentelemetry.trace import SpanContext

from tooltrace.core.lru import LruMap
from tooltrace.core.record_redaction import redact_record
from tooltrace.core.records import Gate
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.recorder import Recorder
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import snapshot

MAX_PENDING = 1000
"""Maximum number of unanswered questions that a process remembers."""


class PendingReview(NamedTuple):
    """A question to a person about one call."""

    span_id: str
    """Span id of the paused attempt, in hex."""
    call_id: str
    kind: str
    """``confirmation``, ``input`` or ``external``."""
    at: datetime
    number: int = 1
    """Number of the paused attempt; 1 is assumed for a question of another process."""
    span: SpanContext | None = None
    """The paused span, to link to, if this process paused the call; else None."""
    arguments: Mapping[str, Any] | None = None
    """The model's arguments, if this process paused the call; else None."""


pending: LruMap[PendingReview] = LruMap(MAX_PENDING)
"""Unanswered questions, by keys of the integrations."""


def record_question(recorder: Recorder, review: PendingReview, key: Hashable | None) -> None:
    """Record that a call waits for a person, and remember the question under ``key``."""
    if key is not None:
        pending.put(key, review)
    gate = Gate(call_id=review.call_id, span_id=review.span_id, kind=review.kind, asked_at=review.at)
    recorder.put(redact_record(gate, (recorder.settings.redaction,), recorder.settings.field_limit))


def record_answer(
    recorder: Recorder,
    review: PendingReview,
    decision: str,
    attempt: Attempt | None,
    *,
    note: str | None = None,
    changed: Mapping[str, Any] | None = None,
) -> None:
    """Record the person's ``decision``: ``approved``, ``declined`` or ``expired``.

    ``attempt`` is the record of the call after the answer, if known. ``changed`` are the arguments that the person set.
    """
    settings = recorder.settings
    redactions = [settings.redaction]
    # Without an attempt (another process paused the call) only the settings of this process decide.
    with_content = settings.capture == "full"
    if attempt is not None:
        with_content = attempt.captures_content
        if attempt.spec.redact is not None:
            redactions.append(attempt.spec.redact)
    sanitizer = Sanitizer(tuple(redactions), settings.field_limit)
    values = dict(changed or {}) if with_content else dict.fromkeys(changed or {})
    recorder.put(
        Gate(
            call_id=sanitizer.sanitize_name("call_id", review.call_id),
            span_id=review.span_id,
            kind=review.kind,
            asked_at=review.at,
            decision=decision,
            answered_at=datetime.now(UTC),
            note=sanitizer.sanitize_text("note", note or None),
            changed=sanitizer.sanitize_json("changed", snapshot(values)) if values else None,
            resumed_span_id=None if attempt is None else attempt.hex_id,
        )
    )


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments in ``after`` that differ from ``before``; empty if ``before`` is not known."""
    if before is None:
        return {}
    return {name: value for name, value in (after or {}).items() if differs(before, name, value)}


def differs(before: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether the argument ``name`` has another value in ``before``, or none."""
    return name not in before or snapshot(before[name]) != snapshot(value)

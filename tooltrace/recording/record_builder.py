"""The way from an ended attempt to its record: response, redaction, limits of size.

:func:`build_record` runs in the thread that writes: it lets the rules read the copy of the result that
:mod:`tooltrace.recording.result_copy` made, redacts every field, bounds its size, and returns the record.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import orjson

from tooltrace.core.confidence import OUT_OF_RANGE, Score, valid_confidence, warn_of_unknown
from tooltrace.core.record_redaction import OWN_TEXTS, redact_field
from tooltrace.core.records import Begun, Json, ToolCall
from tooltrace.core.response import ErrorInfo, Source
from tooltrace.normalize import EXCEPTION, NONE, PLAIN, TOOL_RESPONSE
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.otel import attributes as names
from tooltrace.recording.cancellation import CANCELLED, TIMEOUT
from tooltrace.recording.known_secrets import remove_secrets, remove_secrets_of_running
from tooltrace.recording.reading import (
    ResponseSnapshot,
    ValueSnapshot,
    read_response,
)
from tooltrace.recording.token_count import count_tokens, result_text
from tooltrace.recording.tracebacks import write_traceback
from tooltrace.redact.plain_data import json_of
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import Snapshot, snapshot

if TYPE_CHECKING:
    from tooltrace.recording.attempt import Attempt

_ATTRIBUTE_FIELDS = {
    names.AGENT_NAME: "agent",
    names.CONVERSATION_ID: "conversation_id",
    names.TOOL_CALL_ID: "call_id",
    names.FIELDS["model"]: "model",
}
"""Span attributes that a tool may set to fill a field of the record, with that field."""


def build_record(attempt: Attempt) -> ToolCall:
    """Return the record of ``attempt``, which must have ended. Does not change the attempt's result."""
    settings, span_id = attempt.settings, attempt.hex_id
    # the sanitizer needs all texts at once, so the rules read the result first
    response = read_response(attempt)
    traceback = write_traceback(attempt.raised_from)
    sanitizer = _sanitizer_for(attempt, response, traceback)
    sanitizer.parsed, attempt.parsed = attempt.parsed, (None, None)
    fields = _identity(attempt)
    fields |= {"duration_ms": _milliseconds(attempt.duration_ns), "ending": attempt.ending}
    if attempt.error is not None:
        _add_exception(attempt, attempt.error, sanitizer, fields)
        fields["traceback"] = sanitizer.sanitize_text("traceback", traceback)
    elif response is None:
        _add_value(attempt, sanitizer, fields)
        _add_claims(attempt, None, sanitizer, fields)
    else:
        _add_response(attempt, response, sanitizer, fields)
        _add_claims(attempt, response, sanitizer, fields)
    fields["call_id"] = attempt.call_id or _call_id_of(response, span_id) or span_id
    if attempt.stream is not None:
        _add_stream(attempt, sanitizer, fields)
    _add_arguments(attempt, sanitizer, fields)
    if attempt.has_user_events:
        _redact_span(attempt, sanitizer)
    if attempt.custom_attributes is not None or settings.attributes:
        _add_custom_attributes(attempt, sanitizer, fields)
    _redact_names(sanitizer, fields)
    remove_secrets(attempt, sanitizer, fields)
    _add_removals(attempt, sanitizer, fields)
    # the tokens of a part would pass for those of the whole result
    if settings.tokens is not None and not fields.get("truncated"):
        fields["result_tokens"] = count_tokens(settings.tokens, result_text(fields))
    return ToolCall(**fields)


def build_begun(attempt: Attempt) -> Begun:
    """Return the record of ``attempt``, which runs."""
    sanitizer = _sanitizer_for(attempt, None, None)
    fields = _identity(attempt)
    fields["call_id"] = attempt.call_id or attempt.hex_id
    _add_arguments(attempt, sanitizer, fields)
    _redact_names(sanitizer, fields)
    remove_secrets_of_running(attempt, sanitizer, fields)
    _add_removals(attempt, sanitizer, fields)
    return Begun(**fields)


def _identity(attempt: Attempt) -> dict[str, Any]:
    """Return the fields that are known when ``attempt`` begins."""
    parent, context = attempt.parent, attempt.call_context
    return {
        **attempt.spec.identity,
        **attempt.settings.origin,
        "attempt": attempt.number,
        "first_span_id": attempt.first_span_id,
        "linked_by": attempt.linked_by or ("call_id" if attempt.number > 1 else None),
        "trace_id": f"{attempt.trace_id:032x}",
        "span_id": attempt.hex_id,
        "parent_span_id": None if parent is None else f"{parent.span_id:016x}",
        "conversation_id": context.conversation_id,
        "agent": context.agent,
        "model": context.model,
        # whole microseconds by integer division: a float of nanoseconds is not exact
        "started_at": datetime.fromtimestamp(attempt.start_time // 1000 / 1e6, UTC),
        "pid": os.getpid(),
    }


def _add_arguments(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    if attempt.arguments is not None and attempt.captures_content:
        fields["arguments"] = sanitizer.sanitize_json("arguments", attempt.arguments)


def _redact_names(sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Redact the texts that no step has read: names, ids and flags."""
    if sanitizer.clean:
        return
    for name, field in OWN_TEXTS[ToolCall].items():
        if name not in sanitizer.seen and (value := fields.get(name)) is not None:
            is_names = field.type is Json  # the flags
            fields[name] = sanitizer.apply_rules(value) if is_names else redact_field(sanitizer, field, value)


def _call_id_of(response: ResponseSnapshot | None, span_id: str) -> str | None:
    """Return the call id in the metadata of ``response``, or None.

    A response that the tool passes on from another attempt carries the id of that attempt's call; it is ignored.
    """
    if response is None or response.meta.span_id not in (None, span_id):
        return None
    return response.meta.call_id


def _sanitizer_for(attempt: Attempt, response: ResponseSnapshot | None, traceback: str | None) -> Sanitizer:
    """Return the sanitizer of ``attempt``.

    All texts of the record are searched once as a whole. Where nothing in them needs redaction, the sanitizer does not
    search each field again, which saves time.
    """
    settings, spec = attempt.settings, attempt.spec
    redactions = (settings.redaction,) if spec.redact is None else (settings.redaction, spec.redact)
    content = "\n".join(filter(None, (traceback, *_texts(attempt, response))))
    clean = settings.redaction.may_skip(content) and (spec.redact is None or spec.redact.may_skip(content))
    return Sanitizer(redactions, settings.field_limit, clean)


def _texts(attempt: Attempt, response: ResponseSnapshot | None) -> list[str | None]:
    """Return the texts of the attempt's arguments and of its outcome.

    Every text that the sanitizer gets must be here: a text that is missing is stored as it is where the others are clean.
    """
    parts: list[Snapshot] = [attempt.arguments, attempt.custom_attributes]
    if attempt.settings.attributes:
        parts.append(snapshot(attempt.settings.attributes))
    texts: list[str | None] = _names(attempt, response)
    if attempt.error is not None:
        texts.append(attempt.error.message)
    if response is not None and attempt.error is None:
        texts += (response.text, response.explanation, response.reason, *_stated_ids(attempt, response).values())
        for source in response.sources:
            texts += _texts_of(source)
        if response.failure is not None:
            texts += _texts_of(response.failure)
        parts += (response.payload, response.stats, response.context, response.signals)
    elif isinstance(attempt.result, ValueSnapshot):
        parts.append(attempt.result.value)
    if attempt.stream is not None:
        texts.append(attempt.stream.text)
    for source in attempt.sources or ():
        texts += _texts_of(source)
    if isinstance(attempt.confidence, Score):
        parts.append(snapshot(attempt.confidence.signals))
    texts += [part.decode() if isinstance(part, bytes) else part for part in parts if isinstance(part, bytes | str)]
    return texts


def _names(attempt: Attempt, response: ResponseSnapshot | None) -> list[str | None]:
    """Return the names and ids of the record. Those of the tool and of the process have no secret that the rules know."""
    context = attempt.call_context
    found = [attempt.call_id, context.conversation_id, context.agent, context.model, *attempt.flags]
    if attempt.error is not None:
        found += (attempt.error.type, attempt.error.code)
    if response is not None:
        meta = response.meta
        found += (response.code, response.next_action, meta.rule, meta.call_id, meta.tool_version, *meta.flags)
    return found


def _texts_of(part: Source | ErrorInfo) -> list[str]:
    """Return the texts in the fields of ``part``."""
    return [value for value in vars(part).values() if isinstance(value, str)]


def _add_exception(attempt: Attempt, error: ExceptionSummary, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    fields["error_message"] = sanitizer.sanitize_text("error_message", error.message or None)
    # the GeneratorExit of an abandoned attempt is the consumer's, not an error of the tool
    if attempt.ending != "abandoned":
        fields["error_type"] = error.type or None
    if attempt.ending == "refused" or (attempt.ending == "cancelled" and error.code in (TIMEOUT, CANCELLED)):
        fields["code"] = error.code
    if attempt.ending == "raised":
        fields |= {"status": "error", "code": error.code, "retryable": error.retryable}
        fields |= {"rule": EXCEPTION, "rule_grade": "certain", "suggestion": error.suggestion}
        if error.stats is not None:
            fields["stats"] = json_of(error.stats).decode()
    if attempt.flags:
        fields["flags"] = json_of(attempt.flags).decode()
    # a stream that raised has the items that it yielded before
    if isinstance(attempt.result, ValueSnapshot) and attempt.captures_content:
        text = None if attempt.stream is None else attempt.stream.text
        items = _safe_items(attempt, attempt.result.value, sanitizer.sanitize_text("result", text))
        fields["result"] = sanitizer.sanitize_json("result", items)


def _add_value(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Set the fields of a result that no rule recognised."""
    result = attempt.result
    known = isinstance(result, ValueSnapshot)
    value = result.value if isinstance(result, ValueSnapshot) else None
    stream_text = None if attempt.stream is None else attempt.stream.text
    text = None if not attempt.captures_content else value if type(value) is str else stream_text
    fields["text"] = sanitizer.sanitize_text("text", text)
    if attempt.ending == "returned" and (known or attempt.stream is not None):
        fields |= {"status": "success", "rule": NONE if known and value is None else PLAIN, "rule_grade": "unread"}
    if value is not None and attempt.captures_content:
        fields["result"] = sanitizer.sanitize_json("result", _safe_items(attempt, value, fields["text"]))


def _safe_items(attempt: Attempt, value: Snapshot, safe_text: str | None) -> Snapshot:
    """Return the ``value`` to record; for a stream, its items.

    Where redaction changed the text of a stream, its items are recorded as one item, because the secret may have been
    spread over several items.
    """
    text = None if attempt.stream is None else attempt.stream.text
    if text is None or safe_text == text:
        return value
    return json_of([] if safe_text is None else [safe_text])


def _add_response(attempt: Attempt, response: ResponseSnapshot, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    # an error's message is recorded without content too; the reason of a partial result is content
    full, error = attempt.captures_content, response.failure
    fields |= {
        "status": response.status,
        "code": response.code,
        "confidence": response.confidence,
        "next_action": None if response.next_action_advised else response.next_action,
        "cached": response.meta.cached,
        "rule": response.meta.rule or TOOL_RESPONSE,
        "rule_grade": response.meta.rule_grade or "certain",
        "error_message": sanitizer.sanitize_text(
            "error_message", error.message if error else response.reason if full else None
        ),
    }
    if error is not None:
        fields |= {"error_type": error.type, "retryable": error.stated_retryable}
        fields["suggestion"] = sanitizer.sanitize_text("suggestion", error.suggestion)
        fields["user_message"] = sanitizer.sanitize_text("user_message", error.user_message)
    if full:
        fields["text"] = sanitizer.sanitize_text("text", response.text or None)
        fields["explanation"] = sanitizer.sanitize_text("explanation", response.explanation)
        payload = response.payload
        if attempt.stream is not None and isinstance(attempt.result, ValueSnapshot) and payload is attempt.result.value:
            payload = _safe_items(attempt, payload, sanitizer.sanitize_text("result", attempt.stream.text))
        for name, part in (
            ("result", payload),
            ("stats", response.stats),
            ("context", _with_members(response.context, _stated_ids(attempt, response))),
            ("signals", response.signals),
        ):
            if part is not None:
                fields[name] = sanitizer.sanitize_json(name, part)
    if attempt.spec.version is None and response.meta.tool_version is not None:
        fields["tool_version"] = response.meta.tool_version


def _stated_ids(attempt: Attempt, response: ResponseSnapshot) -> dict[str, str]:
    """Return the tool's name and trace id in the metadata of a protocol, where the record has others."""
    meta = response.meta
    if meta.span_id is not None:  # they are the recorder's own
        return {}
    stated = {"toolName": (meta.tool_name, attempt.spec.name), "traceId": (meta.trace_id, f"{attempt.trace_id:032x}")}
    return {name: value for name, (value, known) in stated.items() if value is not None and value != known}


def _with_members(context: Snapshot, more: dict[str, str]) -> Snapshot:
    """Return the JSON object ``context`` with ``more`` members; as it is where it is none."""
    if not more or not isinstance(context, bytes | None):
        return context
    known = {} if context is None else orjson.loads(context)
    return json_of({**more, **known}) if isinstance(known, dict) else context


def _add_claims(
    attempt: Attempt, response: ResponseSnapshot | None, sanitizer: Sanitizer, fields: dict[str, Any]
) -> None:
    """Set confidence, signals, flags and sources: those of the response, else those read by the decorator."""
    # most calls have none of these
    if attempt.confidence is None and response is None and attempt.sources is None and not attempt.flags:
        return
    flags = [*attempt.flags, *(response.meta.flags if response else ())]
    claimed = attempt.confidence if fields.get("confidence") is None else fields["confidence"]
    if claimed is not None:
        fields["confidence"] = valid_confidence(claimed)
        if isinstance(claimed, Score) and claimed.signals and attempt.captures_content and not fields.get("signals"):
            fields["signals"] = sanitizer.sanitize_json("signals", snapshot(claimed.signals))
        if fields["confidence"] is None:
            warn_of_unknown(claimed)
            flags.append(OUT_OF_RANGE)
    if flags:
        fields["flags"] = json_of(flags).decode()
    sources = (response.sources if response else ()) or attempt.sources
    if sources and attempt.captures_content:
        rows = [source.model_dump(exclude_none=True) for source in sources]
        fields["sources"] = sanitizer.sanitize_json("sources", json_of(rows))


def _add_stream(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Set the count and the times of a stream's items, and their full size where not all items were stored."""
    stream = attempt.stream
    assert stream is not None
    known = orjson.loads(fields["stats"]) if fields.get("stats") else {}
    fields["stats"] = json_of({**known, "items": stream.items}).decode()
    fields["first_item_ms"] = _milliseconds(stream.first_item_ns)
    fields["consumer_ms"] = _milliseconds(stream.consumer_ns)
    if stream.size > sanitizer.limit:
        sanitizer.sizes["result"] = stream.size


def _add_removals(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Set what was redacted and truncated, here or before the attempt was queued."""
    for name, size in (attempt.full_sizes or {}).items():
        if fields.get(name) is not None:
            sanitizer.sizes[name] = size
    if sanitizer.redacted:
        fields["redacted"] = True
    if sanitizer.truncated:
        fields["truncated"] = True
    if sanitizer.sizes:
        fields["full_sizes"] = json_of(sanitizer.sizes).decode()


def _add_custom_attributes(attempt: Attempt, sanitizer: Sanitizer, fields: dict[str, Any]) -> None:
    """Set the attributes from ``configure``, ``context`` and the tool itself; reserved ones fill their fields."""
    own = orjson.loads(attempt.custom_attributes) if type(attempt.custom_attributes) is bytes else {}
    custom = {**attempt.settings.attributes, **own}
    for key in list(custom):
        if key in names.RESERVED:
            value = custom.pop(key)
            if key in _ATTRIBUTE_FIELDS and isinstance(value, str):
                name = _ATTRIBUTE_FIELDS[key]
                fields[name] = sanitizer.sanitize_text(name, value)
    if custom:
        fields["attributes"] = sanitizer.sanitize_json("attributes", json_of(custom))


def _redact_span(attempt: Attempt, sanitizer: Sanitizer) -> None:
    """Redact the span's events and status, which are not part of the record but are exported with the span."""
    # a sanitizer of its own, which searches every text: the texts of the record do not include those of events
    for_span = Sanitizer(sanitizer.redactions, sanitizer.limit)

    def attributes(values: dict[str, Any]) -> dict[str, Any]:
        safe = orjson.loads(for_span.sanitize_json("attributes", snapshot(values)) or "{}")
        # the copy has lost the types of JSON's values, so it replaces only what had to change
        return safe if for_span.redacted or for_span.truncated else values

    attempt.redact_events(attributes, lambda text: for_span.sanitize_text("error_message", text))


def _milliseconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6

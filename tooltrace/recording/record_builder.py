"""Construction of the record of an ended attempt: normalized, redacted and bounded."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import orjson

from tooltrace.core.confidence import Score
from tooltrace.core.records import ToolCall
from tooltrace.normalize import EXCEPTION, NONE, PLAIN, TOOL_RESPONSE
from tooltrace.normalize.engine import apply_rules_to_view
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.result_view import view_of
from tooltrace.otel import attributes as names
from tooltrace.recording.attempt import UNSET, Attempt, validate_confidence
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import Snapshot, snapshot

_CALLS_OWN = {names.AGENT_NAME: "agent", names.CONVERSATION_ID: "conversation_id", names.TOOL_CALL_ID: "call_id"}
"""Span attributes that a tool may set to fill a field of the record, with that field."""


def build_record(attempt: Attempt) -> ToolCall:
    """Return the record of ``attempt``, which must have ended."""
    spec, settings = attempt.spec, attempt.settings
    span_id = attempt.hex_id
    parent, around = attempt.parent, attempt.call_context
    outcome, sieve = _outcome(attempt)
    fields = {
        **spec.identity,
        **settings.origin,
        **outcome,
        "call_id": attempt.call_id or _model_call_id(attempt, span_id) or span_id,
        "attempt": attempt.number,
        "trace_id": f"{attempt.trace_id:032x}",
        "span_id": span_id,
        "parent_span_id": None if parent is None else f"{parent.span_id:016x}",
        "conversation_id": around.conversation_id,
        "agent": around.agent,
        "started_at": datetime.fromtimestamp(attempt.started_ns // 1000 / 1e6, UTC),
        "duration_ms": _ms(attempt.duration_ns),
        "ending": attempt.ending,
        "pid": os.getpid(),
    }
    if attempt.items is not None:
        fields |= {"first_item_ms": _ms(attempt.first_item_ns), "consumer_ms": _ms(attempt.consumer_ns)}
    if attempt.spoke:
        _redact_span(attempt, sieve)
    if attempt.custom_attributes is not None:
        _custom_attributes(attempt, sieve, fields)
    if sieve.redacted:
        fields["redacted"] = True
    if sieve.truncated:
        fields["truncated"] = True
    if sieve.sizes:
        fields["full_sizes"] = orjson.dumps(sieve.sizes).decode()
    return ToolCall(**fields)


def _model_call_id(attempt: Attempt, span_id: str) -> str | None:
    """Return the call id in the metadata of the response, or None.

    A response that the tool passes on from another attempt carries the id of that attempt's call; it is ignored.
    """
    meta = None if attempt.response is None else attempt.response.meta
    return meta.call_id if meta is not None and meta.span_id in (None, span_id) else None


def _outcome(attempt: Attempt) -> tuple[dict[str, Any], Sanitizer]:
    """Return the fields of the record that describe the result, and the sanitizer that made them."""
    if attempt.error is not None:
        return _from_exception(attempt)
    if attempt.response is None and attempt.ending == "returned":
        _normalize(attempt)
    return _from_value(attempt) if attempt.response is None else _from_response(attempt)


def _normalize(attempt: Attempt) -> None:
    """Apply the rules to a result that is not a ``ToolResponse``; for a stream, to its text."""
    value = attempt.value if attempt.items is None else attempt.text
    if value is not UNSET and value is not None:
        look = view_of(value, attempt.kinds)
        found = apply_rules_to_view(look, attempt.rules) or value_error_pair.RULE.read(look)
        if found is not None:
            attempt.set_response(found)


def _sieve(attempt: Attempt, *texts: str | None) -> Sanitizer:
    """Return the sanitizer of ``attempt``.

    Searches ``texts``, the arguments, the attributes and the sources once as a whole. Where nothing in them needs
    redaction, the sanitizer does not search each field again, which saves time.
    """
    settings, spec = attempt.settings, attempt.spec
    redactions = (settings.redaction,) if spec.redact is None else (settings.redaction, spec.redact)
    held = "\n".join(filter(None, texts))
    if type(attempt.arguments) is bytes:
        held += attempt.arguments.decode()
    if type(attempt.custom_attributes) is bytes:
        held += attempt.custom_attributes.decode()
    if attempt.sources:
        held += "".join(map(str, attempt.sources))
    clean = settings.redaction.may_skip(held) and (spec.redact is None or spec.redact.may_skip(held))
    return Sanitizer(redactions, settings.field_limit, clean)


def _from_exception(attempt: Attempt) -> tuple[dict[str, Any], Sanitizer]:
    error = attempt.error
    assert error is not None
    value = attempt.value.decode() if type(attempt.value) is bytes else None
    sieve = _sieve(attempt, error.message, value, attempt.text)
    fields: dict[str, Any] = {"error_message": sieve.sanitize_text("error_message", error.message or None)}
    if attempt.ending != "abandoned":
        fields["error_type"] = error.type
    if attempt.ending == "raised":
        fields |= {"status": "error", "code": error.code, "retryable": error.retryable}
        fields |= {"rule": EXCEPTION, "rule_grade": "certain", "suggestion": error.suggestion}
        if error.stats is not None:
            fields["stats"] = orjson.dumps(error.stats).decode()
    if attempt.value is not UNSET:
        fields["result"] = sieve.sanitize_json(
            "result", _complete_stats(attempt, sieve.sanitize_text("result", attempt.text))
        )
    if attempt.items is not None:
        _stream(attempt, sieve, fields)
    _arguments(attempt, sieve, fields)
    return fields, sieve


def _from_value(attempt: Attempt) -> tuple[dict[str, Any], Sanitizer]:
    value = attempt.value
    text = None if not attempt.captures_content else value if type(value) is str else attempt.text
    sieve = _sieve(attempt, text, value.decode() if type(value) is bytes else None)
    fields: dict[str, Any] = {"text": sieve.sanitize_text("text", text)}
    if attempt.ending == "returned" and (value is not UNSET or attempt.items is not None):
        fields |= {"status": "success", "rule": NONE if value is None else PLAIN, "rule_grade": "certain"}
    if value is not UNSET and value is not None and attempt.captures_content:
        fields["result"] = sieve.sanitize_json("result", _complete_stats(attempt, fields["text"]))
    _claims(attempt, sieve, fields)
    if attempt.items is not None:
        _stream(attempt, sieve, fields)
    _arguments(attempt, sieve, fields)
    return fields, sieve


def _complete_stats(attempt: Attempt, text: str | None) -> Snapshot:
    """Return the result to record.

    Where redaction changed the ``text`` of a stream, its items are recorded as one item, because the secret may have
    been spread over several items.
    """
    if attempt.text is None or text == attempt.text:
        return attempt.value  # type: ignore[no-any-return]
    return orjson.dumps([] if text is None else [text])


def _from_response(attempt: Attempt) -> tuple[dict[str, Any], Sanitizer]:
    response = attempt.response
    assert response is not None
    full = attempt.captures_content
    data, stats, context, signals = attempt.response_parts or (None, None, None, None)
    if data is None and response.status == "error" and type(attempt.value) is bytes and not attempt.kinds:
        data = attempt.value  # the rule found only an error in the value, which is the result nevertheless
    error = response.error_info
    words = (response.text, response.explanation, response.reason, *map(str, (*response.sources, error or "")))
    parts = (part.decode() for part in (data, stats, context, signals) if type(part) is bytes)
    sieve = _sieve(attempt, *words, *parts, data if type(data) is str else None)
    fields: dict[str, Any] = {
        "status": response.status,
        "code": response.code,
        "confidence": response.confidence,
        "next_action": response.next_action,
        "cached": response.meta.cached,
        "rule": response.meta.rule or TOOL_RESPONSE,
        "rule_grade": response.meta.rule_grade or "certain",
        "error_message": sieve.sanitize_text(
            "error_message", error.message if error else response.reason if full else None
        ),
    }
    if error is not None:
        fields |= {"error_type": error.type, "retryable": error.retryable}
        fields["suggestion"] = sieve.sanitize_text("suggestion", error.suggestion)
        fields["user_message"] = sieve.sanitize_text("user_message", error.user_message)
    if full:
        fields["text"] = sieve.sanitize_text("text", response.text or None)
        fields["explanation"] = sieve.sanitize_text("explanation", response.explanation)
        for name, part in (("result", data), ("stats", stats), ("context", context), ("signals", signals)):
            if part is not None:
                fields[name] = sieve.sanitize_json(name, part)
    if attempt.spec.version is None and response.meta.tool_version is not None:
        fields["tool_version"] = response.meta.tool_version
    _claims(attempt, sieve, fields)
    if attempt.items is not None:
        _stream(attempt, sieve, fields)
    _arguments(attempt, sieve, fields)
    return fields, sieve


def _claims(attempt: Attempt, sieve: Sanitizer, fields: dict[str, Any]) -> None:
    """Set confidence, signals, flags and sources: those of the response, else those read by the decorator."""
    if attempt.confidence is None and attempt.response is None and attempt.sources is None and not attempt.flags:
        return
    flags = [*attempt.flags, *(attempt.response.meta.flags if attempt.response else ())]
    claimed = attempt.confidence if fields.get("confidence") is None else fields["confidence"]
    if claimed is not None:
        fields["confidence"] = validate_confidence(claimed)
        if isinstance(claimed, Score) and claimed.signals and attempt.captures_content and not fields.get("signals"):
            fields["signals"] = sieve.sanitize_json("signals", snapshot(claimed.signals))
        if fields["confidence"] is None:
            flags.append("confidence_out_of_range")
    if flags:
        fields["flags"] = orjson.dumps(flags).decode()
    sources = (attempt.response.sources if attempt.response else ()) or attempt.sources
    if sources and attempt.captures_content:
        rows = [source.model_dump(exclude_none=True) for source in sources]
        fields["sources"] = sieve.sanitize_json("sources", orjson.dumps(rows))


def _stream(attempt: Attempt, sieve: Sanitizer, fields: dict[str, Any]) -> None:
    """Set the number of items of a stream, and its full size where not all items were stored."""
    known = orjson.loads(fields["stats"]) if fields.get("stats") else {}
    fields["stats"] = orjson.dumps({**known, "items": attempt.items}).decode()
    if attempt.stream_size > sieve.limit:
        sieve.sizes["result"] = attempt.stream_size


def _arguments(attempt: Attempt, sieve: Sanitizer, fields: dict[str, Any]) -> None:
    if attempt.arguments is not None and attempt.captures_content:
        fields["arguments"] = sieve.sanitize_json("arguments", attempt.arguments)


def _custom_attributes(attempt: Attempt, sieve: Sanitizer, fields: dict[str, Any]) -> None:
    """Set the attributes from ``context`` and from the tool itself; reserved ones fill their fields."""
    said = orjson.loads(attempt.custom_attributes) if type(attempt.custom_attributes) is bytes else {}
    for key in list(said):
        if key in names.RESERVED:
            value = said.pop(key)
            if key in _CALLS_OWN and isinstance(value, str):
                fields[_CALLS_OWN[key]] = sieve.sanitize_text(_CALLS_OWN[key], value)
    if said:
        fields["attributes"] = sieve.sanitize_json("attributes", orjson.dumps(said))


def _redact_span(attempt: Attempt, sieve: Sanitizer) -> None:
    """Redact the span's events and status, which are not part of the record but are exported with the span."""
    own = Sanitizer(sieve.redactions, sieve.limit)

    def attributes(said: dict[str, Any]) -> dict[str, Any]:
        kept = orjson.loads(own.sanitize_json("attributes", snapshot(said)) or "{}")
        return kept if own.redacted or own.truncated else said

    attempt.cleanse(attributes, lambda text: own.sanitize_text("error_message", text))


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6

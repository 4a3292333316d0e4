"""Encode records other than spans as OpenTelemetry log events, and decode them: ``from_log(to_log(record)) == record``.

An ``Outcome`` is the conventions' ``gen_ai.evaluation.result``; a ``Correction``, a ``Gate``, a ``Message`` and a ``Loss``
are events of our own. A call that raised also has an exception event besides its span; it is encoded only, because the span has the
same data.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

import orjson

from tooltrace.core.fields import Converters, record_from
from tooltrace.core.records import Correction, Gate, Loss, Message, Outcome, ToolCall
from tooltrace.otel import attributes as names
from tooltrace.otel import evaluation_codec
from tooltrace.otel.span_codec import SCOPE, error_type
from tooltrace.otel.span_data import LogData
from tooltrace.otel.timestamps import from_log_time, to_unix_ns, valid_parent
from tooltrace.redact.snapshot import Json
from tooltrace.version import __version__

Event = Outcome | Correction | Gate | Message | Loss
"""Records that are encoded as log events."""
_T = TypeVar("_T", Correction, Gate, Message, Loss)

INFO: Final = 9
WARN: Final = 13

_FIELDS: Final[dict[type[Any], dict[str, str]]] = {
    Correction: names.CORRECTION_FIELDS,
    Gate: names.GATE_FIELDS,
    Message: names.MESSAGE_FIELDS,
    Loss: names.LOSS_FIELDS,
}
_NAMES: Final[dict[type[Any], str]] = {
    Correction: names.CORRECTION_EVENT,
    Gate: names.GATE_EVENT,
    Message: names.MESSAGE_EVENT,
    Loss: names.LOSS_EVENT,
}


def to_log(record: Event, *, trace_id: str | None = None, span_id: str | None = None) -> LogData:
    """Return the event of ``record``.

    ``trace_id`` and ``span_id`` are the ids of the span that the event belongs to, if known; without ``span_id``, the
    record's own span id is used.
    """
    if isinstance(record, Outcome):
        return evaluation_codec.to_log(record, trace_id=trace_id, span_id=span_id)
    record_span = None if isinstance(record, Loss) else record.span_id
    trace_id, span_id = valid_parent(trace_id, span_id or record_span)
    time_ns, late = to_unix_ns(_time_of(record))
    attributes = _attributes(record)
    # The times of a gate are attributes anyway.
    if late is not None and not isinstance(record, Gate):
        attributes[names.AT] = late
    return LogData(
        event_name=_NAMES[type(record)],
        time_ns=time_ns,
        severity=WARN if isinstance(record, Loss) else INFO,
        attributes=attributes,
        trace_id=trace_id,
        span_id=span_id,
        resource=_resource(record) if isinstance(record, Loss) else {},
        scope=SCOPE,
        scope_version=__version__,
    )


def _time_of(record: Correction | Gate | Message | Loss) -> datetime:
    if isinstance(record, Gate):
        return record.answered_at or record.asked_at
    return record.corrected_at if isinstance(record, Correction) else record.at


def from_log(form: LogData) -> Event | None:
    """Return the record that ``form`` encodes, ours or another library's evaluation.

    None if it encodes none; :func:`rejection_reason` says why. Text is not changed: the caller redacts and truncates it
    before recording.
    """
    reader = _READERS.get(event_name(form) or "")
    try:
        return None if reader is None else reader(form)
    except (TypeError, ValueError, OverflowError):
        return None


def rejection_reason(form: LogData) -> str | None:
    """Return why ``form`` cannot be decoded; None if it can be, or if its event name is unknown."""
    name = event_name(form) or ""
    reader = _READERS.get(name)
    if reader is not None:
        try:
            reader(form)
        except (TypeError, ValueError, OverflowError) as error:
            return f"{name}: {error}"
    return None


def event_name(form: LogData) -> str | None:
    """Return the event's name. Older SDKs have no field for it and use the attribute ``event.name``."""
    name = form.event_name or form.attributes.get("event.name")
    return name if isinstance(name, str) else None


def exception_log(call: ToolCall) -> LogData | None:
    """Return the event of the exception that ended ``call``; None if no exception did.

    A failure that the tool returned as a value is not an exception: the span records it. The stack trace has no lines of
    source, because these cannot be redacted.
    """
    if call.ending != "raised" or call.status != "error":
        return None
    trace_id, span_id = valid_parent(call.trace_id, call.span_id)
    values = {
        names.EXCEPTION_TYPE: call.error_type or error_type(call),
        names.EXCEPTION_MESSAGE: call.error_message,
        names.EXCEPTION_STACKTRACE: call.traceback,
        names.OPERATION_NAME: names.EXECUTE_TOOL,
        names.TOOL_NAME: call.tool,
        names.TOOL_TYPE: call.tool_type,
        names.TOOL_CALL_ID: None if call.call_id == call.span_id else call.call_id,
        names.AGENT_NAME: call.agent,
        names.CONVERSATION_ID: call.conversation_id,
        names.ERROR_TYPE: error_type(call),
        names.FIELDS["attempt"]: call.attempt,
    }
    elapsed = timedelta(milliseconds=(call.duration_ms or 0.0) + (call.consumer_ms or 0.0))
    return LogData(
        event_name=names.EXCEPTION_EVENT,
        time_ns=to_unix_ns(call.started_at)[0] + elapsed // timedelta(microseconds=1) * 1000,
        severity=WARN,
        attributes={key: value for key, value in values.items() if value is not None},
        trace_id=trace_id,
        span_id=span_id,
        resource=_resource(call),
        scope=SCOPE,
        scope_version=call.recorder_version,
    )


def _resource(record: ToolCall | Loss) -> dict[str, Any]:
    found = {key: getattr(record, name) for name, key in names.RESOURCE_FIELDS.items()}
    return {key: value for key, value in found.items() if value is not None}


def _attributes(record: Correction | Gate | Message | Loss) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, key in _FIELDS[type(record)].items():
        value = getattr(record, name)
        if isinstance(value, datetime):
            value = value.astimezone(UTC).isoformat()
        if value is not None:
            out[key] = value
    # Without an id of the model, the record has the span id in this field; the conventions know only the model's id.
    if isinstance(record, Gate | Message) and record.call_id == record.span_id:
        del out[names.TOOL_CALL_ID]
    return out


# Decoding.


def _correction(form: LogData) -> Correction:
    return _record(Correction, form, {"corrected_at": from_log_time(form)})


def _gate(form: LogData) -> Gate:
    return _record(Gate, form, {})


def _message(form: LogData) -> Message:
    return _record(Message, form, {"at": from_log_time(form)})


def _loss(form: LogData) -> Loss:
    origin = {name: form.resource.get(key) for name, key in names.RESOURCE_FIELDS.items()}
    return _record(Loss, form, {"at": from_log_time(form), **origin})


def _record(kind: type[_T], form: LogData, known: dict[str, Any]) -> _T:
    """Return a record of ``kind`` from the event's attributes and the ``known`` values. Raises ValueError."""
    values = {name: form.attributes.get(key) for name, key in _FIELDS[kind].items()}
    if kind in (Gate, Message) and values["call_id"] is None:
        values["call_id"] = values["span_id"]
    return record_from(kind, {**values, **known}, _CONVERTERS)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise TypeError
    return value


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    moment = datetime.fromisoformat(_text(value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _object(value: Any) -> Json:
    if not isinstance(orjson.loads(_text(value)), dict):
        raise TypeError
    return Json(value)


_CONVERTERS: Final[Converters] = {
    str: _text,
    int: _integer,
    bool: _boolean,
    datetime: _time,
    Json: _object,
}

_READERS: Final[dict[str, Callable[[LogData], Event]]] = {
    names.EVALUATION_EVENT: evaluation_codec.from_log,
    names.CORRECTION_EVENT: _correction,
    names.GATE_EVENT: _gate,
    names.MESSAGE_EVENT: _message,
    names.LOSS_EVENT: _loss,
}

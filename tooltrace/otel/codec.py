"""The OpenTelemetry form of a ``ToolCall``, and back: ``decode(encode(call)) == call``."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter
from typing import Any

import orjson

from tooltrace.otel import attributes as names
from tooltrace.otel.form import SpanForm
from tooltrace.otel.moments import EPOCH, nanoseconds
from tooltrace.record import Json, ToolCall

SCOPE = "tooltrace"
"""Name of the instrumentation on our spans."""

LONGEST_MS = 1e12
"""31 years: what is longer is no duration of a span."""

_FIELDS = tuple(names.FIELDS)
_KEYS = tuple(names.FIELDS.values())
_VALUES = attrgetter(*_FIELDS)
_BY_KEY = {key: name for name, key in names.FIELDS.items()}


def span_attributes(call: ToolCall) -> dict[str, Any]:
    """The attributes of the call's span. What the tool set itself comes under the names it gave."""
    out: dict[str, Any] = orjson.loads(call.attributes) if call.attributes else {}
    out[names.OPERATION_NAME] = names.EXECUTE_TOOL
    pairs = zip(_KEYS, _VALUES(call), strict=True)
    out.update((key, value) for key, value in pairs if value is not None)
    if call.call_id != call.span_id:
        out[names.TOOL_CALL_ID] = call.call_id
    if call.status == "error":
        out[names.ERROR_TYPE] = error_type(call)
    elif call.result is None and call.text is not None:
        out[names.TOOL_CALL_RESULT] = orjson.dumps(call.text.encode("utf-8", "replace").decode()).decode()
        out[names.RESULT_IS_TEXT] = True
    return out


def error_type(call: ToolCall) -> str:
    """The same on span and metric: the error's class, else its code, else ``_OTHER``."""
    return call.error_type or call.code or names.ERROR_TYPE_OTHER


def encode(call: ToolCall) -> SpanForm:
    """The call's span."""
    start = nanoseconds(call.started_at)
    held = (call.duration_ms or 0.0) + (call.consumer_ms or 0.0)
    if not 0 <= held < LONGEST_MS:  # an imported record may say anything; the attribute keeps what it says
        held = 0.0
    resource = {names.SERVICE_NAME: call.service, names.HOST_NAME: call.host, names.PROCESS_PID: call.pid}
    failed = call.status == "error"
    return SpanForm(
        name=f"{names.EXECUTE_TOOL} {call.tool}",
        trace_id=call.trace_id,
        span_id=call.span_id,
        parent_span_id=call.parent_span_id,
        start_ns=start,
        end_ns=start + round(held * 1e6),
        status="error" if failed else "unset",  # as the conventions ask
        description=call.error_message if failed else None,
        attributes=span_attributes(call),
        resource={key: value for key, value in resource.items() if value is not None},
        scope=SCOPE,
        scope_version=call.recorder_version,
    )


def decode(form: SpanForm) -> ToolCall:
    """The call that ``form`` was made from."""
    fields = {_BY_KEY[key]: value for key, value in form.attributes.items() if key in _BY_KEY}
    if form.attributes.get(names.RESULT_IS_TEXT):
        fields.pop("result", None)
    own = {key: value for key, value in form.attributes.items() if key not in names.RESERVED}
    return ToolCall(
        **fields,
        call_id=form.attributes.get(names.TOOL_CALL_ID, form.span_id),
        trace_id=form.trace_id,
        span_id=form.span_id,
        parent_span_id=form.parent_span_id,
        started_at=EPOCH + timedelta(microseconds=form.start_ns // 1000),
        attributes=Json(orjson.dumps(own).decode()) if own else None,
        service=form.resource.get(names.SERVICE_NAME),
        host=form.resource.get(names.HOST_NAME),
        pid=form.resource.get(names.PROCESS_PID),
    )

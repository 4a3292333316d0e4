"""Format of MLflow: JSON traces, as one, a list, one per line, or in the column ``trace`` of its data frame.

A trace is ``{"info", "data": {"spans"}}``. Ids are base64, or hex in older traces, and every attribute is JSON text.
Feedback on a span becomes an outcome. Feedback on a whole trace is ignored because it does not judge a call, and
expectations are ignored because they are not judgements.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record, ToolCall
from tooltrace.ingest.files.reader import MALFORMED, Format, TraceFile, parsed_text
from tooltrace.ingest.files.span_batches import SpanFileReader, evaluation, moment, well_formed
from tooltrace.ingest.spans.native import MARK
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import EventData, LogData, SpanData, SpanStatus
from tooltrace.recording.settings import Settings
from tooltrace.redact.plain_data import json_of

NAME: Final = "mlflow"
_SIGN: Final = re.compile(rb'"mlflow\.(?:spanType|traceRequestId|trace_schema|traceName)|\\"mlflow\.spanType')
_SESSION: Final = "mlflow.trace.session"
_WORDS: Final = {"yes": 1.0, "no": 0.0}
"""Scores for the values that MLflow's own judges return."""
_TEXTS: Final = {field.about.attribute for field in fields_of(ToolCall) if field.about.attribute and field.is_text}
"""Text attributes of tooltrace's own spans."""
_IN_PROGRESS: Final = "IN_PROGRESS"
"""Status of a span that has not ended; MLflow may state a time of its last change as the end."""
_STATUSES: Final[dict[str, SpanStatus]] = {"OK": "ok", "ERROR": "error"}


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has a trace of MLflow."""
    return head.lstrip()[:1] in (b"{", b"[") and _SIGN.search(head) is not None


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    assembled = SpanFileReader(source, settings)
    for number, trace in _traces(source):
        try:
            yield from _records(source, assembled, number, trace)
        except MALFORMED as error:
            source.skip(number, f"no trace of MLflow: {error}")
    yield from assembled.rest()


def _traces(source: TraceFile) -> Iterator[tuple[int, Any]]:
    for number, value in source.documents():
        traces = value.get("traces", [value]) if isinstance(value, dict) else value
        for trace in traces if isinstance(traces, list) else [traces]:
            inner = trace.get("trace") if isinstance(trace, dict) else None
            yield number, parsed_text(inner) if isinstance(inner, str) else inner or trace


def _records(source: TraceFile, assembled: SpanFileReader, number: int, trace: dict[str, Any]) -> Iterator[Record]:
    info = trace.get("info") or {}
    session = (info.get("trace_metadata") or info.get("request_metadata") or {}).get(_SESSION)
    resource = _resource(info)
    spans = (trace.get("data") or trace)["spans"] if "data" in trace or "spans" in trace else []
    forms: list[SpanData] = []
    for span in spans:
        try:
            forms.append(well_formed(replace(_span(span, session), resource=resource)))
        except MALFORMED as error:
            source.skip(number, f"a span cannot be read: {error}")
    yield from assembled.spans(forms)
    yield from assembled.logs(number, _judgements(info))


def _span(span: dict[str, Any], session: str | None) -> SpanData:
    context, status = span.get("context") or {}, span.get("status") or {}
    start = span.get("start_time_unix_nano") or span["start_time"]
    end = span.get("end_time_unix_nano") or span.get("end_time")
    code = str(status.get("code") or span.get("status_code") or "").removeprefix("STATUS_CODE_")
    parent = span.get("parent_span_id") or span.get("parent_id")
    return SpanData(
        name=str(span["name"]),
        trace_id=_id(span.get("trace_id") or context.get("trace_id"), 16),
        span_id=_id(span.get("span_id") or context.get("span_id"), 8),
        parent_span_id=_id(parent, 8) if parent else None,
        start_ns=int(start),
        end_ns=0 if code == _IN_PROGRESS else int(end or 0),
        status=_STATUSES.get(code, "unset"),
        description=status.get("message") or span.get("status_message") or None,
        attributes=_attributes(span, session),
        events=tuple(map(_event, span.get("events") or ())),
    )


def _attributes(span: dict[str, Any], session: str | None) -> dict[str, Any]:
    """Return the attributes of ``span``, each decoded from JSON.

    MLflow's own attributes are renamed to those of OpenInference; the others keep their names.
    """
    fields = span.get("attributes") or {}
    out = {key: _unwrapped(value) for key, value in fields.items() if not key.startswith("mlflow.")}
    # A span of tooltrace that MLflow received over OTLP.
    if MARK in out:
        return {key: _text(value) if key in _TEXTS else value for key, value in out.items()}
    kind = _unwrapped(fields.get("mlflow.spanType"))
    if kind == "TOOL":
        name, function = str(span["name"]), _unwrapped(fields.get("mlflow.spanFunctionName"))
        # MLflow numbers the names of spans that repeat in a trace: add, add_1, add_2.
        numbered = isinstance(function, str) and re.fullmatch(rf"{re.escape(function)}_\d+", name)
        out.setdefault("tool.name", function if numbered else name)
    known = {
        "openinference.span.kind": kind if kind != "UNKNOWN" else None,
        "input.value": fields.get("mlflow.spanInputs"),
        "output.value": fields.get("mlflow.spanOutputs"),
        "session.id": session,
    }
    out.update((key, value) for key, value in known.items() if value is not None and key not in out)
    for way in ("input", "output"):
        if f"{way}.value" in out:
            out.setdefault(f"{way}.mime_type", "application/json")
    return out


def _text(value: Any) -> Any:
    """Return an object or list as JSON text; any other value unchanged.

    This restores texts that MLflow parsed because they look like JSON.
    """
    return json_of(value).decode() if isinstance(value, dict | list) else value


def _resource(info: dict[str, Any]) -> dict[str, Any]:
    """Return the resource of the trace's spans.

    MLflow stores the resource of spans received over OTLP as tags, which are text.
    """
    tags = info.get("tags") or {}
    found = {key: tags[key] for key in names.CALL_RESOURCE_FIELDS.values() if key in tags and key != names.PROCESS_PID}
    pid = str(tags.get(names.PROCESS_PID, ""))
    return {**found, names.PROCESS_PID: int(pid)} if pid.isdecimal() and len(pid) < 19 else found


def _unwrapped(value: Any) -> Any:
    inner = parsed_text(value) if isinstance(value, str) else value
    return value if inner is None else inner


def _event(event: dict[str, Any]) -> EventData:
    at = event.get("time_unix_nano") or event.get("timestamp") or 0
    return EventData(name=str(event.get("name") or ""), time_ns=int(at), attributes=event.get("attributes") or {})


def _judgements(info: dict[str, Any]) -> Iterator[LogData]:
    for assessment in info.get("assessments") or ():
        feedback, span_id = assessment.get("feedback"), assessment.get("span_id")
        if feedback is None or span_id is None or assessment.get("valid") is False or feedback.get("error"):
            continue
        value = feedback.get("value")
        score = _WORDS.get(value.lower()) if isinstance(value, str) else value
        known = {"label" if score is None else "score": value if score is None else float(score)}
        known["explanation"] = assessment.get("rationale")
        at = moment(assessment.get("last_update_time") or assessment.get("create_time"))
        yield evaluation(str(assessment.get("assessment_name") or "unnamed"), _id(span_id, 8), known, at)


def _id(value: Any, size: int) -> str:
    """Return the id as hex. Raises ValueError.

    MLflow writes ids as base64 or as hex; older versions put 0x before the hex.
    """
    text = str(value).removeprefix("0x")
    # Hex first: its digits are valid base64 too, and the length decides.
    raw = bytes.fromhex(text) if re.fullmatch(rf"[0-9a-fA-F]{{{2 * size}}}", text) else base64.b64decode(text)
    if len(raw) != size:
        raise ValueError(f"{value!r} is not an id of {size} bytes")
    return raw.hex()


FORMAT = Format(NAME, knows, read)

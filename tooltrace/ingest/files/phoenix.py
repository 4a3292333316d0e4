"""What Arize Phoenix exports: spans and span annotations of its REST interface, and its data frames as JSON Lines.

``/v1/projects/{name}/spans`` and ``…/spans/otlpv1`` give pages of spans, ``…/span_annotations`` judgements, which become
outcomes. The data frame of its client has a span a row, with ``attributes.`` before the names of attributes. Phoenix keeps
no resource, so host and process of a call are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, get_args

from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import Format, TraceFile
from tooltrace.ingest.files.span_batches import SpanFileReader, evaluation, moment, nanoseconds
from tooltrace.ingest.spans.native import MARK
from tooltrace.otel.otlp.json import spans_from_json
from tooltrace.otel.span_data import EventData, SpanData, SpanStatus
from tooltrace.recording.settings import Settings

NAME: Final = "phoenix"
KIND: Final = "openinference.span.kind"
_SPAN: Final = re.compile(rb'"span_kind"\s*:\s*"|"annotator_kind"\s*:\s*"|"start_time_unix_nano"\s*:')
_IDS: Final = re.compile(rb'"(?:context\.)?span_id"\s*:\s*"')
_HEX: Final = re.compile(r"[0-9a-f]+")
_PREFIX: Final = "attributes."
_SNAKE: Final = re.compile(r"_([a-z])")
_STATUSES: Final = get_args(SpanStatus)
_DERIVED: Final = frozenset({KIND, "tool.name", "tool.id", "tool.description", "tool.parameters", "session.id"})
_DERIVED_FROM: Final = ("tool.parameters.", "input.", "output.")
"""What Phoenix adds to the spans of the GenAI conventions."""


def knows(head: bytes) -> bool:
    """Whether there are spans or annotations of Phoenix in the front of the file."""
    return head.lstrip()[:1] in (b"{", b"[") and bool(_SPAN.search(head) and _IDS.search(head))


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Every record of the file."""
    yield from read_objects(source, settings, _objects(source))


def read_objects(source: TraceFile, settings: Settings, objects: Iterator[tuple[int, Any]]) -> Iterator[Record]:
    """The records of these rows, each with its number."""
    assembled = SpanFileReader(source, settings)
    for number, item in objects:
        try:
            yield from _records(assembled, number, item)
        except (ValueError, TypeError, AttributeError) as error:
            source.skip(number, f"neither a span nor an annotation of Phoenix: {error}")
    yield from assembled.rest()


def _objects(source: TraceFile) -> Iterator[tuple[int, Any]]:
    """The items of the pages, lists and lines."""
    for number, value in source.documents():
        items = value.get("data", [value]) if isinstance(value, dict) else value
        for item in items if isinstance(items, list) else [items]:
            yield number, item


def _records(assembled: SpanFileReader, number: int, item: dict[str, Any]) -> Iterator[Record]:
    if "start_time_unix_nano" in item:
        request = {"resourceSpans": [{"scopeSpans": [{"spans": [_camel(item)]}]}]}
        yield from assembled.spans(map(_rounded, spans_from_json(request, refused=_raise)))
    elif "annotator_kind" in item:
        yield from assembled.logs(number, _annotation(item))
    else:
        yield from assembled.spans([_span(item)])


def _raise(reason: str) -> None:
    raise ValueError(reason)


def _rounded(form: SpanData) -> SpanData:
    """Phoenix counts nanoseconds in floating point, and is off by up to a hundred of them."""
    start, end = ((ns + 500) // 1000 * 1000 for ns in (form.start_ns, form.end_ns))
    return replace(form, start_ns=start, end_ns=end, attributes=_said(form.attributes))


def _span(item: dict[str, Any]) -> SpanData:
    """A span of the REST interface, or a row of the data frame."""
    context = item.get("context") or {}
    start, end = moment(item.get("start_time")), moment(item.get("end_time"))
    if start is None:
        raise ValueError("it has no start_time")
    code = str(item.get("status_code") or "UNSET").lower()
    return SpanData(
        name=str(item.get("name") or ""),
        trace_id=_hex(item.get("context.trace_id") or context.get("trace_id"), 32),
        span_id=_hex(item.get("context.span_id") or context.get("span_id"), 16),
        parent_span_id=_hex(item["parent_id"], 16) if item.get("parent_id") else None,
        start_ns=nanoseconds(start),
        end_ns=nanoseconds(end or start),
        status=code if code in _STATUSES else "unset",  # type: ignore[arg-type]  # it is one of them
        description=item.get("status_message") or None,
        attributes=_attributes(item),
        events=tuple(_event(event) for event in item.get("events") or ()),
    )


def _attributes(item: dict[str, Any]) -> dict[str, Any]:
    columns = {key.removeprefix(_PREFIX): value for key, value in item.items() if key.startswith(_PREFIX)}
    flat = dict(_flat("", columns))
    kind = item.get("span_kind")
    known = {} if kind in (None, "", "UNKNOWN") else {KIND: kind}
    return _said({**known, **flat, **(item.get("attributes") or {})})


def _flat(prefix: str, nested: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Attributes by their dotted names: the data frame nests those whose first word it does not know."""
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


def _said(attributes: dict[str, Any]) -> dict[str, Any]:
    """The attributes that say something; of a span of tooltrace's without those that Phoenix made of the others."""
    ours = MARK in attributes
    return {
        key: value
        for key, value in attributes.items()
        if value is not None and not (ours and (key in _DERIVED or key.startswith(_DERIVED_FROM)))
    }


def _event(event: dict[str, Any]) -> EventData:
    at = moment(event.get("timestamp"))
    attributes = {key: value for key, value in (event.get("attributes") or {}).items() if value is not None}
    return EventData(name=str(event.get("name") or ""), time_ns=nanoseconds(at) if at else 0, attributes=attributes)


def _annotation(item: dict[str, Any]) -> Iterator[Any]:
    """What somebody said of a span; of a whole trace or session it judges no call."""
    result = item.get("result") or {key: item.get(f"result.{key}") for key in ("label", "score", "explanation")}
    name, span_id = item.get("name") or item.get("annotation_name"), item.get("span_id")
    if span_id is None and (item.get("trace_id") or item.get("session_id")):
        return
    at = moment(item.get("updated_at") or item.get("created_at"))
    yield evaluation(str(name or "unnamed"), _hex(span_id, 16), result, at)


def _hex(value: Any, digits: int) -> str:
    if not isinstance(value, str) or len(value) != digits or not _HEX.fullmatch(value.lower()):
        raise ValueError(f"{value!r} is no id of {digits} hex digits")
    return value.lower()


def _camel(value: Any) -> Any:
    """OTLP's members in Phoenix's spelling, without those that say nothing."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_SNAKE.sub(_upper, key): _camel(item) for key, item in value.items() if item is not None}


def _upper(match: re.Match[str]) -> str:
    return match[1].upper()


FORMAT = Format(NAME, knows, read)

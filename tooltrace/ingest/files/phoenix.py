"""Format of Arize Phoenix: spans and span annotations of its REST interface, and its data frames as JSON Lines.

``/v1/projects/{name}/spans`` and ``…/spans/otlpv1`` return pages of spans; ``…/span_annotations`` returns judgements,
which become outcomes. The data frame of Phoenix's client has one span per row and the prefix ``attributes.`` before the
names of attributes. Phoenix does not store the resource, so the host and process of a call are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, get_args

from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import MALFORMED, Format, TraceFile
from tooltrace.ingest.files.span_batches import SpanFileReader, evaluation, moment, nanoseconds, well_formed
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
"""Prefixes of the attributes that Phoenix adds to spans of the GenAI conventions, like the names in ``_DERIVED``."""


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has spans or annotations of Phoenix."""
    return head.lstrip()[:1] in (b"{", b"[") and bool(_SPAN.search(head) and _IDS.search(head))


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    yield from read_objects(source, settings, _objects(source))


def read_objects(source: TraceFile, settings: Settings, objects: Iterator[tuple[int, Any]]) -> Iterator[Record]:
    """Yield the records of ``objects``, which are pairs of a line or row number and an object."""
    assembled = SpanFileReader(source, settings)
    for number, item in objects:
        try:
            yield from _records(assembled, number, item)
        except MALFORMED as error:
            source.skip(number, f"neither a span nor an annotation of Phoenix: {error}")
    yield from assembled.rest()


def _objects(source: TraceFile) -> Iterator[tuple[int, Any]]:
    """Yield the items of the pages, lists and lines, with their line numbers."""
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
        yield from assembled.spans([well_formed(_span(item))])


def _raise(reason: str) -> None:
    raise ValueError(reason)


def _rounded(form: SpanData) -> SpanData:
    """Return ``form`` with its times rounded to microseconds.

    Phoenix stores nanoseconds in floating point, with an error of up to a hundred nanoseconds.
    """
    start, end = ((ns + 500) // 1000 * 1000 for ns in (form.start_ns, form.end_ns))
    return replace(form, start_ns=start, end_ns=end, attributes=_known_attributes(form.attributes))


def _span(item: dict[str, Any]) -> SpanData:
    """Return the span in ``item``, from the REST interface or a row of the data frame. Raises ValueError."""
    context = item.get("context") or {}
    start, end = moment(item.get("start_time")), moment(item.get("end_time"))
    if start is None:
        raise ValueError("start_time is missing")
    code = str(item.get("status_code") or "UNSET").lower()
    return SpanData(
        name=str(item.get("name") or ""),
        trace_id=_hex(item.get("context.trace_id") or context.get("trace_id"), 32),
        span_id=_hex(item.get("context.span_id") or context.get("span_id"), 16),
        parent_span_id=_hex(item["parent_id"], 16) if item.get("parent_id") else None,
        start_ns=nanoseconds(start),
        end_ns=0 if end is None else nanoseconds(end),
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
    return _known_attributes({**known, **flat, **(item.get("attributes") or {})})


def _flat(prefix: str, nested: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield attributes by their dotted names.

    The data frame nests the attributes whose first word Phoenix does not know.
    """
    for key, value in nested.items():
        if isinstance(value, dict):
            yield from _flat(f"{prefix}{key}.", value)
        else:
            yield f"{prefix}{key}", value


def _known_attributes(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes that are not None; for a span of tooltrace, without those that Phoenix derived."""
    is_native = MARK in attributes
    return {
        key: value
        for key, value in attributes.items()
        if value is not None and not (is_native and (key in _DERIVED or key.startswith(_DERIVED_FROM)))
    }


def _event(event: dict[str, Any]) -> EventData:
    at = moment(event.get("timestamp"))
    attributes = {key: value for key, value in (event.get("attributes") or {}).items() if value is not None}
    return EventData(name=str(event.get("name") or ""), time_ns=nanoseconds(at) if at else 0, attributes=attributes)


def _annotation(item: dict[str, Any]) -> Iterator[Any]:
    """Yield the judgement of a span; nothing for that of a whole trace or session, which does not judge a call."""
    result = item.get("result") or {key: item.get(f"result.{key}") for key in ("label", "score", "explanation")}
    name, span_id = item.get("name") or item.get("annotation_name"), item.get("span_id")
    if span_id is None and (item.get("trace_id") or item.get("session_id")):
        return
    at = moment(item.get("updated_at") or item.get("created_at"))
    yield evaluation(str(name or "unnamed"), _hex(span_id, 16), result, at)


def _hex(value: Any, digits: int) -> str:
    if not isinstance(value, str) or len(value) != digits or not _HEX.fullmatch(value.lower()):
        raise ValueError(f"{value!r} is not an id of {digits} hex digits")
    return value.lower()


def _camel(value: Any) -> Any:
    """Return OTLP in JSON with members in camel case instead of Phoenix's snake case, without null members."""
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_SNAKE.sub(_upper, key): _camel(item) for key, item in value.items() if item is not None}


def _upper(match: re.Match[str]) -> str:
    return match[1].upper()


FORMAT = Format(NAME, knows, read)

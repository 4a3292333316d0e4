"""Format of OTLP in JSON, which the OpenTelemetry Collector's file exporter and ``tooltrace export otlp-json`` write.

A line is one request: spans, log records or metrics. Spans of tools become calls, and log events that are evaluations
become outcomes. Log events of tooltrace become their records. Metrics and other log records are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import Format, TraceFile
from tooltrace.ingest.files.span_batches import SpanFileReader
from tooltrace.otel.otlp.json import MalformedOtlp, logs_from_json, spans_from_json
from tooltrace.recording.settings import Settings

NAME: Final = "otlp-json"
_REQUEST: Final = re.compile(rb'^[ \t]*\{\s*"resource(?:Spans|Logs|Metrics)"\s*:', re.MULTILINE)


def knows(head: bytes) -> bool:
    """Whether ``head``, the beginning of a file, has a request."""
    return _REQUEST.search(head) is not None


def read(source: TraceFile, settings: Settings) -> Iterator[Record]:
    """Yield every record of the file."""
    assembled = SpanFileReader(source, settings)
    for number, request in source.documents():
        refused = partial(source.skip, number)
        try:
            yield from _records(assembled, number, request, refused)
        except MalformedOtlp as error:
            refused(str(error))
    yield from assembled.rest()


def _records(assembled: SpanFileReader, number: int, request: Any, refused: Callable[[str], None]) -> Iterator[Record]:
    if isinstance(request, dict) and not request.keys() & {"resourceSpans", "resourceLogs", "resourceMetrics"}:
        refused("neither spans nor log records nor metrics")
    yield from assembled.spans(spans_from_json(request, refused=lambda why: refused(f"a span: {why}")))
    yield from assembled.logs(number, logs_from_json(request, refused=lambda why: refused(f"a log record: {why}")))


FORMAT = Format(NAME, knows, read)

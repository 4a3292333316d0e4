"""Conversion of the spans and log events of a file to records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import TraceFile
from tooltrace.ingest.reredact import MAX_FILE_FIELD_BYTES, reredact
from tooltrace.ingest.spans import Assembler
from tooltrace.otel import attributes as names
from tooltrace.otel import timestamps
from tooltrace.otel.log_codec import from_log, rejection_reason
from tooltrace.otel.span_data import LogData, SpanData
from tooltrace.recording.settings import Settings

BATCH: Final = 1024
"""Spans converted together: the spans that show one call are close to each other in a file."""


class SpanFileReader:
    """Converter of one file's spans and log events to records."""

    def __init__(self, source: TraceFile, settings: Settings) -> None:
        self._source = source
        self._settings = settings
        self._assembler = Assembler(settings)
        self._waiting: list[SpanData] = []

    def spans(self, forms: Iterable[SpanData]) -> Iterator[Record]:
        """Add ``forms``; yield records once a batch of spans is complete."""
        self._waiting.extend(forms)
        if len(self._waiting) >= BATCH:
            yield from self.rest()

    def rest(self) -> Iterator[Record]:
        """Yield the records of the waiting spans."""
        waiting, self._waiting = self._waiting, []
        yield from self._assembler.convert(waiting)

    def logs(self, number: int, forms: Iterable[LogData]) -> Iterator[Record]:
        """Yield the records of the log events in line ``number``; log records of other kinds are ignored."""
        for form in forms:
            record = from_log(form)
            if record is not None:
                yield reredact(record, self._settings, MAX_FILE_FIELD_BYTES)
            elif reason := rejection_reason(form):
                self._source.skip(number, reason)


def well_formed(form: SpanData) -> SpanData:
    """Return ``form``, made of JSON of others. Raises TypeError or ValueError where a part is not what it must be."""
    if not isinstance(form.description, str | None):
        raise TypeError(f"the message of the status must be text; got {type(form.description).__name__}")
    for attributes in (form.attributes, *(event.attributes for event in form.events)):
        if not isinstance(attributes, dict):
            raise TypeError(f"attributes must be an object; got {type(attributes).__name__}")
    if not all(0 <= time < 2**63 for time in (form.start_ns, form.end_ns, *(event.time_ns for event in form.events))):
        raise ValueError("a time must be nanoseconds since 1970 in 64 bits")
    return form


def evaluation(
    name: str, span_id: str | None, values: dict[str, Any], at: datetime | None, trace_id: str | None = None
) -> LogData:
    """Return a judgement as the evaluation event of the GenAI conventions.

    ``values`` has its score, label and explanation, as far as known.
    """
    keys = {
        "score": names.EVALUATION_SCORE_VALUE,
        "label": names.EVALUATION_SCORE_LABEL,
        "explanation": names.EVALUATION_EXPLANATION,
    }
    attributes = {key: values[name] for name, key in keys.items() if values.get(name) is not None}
    return LogData(
        event_name=names.EVALUATION_EVENT,
        time_ns=0 if at is None else nanoseconds(at),
        attributes={names.EVALUATION_NAME: name, **attributes},
        trace_id=trace_id,
        span_id=span_id,
    )


def nanoseconds(moment: datetime) -> int:
    """Return nanoseconds since the epoch, in whole microseconds; 0 for a time before the epoch."""
    return max(0, timestamps.nanoseconds(moment))


def moment(value: Any) -> datetime | None:
    """Parse ISO text (without a zone it is UTC) or milliseconds since the epoch; None if ``value`` is neither."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return timestamps.EPOCH + timedelta(milliseconds=value)
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None

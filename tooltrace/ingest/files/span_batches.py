"""Spans and log events that a file holds, as records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tooltrace.core.records import Record
from tooltrace.ingest.files.reader import TraceFile
from tooltrace.ingest.reredact import LONGEST_OF_FILE, reredact
from tooltrace.otel import attributes as names
from tooltrace.otel.log_codec import from_log, rejection_reason
from tooltrace.otel.span_data import LogData, SpanData
from tooltrace.recording.settings import Settings

BATCH: Final = 1024
"""Spans that are looked at together: the doubled ones of a call lie close to each other."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class SpanFileReader:
    """Takes the spans of one file and gives the records that they are."""

    def __init__(self, source: TraceFile, settings: Settings) -> None:
        from tooltrace.ingest.spans import Assembler

        self._source = source
        self._settings = settings
        self._assembler = Assembler(settings)
        self._waiting: list[SpanData] = []

    def spans(self, forms: Iterable[SpanData]) -> Iterator[Record]:
        """Take ``forms``; the records that are complete."""
        self._waiting.extend(forms)
        if len(self._waiting) >= BATCH:
            yield from self.rest()

    def rest(self) -> Iterator[Record]:
        """The records of what waits."""
        waiting, self._waiting = self._waiting, []
        yield from self._assembler.take(waiting)

    def logs(self, number: int, forms: Iterable[LogData]) -> Iterator[Record]:
        """The records of the log events of line ``number``; other people's log records are left alone."""
        for form in forms:
            record = from_log(form)
            if record is not None:
                yield reredact(record, self._settings, LONGEST_OF_FILE)
            elif reason := rejection_reason(form):
                self._source.skip(number, reason)


def evaluation(
    name: str, span_id: str | None, said: dict[str, Any], at: datetime | None, trace_id: str | None = None
) -> LogData:
    """Somebody's judgement as the conventions' event; ``said``: its score, label and explanation, where it has them."""
    keys = {
        "score": names.EVALUATION_SCORE_VALUE,
        "label": names.EVALUATION_SCORE_LABEL,
        "explanation": names.EVALUATION_EXPLANATION,
    }
    attributes = {key: said[name] for name, key in keys.items() if said.get(name) is not None}
    return LogData(
        event_name=names.EVALUATION_EVENT,
        time_ns=0 if at is None else nanoseconds(at),
        attributes={names.EVALUATION_NAME: name, **attributes},
        trace_id=trace_id,
        span_id=span_id,
    )


def nanoseconds(moment: datetime) -> int:
    """Since the epoch; 0 for one before it."""
    return max(0, (moment - _EPOCH) // timedelta(microseconds=1)) * 1000


def moment(value: Any) -> datetime | None:
    """A time as ISO text (without a zone it is UTC) or in milliseconds since the epoch; None where it is neither."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _EPOCH + timedelta(milliseconds=value)
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return None

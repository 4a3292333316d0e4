"""The format of the OpenTelemetry Collector's file exporter: one OTLP request per line, in JSON.

``{"resourceSpans":[…]}`` contains the calls and other spans, ``{"resourceLogs":[…]}`` the events: outcomes, gates,
messages, losses, and the exceptions of calls that raised. The collector's ``otlpjsonfile`` receiver and ``tooltrace
import`` can read the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tooltrace.core.records import Loss, Record
from tooltrace.exporters.atomic_file import AtomicFile, require_path
from tooltrace.exporters.otlp_records import RecordEncoder
from tooltrace.exporters.protocol import Target
from tooltrace.otel.log_codec import to_log
from tooltrace.otel.otlp.json import logs_to_json, spans_to_json
from tooltrace.otel.span_data import LogData
from tooltrace.redact.plain_data import json_of

MAX_LINE_BYTES: Final = 8 * 1024 * 1024
"""Maximum bytes of a line; a longer request is halved unless it has only one record."""


class OtlpJson:
    """The file at ``path``; ``-`` is standard output, and a name that ends in ``.gz`` is compressed."""

    def __init__(self, path: Path, encoder: RecordEncoder | None = None) -> None:
        self._encoder = encoder or RecordEncoder()
        self._file = AtomicFile(path)

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records``. Raises Refused."""
        self._file.write(b"".join(self._lines(records)))

    def close(self) -> None:
        """Move the file to its final name. Raises Refused."""
        self._file.publish()

    def abandon(self) -> None:
        """Discard the file."""
        self._file.discard()

    def _lines(self, records: Sequence[Record]) -> list[bytes]:
        lines = [_line(request) for request in self._requests(records)]
        if len(records) < 2 or max(map(len, lines), default=0) <= MAX_LINE_BYTES:
            return lines
        middle = len(records) // 2
        return self._lines(records[:middle]) + self._lines(records[middle:])

    def _requests(self, records: Sequence[Record]) -> list[dict[str, Any]]:
        spans = [span for record in records if (span := self._encoder.span(record))]
        logs = [log for record in records if (log := self._log(record))]
        return [spans_to_json(spans)] * bool(spans) + [logs_to_json(logs)] * bool(logs)

    def _log(self, record: Record) -> LogData | None:
        """Return the log event of ``record``.

        Losses of exports are included: writing to a file cannot cause further losses.
        """
        return self._encoder.log(record) or (to_log(record) if isinstance(record, Loss) else None)


def create(target: Target) -> OtlpJson:
    """Create the destination; see :mod:`tooltrace.exporters.registry`."""
    return OtlpJson(
        require_path(target.path, "otlp-json"), RecordEncoder(target.service, target.host, target.attributes)
    )


def _line(request: dict[str, Any]) -> bytes:
    return json_of(request) + b"\n"

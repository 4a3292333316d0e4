"""``StoreSpanExporter``: writes spans of any library to the store; its entry point is named ``tooltrace``."""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tooltrace.core import forking
from tooltrace.faults import suppress_faults
from tooltrace.ingest.spans.assembler import Assembler
from tooltrace.ingest.spans.processor import local_origin
from tooltrace.otel.sdk_spans import from_sdk
from tooltrace.otel.tool_span import ToolSpan
from tooltrace.recording import config
from tooltrace.recording.settings import Settings


class StoreSpanExporter(SpanExporter):
    """Exporter that writes spans to the store of this process: tool calls as ``tool_calls``, others as ``spans``.

    ``OTEL_TRACES_EXPORTER=tooltrace opentelemetry-instrument python app.py`` selects this exporter. The store is
    ``$TOOLTRACE_STORE``, or the one that the application configures. Spans of tooltrace's own recorder are left out,
    because the recorder writes them itself.
    """

    def __init__(self) -> None:
        self._settings: Settings | None = None
        self._assembler: Assembler | None = None
        self._lock = RLock()
        forking.register(self)

    def reset_after_fork(self) -> None:
        """Replace the lock in a forked child, which needs an assembler with its own process id."""
        self._lock, self._assembler = RLock(), None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Pass the records of ``spans`` to the recorder's thread."""
        with suppress_faults("record", lost=len(spans)):
            recorder = config.get_recorder()
            assembler = self._for(recorder.settings)
            # Registered first: a span of another library around or inside a call of ours must not become a second
            # row.
            assembler.know([from_sdk(span) for span in spans if isinstance(span, ToolSpan)])
            for record in assembler.convert([from_sdk(span) for span in spans if not isinstance(span, ToolSpan)]):
                recorder.worker.put(record)
            return SpanExportResult.SUCCESS
        return SpanExportResult.FAILURE

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Write all exported spans; return False on timeout."""
        return config.flush(timeout_millis / 1000)

    def shutdown(self) -> None:
        """Write all exported spans, waiting at most two seconds."""
        config.flush(2.0)

    def _for(self, settings: Settings) -> Assembler:
        """Return the assembler for the current settings."""
        with self._lock:
            if self._assembler is None or self._settings is not settings:
                self._assembler, self._settings = Assembler(settings, local_origin(settings)), settings
            return self._assembler

"""Conversion of OTLP requests to records in the journal."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from typing import Final, TypeVar

from tooltrace.core.lru import LruMap
from tooltrace.core.records import Loss, Record
from tooltrace.faults import faults, report_fault
from tooltrace.ingest.receiver import decode
from tooltrace.ingest.receiver.admission import AdmissionControl
from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import Encoding, IngestResult, OtlpError, malformed, too_large
from tooltrace.ingest.receiver.signals import LOGS, TRACES, Signal
from tooltrace.ingest.reredact import reredact
from tooltrace.ingest.spans import Assembler
from tooltrace.otel import attributes as names
from tooltrace.otel.log_codec import Event, event_name, from_log, rejection_reason
from tooltrace.otel.otlp.json import MalformedOtlp
from tooltrace.otel.span_data import LogData, SpanData
from tooltrace.recording.settings import Settings
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal

_Item = TypeVar("_Item", SpanData, LogData)

UNKNOWN_LOG_RECORD: Final = "a log record that is neither an evaluation nor an event of tooltrace is not stored"


def to_record(form: LogData, settings: Settings, receipt: IngestResult) -> Event | None:
    """Return the record of ``form``; None if there is nothing to store.

    ``receipt`` counts a log record that is rejected or cannot be read.
    """
    record = from_log(form)
    if record is not None:
        return reredact(record, settings)
    if event_name(form) == names.EXCEPTION_EVENT:  # the span has the same exception
        return None
    reason = rejection_reason(form)
    if reason is None:
        receipt.reject(UNKNOWN_LOG_RECORD)
    else:
        receipt.count_lost(reason)
    return None


BATCH_SIZE: Final = 512
"""Spans converted to records at once."""
MAX_REMEMBERED_LINES: Final = 50_000
"""Recent journal lines whose digests are remembered, so that a record received twice is written once.

Otherwise a store that is delivered to its own receiver would grow without end.
"""
LARGE_BYTES: Final = 1024 * 1024
"""Size in bytes above which a request goes to the queue of large requests, so that it does not delay small ones."""
LARGE_AT_ONCE: Final = 2
"""Large requests that are converted at a time."""
REJECTED: Final = "otlp_rejected"
"""Loss reason: spans or events were received that could not be read. The response reported them to the sender."""
METRICS_NOT_STORED: Final = "metrics are not stored: the store has the calls themselves"


class Ingester:
    """Converter of requests, with one thread for small requests, and two for large ones.

    So at most two large requests are in memory in parsed form, and a slow one does not stop the others.
    """

    def __init__(self, settings: Settings, limits: ReceiverLimits) -> None:
        assert settings.store is not None
        self._settings = settings
        self._limits = limits
        self._journal = Journal(StorePaths.of(settings.store).journal, sync=settings.durability == "fsync")
        self._assembler = Assembler(settings)
        self._written: LruMap[bool] = LruMap(MAX_REMEMBERED_LINES)
        self._small = ThreadPoolExecutor(1, thread_name_prefix="tooltrace-receiver")
        self._large = ThreadPoolExecutor(LARGE_AT_ONCE, thread_name_prefix="tooltrace-receiver-large")
        self._ending = False

    async def ingest(self, signal: Signal, encoding: Encoding, body: bytes) -> IngestResult:
        """Write the records of ``body`` to the journal, all or none, before returning. Raises OtlpError."""
        loop = asyncio.get_running_loop()
        thread = self._small if len(body) <= LARGE_BYTES else self._large
        return await loop.run_in_executor(thread, self._ingest, signal, encoding, body)

    def end(self) -> None:
        """Refuse requests that are not converted yet."""
        self._ending = True

    def close(self) -> None:
        """Close the journal after the current write."""
        self._ending = True
        self._small.shutdown()
        self._large.shutdown()
        with suppress(OtlpError):
            self._write([])
        self._journal.close()

    # The methods below run in the threads.

    def _ingest(self, signal: Signal, encoding: Encoding, body: bytes) -> IngestResult:
        receipt = IngestResult(self._limits)
        self._check_open()
        try:
            # All lines are made before the first is written, so that a request is stored as a whole or not at all.
            lines = self._new_lines(encode(record) for record in self._records(signal, encoding, body, receipt))
        except MalformedOtlp as error:
            raise malformed(f"{error}; nothing was stored") from error
        except OtlpError:
            raise
        except Exception as error:
            report_fault("receive", lost=receipt.received)
            raise OtlpError(500, "the receiver failed on this request; nothing of it was stored") from error
        self._write(list(lines.values()), receipt.lost)
        # remembered only after a successful write: the client retries a failed request with the same lines
        for digest in lines:
            self._written.put(digest, value=True)
        return receipt

    def _new_lines(self, lines: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the lines that were not written before, once each, by digest."""
        found = {blake2b(line, digest_size=16).digest(): line for line in lines}
        return {digest: line for digest, line in found.items() if not self._written.get(digest)}

    def _records(self, signal: Signal, encoding: Encoding, body: bytes, receipt: IngestResult) -> Iterator[Record]:
        if signal is TRACES:
            return self._spans(encoding, body, receipt)
        if signal is LOGS:
            return self._events(encoding, body, receipt)
        points = decode.points(body, encoding, receipt)
        if points:
            receipt.reject(METRICS_NOT_STORED, points)
        return iter(())

    def _spans(self, encoding: Encoding, body: bytes, receipt: IngestResult) -> Iterator[Record]:
        forms = self._within_time(decode.spans(body, encoding, receipt))
        while together := list(islice(forms, BATCH_SIZE)):
            self._check_open()
            yield from self._assembler.convert(together)

    def _events(self, encoding: Encoding, body: bytes, receipt: IngestResult) -> Iterator[Record]:
        for form in self._within_time(decode.logs(body, encoding, receipt)):
            record = to_record(form, self._settings, receipt)
            if record is not None:
                yield record

    def _within_time(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Yield ``items`` until the conversion has used the CPU time of a request. Raises OtlpError."""
        most = time.thread_time() + self._limits.cpu_seconds
        for item in items:
            if time.thread_time() > most:
                raise too_large(
                    f"the request needs more than {self._limits.cpu_seconds:g} s of CPU time; nothing was stored: send smaller batches"
                )
            yield item

    def _write(self, lines: list[bytes], rejected: int = 0) -> None:
        # Losses counted elsewhere in this process are written with the next request, because no recorder may run
        # here.
        lost = Counter(faults.drain()) + Counter(faults.reclaim())
        all_lost = lost + Counter({REJECTED: rejected})
        lines.extend(encode(self._loss(reason, count)) for reason, count in all_lost.items())
        if not lines:
            return
        try:
            self._journal.write(b"".join(lines))
        except OSError as error:
            faults.restore(lost)  # for the next write
            message = f"the journal of {self._settings.store} cannot be written ({error.strerror or error})"
            faults.note_error(message)
            faults.warn_once("disk", f"{message}; senders are asked to retry", counted=False)
            raise OtlpError(
                503, f"{message}; nothing was stored", retry_after=self._limits.disk_retry_seconds
            ) from error

    def _loss(self, reason: str, count: int) -> Loss:
        settings = self._settings
        return Loss(
            reason=reason,
            count=count,
            at=datetime.now(UTC),
            service=settings.service_name,
            host=settings.host,
            pid=os.getpid(),
        )

    def _check_open(self) -> None:
        if self._ending:
            raise OtlpError(
                503, "the receiver is shutting down; nothing was stored", retry_after=self._limits.retry_seconds
            )


class Receiver:
    """Receiver that writes to the store of ``settings`` within ``limits``; for one event loop."""

    def __init__(self, settings: Settings, limits: ReceiverLimits | None = None) -> None:
        self.limits = limits or ReceiverLimits()
        self.admission = AdmissionControl(self.limits)
        self.ingester = Ingester(settings, self.limits)

    def end(self) -> None:
        """Refuse all requests that are not acknowledged yet, except those being written."""
        self.admission.end()
        self.ingester.end()

    def close(self) -> None:
        """Close the journal after the current write."""
        self.ingester.close()

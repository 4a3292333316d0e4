"""From the bytes of a request to the journal: what ``take`` returned for is there."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import islice
from typing import Final

from tooltrace.foreign import Assembler
from tooltrace.guard import fault, faults
from tooltrace.otel.otlp.json import MalformedOtlp
from tooltrace.record import Loss, Record
from tooltrace.server.receiver import reading
from tooltrace.server.receiver.answers import Encoding
from tooltrace.server.receiver.events import to_record
from tooltrace.server.receiver.limits import Limits
from tooltrace.server.receiver.receipt import Receipt
from tooltrace.server.receiver.refusal import Refusal, malformed
from tooltrace.server.receiver.signals import LOGS, TRACES, Signal
from tooltrace.settings import Settings
from tooltrace.store.journal import Journal
from tooltrace.store.lines import encode
from tooltrace.store.paths import StorePaths
from tooltrace.surroundings import Recent

TOGETHER: Final = 512
"""Spans that are made records at once."""
REMEMBERED: Final = 50_000
"""Lines that are known again: what comes twice is written once. A store that is delivered to a receiver of its own would
else grow without end."""
LARGE_BYTES: Final = 1024 * 1024
"""A request that is larger waits for others that are, and keeps no small one waiting."""
REJECTED: Final = "otlp_rejected"
"""The reason of a loss: spans or events came that could not be read. Who sent them was told."""
METRICS_NOT_KEPT: Final = "metrics are not kept: the store has the calls themselves"


class Intake:
    """Takes one request after the other, in two threads: one for the small, and one for the large, of which so only one
    at a time is held in parsed form."""

    def __init__(self, settings: Settings, limits: Limits) -> None:
        assert settings.store is not None
        self._settings = settings
        self._limits = limits
        self._journal = Journal(StorePaths.of(settings.store).journal, sync=settings.durability == "fsync")
        self._assembler = Assembler(settings)
        self._written: Recent[bool] = Recent(REMEMBERED)
        self._small = ThreadPoolExecutor(1, thread_name_prefix="tooltrace-receiver")
        self._large = ThreadPoolExecutor(1, thread_name_prefix="tooltrace-receiver-large")
        self._ending = False

    async def take(self, signal: Signal, encoding: Encoding, body: bytes) -> Receipt:
        """Put what ``body`` says into the journal, all of it or nothing. Raises Refusal."""
        loop = asyncio.get_running_loop()
        thread = self._small if len(body) <= LARGE_BYTES else self._large
        return await loop.run_in_executor(thread, self._take, signal, encoding, body)

    def end(self) -> None:
        """Refuse what is not read yet."""
        self._ending = True

    def close(self) -> None:
        """Give the journal up, after what is just being written."""
        self._ending = True
        self._small.shutdown()
        self._large.shutdown()
        with suppress(Refusal):
            self._write([])
        self._journal.close()

    # in the threads

    def _take(self, signal: Signal, encoding: Encoding, body: bytes) -> Receipt:
        receipt = Receipt(self._limits)
        self._go_on()
        try:
            lines = self._new(encode(record) for record in self._records(signal, encoding, body, receipt))
        except MalformedOtlp as error:
            raise malformed(f"{error}; nothing was kept") from error
        except Refusal:
            raise
        except Exception as error:
            fault("receive", lost=receipt.seen)
            raise Refusal(500, "the receiver failed at this request, and nothing was kept of it") from error
        self._write(list(lines.values()), receipt.lost)
        for digest in lines:
            self._written.put(digest, value=True)
        return receipt

    def _new(self, lines: Iterable[bytes]) -> dict[bytes, bytes]:
        """Those that were not written before, each once, by their digests."""
        found = {blake2b(line, digest_size=16).digest(): line for line in lines}
        return {digest: line for digest, line in found.items() if not self._written.get(digest)}

    def _records(self, signal: Signal, encoding: Encoding, body: bytes, receipt: Receipt) -> Iterator[Record]:
        if signal is TRACES:
            return self._spans(encoding, body, receipt)
        if signal is LOGS:
            return self._events(encoding, body, receipt)
        points = reading.points(body, encoding, receipt)
        if points:
            receipt.reject(METRICS_NOT_KEPT, points)
        return iter(())

    def _spans(self, encoding: Encoding, body: bytes, receipt: Receipt) -> Iterator[Record]:
        forms = reading.spans(body, encoding, receipt)
        while together := list(islice(forms, TOGETHER)):
            self._go_on()
            yield from self._assembler.take(together)

    def _events(self, encoding: Encoding, body: bytes, receipt: Receipt) -> Iterator[Record]:
        for form in reading.logs(body, encoding, receipt):
            record = to_record(form, self._settings, receipt)
            if record is not None:
                yield record

    def _write(self, lines: list[bytes], rejected: int = 0) -> None:
        lost = faults.take()
        all_lost = {**lost, REJECTED: lost.get(REJECTED, 0) + rejected} if rejected else lost
        lines.extend(encode(self._loss(reason, count)) for reason, count in all_lost.items())
        if not lines:
            return
        try:
            self._journal.write(b"".join(lines))
        except OSError as error:
            for reason, count in lost.items():
                faults.count(reason, count)
            message = f"the journal of {self._settings.store} cannot be written ({error.strerror or error})"
            faults.say_once("disk", f"{message}; senders are told to come again", counted=False)
            raise Refusal(503, f"{message}; nothing was kept", retry_after=self._limits.disk_retry_seconds) from error

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

    def _go_on(self) -> None:
        if self._ending:
            raise Refusal(503, "the receiver is ending; nothing was kept", retry_after=self._limits.retry_seconds)

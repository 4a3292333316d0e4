"""Admission of requests: limits on their number and their bytes; excess requests are refused with a retry delay."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import OtlpError


class AdmissionControl:
    """Counter of the admitted requests and their bytes.

    Not thread-safe: use it in the thread of one event loop.
    """

    def __init__(self, limits: ReceiverLimits) -> None:
        self.limits = limits
        self.requests = 0
        self.bytes = 0
        self.arriving: set[asyncio.Timeout] = set()
        self.ended = False

    @contextmanager
    def slot(self) -> Iterator[RequestSlot]:
        """Reserve a slot for one request until the block ends. Raises OtlpError."""
        if self.ended:
            raise self.ending()
        if self.requests >= self.limits.requests:
            raise self._busy(f"{self.requests} requests are under way")
        place = RequestSlot(self)
        self.requests += 1
        try:
            yield place
        finally:
            self.requests -= 1
            self.bytes -= place.bytes

    def accept(self, size: int) -> None:
        """Add ``size`` bytes to the total. Raises OtlpError."""
        if self.bytes + size > self.limits.waiting_bytes:
            raise self._busy(f"the requests under way hold {self.bytes >> 20} MiB")
        self.bytes += size

    def end(self) -> None:
        """Refuse new requests, and end the wait for bodies that are still arriving."""
        self.ended = True
        for timeout in self.arriving:
            # A deadline in the past: the wait for the body ends with a TimeoutError at once.
            timeout.reschedule(0)

    def ending(self) -> OtlpError:
        """Return the error for requests that are refused after :meth:`end`."""
        return OtlpError(
            503, "the receiver is shutting down; nothing was stored", retry_after=self.limits.retry_seconds
        )

    def _busy(self, why: str) -> OtlpError:
        return OtlpError(429, f"{why}; nothing of this request was stored", retry_after=self.limits.retry_seconds)


class RequestSlot:
    """The slot of one request, and the bytes that the request holds."""

    def __init__(self, admission: AdmissionControl) -> None:
        self._admission = admission
        self.bytes = 0

    def accept(self, size: int) -> None:
        """Add ``size`` bytes to the body of the request. Raises OtlpError."""
        self._admission.accept(size)
        self.bytes += size

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[None]:
        """Limit the time for the body to arrive within the block.

        Raises OtlpError on timeout, or when the receiver is ending.
        """
        admission = self._admission
        seconds = admission.limits.body_seconds
        timeout = asyncio.timeout(seconds)
        admission.arriving.add(timeout)
        try:
            async with timeout:
                yield
        except TimeoutError:
            if admission.ended:
                raise admission.ending() from None
            raise OtlpError(408, f"the body did not arrive within {seconds:g} s; nothing was stored") from None
        finally:
            admission.arriving.discard(timeout)

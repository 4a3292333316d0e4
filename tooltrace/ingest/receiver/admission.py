"""How many requests are under way, and how many bytes they hold: more are told to come again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.responses import OtlpError


class AdmissionControl:
    """For the thread of one event loop."""

    def __init__(self, limits: ReceiverLimits) -> None:
        self.limits = limits
        self.requests = 0
        self.bytes = 0
        self.arriving: set[asyncio.Timeout] = set()
        self.ended = False

    @contextmanager
    def slot(self) -> Iterator[RequestSlot]:
        """A place for one request, until the block ends. Raises Refusal."""
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

    def take(self, size: int) -> None:
        """Count ``size`` bytes more. Raises Refusal."""
        if self.bytes + size > self.limits.waiting_bytes:
            raise self._busy(f"the requests under way hold {self.bytes >> 20} MiB")
        self.bytes += size

    def end(self) -> None:
        """Take nothing more, and wait for no body that is still on its way."""
        self.ended = True
        for timeout in self.arriving:
            timeout.reschedule(0)

    def ending(self) -> OtlpError:
        """What is said from then on."""
        return OtlpError(503, "the receiver is ending; nothing was kept", retry_after=self.limits.retry_seconds)

    def _busy(self, why: str) -> OtlpError:
        return OtlpError(429, f"{why}; nothing was kept of this one", retry_after=self.limits.retry_seconds)


class RequestSlot:
    """What one request holds."""

    def __init__(self, admission: AdmissionControl) -> None:
        self._admission = admission
        self.bytes = 0

    def take(self, size: int) -> None:
        """Its body is ``size`` bytes longer. Raises Refusal."""
        self._admission.take(size)
        self.bytes += size

    @asynccontextmanager
    async def arriving(self) -> AsyncIterator[None]:
        """The body arrives in the block, or too late. Raises Refusal."""
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
            raise OtlpError(408, f"the body did not arrive within {seconds:g} s; nothing was kept") from None
        finally:
            admission.arriving.discard(timeout)

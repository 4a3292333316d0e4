"""Limits of the receiver."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverLimits:
    """Limits on the size of one request and on concurrent requests; a request beyond them is refused as a whole.

    The limits bound memory: bodies are read only up to them, and requests are converted to records one at a time.
    """

    body_bytes: int = 20 * 1024 * 1024
    """Maximum size of one request after decompression, in bytes."""
    items: int = 50_000
    """Maximum number of spans, log records or metrics in one request."""
    containers: int = 1_000_000
    """Maximum number of objects and arrays in one JSON request: a byte of their text costs about 50 bytes of memory."""
    requests: int = 64
    """Maximum number of concurrent requests."""
    waiting_bytes: int = 64 * 1024 * 1024
    """Maximum total size of the bodies of concurrent requests, in bytes."""
    cpu_seconds: float = 60.0
    """CPU time of a thread for one request; one with more is refused as a whole."""
    body_seconds: float = 30.0
    """Seconds within which a body must arrive."""
    retry_seconds: int = 1
    """Seconds after which a client may retry when the receiver was busy or ending."""
    disk_retry_seconds: int = 5
    """Seconds after which a client may retry when the journal could not be written."""

"""How much a receiver takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverLimits:
    """What one request may be, and how many may be under way; beyond it they are refused, and nothing is kept of them.

    They bound the memory: a request is read while it is below them, and one after the other is made records.
    """

    body_bytes: int = 20 * 1024 * 1024
    """Of one request, after decompression."""
    items: int = 50_000
    """Spans, log records or metrics of one request."""
    containers: int = 1_000_000
    """Objects and arrays in one request of JSON: a byte of text costs some fifty of memory there."""
    requests: int = 64
    """Under way at once."""
    waiting_bytes: int = 64 * 1024 * 1024
    """Of the bodies under way, together."""
    body_seconds: float = 30.0
    """How long a client may take to send a body."""
    retry_seconds: int = 1
    """When a client that came at a busy time may come again."""
    disk_retry_seconds: int = 5
    """When it may come again while the journal cannot be written."""

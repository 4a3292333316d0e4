"""Responses and errors of the receiver, in the encoding of the request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo  # type: ignore[import-untyped] # it ships no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped] # it ships no types

from tooltrace.ingest.receiver.limits import ReceiverLimits
from tooltrace.ingest.receiver.signals import Signal
from tooltrace.redact.plain_data import json_of

INVALID_ARGUMENT: Final = 3
DEADLINE_EXCEEDED: Final = 4
NOT_FOUND: Final = 5
PERMISSION_DENIED: Final = 7
RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14
UNAUTHENTICATED: Final = 16

CODES: Final = {
    400: INVALID_ARGUMENT,
    401: UNAUTHENTICATED,
    403: PERMISSION_DENIED,
    404: NOT_FOUND,
    405: UNIMPLEMENTED,
    408: DEADLINE_EXCEEDED,
    413: RESOURCE_EXHAUSTED,
    415: INVALID_ARGUMENT,
    429: UNAVAILABLE,  # not RESOURCE_EXHAUSTED: without retry details, a client may only retry UNAVAILABLE
    500: INTERNAL,
    503: UNAVAILABLE,
}
"""Map from HTTP status to ``google.rpc.Code``."""


class OtlpError(Exception):
    """A request that is refused as a whole; the receiver responds with it, and raises it to nobody."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """HTTP status."""
        self.code = CODES[status]
        """gRPC status code."""
        self.retry_after = retry_after
        """Seconds after which the same request may succeed; None if it never will."""


def malformed(message: str) -> OtlpError:
    """Return the error for a request that cannot be decoded, and would fail again."""
    return OtlpError(400, message)


def too_large(message: str) -> OtlpError:
    """Return the error for a request beyond the size limits; the client may send it in parts."""
    return OtlpError(413, message)


SHOWN = 3
"""Maximum number of reasons in a response."""
MAX_REASON_LENGTH = 300


@dataclass(slots=True)
class IngestResult:
    """Counts of one request: its spans, log records or metrics, and how many of these were not stored.

    For metrics, the rejected ones are counted in data points.
    """

    limits: ReceiverLimits
    received: int = 0
    rejected: int = 0
    lost: int = 0
    """Rejected items that should have been stored but could not be read."""
    reasons: dict[str, int] = field(default_factory=dict)

    def count(self) -> None:
        """Count one item. Raises OtlpError if there are too many."""
        self.received += 1
        if self.received > self.limits.items:
            raise too_large(f"the request has more than {self.limits.items:,} items; nothing was stored")

    def reject(self, reason: str, count: int = 1) -> None:
        """Record that ``count`` items, already counted, are not stored for ``reason``."""
        self.rejected += count
        reason = reason[:MAX_REASON_LENGTH]
        if reason in self.reasons or len(self.reasons) < SHOWN:
            self.reasons[reason] = self.reasons.get(reason, 0) + count

    def count_lost(self, reason: str) -> None:
        """Record that one item, already counted, should have been stored and cannot be."""
        self.lost += 1
        self.reject(reason)

    def count_unreadable(self, reason: str) -> None:
        """Count one item that could not be read."""
        self.count()
        self.count_lost(reason)

    @property
    def message(self) -> str:
        """Reasons for the rejected items; "" if there are none."""
        reasons = [f"{count:,} × {reason}" for reason, count in self.reasons.items()]
        left = self.rejected - sum(self.reasons.values())
        return "; ".join([*reasons, f"{left:,} for other reasons"] if left else reasons)


Encoding = Literal["application/x-protobuf", "application/json"]
PROTOBUF: Final[Encoding] = "application/x-protobuf"
JSON: Final[Encoding] = "application/json"


def accepted_response(signal: Signal, receipt: IngestResult, encoding: Encoding) -> bytes:
    """Return the response to an accepted request; it has ``partial_success`` only if items were rejected."""
    if encoding == JSON:
        return json_of({"partialSuccess": _partial_json(signal, receipt)} if receipt.rejected else {})
    answer = signal.answer()
    if receipt.rejected:
        partial = answer.partial_success  # type: ignore[attr-defined] # each of the three has it
        setattr(partial, signal.rejected, receipt.rejected)
        partial.error_message = receipt.message
    return answer.SerializeToString()


def _partial_json(signal: Signal, receipt: IngestResult) -> dict[str, str]:
    return {signal.rejected_json: str(receipt.rejected), "errorMessage": receipt.message}


def error_response(error: OtlpError, encoding: Encoding) -> bytes:
    """Return ``error`` as an encoded ``google.rpc.Status``."""
    status = status_of(error)
    if encoding == JSON:
        return json_format.MessageToJson(status, indent=None).encode()
    return bytes(status.SerializeToString())


def status_of(error: OtlpError) -> Status:
    """Return the ``google.rpc.Status`` of ``error``, with a retry delay if a retry may succeed."""
    status = Status(code=error.code, message=str(error))
    if error.retry_after is not None:
        status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=error.retry_after)))
    elif error.code == INVALID_ARGUMENT:
        violation = BadRequest.FieldViolation(field="body", description=str(error))
        status.details.add().Pack(BadRequest(field_violations=[violation]))
    return status

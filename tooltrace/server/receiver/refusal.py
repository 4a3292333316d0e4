"""Why a request is not taken, in the words of HTTP and of gRPC."""

from __future__ import annotations

from typing import Final

from tooltrace.errors import TooltraceError

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
    429: UNAVAILABLE,  # gRPC's "too many": a client may only repeat UNAVAILABLE without being told more
    500: INTERNAL,
    503: UNAVAILABLE,
}
"""HTTP status to ``google.rpc.Code``."""


class Refusal(TooltraceError):
    """A request of which nothing is kept."""

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        """Of HTTP."""
        self.code = CODES[status]
        """Of gRPC."""
        self.retry_after = retry_after
        """Seconds after which the same request may succeed; None: it never will."""


def malformed(message: str) -> Refusal:
    """The request is not what it says to be; to send it again is of no use."""
    return Refusal(400, message)


def too_large(message: str) -> Refusal:
    """The request has more in it than is taken at once; the client may send it in parts."""
    return Refusal(413, message)

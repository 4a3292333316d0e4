"""Codes of services' errors: AWS's names, gRPC's statuses, JSON-RPC's numbers."""

from __future__ import annotations

import re

from tooltrace.core.codes import ToolErrorCode as C

JSON_RPC = {
    -32700: C.INVALID_FORMAT, -32600: C.INVALID_PARAM, -32601: C.NOT_FOUND, -32602: C.INVALID_PARAM,
    -32603: C.INTERNAL_ERROR,
    # MCP's SDKs: the connection was closed, no answer in time; MCP's specification: no such resource
    -32000: C.NETWORK_ERROR, -32001: C.TIMEOUT, -32002: C.NOT_FOUND,
}  # fmt: skip
"""Codes of JSON-RPC 2.0's error numbers; the last three have the meaning that MCP's own clients give them."""
AWS = (
    # The order decides: "LimitExceeded" before "Invalid", and a wrong token before "Invalid" or "NotFound".
    (r"Throttl|TooManyRequests|ThroughputExceeded|SlowDown|LimitExceeded$|LimitExceededException$", C.RATE_LIMIT),
    (r"^(?:Expired|Invalid|Unrecognized|Missing).*(?:Token|Client|AccessKey|Auth|Signature)|SignatureDoesNotMatch|AuthFailure", C.ACCESS_DENIED),
    (r"AccessDenied|Unauthorized|Forbidden|OptInRequired", C.PERMISSION_DENIED),
    (r"AlreadyExists|AlreadyOwnedByYou|^ResourceInUse|^EntityAlready", C.ALREADY_EXISTS),
    (r"NotFound|^NoSuch|DoesNotExist|NonExistent", C.NOT_FOUND),
    (r"Conflict|ConditionalCheckFailed|PreconditionFailed", C.CONFLICT),
    (r"Timeout|TimedOut|RequestExpired", C.TIMEOUT),
    (r"Unavailable$|UnavailableException$", C.SERVICE_UNAVAILABLE),
    (r"^Validation|^Invalid|^Malformed|^Missing|^Bad", C.INVALID_PARAM),
)  # fmt: skip
"""Codes of AWS's error names, by the words in the names."""
GRPC = {
    "CANCELLED": C.EXECUTION_ERROR, "UNKNOWN": C.API_ERROR, "INVALID_ARGUMENT": C.INVALID_PARAM, "DEADLINE_EXCEEDED": C.TIMEOUT,
    "NOT_FOUND": C.NOT_FOUND, "ALREADY_EXISTS": C.ALREADY_EXISTS, "PERMISSION_DENIED": C.PERMISSION_DENIED,
    "UNAUTHENTICATED": C.ACCESS_DENIED, "RESOURCE_EXHAUSTED": C.RATE_LIMIT, "FAILED_PRECONDITION": C.CONFLICT,
    "ABORTED": C.CONFLICT, "OUT_OF_RANGE": C.INVALID_PARAM, "UNIMPLEMENTED": C.API_ERROR, "INTERNAL": C.INTERNAL_ERROR,
    "UNAVAILABLE": C.SERVICE_UNAVAILABLE, "DATA_LOSS": C.INTERNAL_ERROR,
}  # fmt: skip
"""Codes of gRPC's statuses, by name."""
GRPC_FINAL = frozenset({"FAILED_PRECONDITION", "UNIMPLEMENTED"})
"""gRPC's statuses after which the same call cannot succeed later."""


def aws_code(name: str) -> str:
    """Return the code that the words in the ``name`` of an AWS error indicate."""
    return next((code for pattern, code in AWS if re.search(pattern, name)), C.API_ERROR)

"""What is answered, in the encoding of the request."""

from __future__ import annotations

from typing import Final, Literal

import orjson
from google.protobuf import json_format
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo  # type: ignore[import-untyped] # it ships no types
from google.rpc.status_pb2 import Status  # type: ignore[import-untyped] # it ships no types

from tooltrace.server.receiver.receipt import Receipt
from tooltrace.server.receiver.refusal import INVALID_ARGUMENT, Refusal
from tooltrace.server.receiver.signals import Signal

Encoding = Literal["application/x-protobuf", "application/json"]
PROTOBUF: Final[Encoding] = "application/x-protobuf"
JSON: Final[Encoding] = "application/json"


def taken(signal: Signal, receipt: Receipt, encoding: Encoding) -> bytes:
    """The request was taken; ``partial_success`` is there only where something of it was not kept."""
    if encoding == JSON:
        return orjson.dumps({"partialSuccess": _partial_json(signal, receipt)} if receipt.rejected else {})
    answer = signal.answer()
    if receipt.rejected:
        partial = answer.partial_success  # type: ignore[attr-defined] # each of the three has it
        setattr(partial, signal.rejected, receipt.rejected)
        partial.error_message = receipt.message
    return answer.SerializeToString()


def _partial_json(signal: Signal, receipt: Receipt) -> dict[str, str]:
    return {signal.rejected_json: str(receipt.rejected), "errorMessage": receipt.message}


def refused(refusal: Refusal, encoding: Encoding) -> bytes:
    """A ``google.rpc.Status``."""
    status = status_of(refusal)
    if encoding == JSON:
        return json_format.MessageToJson(status, indent=None).encode()
    return bytes(status.SerializeToString())


def status_of(refusal: Refusal) -> Status:
    """What is wrong, and when to come again where that may help."""
    status = Status(code=refusal.code, message=str(refusal))
    if refusal.retry_after is not None:
        status.details.add().Pack(RetryInfo(retry_delay=Duration(seconds=refusal.retry_after)))
    elif refusal.code == INVALID_ARGUMENT:
        violation = BadRequest.FieldViolation(field="body", description=str(refusal))
        status.details.add().Pack(BadRequest(field_violations=[violation]))
    return status

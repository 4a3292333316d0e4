"""OTLP over gRPC, with the extra ``grpc``."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
from grpc.aio import Server, ServicerContext

from tooltrace.errors import ConfigError
from tooltrace.ingest.receiver import responses
from tooltrace.ingest.receiver.ingester import Receiver
from tooltrace.ingest.receiver.responses import PROTOBUF, OtlpError, malformed
from tooltrace.ingest.receiver.signals import SIGNALS, Signal

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

Export = Callable[[AsyncIterator[bytes], ServicerContext[Any, Any]], Awaitable[bytes]]


async def start(receiver: Receiver, token: str | None, host: str, port: int) -> tuple[Server, int]:
    """A server on ``host`` and the port it listens on; ``port`` 0 takes any. Raises ConfigError."""
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", receiver.limits.body_bytes),  # before and after decompression
            ("grpc.so_reuseport", 0),  # two servers on one port would share what comes
        ]
    )
    for signal in SIGNALS:
        method: Any = grpc.stream_unary_rpc_method_handler(_export(receiver, token, signal))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(signal.service, {"Export": method}),))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        found = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigError(f"gRPC cannot listen on {address}: {error}; give another --grpc-port") from error
    await server.start()
    return server, found


def _export(receiver: Receiver, token: str | None, signal: Signal) -> Export:
    """Takes the request as a stream of one message, which on the wire is the same: so the message is not read before
    there is a place for it."""

    async def export(messages: AsyncIterator[bytes], context: ServicerContext[Any, Any]) -> bytes:
        try:
            _admit(token, context)
            with receiver.admission.slot() as place:
                async with place.arriving():
                    body = await _only(messages)
                place.take(len(body))
                receipt = await receiver.ingester.ingest(signal, PROTOBUF, body)
        except OtlpError as refusal:
            await _abort(context, refusal)
        return responses.accepted_response(signal, receipt, PROTOBUF)

    return export


async def _only(messages: AsyncIterator[bytes]) -> bytes:
    """The one message of a call; one that is too large never comes, and gRPC has said so."""
    body: bytes | None = None
    async for message in messages:
        if body is not None:
            raise malformed("the call has more than one message; nothing was kept")
        body = message
    if body is None:
        raise malformed("the call has no message; nothing was kept")
    return body


def _admit(token: str | None, context: ServicerContext[Any, Any]) -> None:
    if token is None:
        return
    given = dict(context.invocation_metadata() or ()).get("authorization", "")
    if not hmac.compare_digest(str(given).encode(), f"Bearer {token}".encode()):
        raise OtlpError(401, "send the token that tooltrace serve printed, as authorization: Bearer; nothing was kept")


async def _abort(context: ServicerContext[Any, Any], refusal: OtlpError) -> None:
    details = ("grpc-status-details-bin", responses.status_of(refusal).SerializeToString())
    await context.abort(_CODES[refusal.code], str(refusal), (details,))

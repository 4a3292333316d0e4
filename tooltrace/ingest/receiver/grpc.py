"""The OTLP receiver over gRPC; needs the extra ``grpc``."""

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
    """Start a server on ``host``; return it and its port. ``port`` 0 selects a free port. Raises ConfigError."""
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", receiver.limits.body_bytes),  # applies before and after decompression
            ("grpc.so_reuseport", 0),  # else a second server on this port would receive part of the requests
        ]
    )
    for signal in SIGNALS:
        method: Any = grpc.stream_unary_rpc_method_handler(_export(receiver, token, signal))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(signal.service, {"Export": method}),))
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        found = server.add_insecure_port(address)
    except RuntimeError as error:
        raise ConfigError(f"gRPC cannot listen on {address}: {error}; pass another --grpc-port") from error
    await server.start()
    return server, found


def _export(receiver: Receiver, token: str | None, signal: Signal) -> Export:
    """Return the handler of the method ``Export`` for ``signal``.

    The handler reads the request as a stream of one message, which is the same on the wire. A unary handler would read
    the message before a slot is reserved for it.
    """

    async def export(messages: AsyncIterator[bytes], context: ServicerContext[Any, Any]) -> bytes:
        try:
            _admit(token, context)
            with receiver.admission.slot() as place:
                async with place.arriving():
                    body = await _only(messages)
                # gRPC gives the message as a whole, so its bytes are counted only now; its own size limit bounds it
                # before.
                place.accept(len(body))
                receipt = await receiver.ingester.ingest(signal, PROTOBUF, body)
        except OtlpError as error:
            await _abort(context, error)
        return responses.accepted_response(signal, receipt, PROTOBUF)

    return export


async def _only(messages: AsyncIterator[bytes]) -> bytes:
    """Return the only message of a call; gRPC itself refuses a message that is too large. Raises OtlpError."""
    body: bytes | None = None
    async for message in messages:
        if body is not None:
            raise malformed("the call has more than one message; nothing was stored")
        body = message
    if body is None:
        raise malformed("the call has no message; nothing was stored")
    return body


def _admit(token: str | None, context: ServicerContext[Any, Any]) -> None:
    if token is None:
        return
    credentials = dict(context.invocation_metadata() or ()).get("authorization", "")
    if not hmac.compare_digest(str(credentials).encode(), f"Bearer {token}".encode()):
        raise OtlpError(
            401,
            "missing or wrong token: send the one that tooltrace serve printed as 'authorization: Bearer <token>'; nothing was stored",
        )


async def _abort(context: ServicerContext[Any, Any], error: OtlpError) -> None:
    details = ("grpc-status-details-bin", responses.status_of(error).SerializeToString())
    await context.abort(_CODES[error.code], str(error), (details,))

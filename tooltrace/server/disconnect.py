"""Middleware that cancels a request when the client disconnects."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class CancelOnDisconnect:
    """Middleware that cancels the application when the connection closes before the response.

    Only GET requests are cancelled, because they change nothing.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to the request, or cancel the response when the client disconnects."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        response = _ResponseChannel(send)
        # A task, not an await: only so can the wait for the disconnect run beside it and cancel it.
        handling = asyncio.ensure_future(self._app(scope, _empty_body(), response.send))
        disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
        try:
            await asyncio.wait((handling, disconnected), return_when=asyncio.FIRST_COMPLETED)
            if not handling.done():
                handling.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await handling
        except asyncio.CancelledError:  # the server is shutting down and cannot wait for a long query
            await response.refuse(scope, receive)
        finally:
            handling.cancel()
            disconnected.cancel()


class _ResponseChannel:
    """A send channel that records whether a response has begun: 503 is only possible before."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = False

    async def send(self, message: Message) -> None:
        self._started = True
        await self._send(message)

    async def refuse(self, scope: Scope, receive: Receive) -> None:
        if not self._started:
            await PlainTextResponse("503: the server is shutting down\n", 503)(scope, receive, self._send)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _empty_body() -> Receive:
    """Return the receive channel of a request without a body; ``_wait_for_disconnect`` watches for the disconnect instead."""
    messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop()

    return receive

"""Middleware that cancels a request when the client disconnects."""

from __future__ import annotations

import asyncio
import contextlib

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class CancelOnDisconnect:
    """The application, cancelled when the connection closes before the response. Only for GET: it changes nothing."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to the request, or cancel the response when the client disconnects."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        answer = _Answer(send)
        answering = asyncio.ensure_future(self._app(scope, _empty(), answer.send))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                answering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await answering
        except asyncio.CancelledError:  # the server is shutting down and cannot wait for a long query
            await answer.refuse(scope, receive)
        finally:
            answering.cancel()
            leaving.cancel()


class _Answer:
    """A send channel that remembers whether a response has begun: 503 is only possible before."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = False

    async def send(self, message: Message) -> None:
        self._begun = True
        await self._send(message)

    async def refuse(self, scope: Scope, receive: Receive) -> None:
        if not self._begun:
            await PlainTextResponse("503: the server was told to end\n", 503)(scope, receive, self._send)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _empty() -> Receive:
    """Return the receive channel of a request without a body; ``_left`` watches for the disconnect instead."""
    messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> Message:
        if not messages:
            await asyncio.get_running_loop().create_future()
        return messages.pop()

    return receive

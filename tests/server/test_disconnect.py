"""Disconnected clients cancel their requests; connected ones get 503 at shutdown."""

from __future__ import annotations

import asyncio

from starlette.responses import PlainTextResponse

from tooltrace.server.disconnect import CancelOnDisconnect

GET = {"type": "http", "method": "GET"}


class Visitor:
    """A connection: what it was sent, and when it closes."""

    def __init__(self) -> None:
        self.sent: list[dict] = []
        self.closed = asyncio.Event()
        self._asked = False

    async def receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self.closed.wait()
        return {"type": "http.disconnect"}

    async def send(self, message) -> None:
        self.sent.append(message)


class Slow:
    """An app that is told when it is stopped."""

    def __init__(self) -> None:
        self.began, self.stopped, self.go = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope, receive, send) -> None:
        self.began.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        await PlainTextResponse("done")(scope, receive, send)


async def test_a_request_with_a_waiting_client_completes():
    visitor, app = Visitor(), Slow()
    app.go.set()
    await CancelOnDisconnect(app)(GET, visitor.receive, visitor.send)
    assert [message["type"] for message in visitor.sent] == ["http.response.start", "http.response.body"]


async def test_a_request_without_a_client_is_cancelled():
    visitor, app = Visitor(), Slow()
    task = asyncio.ensure_future(CancelOnDisconnect(app)(GET, visitor.receive, visitor.send))
    await app.began.wait()
    visitor.closed.set()
    await task
    assert app.stopped.is_set()
    assert visitor.sent == []


async def test_a_post_is_completed_after_a_disconnect():
    visitor, app = Visitor(), Slow()
    task = asyncio.ensure_future(CancelOnDisconnect(app)({**GET, "method": "POST"}, visitor.receive, visitor.send))
    await app.began.wait()
    visitor.closed.set()
    app.go.set()
    await task
    assert not app.stopped.is_set()


async def test_a_shutdown_is_answered_with_503():
    visitor, app = Visitor(), Slow()
    task = asyncio.ensure_future(CancelOnDisconnect(app)(GET, visitor.receive, visitor.send))
    await app.began.wait()
    task.cancel()
    await task
    assert visitor.sent[0]["status"] == 503


async def test_an_app_that_waits_for_a_disconnect_does_not_spin():
    async def listening(scope, receive, send) -> None:
        await receive()
        await receive()

    visitor = Visitor()
    task = asyncio.ensure_future(CancelOnDisconnect(listening)(GET, visitor.receive, visitor.send))
    done, _ = await asyncio.wait([task], timeout=0.2)
    assert not done
    visitor.closed.set()
    await task

"""Limits of connections: a peer that opens many, or that never sends its request, must not lock out the others."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tooltrace.server.refusals import log_refusal

MAX_CONNECTIONS: Final = 512
"""Maximum number of open connections; uvicorn answers 503 above it."""
MAX_PER_PEER: Final = 128
"""Maximum number of open connections of one IP address, such as a reverse proxy."""
REQUEST_SECONDS: Final = 10.0
"""Seconds that a peer has to send the head of a request, and at most between two parts of its body."""
BODY_SECONDS: Final = 60.0
"""Seconds that a peer has to send a whole body."""


class BoundedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 connection, with limits on the time and number of those that wait for a request.

    Above the limit, the connection that has waited longest is closed: a browser sends its request at once, so it gets in
    also while others hold connections open.
    """

    waiting_since = 0.0
    """Time of the event loop at which the connection began to wait for a request."""
    _deadline: asyncio.TimerHandle | None = None
    _body_until: float | None = None
    """Time at which the body must be complete, where one is being sent."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's signature
        """Accept the connection, and close another where there are too many."""
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        self._wait()
        others = [
            one for one in self.connections if isinstance(one, BoundedProtocol) and one is not self and one.is_open
        ]
        of_peer = [one for one in others if one.peer == self.peer]
        if len(of_peer) >= MAX_PER_PEER:
            self._make_room(of_peer, f"{MAX_PER_PEER} connections of {self.peer}")
        # One below the limit of uvicorn, which would refuse this connection with 503 before one is closed.
        elif len(others) >= MAX_CONNECTIONS - 1:
            self._make_room(others, f"{MAX_CONNECTIONS} connections")

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._wait(received=True)

    def on_response_complete(self) -> None:
        """Wait for the next request, which may have begun already."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    @property
    def peer(self) -> str:
        """The IP address of the other side."""
        return self.client[0] if self.client else ""

    @property
    def is_open(self) -> bool:
        """Whether the connection is not being closed: one that is stays in the set of connections for a moment."""
        return not self.transport.is_closing()

    @property
    def awaits_request(self) -> bool:
        """Whether no request is being answered, and the head of the next one is not complete."""
        return self.conn.their_state is h11.IDLE and (self.cycle is None or self.cycle.response_complete)

    @property
    def sends_body(self) -> bool:
        """Whether the peer has sent the head of a request, and not all of its body."""
        return self.conn.their_state is h11.SEND_BODY

    def _wait(self, *, received: bool = False) -> None:
        """Start, continue or end the time that the peer has; a part of a body starts it anew."""
        if not self.sends_body:
            self._body_until = None
        if not self.awaits_request and not self.sends_body:
            self._stop_waiting()
        elif self._deadline is None or (received and self.sends_body):
            self._stop_waiting()
            now = self.loop.time()
            if not self.sends_body:
                self.waiting_since = now
            elif self._body_until is None:
                self.waiting_since, self._body_until = now, now + BODY_SECONDS
            seconds = REQUEST_SECONDS if self._body_until is None else min(REQUEST_SECONDS, self._body_until - now)
            self._deadline = self.loop.call_later(max(0.0, seconds), self._time_out)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _time_out(self) -> None:
        self._deadline = None
        log_refusal("slow", f"closed a connection of {self.peer}: {self._reason()}")
        self.transport.abort()

    def _reason(self) -> str:
        if self._body_until is not None and self.loop.time() >= self._body_until:
            return f"no complete body in {BODY_SECONDS:g} s"
        return f"no complete request in {REQUEST_SECONDS:g} s"

    def _make_room(self, others: list[BoundedProtocol], limit: str) -> None:
        """Close the connection that has waited longest for a request, or else for a body; this one if none waits."""
        waiting: list[Any] = [one for one in others if one.awaits_request] or [one for one in others if one.sends_body]
        closed = min(waiting, key=lambda one: one.waiting_since, default=self)
        which = "this one" if closed is self else "the one that waited longest for a request"
        log_refusal("connections", f"closed a connection of {closed.peer}: there are {limit}, and {which} was closed")
        closed.transport.abort()

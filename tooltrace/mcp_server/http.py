"""The server over HTTP: one ASGI application without sessions, for both protocol versions.

The checks of ``Host``, ``Origin`` and the token are those of ``tooltrace.server.security``, in front of the application.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

PATH: Final = "/mcp"
"""Address of the server."""
MAX_REQUEST_BYTES: Final = 256 * 1024
"""Largest request: the longest argument has 20,000 characters."""


class McpEndpoint:
    """The ASGI application at :data:`PATH`; it answers requests while its ``running`` block is open."""

    def __init__(self, server: Server[Any]) -> None:
        self._manager = StreamableHTTPSessionManager(
            server, json_response=True, stateless=True, max_request_body_size=MAX_REQUEST_BYTES
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests until the block ends; an endpoint can run once."""
        async with self._manager.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._manager.handle_request(scope, receive, send)


def application(server: Server[Any]) -> Starlette:
    """Return an application that has the server at :data:`PATH` alone."""
    endpoint = McpEndpoint(server)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with endpoint.running():
            yield

    return Starlette(routes=[Route(PATH, endpoint, methods=["GET", "POST", "DELETE"])], lifespan=lifespan)

"""The MCP server at ``/mcp`` of the pages, started by its first request: most servers never get one."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tooltrace.mcp_server.served_store import ServedStore
from tooltrace.store.base import StoreBackend

PATH = "/mcp"


class McpMount:
    """The ASGI application at :data:`PATH`, which imports the SDK on the first request."""

    def __init__(self, store: StoreBackend) -> None:
        self._store = store
        self._endpoint: ASGIApp | None = None
        self._task: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._starting = asyncio.Lock()

    @property
    def route(self) -> Route:
        """The route of the application."""
        return Route(PATH, self, methods=["GET", "POST", "DELETE"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; 501 where the SDK is not installed."""
        if find_spec("mcp") is None:
            text = "501: MCP needs a package: pip install 'tooltrace-recorder[mcp]'\n"
            await PlainTextResponse(text, 501)(scope, receive, send)
            return
        # Two first requests at once must not start two servers.
        async with self._starting:
            endpoint = self._endpoint or await self._start()
        await endpoint(scope, receive, send)

    async def close(self) -> None:
        """End the server, if a request started it."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _start(self) -> ASGIApp:
        from tooltrace.mcp_server.http import McpEndpoint
        from tooltrace.mcp_server.server import make_server

        endpoint = McpEndpoint(make_server(ServedStore(self._store)))
        running = asyncio.Event()

        async def run() -> None:  # in a task of its own: the SDK's task group must be left where it was entered
            async with endpoint.running():
                running.set()
                await self._stop.wait()

        self._task = asyncio.create_task(run())
        await running.wait()
        self._endpoint = endpoint
        return endpoint

"""Functions that run the web app and the OTLP receiver until a signal or the caller stops them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from tooltrace.errors import ConfigError
from tooltrace.server.app import application
from tooltrace.server.connections import MAX_CONNECTIONS, BoundedProtocol
from tooltrace.server.site import Site

if TYPE_CHECKING:
    from tooltrace.ingest.receiver.ingester import Receiver

GRACE_SECONDS: Final = 1
"""Seconds that running requests have to end at shutdown."""


# uvicorn's own handlers would raise the signal again after the shutdown, and end the process before the receiver is
# closed.
class _UvicornServer(uvicorn.Server):
    """A server that leaves signal handling to its caller."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Open a listening socket; ``port`` 0 means any free port. Raises ConfigError, which names the ``option``."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        return socket.create_server(address[:2], family=family, backlog=128)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}; choose another {option}"
        ) from error


async def run_until(
    stop: asyncio.Event, apps: Sequence[tuple[ASGIApp, socket.socket]], *, stopping: Callable[[], None] | None = None
) -> None:
    """Serve each app on its socket until ``stop`` is set.

    Running requests then have up to a second to end; ``stopping`` is called first and may shorten that.
    """
    servers = [_server(app) for app, _ in apps]
    tasks = [
        asyncio.create_task(server.serve(sockets=[listener]))
        for server, (_, listener) in zip(servers, apps, strict=True)
    ]
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if stopping is not None:
        stopping()
    for server in servers:
        server.should_exit = True
    await asyncio.gather(*tasks)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether to log the record: cancelling running requests at shutdown is expected, not an error."""
    return "graceful shutdown exceeded" not in str(record.msg)


def _server(app: ASGIApp) -> _UvicornServer:
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    config = uvicorn.Config(
        app,
        lifespan="on",
        proxy_headers=False,
        ws="none",
        log_config=None,
        log_level="error",  # an invalid request of a client is not worth a log line
        access_log=False,
        server_header=False,
        http=BoundedProtocol,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return _UvicornServer(config)


@contextlib.contextmanager
def signals_set(stop: asyncio.Event) -> Iterator[None]:
    """Let SIGINT and SIGTERM set ``stop`` inside the block; a second signal ends the process as usual."""
    loop = asyncio.get_running_loop()
    handled = (signal.SIGINT, signal.SIGTERM)

    def stop_once() -> None:
        stop.set()
        restore()

    def restore() -> None:
        for number in handled:
            loop.remove_signal_handler(number)

    for number in handled:
        loop.add_signal_handler(number, stop_once)
    try:
        yield
    finally:
        restore()


Ready = Callable[[int, int | None], None]
"""Callback with the ports for HTTP and for gRPC, called when the server accepts connections."""


async def serve(
    site: Site,
    stop: asyncio.Event,
    ready: Ready,
    *,
    host: str,
    port: int,
    receiver: Receiver | None = None,
    grpc_port: int | None = None,
) -> None:
    """Serve until ``stop`` is set. Raises ConfigError if the address cannot be used."""
    with listen(host, port) as listener:
        app = application(site, more=_routes(receiver))
        run = partial(run_until, stop, [(app, listener)], stopping=receiver.end if receiver is not None else None)
        if receiver is None or grpc_port is None:
            ready(listener.getsockname()[1], None)
            await run()
            return
        from tooltrace.ingest.receiver import grpc

        grpc_server, bound_port = await grpc.start(receiver, site.token, host, grpc_port)
        try:
            ready(listener.getsockname()[1], bound_port)
            await run()
        finally:
            await grpc_server.stop(GRACE_SECONDS)


def _routes(receiver: Receiver | None) -> Sequence[BaseRoute]:
    if receiver is None:
        return ()
    from tooltrace.ingest.receiver.http import routes

    return routes(receiver)

"""The web app at work, with the OTLP receiver where one is given, until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute

from tooltrace.server.app import application
from tooltrace.server.receiver.running import GRACE_SECONDS, listen, run_until
from tooltrace.server.site import Site

if TYPE_CHECKING:
    from tooltrace.server.receiver.receiver import Receiver

Ready = Callable[[int, int | None], None]
"""Is told the ports for HTTP and for gRPC when others can come."""


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
    """Serve until ``stop`` is set. Raises ConfigError where it cannot listen."""
    with listen(host, port) as listener:
        app = application(site, more=_routes(receiver))
        run = partial(run_until, stop, [(app, listener)], stopping=receiver.end if receiver is not None else None)
        if receiver is None or grpc_port is None:
            ready(listener.getsockname()[1], None)
            await run()
            return
        from tooltrace.server.receiver import grpc

        calls, found = await grpc.start(receiver, site, host, grpc_port)
        try:
            ready(listener.getsockname()[1], found)
            await run()
        finally:
            await calls.stop(GRACE_SECONDS)


def _routes(receiver: Receiver | None) -> Sequence[BaseRoute]:
    if receiver is None:
        return ()
    from tooltrace.server.receiver.http import routes

    return routes(receiver)

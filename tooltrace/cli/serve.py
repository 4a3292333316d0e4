"""``tooltrace serve``: web pages over the store, and an OTLP receiver for other programs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import capture_option, place_option
from tooltrace.errors import UnsupportedByStore
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from tooltrace.ingest.receiver.ingester import Receiver
    from tooltrace.recording.tool_spec import Capture
    from tooltrace.server.site import Site

_PAGES = ("starlette", "uvicorn", "jinja2")
_OTLP = ("google.protobuf", "google.rpc", "opentelemetry.proto")
PORT = 8318
OTLP_PORT = 4318
GRPC_PORT = 4317


@click.command(short_help="Show the store in a browser; receive spans by OTLP.")
@click.option(
    "--otlp", is_flag=True, help="Receive OTLP too: over HTTP, and over gRPC where the extra grpc is installed."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The interface to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"For the pages, and OTLP over HTTP; 0 takes any.  [default: {PORT}, with --otlp {OTLP_PORT}]",
)
@click.option(
    "--grpc-port",
    type=click.IntRange(0, 65535),
    help=f"For OTLP over gRPC; 0 takes any.  [default: {GRPC_PORT}, with the extra grpc]",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="A further name that this server goes by.")
@click.option("--token", envvar="TOOLTRACE_TOKEN", help="What a visitor must show; beyond loopback one is made up.")
@capture_option
@place_option
def serve(
    *,
    otlp: bool,
    host: str,
    port: int | None,
    grpc_port: int | None,
    allow_host: tuple[str, ...],
    token: str | None,
    capture: Capture,
    store: StoreBackend,
) -> None:
    """Show the store in a browser, until Ctrl-C: which tools to look at first, why, and every call in full.

    With --otlp spans and evaluations of other programs are taken in as well. What is acknowledged is in the journal of
    the store; metrics are not kept, and the answers say so. Only this machine is served unless --host says otherwise.
    """
    journal = _written_here(store) if otlp else None
    _require((*_PAGES, *_OTLP) if otlp else _PAGES, "serve")
    if otlp and grpc_port is not None:
        _require(("grpc",), "grpc")
    elif otlp and _there("grpc"):
        grpc_port = GRPC_PORT

    from tooltrace.server.site import Site

    site = Site.of(store, host=host, names=allow_host, token=token)
    if not otlp:
        asyncio.run(_serve(site, None, host, PORT if port is None else port, None))
        return
    from tooltrace.ingest.receiver.ingester import Receiver
    from tooltrace.recording.settings import Settings

    receiver = Receiver(Settings(store=journal, capture=capture, service_name="tooltrace serve"))
    try:
        asyncio.run(_serve(site, receiver, host, OTLP_PORT if port is None else port, grpc_port))
    finally:
        receiver.close()


def _written_here(store: StoreBackend) -> Path:
    try:
        return store.path
    except UnsupportedByStore as error:
        raise UsageError(
            f"--otlp records here, and {store} is only read; send to the collector, or name a local store"
        ) from error


async def _serve(site: Site, receiver: Receiver | None, host: str, port: int, grpc_port: int | None) -> None:
    from tooltrace.server.asgi import serve as run
    from tooltrace.server.asgi import signals_set

    stop = asyncio.Event()
    with signals_set(stop):
        say = partial(_say, site, host, otlp=receiver is not None)
        await run(site, stop, say, host=host, port=port, receiver=receiver, grpc_port=grpc_port)


def _say(site: Site, host: str, http: int, grpc: int | None, *, otlp: bool) -> None:
    where = f"http://{_shown(host)}:{http}"
    link = where if site.token is None else f"{where}/?token={site.token}"
    click.echo(f"{site.store} on {link} (Ctrl-C ends it)")
    if not otlp:
        return
    click.echo(f"OTLP/HTTP on {where}" + ("" if grpc is None else f", OTLP/gRPC on {_shown(host)}:{grpc}"))
    if grpc is None:
        click.echo("Without gRPC: pip install 'tooltrace[grpc]' for it.", err=True)
    if site.token is not None:
        click.echo(f"Clients must show: OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20{site.token}'", err=True)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _require(modules: Sequence[str], extra: str) -> None:
    missing = [module for module in modules if not _there(module)]
    if missing:
        raise CommandError(f"this needs {', '.join(missing)}: pip install 'tooltrace[{extra}]'")


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is not installed either
        return False

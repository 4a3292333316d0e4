"""``tooltrace serve``: web pages over the store, and an OTLP receiver for other programs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import capture_option, examples, unfolded_place_option
from tooltrace.errors import ConfigError, UnsupportedByStore
from tooltrace.recording.settings import Settings
from tooltrace.store.base import StoreBackend
from tooltrace.store.files.store_file import check_location
from tooltrace.store.fold.background import BackgroundFold

if TYPE_CHECKING:
    from tooltrace.ingest.receiver.ingester import Receiver
    from tooltrace.recording.tool_spec import Capture
    from tooltrace.server.site import Site

_PAGES = ("starlette", "uvicorn", "jinja2")
_OTLP = ("google.protobuf", "google.rpc", "opentelemetry.proto")
PORT = 8318
OTLP_PORT = 4318
GRPC_PORT = 4317


@click.command(
    short_help="Serve web pages of the store; receive OTLP.",
    epilog=examples(
        "tooltrace serve",
        "tooltrace serve agent.duckdb --port 0",
        "tooltrace serve --otlp",
    ),
)
@click.option(
    "--otlp", is_flag=True, help="Also receive OTLP over HTTP, and over gRPC if the extra 'grpc' is installed."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Interface to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"Port of the pages and of OTLP over HTTP; 0 for any free port.  [default: {PORT}, with --otlp {OTLP_PORT}]",
)
@click.option(
    "--grpc-port",
    type=click.IntRange(0, 65535),
    help=f"Port of OTLP over gRPC; 0 for any free port.  [default: {GRPC_PORT}, with the extra 'grpc']",
)
@click.option(
    "--root-path",
    default="",
    metavar="PATH",
    help="Path below which a reverse proxy serves the pages, such as /tooltrace.",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name of this server; repeatable.")
@click.option(
    "--token",
    envvar="TOOLTRACE_TOKEN",
    help="Access token for visitors. Default: none on a loopback interface, else a random token.",
)
@capture_option
@unfolded_place_option
def serve(
    *,
    otlp: bool,
    host: str,
    port: int | None,
    grpc_port: int | None,
    root_path: str,
    allow_host: tuple[str, ...],
    token: str | None,
    capture: Capture,
    store: StoreBackend,
) -> None:
    """Serve web pages of the store until Ctrl-C.

    The pages show an overview, each tool and each call, and run SQL. Agents can connect to /mcp with the extra 'mcp'. With --otlp the server also receives spans and evaluations of other programs. Acknowledged records are in the
    store's journal. Metrics are not stored, and the responses report them as rejected. Without --host only this machine can connect.
    """
    journal = _local_path(store) if otlp else None
    _require((*_PAGES, *_OTLP) if otlp else _PAGES, "serve")
    if otlp and grpc_port is not None:
        _require(("grpc",), "grpc")
    elif otlp and _is_installed("grpc"):
        grpc_port = GRPC_PORT

    from tooltrace.server.prefix import checked_prefix
    from tooltrace.server.site import Site

    try:
        prefix = checked_prefix(root_path)
    except ConfigError as error:
        raise UsageError(str(error)) from error
    site = Site.of(store, host=host, names=allow_host, token=token, prefix=prefix)
    with _background_fold(store, receives=otlp):
        try:
            _run(site, journal, capture, host, port, grpc_port)
        except ConfigError as error:  # a port that is in use is not wrong usage
            raise CommandError(str(error)) from error


@contextlib.contextmanager
def _background_fold(store: StoreBackend, *, receives: bool) -> Iterator[None]:
    """Let a background process fold the journals of a local store until the block ends.

    It needs the journal folder. Without a store, the folder is created only for a receiver of records.
    """
    paths = store.files
    if paths is None:
        yield
        return
    path = store.path
    check_location(path)
    fold = BackgroundFold(paths)
    if path.parent.is_dir() and (receives or path.exists() or paths.journal.exists()):
        fold.start()
    try:
        yield
    finally:
        fold.close()


def _run(
    site: Site, journal: Path | None, capture: Capture, host: str, port: int | None, grpc_port: int | None
) -> None:
    if journal is None:
        asyncio.run(_serve(site, None, host, PORT if port is None else port, None))
        return
    from tooltrace.ingest.receiver.ingester import Receiver

    receiver = Receiver(Settings(store=journal, capture=capture, service_name="tooltrace serve"))
    try:
        asyncio.run(_serve(site, receiver, host, OTLP_PORT if port is None else port, grpc_port))
    finally:
        receiver.close()


def _local_path(store: StoreBackend) -> Path:
    try:
        return store.path
    except UnsupportedByStore as error:
        raise UsageError(
            f"--otlp needs the path of a local store, got {store}: send the spans to its collector instead"
        ) from error


async def _serve(site: Site, receiver: Receiver | None, host: str, port: int, grpc_port: int | None) -> None:
    from tooltrace.server.asgi import serve as run
    from tooltrace.server.asgi import signals_set

    stop = asyncio.Event()
    with signals_set(stop):
        ready = partial(_print_addresses, site, host, otlp=receiver is not None)
        await run(site, stop, ready, host=host, port=port, receiver=receiver, grpc_port=grpc_port)


def _print_addresses(site: Site, host: str, http: int, grpc: int | None, *, otlp: bool) -> None:
    address = f"http://{_url_host(host)}:{http}"
    link = address if site.token is None else f"{address}{site.prefix}/?token={site.token}"
    click.echo(f"Serving {site.store} on {link} (press Ctrl-C to stop)")
    if not otlp:
        return
    click.echo(f"OTLP/HTTP on {address}" + ("" if grpc is None else f", OTLP/gRPC on {_url_host(host)}:{grpc}"))
    if grpc is None:
        click.echo("OTLP/gRPC is off; to enable it: pip install 'tooltrace-recorder[grpc]'", err=True)
    if site.token is not None:
        click.echo(
            f"Clients must send the token: OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20{site.token}'", err=True
        )


def _url_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def can_serve() -> bool:
    """Whether the packages of the pages are installed."""
    return all(map(_is_installed, _PAGES))


def _require(modules: Sequence[str], extra: str) -> None:
    missing = [module for module in modules if not _is_installed(module)]
    if missing:
        raise CommandError(f"tooltrace serve needs {', '.join(missing)}: pip install 'tooltrace-recorder[{extra}]'")


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is not installed either
        return False

"""``tooltrace mcp``: an MCP server over the store, for agents that ask about their own tools."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.options import examples, unfolded_place_option
from tooltrace.errors import ConfigError
from tooltrace.mcp_server.answer import MAX_CHARACTERS
from tooltrace.store.base import StoreBackend

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

PORT = 8319


@click.command(
    short_help="Serve the store to agents over MCP.",
    epilog=examples(
        "tooltrace mcp agent.duckdb",
        "tooltrace mcp --http 127.0.0.1:8319",
        "tooltrace mcp --allow-label",
    ),
)
@click.option(
    "--http",
    "address",
    metavar="HOST:PORT",
    help=f"Serve HTTP at /mcp of this address, such as 127.0.0.1:{PORT}, instead of standard input and output.",
)
@click.option("--allow-host", multiple=True, metavar="NAME", help="Another host name of the HTTP server; repeatable.")
@click.option(
    "--token",
    envvar="TOOLTRACE_TOKEN",
    help="Access token of the HTTP server. Default: none on a loopback interface, else a random token.",
)
@click.option("--allow-label", is_flag=True, help="Offer the tool 'label'. Its labels do not count as truth.")
@click.option(
    "--labeler",
    metavar="NAME",
    help="With --allow-label: record labels as of this labeler, so that they count as truth.",
)
@click.option(
    "--characters",
    type=click.IntRange(2_000, 1_000_000),
    default=MAX_CHARACTERS,
    show_default=True,
    help="Longest answer, in characters of JSON.",
)
@unfolded_place_option
def mcp(
    *,
    address: str | None,
    allow_host: tuple[str, ...],
    token: str | None,
    allow_label: bool,
    labeler: str | None,
    characters: int,
    store: StoreBackend,
) -> None:
    """Serve the store to agents over the Model Context Protocol, until the client or Ctrl-C ends it.

    Without --http it speaks over standard input and output, as editors and agents start it. It reads the store; only
    --allow-label lets it write labels. Its own calls are recorded in the store, as the service 'tooltrace-mcp'.
    """
    if find_spec("mcp") is None:
        raise CommandError("tooltrace mcp needs mcp: pip install 'tooltrace-recorder[mcp]'")
    if labeler is not None and not allow_label:
        raise UsageError("--labeler needs --allow-label")
    from tooltrace.mcp_server.served_store import ServedStore
    from tooltrace.mcp_server.server import make_server, serve_stdio

    server = make_server(ServedStore(store, characters), allow_label=allow_label, labeler=labeler)
    if address is None:
        asyncio.run(serve_stdio(server))
        return
    host, port = _parsed(address)
    try:
        asyncio.run(_serve_http(server, store, host, port, allow_host, token))
    except ConfigError as error:  # a port that is in use is not wrong usage
        raise CommandError(str(error)) from error


def _parsed(address: str) -> tuple[str, int]:
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--http must be HOST:PORT, such as 127.0.0.1:{PORT}; got {address!r}")
    return host.removeprefix("[").removesuffix("]") or "127.0.0.1", int(port)


async def _serve_http(
    server: Server[Any], store: StoreBackend, host: str, port: int, names: tuple[str, ...], token: str | None
) -> None:
    from tooltrace.mcp_server.http import PATH, application
    from tooltrace.server.asgi import listen, run_until, signals_set
    from tooltrace.server.security import SecurityMiddleware
    from tooltrace.server.site import Site

    site = Site.of(store, host=host, names=names, token=token)
    stop = asyncio.Event()
    with signals_set(stop), listen(host, port, "--http") as listener:
        bound = listener.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        click.echo(f"Serving {store} over MCP on http://{shown}:{bound}{PATH} (press Ctrl-C to stop)")
        if site.token is not None:
            click.echo(f"Clients must send the token: Authorization: Bearer {site.token}", err=True)
        await run_until(stop, [(SecurityMiddleware(application(server), site), listener)])

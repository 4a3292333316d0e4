"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from tooltrace.errors import UnsupportedByStore
from tooltrace.recording.settings import default_address, default_store
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.url import Place, address_of

_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "markdown")


LONG_BYTES = 32 * 1024 * 1024
"""Journal size that takes about a second to fold; above it a message explains the wait."""


class _PlaceType(click.Path):
    """Parameter type for a path, or the address of a remote store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        address = address_of(value) if isinstance(value, str) else None
        return address or super().convert(value, param, ctx)


def _ready(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> Path:
    """Return the path of the store for a command that writes. Raises BadParameter for a read-only store."""
    store = _opened(place)
    try:
        path = store.path
    except UnsupportedByStore as error:
        raise click.BadParameter(f"{store} is only read; name the path of a local store here") from error
    _say_how_much_waits(path)
    return path


def _ready_to_read(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> StoreBackend:
    store = _opened(place)
    with suppress(UnsupportedByStore):
        _say_how_much_waits(store.path)
    return store


def _opened(place: Place | None) -> StoreBackend:
    return open_store(place or default_address() or default_store())


def _say_how_much_waits(path: Path) -> None:
    from tooltrace.store.fold_marker import unfolded_bytes
    from tooltrace.store.paths import StorePaths

    waiting = unfolded_bytes(StorePaths.of(path))
    if waiting > LONG_BYTES:
        click.echo(f"{waiting / 1e6:,.0f} MB of journal wait to be folded; the first answer takes a moment.", err=True)


def store_option(command: _F) -> _F:
    """Add ``--store``, a path of a local store that is ready to be opened."""
    return _store_option(_ready, "The store.")(command)


def place_option(command: _F) -> _F:
    """Add ``--store`` for a command that only reads: a path, or an address."""
    return _store_option(_ready_to_read, "The store: a path, or clickhouse://host/database.")(command)


def _store_option(ready: Callable[..., Path | StoreBackend], said: str) -> Callable[[_F], _F]:
    return click.option(
        "--store",
        type=_PlaceType(dir_okay=False, path_type=Path),
        callback=ready,
        help=f"{said} Default: $TOOLTRACE_STORE, else ./tooltrace.duckdb.",
    )


def format_option(*formats: str) -> Callable[[_F], _F]:
    """Add ``--format``, one of ``formats``; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Form of the answer.",
    )


def capture_option(command: _F) -> _F:
    """Add ``--capture``: whether arguments and results are stored."""
    return click.option(
        "--capture",
        type=click.Choice(["full", "metadata"]),
        default="full",
        show_default=True,
        help="metadata keeps neither arguments nor results.",
    )(command)

"""Options that several commands have."""

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
"""So much journal takes about a second to fold: worth a word to whoever waits."""


class _PlaceType(click.Path):
    """A path, or the address of a store elsewhere."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        address = address_of(value) if isinstance(value, str) else None
        return address or super().convert(value, param, ctx)


def _ready(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> Path:
    """The store of a command that writes. Raises BadParameter for one that is only read."""
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
    """``--store``: a path, ready to be opened."""
    return _store_option(_ready, "The store.")(command)


def place_option(command: _F) -> _F:
    """``--store`` of a command that only reads: a path, or an address."""
    return _store_option(_ready_to_read, "The store: a path, or clickhouse://host/database.")(command)


def _store_option(ready: Callable[..., Path | StoreBackend], said: str) -> Callable[[_F], _F]:
    return click.option(
        "--store",
        type=_PlaceType(dir_okay=False, path_type=Path),
        callback=ready,
        help=f"{said} Default: $TOOLTRACE_STORE, else ./tooltrace.duckdb.",
    )


def format_option(*formats: str) -> Callable[[_F], _F]:
    """``--format``, one of ``formats``; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Form of the answer.",
    )


def capture_option(command: _F) -> _F:
    """``--capture``: whether what tools were given and gave is kept."""
    return click.option(
        "--capture",
        type=click.Choice(["full", "metadata"]),
        default="full",
        show_default=True,
        help="metadata keeps neither arguments nor results.",
    )(command)

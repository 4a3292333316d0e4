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
from tooltrace.store.fold_marker import unfolded_bytes
from tooltrace.store.paths import StorePaths
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


def _local_path(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> Path:
    """Return the path of the store for a command that writes. Raises BadParameter for a read-only store."""
    store = _open(place)
    try:
        path = store.path
    except UnsupportedByStore as error:
        raise click.BadParameter(str(error)) from error
    _announce_long_fold(path)
    return path


def _open_for_reading(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> StoreBackend:
    store = _open(place)
    with suppress(UnsupportedByStore):
        _announce_long_fold(store.path)
    return store


def _open(place: Place | None) -> StoreBackend:
    return open_store(place or default_address() or default_store())


def _announce_long_fold(path: Path) -> None:

    pending = unfolded_bytes(StorePaths.of(path))
    if pending > LONG_BYTES:
        click.echo(f"Folding {pending / 1e6:,.0f} MB of pending journal records first …", err=True)


def store_option(command: _F) -> _F:
    """Add ``--store``, the path of a local store."""
    return _store_option(_local_path, "Path of the store.")(command)


def place_option(command: _F) -> _F:
    """Add ``--store`` for a command that only reads: a path, or an address."""
    return _store_option(_open_for_reading, "Path of the store, or clickhouse://host/database.")(command)


def _store_option(callback: Callable[..., Path | StoreBackend], meaning: str) -> Callable[[_F], _F]:
    return click.option(
        "--store",
        type=_PlaceType(dir_okay=False, path_type=Path),
        callback=callback,
        help=f"{meaning} Default: $TOOLTRACE_STORE, else ./tooltrace.duckdb.",
    )


def format_option(*formats: str) -> Callable[[_F], _F]:
    """Add ``--format``, one of ``formats``; the first is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def capture_option(command: _F) -> _F:
    """Add ``--capture``: whether arguments and results are stored."""
    return click.option(
        "--capture",
        type=click.Choice(["full", "metadata"]),
        default="full",
        show_default=True,
        help="With 'metadata', neither arguments nor results are stored.",
    )(command)

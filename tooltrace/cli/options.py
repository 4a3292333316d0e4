"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from tooltrace.cli.folding import fold_ahead
from tooltrace.errors import UnsupportedByStore
from tooltrace.recording.settings import default_address, default_store
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.url import Place, address_of

_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "markdown")


class _PlaceType(click.Path):
    """Parameter type for a path, or the address of a remote store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        address = address_of(value) if isinstance(value, str) else None
        return address or super().convert(value, param, ctx)


def _local_path(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> Path:
    """Return the path of the store for a command that writes. Raises BadParameter for a read-only store."""
    store = _open(place)
    try:
        return store.path
    except UnsupportedByStore as error:
        raise click.BadParameter(str(error)) from error


def _folded_path(ctx: click.Context, param: click.Parameter, place: Place | None) -> Path:
    path = _local_path(ctx, param, place)
    fold_ahead(path)
    return path


def _open_for_reading(ctx: click.Context, param: click.Parameter, place: Place | None) -> StoreBackend:
    store = _open_store(ctx, param, place)
    with suppress(UnsupportedByStore):
        fold_ahead(store.path)
    return store


def _open_or_journals(ctx: click.Context, param: click.Parameter, place: Place | None) -> StoreBackend:
    """Return the store, or its journals alone where the option ``--journals-only`` is set."""
    if not ctx.params.get("journals_only"):
        return _open_for_reading(ctx, param, place)
    from tooltrace.store.duckdb_store import DuckDBStore

    return DuckDBStore(_local_path(ctx, param, place), journals_only=True)


def _open_store(_ctx: click.Context, _param: click.Parameter, place: Place | None) -> StoreBackend:
    return _open(place)


def _open(place: Place | None) -> StoreBackend:
    return open_store(place or default_address() or default_store())


_PATH = "Path of the store."
_PLACE = "Path of the store, or clickhouse://host/database."


def store_option(command: _F) -> _F:
    """Add ``--store``, the path of a local store, whose journals are folded first."""
    return _store_option(_folded_path, _PATH)(command)


def unfolded_store_option(command: _F) -> _F:
    """Add ``--store``, the path of a local store."""
    return _store_option(_local_path, _PATH)(command)


def place_option(command: _F) -> _F:
    """Add ``--store`` for a command that only reads: a path, or an address. Journals are folded first."""
    return _store_option(_open_for_reading, _PLACE)(command)


def unfolded_place_option(command: _F) -> _F:
    """Add ``--store``, a path or an address."""
    return _store_option(_open_store, _PLACE)(command)


def place_or_journals_option(command: _F) -> _F:
    """Add ``--store`` as ``place_option`` does, and ``--journals-only``."""
    flag = click.option(
        "--journals-only",
        is_flag=True,
        is_eager=True,
        expose_value=True,
        help="Read only the records that are still in journals, without the database and without any wait.",
    )
    return flag(_store_option(_open_or_journals, _PLACE)(command))


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


def renamed(old: str, value: str | None, new: str) -> str | None:
    """Return ``value``, which was passed under the ``old`` name of the option ``new``, with a warning on stderr."""
    if value is not None:
        click.echo(f"Warning: {old} is now called {new}.", err=True)
    return value

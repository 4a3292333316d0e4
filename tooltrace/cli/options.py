"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tooltrace.settings import default_store

_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "markdown")


LONG_BYTES = 32 * 1024 * 1024
"""So much journal takes about a second to fold: worth a word to whoever waits."""


def _ready(_ctx: click.Context, _param: click.Parameter, path: Path | None) -> Path:
    from tooltrace.store.paths import StorePaths
    from tooltrace.store.progress import unfolded_bytes

    store = path.absolute() if path else default_store()
    waiting = unfolded_bytes(StorePaths.of(store))
    if waiting > LONG_BYTES:
        click.echo(f"{waiting / 1e6:,.0f} MB of journal wait to be folded; the first answer takes a moment.", err=True)
    return store


def store_option(command: _F) -> _F:
    """``--store``: a path, ready to be opened."""
    return click.option(
        "--store",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_ready,
        help="The store. Default: $TOOLTRACE_STORE, else ./tooltrace.duckdb.",
    )(command)


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

"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from tooltrace.settings import default_store

_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "markdown")


def store_option(command: _F) -> _F:
    """``--store``: a path, ready to be opened."""
    return click.option(
        "--store",
        type=click.Path(dir_okay=False, path_type=Path),
        callback=lambda _ctx, _param, path: path.absolute() if path else default_store(),
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

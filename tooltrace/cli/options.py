"""Options that several commands share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from tooltrace.cli.completion import STORE_ARGUMENT, complete_tools, remember_store
from tooltrace.cli.errors import UsageError
from tooltrace.cli.output_file import form_of, output_to
from tooltrace.errors import StoreError, UnsupportedByStore
from tooltrace.recording.settings import default_address, default_store
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.files.file_lock import wait_seconds
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.fold_marker import unfolded_bytes
from tooltrace.store.url import Address, Place, place_of

LONG_BYTES = 32 * 1024 * 1024
"""Journal size that takes about a second to fold; above it the user sees the progress."""


def fold_ahead(path: Path) -> None:
    """Fold a large backlog of the store ``path``, so that the command finds it folded.

    In a terminal, a bar on standard error shows the rate and the remaining time. A fold that fails is left to the
    command, which reads the journals too, or has the better error.
    """
    pending = unfolded_bytes(StorePaths.of(path))
    if pending <= LONG_BYTES:
        return
    if not sys.stderr.isatty():
        click.echo(f"Folding {pending / 1e6:,.0f} MB of pending journal records first …", err=True)
        return
    with suppress(StoreError):
        _fold_with_bar(path, pending)


def _fold_with_bar(path: Path, pending: int) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    from tooltrace.store.fold.fold import FoldProgress, fold

    columns = (
        TextColumn("Folding journals"), BarColumn(), DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fold", total=pending)

        def show(progress: FoldProgress) -> None:
            bar.update(task, completed=progress.done, total=progress.total)

        fold(path, wait=wait_seconds(), progress=show)


_F = TypeVar("_F", bound=Callable[..., Any])

FORMATS = ("table", "json", "csv", "markdown")
_POSITIONAL = "tooltrace.cli.options.positional_store"
"""Key under which the context keeps the argument STORE."""


def examples(*commands: str) -> str:
    """Return ``commands`` as the last part of a command's help, each on a line of its own."""
    return "\b\nExamples:\n" + "\n".join(f"  {command}" for command in commands)


# The store.


class _PlaceType(click.Path):
    """Parameter type for a path, or the address of a remote store."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        place = place_of(value) if isinstance(value, str) else value
        return place if isinstance(place, Address) else super().convert(value, param, ctx)


def _local_path(_ctx: click.Context, place: Place | None) -> Path:
    """Return the path of the store for a command that writes. Raises BadParameter for a read-only store."""
    try:
        return _open(place).path
    except UnsupportedByStore as error:
        raise click.BadParameter(str(error), param_hint="'--store'") from error


def _folded_path(ctx: click.Context, place: Place | None) -> Path:
    path = _local_path(ctx, place)
    fold_ahead(path)
    return path


def _open_for_reading(_ctx: click.Context, place: Place | None) -> StoreBackend:
    store = _open(place)
    if store.files is not None:
        fold_ahead(store.path)
    return store


def _open_or_journals(ctx: click.Context, place: Place | None) -> StoreBackend:
    """Return the store, or its journals alone where the option ``--journals-only`` is set."""
    if not ctx.params.get("journals_only"):
        return _open_for_reading(ctx, place)
    try:
        return _open(place).journals_only()
    except UnsupportedByStore as error:
        raise click.BadParameter(str(error), param_hint="'--journals-only'") from error


def _open_unfolded(_ctx: click.Context, place: Place | None) -> StoreBackend:
    return _open(place)


def _open(place: Place | None) -> StoreBackend:
    return open_store(place or default_address() or default_store())


_PATH = "Path of the store."
_PLACE = "Path of the store, or clickhouse://host/database."


def store_option(command: _F) -> _F:
    """Add ``--store``, and STORE as the last argument: the path of a local store, whose journals are folded first."""
    return _store(_folded_path, _PATH)(command)


def named_store_option(command: _F) -> _F:
    """Add ``--store`` as ``store_option`` does, without the argument, for a command whose arguments are files."""
    return _store(_folded_path, _PATH, positional=False)(command)


def unfolded_store_option(command: _F) -> _F:
    """Add ``--store`` and STORE: the path of a local store."""
    return _store(_local_path, _PATH)(command)


def place_option(command: _F) -> _F:
    """Add ``--store`` and STORE for a command that only reads: a path, or an address. Journals are folded first."""
    return _store(_open_for_reading, _PLACE)(command)


def named_place_option(command: _F) -> _F:
    """Add ``--store`` as ``place_option`` does, without the argument, for a command whose argument is a file."""
    return _store(_open_for_reading, _PLACE, positional=False)(command)


def unfolded_place_option(command: _F) -> _F:
    """Add ``--store`` and STORE: a path or an address."""
    return _store(_open_unfolded, _PLACE)(command)


def place_or_journals_option(command: _F) -> _F:
    """Add ``--store`` and STORE as ``place_option`` does, and ``--journals-only``."""
    flag = click.option(
        "--journals-only",
        is_flag=True,
        is_eager=True,
        expose_value=True,
        help="Read only the records that are still in journals, without the database and without any wait.",
    )
    return flag(_store(_open_or_journals, _PLACE)(command))


def _store(
    resolve: Callable[[click.Context, Place | None], Path | StoreBackend], meaning: str, *, positional: bool = True
) -> Callable[[_F], _F]:
    def resolved(ctx: click.Context, _param: click.Parameter, place: Place | None) -> Path | StoreBackend | None:
        argument = ctx.meta.get(_POSITIONAL)
        if ctx.resilient_parsing:  # for completion, which opens, folds and waits for nothing
            remember_store(ctx, place or argument)
            return None
        if place is not None and argument is not None:
            raise UsageError(f"the store is given twice, as STORE ({argument}) and as --store ({place}): pass one")
        return resolve(ctx, place or argument)

    def add(command: _F) -> _F:
        kind = _PlaceType(dir_okay=False, path_type=Path)
        help_text = f"{meaning} Default: $TOOLTRACE_STORE, else ./tooltrace.duckdb."
        command = click.option("-s", "--store", metavar="STORE", type=kind, callback=resolved, help=help_text)(command)
        if not positional:
            return command
        return click.argument(
            STORE_ARGUMENT, metavar="[STORE]", type=kind, required=False, is_eager=True, expose_value=False,
            callback=_keep_argument,
        )(command)  # fmt: skip

    return add


def _keep_argument(ctx: click.Context, _param: click.Parameter, place: Place | None) -> None:
    ctx.meta[_POSITIONAL] = place


# The output.


def format_option(*formats: str) -> Callable[[_F], _F]:
    """Add ``-f``, ``--format``, one of ``formats``; the first is the default."""
    return click.option(
        "-f",
        "--format",
        "form",
        type=click.Choice(formats),
        default=formats[0],
        show_default=True,
        help="Output format.",
    )


def output_options(*formats: str) -> Callable[[_F], _F]:
    """Add ``--format`` and ``--output``, a file for what the command would print.

    Without ``--format``, the name of the file decides; the first of ``formats`` is the default.
    """

    def add(command: _F) -> _F:
        @wraps(command)
        def run(*args: Any, output: Path | None, form: str | None, **options: Any) -> Any:
            chosen = form or form_of(output, formats)
            with output_to(output):
                return command(*args, form=chosen, **options)

        with_format = click.option(
            "-f",
            "--format",
            "form",
            type=click.Choice(formats),
            help=f"Output format.  [default: by the extension of the file, else {formats[0]}]",
        )
        return cast(_F, with_format(output_option("File to write; - is standard output.")(run)))

    return add


def output_option(meaning: str) -> Callable[[_F], _F]:
    """Add ``-o``, ``--output``."""
    return click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help=meaning)


def limit_option(
    meaning: str, *, name: str = "limit", default: int | None = None, least: int = 1
) -> Callable[[_F], _F]:
    """Add ``-n``, ``--limit``: a number of rows."""
    return click.option(
        "-n",
        "--limit",
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=default is not None,
        help=meaning,
    )


# What is read.


def window_options(command: _F) -> _F:
    """Add ``--since`` and ``--until``."""
    until = click.option("--until", help="End of the time range, in the same form as --since.")
    since = click.option(
        "--since", help="Start of the time range: 30m, 24h, 7d (back from now), or an ISO date or time."
    )
    return since(until(command))


def history_options(command: _F) -> _F:
    """Add ``--since`` and ``--until`` for a range that is that of ``history_window`` without them."""
    until = click.option("--until", help="End of the time range, in the same form as --since.")
    since = click.option(
        "--since",
        help="Start of the time range: 30m, 24h, 7d (back from now), an ISO date or time, or 'all'.  "
        "[default: 7d, or the first record where the history is shorter]",
    )
    return since(until(command))


def tool_option(meaning: str = "Only this tool.", *, multiple: bool = False) -> Callable[[_F], _F]:
    """Add ``--tool``, which a shell completes."""
    return click.option("--tool", multiple=multiple, shell_complete=complete_tools, help=meaning)


def capture_option(command: _F) -> _F:
    """Add ``--capture``: whether arguments and results are stored."""
    return click.option(
        "--capture",
        type=click.Choice(["full", "metadata"]),
        default="full",
        show_default=True,
        help="With 'metadata', neither arguments nor results are stored.",
    )(command)

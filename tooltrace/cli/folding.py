"""Folding ahead of a command, with a progress bar in a terminal."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path

import click

from tooltrace.errors import StoreError
from tooltrace.store.files.file_lock import wait_seconds
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.fold_marker import unfolded_bytes

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

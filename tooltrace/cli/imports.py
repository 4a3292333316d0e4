"""``tooltrace import``: the trace files of other tools into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.group import Failed
from tooltrace.cli.options import store_option
from tooltrace.cli.text import clean

if TYPE_CHECKING:
    from tooltrace.importing import Imported, UnreadableFile

Advance = Callable[[int], None]
"""Told how many bytes were read."""


@click.command("import", short_help="Read the trace files of other tools into the store.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@store_option
def imports(*, files: tuple[Path, ...], store: Path) -> None:
    """Read the trace files of other tools into the store.

    The format is told by the content; known is the JSON Lines of HelloAgents' TraceLogger, whose times are taken as
    local where they name no zone. What was imported before is not stored twice, so a call that had no result then
    stays without one. Lines that cannot be read are skipped, and said.

    Exit code 1 where a file could not be read at all; the others are imported all the same.
    """
    done = _import(files, store)
    for each in done:
        _say(each)
    read = [each for each in done if not isinstance(each, Exception)]
    calls, skipped = sum(each.calls for each in read), sum(each.skipped for each in read)
    click.echo(f"{_count(calls, 'call')} read from {_count(len(read), 'file')}, {_count(skipped, 'line')} skipped.")
    if len(read) < len(done):
        raise SystemExit(1)


def _import(files: tuple[Path, ...], store: Path) -> list[Imported | UnreadableFile]:
    """What came of each file."""
    from tooltrace.importing import import_file
    from tooltrace.settings import Settings
    from tooltrace.writer import Writer

    settings = Settings(store=store)
    writer = Writer(settings)
    try:
        with _bar(files) as advance:
            done = [_tried(partial(import_file, path, settings, writer, advance=advance)) for path in files]
        writer.settle()
        if writer.waiting:
            raise Failed(f"the journal of {store} could not be written; import again: nothing is stored twice")
    finally:
        writer.close()
    return done


def _tried(read: Callable[[], Imported]) -> Imported | UnreadableFile:
    from tooltrace.importing import UnreadableFile

    try:
        return read()
    except UnreadableFile as error:
        return error


def _say(result: Imported | UnreadableFile) -> None:
    """What could not be read."""
    if isinstance(result, Exception):
        click.echo(f"tooltrace: {clean(str(result))}", err=True)
        return
    for line in result.examples:
        click.echo(clean(f"{result.path}:{line.line}: {line.reason}; skipped"), err=True)
    more = result.skipped - len(result.examples)
    if more:
        click.echo(clean(f"{result.path}: {_count(more, 'more line')} skipped"), err=True)


@contextmanager
def _bar(files: tuple[Path, ...]) -> Iterator[Advance]:
    """How far it is, on a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    columns = (TextColumn("Importing"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=sum(map(_size, files)))
        yield lambda count: progress.advance(task, count)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"

"""``tooltrace import``: the trace files of other tools, and exports of our own, into the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import capture_option, store_option
from tooltrace.cli.sanitize import clean

if TYPE_CHECKING:
    from tooltrace.ingest.files import ImportResult, UnreadableFile
    from tooltrace.recording.tool_spec import Capture

Advance = Callable[[int], None]
"""Callback that receives the number of bytes read."""


@click.command("import", short_help="Read trace files and exports into the store.")
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@capture_option
@store_option
def imports(*, files: tuple[Path, ...], capture: Capture, store: Path) -> None:
    """Read trace files into the store.

    The content decides the format:

    \b
    - what "tooltrace export" writes: jsonl, csv, otlp-json, and the folder of a parquet export; also a journal
    - OTLP in JSON, as the OpenTelemetry Collector's file exporter writes it, zstd-compressed too
    - Arize Phoenix: spans and annotations of its REST interface, its data frames as Parquet or JSON Lines
    - MLflow: traces as JSON, one or many
    - the JSON Lines of HelloAgents' TraceLogger, whose times are taken as local where they name no zone

    Files may be compressed with gzip or zstd; of a folder all files are read. What was imported before is not stored twice,
    so a call that had no result then stays without one. Lines that cannot be read are skipped, and said.

    Exit code 1 where a file could not be read at all; the others are imported all the same.
    """  # noqa: D301 - click wants a real backspace where it is not to wrap
    done = _import(files, store, capture)
    for each in done:
        _say(each)
    read = [each for each in done if not isinstance(each, Exception)]
    click.echo(f"{_records(read)} read from {_count(len(read), 'file')}, {_skipped(read)} skipped.")
    if len(read) < len(done):
        raise SystemExit(1)


def _records(read: list[ImportResult]) -> str:
    calls, others = sum(each.calls for each in read), sum(each.others for each in read)
    return _count(calls, "call") + (f" and {_count(others, 'other record')}" if others else "")


def _skipped(read: list[ImportResult]) -> str:
    return _count(sum(each.skipped for each in read), "line")


def _import(named: tuple[Path, ...], store: Path, capture: Capture) -> list[ImportResult | UnreadableFile]:
    """Import the files; return a result or an error for each."""
    from tooltrace.ingest.files import import_file
    from tooltrace.recording.settings import Settings
    from tooltrace.recording.writer import Writer

    files, done = _files(named)
    settings = Settings(store=store, capture=capture)
    writer = Writer(settings)
    try:
        with _bar(files) as advance:
            done += [_tried(partial(import_file, path, settings, writer, advance=advance)) for path in files]
        writer.flush_losses()
        if writer.waiting:
            raise CommandError(f"the journal of {store} could not be written; import again: nothing is stored twice")
    finally:
        writer.close()
    return done


def _files(named: tuple[Path, ...]) -> tuple[list[Path], list[ImportResult | UnreadableFile]]:
    """Return the files, with those in folders, and an error for each folder without files."""
    from tooltrace.ingest.files import UnreadableFile, files_of

    files: list[Path] = []
    faults: list[ImportResult | UnreadableFile] = []
    for path in named:
        try:
            files += files_of(path)
        except UnreadableFile as error:
            faults.append(error)
    return files, faults


def _tried(read: Callable[[], ImportResult]) -> ImportResult | UnreadableFile:
    from tooltrace.ingest.files import UnreadableFile

    try:
        return read()
    except UnreadableFile as error:
        return error


def _say(result: ImportResult | UnreadableFile) -> None:
    """Print the lines that could not be read."""
    if isinstance(result, Exception):
        click.echo(f"tooltrace: {clean(str(result))}", err=True)
        return
    for line in result.examples:
        click.echo(clean(f"{result.path}:{line.line}: {line.reason}; skipped"), err=True)
    more = result.skipped - len(result.examples)
    if more:
        click.echo(clean(f"{result.path}: {_count(more, 'more line')} skipped"), err=True)


@contextmanager
def _bar(files: list[Path]) -> Iterator[Advance]:
    """Show the progress on a terminal."""
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

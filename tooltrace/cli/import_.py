"""``tooltrace import``: read trace files of other tools, and tooltrace's own exports, into the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.options import capture_option, examples, named_store_option
from tooltrace.cli.sanitize import clean
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.core.plural import format_count
from tooltrace.recording.settings import Settings
from tooltrace.recording.writer import Writer
from tooltrace.store.journal.line_scan import IMPORTED

if TYPE_CHECKING:
    from tooltrace.ingest.files import ImportResult, UnreadableFile
    from tooltrace.recording.tool_spec import Capture

_SHOWN: Final = 5
"""Kinds of unknown lines that are named; the others are counted."""
Advance = Callable[[int], None]
"""Callback that receives the number of bytes read."""


def _columns(_ctx: click.Context, _param: click.Parameter, text: str | None) -> dict[str, str] | None:
    from tooltrace.ingest.files.table import parse_columns

    return None if text is None else parse_columns(text)


@click.command(
    "import",
    short_help="Read trace files and exports into the store.",
    epilog=examples(
        "tooltrace import traces.jsonl",
        "tooltrace import exported/ logs.jsonl.gz --store agent.duckdb",
        "tooltrace import traces.jsonl --capture metadata",
        "tooltrace import messages.json",
        "tooltrace import calls.csv --columns tool=name,at=time,status=outcome",
    ),
)
@click.argument("files", metavar="FILE…", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--columns",
    metavar="FIELD=COLUMN,…",
    callback=_columns,
    help="Read CSV files of another program: the column of each field. Needed: tool, at (the start). Optional: status, "
    "duration_ms, duration_s, result, arguments, error, code, call_id, attempt, conversation, agent, version.",
)
@capture_option
@named_store_option
def imports(*, files: tuple[Path, ...], columns: dict[str, str] | None, capture: Capture, store: Path) -> None:
    """Read trace files into the store.

    The format is detected from the content:

    \b
    - exports of tooltrace: jsonl, csv, otlp-json, parquet (a folder), a journal
    - OTLP as JSON, as the OpenTelemetry Collector's file exporter writes it
    - Arize Phoenix: spans and annotations as JSON, JSON Lines or Parquet
    - MLflow: one trace or several, as JSON
    - JSON Lines of HelloAgents' TraceLogger; times without a zone are local times
    - chat messages of OpenAI and Anthropic, as JSON or JSON Lines
    - transcripts of Claude Code and Codex, as these programs keep them
    - with --columns, any CSV file with one row for each call

    Files may be compressed with gzip or zstd; for a folder, all its files are read. A record that was imported before is
    not stored again, so a call that had no result then does not get one now. Unreadable lines are skipped and reported.

    Exit code 1 if a file cannot be read at all; the other files are imported nevertheless.
    """  # noqa: D301 - click needs a real backspace to keep the line breaks
    results, unknown = _import(files, store, capture, columns), Counter[str]()
    for result in results:
        _print_skipped(result)
        if not isinstance(result, Exception):
            unknown += result.unknown
    if unknown:
        echo_sentence(unknown_sentence(unknown), err=True)
    read = [result for result in results if not isinstance(result, Exception)]
    calls, others = sum(result.calls for result in read), sum(result.others for result in read)
    records = format_count(calls, "call") + (f" and {format_count(others, 'other record')}" if others else "")
    skipped = format_count(sum(result.skipped for result in read), "line")
    click.echo(f"{records} read from {format_count(len(read), 'file')}, {skipped} skipped.")
    if len(read) < len(results):
        raise SystemExit(1)


def _import(
    named: tuple[Path, ...],
    store: Path,
    capture: Capture,
    columns: dict[str, str] | None,
) -> list[ImportResult | UnreadableFile]:
    """Import the files; return a result or an error for each."""
    from tooltrace.ingest.files import import_file

    files, done = _files(named)
    settings = Settings(store=store, capture=capture)
    writer = Writer(settings, prefix=IMPORTED)
    try:
        with _bar(files) as advance:
            read = partial(import_file, settings=settings, writer=writer, columns=columns, advance=advance)
            done += [_read(partial(read, path)) for path in files]
        writer.flush_losses()
        if writer.waiting:
            raise CommandError(
                f"cannot write the journal of {store}. Import the files again: no record is stored twice"
            )
    finally:
        writer.close()
    return done


def _files(named: tuple[Path, ...]) -> tuple[list[Path], list[ImportResult | UnreadableFile]]:
    """Return the files, with those in folders, and an error for each folder without files."""
    from tooltrace.ingest.files import UnreadableFile, files_of

    files: list[Path] = []
    errors: list[ImportResult | UnreadableFile] = []
    for path in named:
        try:
            files += files_of(path)
        except UnreadableFile as error:
            errors.append(error)
    return files, errors


def _read(read_file: Callable[[], ImportResult]) -> ImportResult | UnreadableFile:
    from tooltrace.ingest.files import UnreadableFile

    try:
        return read_file()
    except UnreadableFile as error:
        return error


def _print_skipped(result: ImportResult | UnreadableFile) -> None:
    """Print the lines that could not be read."""
    if isinstance(result, Exception):
        click.echo(f"tooltrace: {clean(str(result))}", err=True)
        return
    for line in result.examples:
        click.echo(clean(f"{result.path}:{line.line}: {line.reason}; skipped"), err=True)
    more = result.skipped - len(result.examples)
    if more:
        click.echo(clean(f"{result.path}: {format_count(more, 'more line')} skipped"), err=True)


def unknown_sentence(unknown: Counter[str]) -> str:
    """Return what the readers of the files did not know, and how often."""
    shown = "; ".join(f"{count:,} × {what}" for what, count in unknown.most_common(_SHOWN))
    more = f"; and {len(unknown) - _SHOWN:,} more kinds" if len(unknown) > _SHOWN else ""
    return f"Not known, and counted in the table losses: {shown}{more}."


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

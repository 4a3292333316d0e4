"""``tooltrace claude`` and the like: import what a coding agent has on this machine, and print the diagnosis."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.import_ import unknown_sentence
from tooltrace.cli.options import capture_option, examples
from tooltrace.cli.sanitize import clean
from tooltrace.cli.state import show_state
from tooltrace.cli.wrapping import echo_sentence
from tooltrace.core.plural import format_count
from tooltrace.errors import StoreMissing
from tooltrace.ingest.transcripts.discovery import AGENTS, Agent, TranscriptFile, find_transcripts
from tooltrace.recording.settings import Settings
from tooltrace.recording.writer import Writer
from tooltrace.report.history_window import ALL
from tooltrace.report.time_range import parse_time
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.journal.line_scan import IMPORTED
from tooltrace.store.result import Statement

if TYPE_CHECKING:
    from tooltrace.ingest.files import ImportResult
    from tooltrace.recording.tool_spec import Capture

_SINCE: Final = "90d"
_CALLS: Final = Statement(name="imported_calls", sql="SELECT count(*) FROM attempts")


def transcript_store(agent: Agent) -> Path:
    """Return the store of the calls of ``agent``: one for each person, wherever the command runs."""
    data = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser().absolute() / "tooltrace" / f"{agent.command}.duckdb"


def _command(agent: Agent) -> click.Command:
    @click.command(
        agent.command,
        short_help=f"Show what the tools of {agent.title} did, from its own transcripts.",
        help=f"""Import the transcripts that {agent.title} keeps on this machine, and show which of its tools fail, since when and why.

        Only what was added since the last run is read. Secrets are removed before anything is written, and nothing leaves the machine.
        The folder is that of {agent.title}, or ${agent.variable}.

        The store is {_shown(agent)}; pass it to every other command with --store. Release, model and project folder are release,
        model and attributes.project there.""",
        epilog=examples(
            f"tooltrace {agent.command}",
            f"tooltrace {agent.command} --since 24h --project myapp",
            f"tooltrace {agent.command} --since all --store history.duckdb",
        ),
    )
    @click.option(
        "--since",
        default=_SINCE,
        show_default=True,
        help="Import and show what is newer: 24h, 7d (back from now), an ISO date or time, or 'all'.",
    )
    @click.option("--project", metavar="NAME", help="Import only sessions of the project folder of this name or path.")
    @click.option(
        "-s", "--store", metavar="STORE", type=click.Path(dir_okay=False, path_type=Path), help="Path of the store."
    )
    @capture_option
    def command(*, since: str, project: str | None, store: Path | None, capture: Capture) -> None:
        begin = None if since == ALL else parse_time("since", since, datetime.now(UTC)).replace(tzinfo=UTC)
        files = find_transcripts(agent, None if begin is None else int(begin.timestamp() * 1e9), project)
        if not files and not any(folder.is_dir() for folder in agent.folders()):
            places = " or ".join(map(str, agent.folders()))
            raise CommandError(
                f"{agent.title} has no transcripts here: found no folder {places}; ${agent.variable} may name another"
            )
        opened = open_store(store or transcript_store(agent))
        if not files and not opened.exists():
            wanted = f" of the project {project}" if project else ""
            newer = "" if since == ALL else f" that changed since {since}; --since all reads older ones"
            raise CommandError(
                f"{agent.title} has no transcript{wanted} in {' or '.join(map(str, agent.folders()))}{newer}"
            )
        settings = Settings(store=_prepared(store, agent), capture=capture)
        _say(agent, files, _import(agent, files, settings, opened))
        show_state(opened, since=since, until=None, commands=True)

    return command


def _shown(agent: Agent) -> str:
    return f"$XDG_DATA_HOME/tooltrace/{agent.command}.duckdb (~/.local/share without that variable)"


def _prepared(store: Path | None, agent: Agent) -> Path:
    """Return the path of the store, whose folder exists if it is the default."""
    if store is not None:
        return store
    path = transcript_store(agent)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(
            f"cannot create the folder {path.parent} ({error.strerror}): pass a path with --store"
        ) from error
    return path


@dataclass(slots=True)
class _Done:
    """What an import read."""

    calls: int = 0
    files: int = 0
    """Files that had something new."""
    skipped: int = 0
    waiting: int = 0
    unreadable: list[str] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(self, result: ImportResult) -> None:
        self.calls += result.calls
        self.files += 1
        self.skipped += result.skipped
        self.waiting += result.waiting
        self.unknown += result.unknown


def _import(agent: Agent, files: list[TranscriptFile], settings: Settings, store: StoreBackend) -> _Done:
    """Import what is new in ``files``."""
    from tooltrace.ingest.files import UnreadableFile
    from tooltrace.ingest.files.importer import import_file
    from tooltrace.ingest.files.transcripts import FORMATS, OPEN_NS
    from tooltrace.ingest.transcripts.imported import ImportedFiles

    assert settings.store is not None
    known = ImportedFiles(settings.store, _stored(store))
    form = next(form for form in FORMATS if form.name == agent.service)
    begun, done = time.monotonic(), _Done()
    writer = Writer(settings, prefix=IMPORTED)
    starts = [(file, known.start_of(file, is_over=time.time_ns() - file.changed_ns >= OPEN_NS)) for file in files]
    wanted = [(file, start) for file, start in starts if start is not None]
    try:
        with _bar(sum(file.size for file, _ in wanted)) as (advance, count):
            for file, start in wanted:
                try:
                    result = import_file(file.path, settings, writer, form=form, advance=advance, start=start)
                except UnreadableFile as error:
                    done.unreadable.append(str(error))
                    continue
                done.add(result)
                count(done.calls)
                known.note(file, result.position, result.waiting)
        writer.flush_losses()
        if writer.waiting:
            raise CommandError(
                f"cannot write the journal of {settings.store}. Run the command again: no record is stored twice"
            )
    finally:
        writer.close()
    done.seconds = time.monotonic() - begun
    if wanted:
        known.save(_stored(store))
    return done


def _stored(store: StoreBackend) -> int:
    try:
        return int(store.query(_CALLS).rows[0][0])
    except StoreMissing:
        return 0


def _say(agent: Agent, files: list[TranscriptFile], done: _Done) -> None:
    """Print what was read, and what was not."""
    rate = f", {done.calls / done.seconds:,.0f} calls a second" if done.calls and done.seconds > 1 else ""
    new = f"{format_count(done.calls, 'new call')} in {done.files:,} of {format_count(len(files), 'transcript')}"
    echo_sentence(f"{agent.title}: {new} ({done.seconds:,.1f} s{rate}).")
    if done.waiting:
        echo_sentence(
            f"{format_count(done.waiting, 'call')} without a result may still run; the next import reads them."
        )
    if done.skipped:
        echo_sentence(
            f"{format_count(done.skipped, 'line')} could not be read; tooltrace import FILE shows them.", err=True
        )
    for reason in done.unreadable:
        click.echo(clean(f"tooltrace: {reason}"), err=True)
    if done.unknown:
        echo_sentence(unknown_sentence(done.unknown), err=True)


@contextmanager
def _bar(total: int) -> Iterator[tuple[Callable[[int], None], Callable[[int], None]]]:
    """Show the progress on a terminal: functions that receive bytes read, and the number of calls so far."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    columns = (
        TextColumn("Reading"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TextColumn("{task.fields[calls]:,} calls"),
    )
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=total, calls=0)
        yield (lambda read: progress.advance(task, read)), (lambda calls: progress.update(task, calls=calls))


COMMANDS: Final = tuple(map(_command, AGENTS))

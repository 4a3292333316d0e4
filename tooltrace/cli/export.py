"""``tooltrace export``: send or write the recorded history, and deliver pending records."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tooltrace.analysis.parameters import QueryParameter
from tooltrace.cli.completion import complete_destinations
from tooltrace.cli.errors import CommandError, UsageError
from tooltrace.cli.export_delivery import deliver, forget_destination, print_status, run_until_stopped
from tooltrace.cli.known_names import require_known
from tooltrace.cli.options import examples, store_option, tool_option, window_options
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.errors import StoreError
from tooltrace.recording.settings import default_service
from tooltrace.store.base import open_store
from tooltrace.store.journal.delivery_cursors import DeliveryCursor, DestinationFiles

if TYPE_CHECKING:
    from tooltrace.delivery.backfill import Replay
    from tooltrace.exporters.protocol import Destination, Target

Advance = Callable[[int], None]
"""Callback that receives the number of further records sent."""


@click.command(
    short_help="Send the history to a collector, or write it to files.",
    epilog=examples(
        "tooltrace export jsonl -o calls.jsonl",
        "tooltrace export csv --tool fetch --since 7d -o calls.csv",
        "tooltrace export parquet -o calls.parquet",
        "tooltrace export parquet -o archive/",
        "tooltrace export otlp --endpoint http://localhost:4318",
        "tooltrace export --status",
    ),
)
@click.argument("name", required=False, shell_complete=complete_destinations)
@window_options
@tool_option()
@click.option("--endpoint", help="Base URL, such as http://localhost:4318. Default: $OTEL_EXPORTER_OTLP_ENDPOINT.")
@click.option("--protocol", type=click.Choice(["http/protobuf", "http/json", "grpc"]), help="Default: http/protobuf.")
@click.option(
    "--header", "headers", multiple=True, metavar="NAME=VALUE", help="Header to send with each request; repeatable."
)
@click.option(
    "--signal",
    "signals",
    multiple=True,
    metavar="SIGNAL",
    help="Only this signal: traces, logs or metrics; repeatable.",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; - is standard output. Parquet is written to a file if the name ends in .parquet, else to a folder.",
)
@click.option("--again", is_flag=True, help="Also send records that were sent before.")
@click.option("--follow", is_flag=True, help="Deliver new records until Ctrl-C; with --since, send the history first.")
@click.option("--pending", is_flag=True, help="Deliver the pending records of this destination, and exit.")
@click.option(
    "--status", is_flag=True, help="Print the progress of each destination and the journal bytes retained for it."
)
@click.option("--forget", is_flag=True, help="Stop retaining records for the destination NAME (otlp, or otlp-logs).")
@store_option
def export(*, name: str | None, store: Path, status: bool, forget: bool, **options: Any) -> None:
    """Send the history to the destination NAME (otlp), or write it to a file (parquet, jsonl, otlp-json, csv).

    An interrupted export continues where it stopped when the same command runs again. No record is sent twice, except
    with --again. Records that a configured destination delivers continuously are skipped, unless --until is given.
    """
    from tooltrace.exporters.registry import available

    if status:
        if name is not None:
            raise UsageError(
                "--status has the progress of all destinations: pass it without NAME, the store as --store"
            )
        print_status(store)
    elif name is None:
        raise UsageError(f"argument NAME is missing: choose one of {', '.join(available())}")
    elif forget:
        forget_destination(store, name)
    else:
        _export(store, name, **options)


def _export(store: Path, name: str, *, follow: bool, pending: bool, **options: Any) -> None:
    from tooltrace.delivery.plan import specs_for
    from tooltrace.exporters.registry import create, load
    from tooltrace.store.upkeep.exclusive import existing

    load(name)  # an unknown destination fails before the store is read
    is_folder = (options["output"] or "").endswith("/")  # whatever its name ends in
    target = _target(options)
    if (follow or pending) and target.path is not None:
        raise UsageError(
            f"--follow and --pending are not allowed with the file {target.path}: a file is always written completely"
        )
    historic = any(options[key] is not None for key in ("since", "until", "tool")) or options["again"]
    with _stop() as stop:
        if historic or not (follow or pending):
            existing(store)  # before a file or a folder is made
            require_known(store, tools=[options["tool"]])
            if is_folder and target.path is not None:
                target.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _abandon_on_error(create(name, target)) as destination:
                _replay(store, name, destination, target, stop, **options)
        if (follow or pending) and not stop.is_set():
            deliver(store, specs_for(name, target), target, stop, follow=follow)


@contextmanager
def _abandon_on_error(destination: Destination) -> Iterator[Destination]:
    """Remove a partly written file if the block raises."""
    from tooltrace.exporters.protocol import AtomicDestination

    try:
        yield destination
    except BaseException:
        if isinstance(destination, AtomicDestination):
            with suppress(OSError):
                destination.abandon()
        raise


def _target(options: dict[str, Any]) -> Target:
    from tooltrace.exporters.protocol import Target

    path: str | None = options.pop("output")
    pairs = [header.partition("=") for header in options.pop("headers")]
    if any(not name.strip() or not sign for name, sign, _ in pairs):
        raise UsageError("--header must be NAME=VALUE, such as x-api-key=SECRET")
    return Target(
        path=None if path is None else Path(path),
        endpoint=options.pop("endpoint"),
        protocol=options.pop("protocol"),
        headers={name.strip(): value.strip() for name, _, value in pairs},
        parts=options.pop("signals") or None,
        service=default_service(),
        host=socket.gethostname(),
    )


@contextmanager
def _stop() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C or SIGTERM sets: the current batch has a second more, and the rest remains pending.

    A second signal raises KeyboardInterrupt.
    """
    stop = threading.Event()

    def end(_number: int, _frame: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Export of the history.


def _replay(
    store: Path,
    name: str,
    destination: Destination,
    target: Target,
    stop: threading.Event,
    *,
    since: str | None,
    until: str | None,
    tool: str | None,
    again: bool,
) -> None:
    from tooltrace.delivery.backfill import ProgressFile, Replay, export_to_file
    from tooltrace.delivery.delivery import describe
    from tooltrace.exporters.protocol import AtomicDestination, SeveralFiles

    files = DestinationFiles.of(store, name)
    file = ProgressFile.of(files, describe(destination), target.parts, since, until, tool)
    if again:
        file.forget()
    progress = file.load()
    progress.since = progress.since or _time_parameter("since", since)
    progress.until = progress.until or _time_parameter("until", until)
    live = None if progress.until else _live_cursor(store, name, destination)
    end, early = (_parse_time(progress.until), []) if live is None else (live.begun_at, live.early)
    history = open_store(store).history(since=_parse_time(progress.since), until=end, tool=tool, without=early)
    if isinstance(destination, AtomicDestination):
        _note(store, name, target)
        with _bar(history.count()) as advance:
            count = export_to_file(history, destination, lambda number: _advance(advance, number, stop))
        beside = destination.beside if isinstance(destination, SeveralFiles) else ()
        click.echo(
            clean(f"{format_count(count, 'record')} written to {', '.join(map(str, [target.path, *beside]))}."),
            err=str(target.path) == "-",
        )
    else:
        replay = Replay(
            files,
            history,
            destination,
            progress,
            file.save,
            stop=stop,
            on_wait=lambda error: click.echo(clean(f"waiting: {error}"), err=True),
        )
        _send(replay, destination, history.count(progress.places), stop)


def _note(store: Path, name: str, target: Target) -> None:
    """Note the place of the export in the store, so that ``tooltrace forget`` knows it."""
    from tooltrace.exporters.atomic_file import STANDARD
    from tooltrace.store.upkeep.exports import note_export

    if target.path is None or target.path == STANDARD:
        return
    try:
        note_export(store, target.path, name)
    except StoreError as error:
        click.echo(
            clean(f"tooltrace forget will not know of this export, because its place cannot be noted: {error}"),
            err=True,
        )


def _advance(advance: Advance, count: int, stop: threading.Event) -> None:
    """Advance, and raise KeyboardInterrupt once stopped: a partly written file is useless, so it is not finished."""
    advance(count)
    if stop.is_set():
        raise KeyboardInterrupt


def _send(replay: Replay, destination: Destination, total: int, stop: threading.Event) -> None:
    from tooltrace.exporters.protocol import Unavailable

    def run(advance: Advance) -> None:
        try:
            replay.run(advance)
        finally:
            destination.close()

    earlier = f", {replay.earlier:,} sent earlier" if replay.earlier else ""
    try:
        with _bar(total) as advance:
            for error in run_until_stopped(stop, [partial(run, advance)], [destination]):
                raise error
    except Unavailable as error:
        reason = "" if stop.is_set() else f" ({error})"
        raise CommandError(
            f"interrupted after {format_count(replay.sent, 'record')}{reason}; run the same command again to continue"
        ) from error
    click.echo(f"{format_count(replay.sent, 'record')} sent{earlier}; {replay.refused:,} rejected.")


def _time_parameter(name: str, text: str | None) -> str | None:
    """Return the parameter ``name`` as ISO text in UTC; None if it is not set."""
    if text is None:
        return None
    bound = QueryParameter(name=name, type="timestamp", meaning="").bind(text, datetime.now(UTC))
    assert isinstance(bound, datetime)
    return bound.replace(tzinfo=UTC).isoformat()


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _live_cursor(store: Path, name: str, destination: Destination) -> DeliveryCursor | None:
    """Return the cursor of the delivery to the same place; the history ends where that delivery began."""
    from tooltrace.delivery.delivery import describe
    from tooltrace.delivery.plan import cursors_of

    for known in cursors_of(name):  # several signals are described by the target of the first
        cursor = DestinationFiles.of(store, known).load()
        if cursor is not None and cursor.target == describe(destination):
            since = f"{cursor.begun_at:%Y-%m-%d %H:%M:%S}"
            click.echo(f"Records since {since} UTC are delivered continuously, and are skipped here.", err=True)
            return cursor
    return None


@contextmanager
def _bar(total: int) -> Iterator[Advance]:
    """Show the progress on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tooltrace.cli.table import console

    screen = console(stderr=True)
    columns = (TextColumn("Exporting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda count: progress.advance(task, count)

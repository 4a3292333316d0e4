"""The part of ``tooltrace export`` that delivers pending journal records to a destination."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.sanitize import clean

if TYPE_CHECKING:
    from tooltrace.delivery.delivery import Delivery
    from tooltrace.delivery.threads import DestinationSpec
    from tooltrace.exporters.protocol import Destination, Target
    from tooltrace.store.delivery_cursors import DeliveryCursor, DestinationFiles
    from tooltrace.store.file_lock import Lock


PENDING_SECONDS = 60.0
"""Maximum seconds that ``--pending`` waits for an unavailable destination."""


def deliver(store: Path, wishes: Sequence[DestinationSpec], target: Target, stop: Event, *, follow: bool) -> None:
    """Deliver pending records to all destinations in ``wishes`` at once.

    With ``follow``, also deliver new records until ``stop`` is set. Raises CommandError.
    """
    from tooltrace.store.paths import StorePaths

    if not wishes:
        raise CommandError("the environment leaves no signal to send: see OTEL_SDK_DISABLED and OTEL_…_EXPORTER")
    made = [(wish, wish.make(target)) for wish in wishes]  # an invalid destination fails here, before any other begins
    paths = StorePaths.of(store)
    for wish in wishes:  # before the threads start, which would block each other on the earlier cursor's lock
        wish.take_over(paths)
    with ThreadPoolExecutor(len(made), thread_name_prefix="tooltrace-export") as pool:
        runs = [pool.submit(_deliver, store, wish, destination, stop, follow=follow) for wish, destination in made]
        failures = [error for run in runs if (error := run.exception()) is not None]
    unexpected = [error for error in failures if not isinstance(error, CommandError)]
    if failures:
        raise unexpected[0] if unexpected else CommandError("; ".join(map(str, failures)))


def _deliver(store: Path, wish: DestinationSpec, destination: Destination, stop: Event, *, follow: bool) -> None:
    from tooltrace.delivery.delivery import Delivery
    from tooltrace.delivery.retry import RetryPolicy
    from tooltrace.exporters.protocol import Unavailable
    from tooltrace.store.delivery_cursors import DestinationFiles

    files = DestinationFiles.of(store, wish.name)
    lock = files.lock()
    try:
        _take_turn(files, wish, lock, stop, follow=follow)
        if stop.is_set():
            return
        pace = RetryPolicy() if follow else RetryPolicy(longest=10.0, give_up=PENDING_SECONDS)
        delivery, total = Delivery(files, destination, stop=stop, policy=pace), 0
        try:
            total = _run(delivery, stop, follow=follow)
        except Unavailable as error:
            if not follow:
                raise CommandError(f"{wish.name} is away: {error}; what waits is kept") from error
        finally:
            delivery.close()
        click.echo(f"{wish.name}: {total:,} records delivered; {delivery.waiting_bytes / 1e6:,.1f} MB wait.")
    finally:
        lock.release()


def _take_turn(files: DestinationFiles, wish: DestinationSpec, lock: Lock, stop: Event, *, follow: bool) -> None:
    def is_ours() -> bool:
        return lock.try_exclusive() and wish.take_over(files.paths)

    if is_ours():
        return
    if not follow:
        raise CommandError(f"another process delivers to {wish.name} just now")
    click.echo(f"Another process delivers to {wish.name}; this one goes on when that one ends.", err=True)
    while not is_ours() and not stop.wait(1.0):
        pass


def _run(delivery: Delivery, stop: Event, *, follow: bool) -> int:
    """Deliver, and return the number of records sent."""
    total = 0
    while not stop.is_set():
        sent = delivery.step()
        total += sent or 0
        if sent is None and (not follow or stop.wait(1.0)):
            break
    return total


def say_status(store: Path) -> None:
    """Print the progress of each destination."""
    from tooltrace.store.delivery_cursors import destinations
    from tooltrace.store.paths import StorePaths

    found = destinations(StorePaths.of(store))
    if not found:
        click.echo("No destination is delivered to from this store.")
    for files in found:
        cursor = files.load()
        if cursor is not None:
            click.echo(clean(_line(files, cursor)))


def _line(files: DestinationFiles, cursor: DeliveryCursor) -> str:
    from tooltrace.store.delivery_cursors import pending_bytes

    left = sum(pending_bytes(files.paths, cursor).values())
    last = f", the last at {cursor.sent_at:%Y-%m-%d %H:%M:%S} UTC" if cursor.sent_at else ""
    aside = f", {cursor.refused:,} refused" if cursor.refused else ""
    error = f"; waits: {cursor.error}" if cursor.error else ""
    to = f" ({cursor.target})" if cursor.target else ""
    return f"{files.name}{to}: {cursor.sent:,} records sent{last}{aside}; {left / 1e6:,.1f} MB wait{error}"


def forget_destination(store: Path, name: str) -> None:
    """Delete the cursors of the destination ``name``, so that nothing is retained for it. Raises CommandError."""
    from tooltrace.delivery.plan import cursors_of
    from tooltrace.store.delivery_cursors import DestinationFiles

    kept = [files for each in cursors_of(name) if (files := DestinationFiles.of(store, each)).cursor.exists()]
    if not kept:
        raise CommandError(f"there is no destination {name} that something is kept for")
    in_use = [files.name for files in kept if not files.forget_unless_in_use()]
    if in_use:
        names = ", ".join(in_use)
        raise CommandError(f"a process delivers to {names} just now; end it, or configure it without that destination")
    click.echo(f"Nothing is kept for {name} any more; the next fold removes what it held back.")

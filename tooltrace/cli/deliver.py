"""What of ``tooltrace export`` is about the journals that wait for a destination."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from tooltrace.cli.group import Failed
from tooltrace.cli.text import clean

if TYPE_CHECKING:
    from tooltrace.exporters.delivery import Delivery
    from tooltrace.exporters.protocol import Destination
    from tooltrace.store.cursors import Cursor, DestinationFiles
    from tooltrace.store.lock import Lock


PENDING_SECONDS = 60.0
"""How long ``--pending`` waits for a destination that is away."""


def deliver(store: Path, name: str, make: Callable[[], Destination], stop: Event, *, follow: bool) -> None:
    """Deliver what waits and, with ``follow``, what comes until ``stop`` is set. Raises Failed."""
    from tooltrace.exporters.delivery import Delivery
    from tooltrace.exporters.delivery_retry import Pace
    from tooltrace.exporters.protocol import Unavailable
    from tooltrace.store.cursors import DestinationFiles

    files = DestinationFiles.of(store, name)
    lock = files.lock()
    try:
        _take_turn(name, lock, stop, follow=follow)
        if stop.is_set():
            return
        pace = Pace() if follow else Pace(longest=10.0, give_up=PENDING_SECONDS)
        delivery, total = Delivery(files, make(), stop=stop, pace=pace), 0
        try:
            total = _run(delivery, stop, follow=follow)
        except Unavailable as error:
            if not follow:
                raise Failed(f"{name} is away: {error}; what waits is kept") from error
        finally:
            delivery.close()
        click.echo(f"{total:,} records delivered; {delivery.waiting_bytes / 1e6:,.1f} MB wait.")
    finally:
        lock.release()


def _take_turn(name: str, lock: Lock, stop: Event, *, follow: bool) -> None:
    if lock.try_exclusive():
        return
    if not follow:
        raise Failed(f"another process delivers to {name} just now")
    click.echo(f"Another process delivers to {name}; this one goes on when that one ends.", err=True)
    while not lock.try_exclusive() and not stop.wait(1.0):
        pass


def _run(delivery: Delivery, stop: Event, *, follow: bool) -> int:
    """Deliver; records."""
    total = 0
    while not stop.is_set():
        sent = delivery.step()
        total += sent or 0
        if sent is None and (not follow or stop.wait(1.0)):
            break
    return total


def say_status(store: Path) -> None:
    """How far each destination is."""
    from tooltrace.store.cursors import destinations
    from tooltrace.store.paths import StorePaths

    found = destinations(StorePaths.of(store))
    if not found:
        click.echo("No destination is delivered to from this store.")
    for files in found:
        cursor = files.load()
        if cursor is not None:
            click.echo(clean(_line(files, cursor)))


def _line(files: DestinationFiles, cursor: Cursor) -> str:
    from tooltrace.store.cursors import waiting

    left = sum(waiting(files.paths, cursor).values())
    last = f", the last at {cursor.sent_at:%Y-%m-%d %H:%M:%S} UTC" if cursor.sent_at else ""
    aside = f", {cursor.refused:,} refused" if cursor.refused else ""
    error = f"; waits: {cursor.error}" if cursor.error else ""
    to = f" ({cursor.target})" if cursor.target else ""
    return f"{files.name}{to}: {cursor.sent:,} records sent{last}{aside}; {left / 1e6:,.1f} MB wait{error}"


def forget_destination(store: Path, name: str) -> None:
    """Keep nothing for it any more. Raises Failed."""
    from tooltrace.store.cursors import DestinationFiles

    files = DestinationFiles.of(store, name)
    if not files.cursor.exists():
        raise Failed(f"there is no destination {name} that something is kept for")
    lock = files.lock()
    try:
        if not lock.try_exclusive():
            raise Failed(f"a process delivers to {name} just now; end it, or configure it without that destination")
        files.forget()
    finally:
        lock.release()
    click.echo(f"Nothing is kept for {name} any more; the next fold removes what it held back.")

"""The part of ``tooltrace export`` that delivers pending journal records to a destination."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import click

from tooltrace.cli.errors import CommandError
from tooltrace.cli.sanitize import clean
from tooltrace.core.plural import format_count
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.pending_lines import DeliveryLag, delivery_lags

if TYPE_CHECKING:
    from tooltrace.delivery.delivery import Delivery
    from tooltrace.delivery.threads import DestinationSpec
    from tooltrace.exporters.protocol import Destination, Target
    from tooltrace.store.files.file_lock import Lock


PENDING_SECONDS = 60.0
"""Maximum seconds that ``--pending`` waits for an unavailable destination."""
STOP_SECONDS = 1.0
"""Seconds that a running request has after Ctrl-C or SIGTERM."""
END_SECONDS = 1.75
"""Seconds after Ctrl-C or SIGTERM after which the command ends, also where a request cannot be interrupted."""


def run_until_stopped(
    stop: Event, runs: Sequence[Callable[[], None]], destinations: Sequence[Destination]
) -> list[BaseException]:
    """Run ``runs`` in a thread each until all of them have ended, and return their errors.

    ``STOP_SECONDS`` after ``stop`` was set, ``destinations`` are closed, so that a request that hangs fails. A thread
    that has not ended by ``END_SECONDS``, because it waits for a name server or for a destination that cannot be
    closed, is left alone, and CommandError is raised: the process can end.
    """
    errors: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            errors.append(error)

    # Threads, because a request can block for minutes: the main thread must remain free for Ctrl-C.
    threads = [Thread(target=run, args=(each,), name="tooltrace-export", daemon=True) for each in runs]
    for thread in threads:
        thread.start()
    stopped_at: float | None = None
    closed = False
    while running := [thread for thread in threads if thread.is_alive()]:
        running[0].join(0.05)
        if stopped_at is None:
            stopped_at = time.monotonic() if stop.is_set() else None
            continue
        seconds = time.monotonic() - stopped_at
        if seconds > STOP_SECONDS and not closed:
            closed = True
            for destination in destinations:
                Thread(target=_close, args=(destination,), name="tooltrace-export-stop", daemon=True).start()
        if seconds > END_SECONDS:
            atexit.register(_end_now)
            raise CommandError("interrupted while a request does not end; run the same command again to continue")
    return errors


def _close(destination: Destination) -> None:
    with suppress(Exception):
        destination.close()


def _end_now() -> None:
    """End the process without the interpreter's own end, which is not safe while a thread runs foreign code."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(1)


def deliver(store: Path, specs: Sequence[DestinationSpec], target: Target, stop: Event, *, follow: bool) -> None:
    """Deliver pending records to all destinations in ``specs`` at once.

    With ``follow``, also deliver new records until ``stop`` is set. Raises CommandError.
    """
    if not specs:
        raise CommandError(
            "no signal to send: check OTEL_SDK_DISABLED and OTEL_{TRACES,LOGS,METRICS}_EXPORTER in the environment"
        )
    # All are made first: an invalid destination fails before any other begins.
    destinations = [(spec, spec.make(target)) for spec in specs]
    failures = run_until_stopped(
        stop,
        [partial(_deliver, store, spec, destination, stop, follow=follow) for spec, destination in destinations],
        [destination for _, destination in destinations],
    )
    unexpected = [error for error in failures if not isinstance(error, CommandError)]
    if failures:
        raise unexpected[0] if unexpected else CommandError("; ".join(map(str, failures)))


def _deliver(store: Path, spec: DestinationSpec, destination: Destination, stop: Event, *, follow: bool) -> None:
    from tooltrace.delivery.delivery import Delivery
    from tooltrace.delivery.retry import RetryPolicy
    from tooltrace.exporters.protocol import Unavailable

    files = DestinationFiles.of(store, spec.name)
    lock = files.lock()
    try:
        _acquire(spec, lock, stop, follow=follow)
        if stop.is_set():
            return
        pace = RetryPolicy() if follow else RetryPolicy(longest=10.0, give_up=PENDING_SECONDS)
        delivery, total = Delivery(files, destination, stop=stop, policy=pace), 0
        try:
            total = _run(delivery, stop, follow=follow)
        except Unavailable as error:
            if not follow:
                raise CommandError(
                    f"{spec.name} is unavailable: {error}. The pending records remain in the journal"
                ) from error
        finally:
            delivery.close()
        click.echo(
            f"{spec.name}: {format_count(total, 'record')} delivered, {delivery.waiting_bytes / 1e6:,.1f} MB pending."
        )
    finally:
        lock.release()


def _acquire(spec: DestinationSpec, lock: Lock, stop: Event, *, follow: bool) -> None:
    if lock.try_exclusive():
        return
    if not follow:
        raise CommandError(f"another process is delivering to {spec.name}: wait for it to end, or stop it")
    click.echo(f"Another process is delivering to {spec.name}; waiting for it to end.", err=True)
    while not lock.try_exclusive() and not stop.wait(1.0):
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


def print_status(store: Path) -> None:
    """Print the progress of each destination."""
    lags = delivery_lags(StorePaths.of(store))
    if not lags:
        click.echo("No destination has received records from this store.")
    for lag in lags:
        click.echo(clean(_line(lag)))


def _line(lag: DeliveryLag) -> str:
    last = f", the last at {lag.sent_at:%Y-%m-%d %H:%M:%S} UTC" if lag.sent_at else ""
    rejected = f", {lag.refused:,} rejected" if lag.refused else ""
    pending = f"{format_count(lag.pending, 'record')} ({lag.pending_bytes / 1e6:,.1f} MB) pending"
    oldest = f", the oldest for {lag.lag_seconds:,.0f} s" if lag.pending else ""
    error = f"; last error: {lag.error}" if lag.error else ""
    to = f" ({lag.target})" if lag.target else ""
    return f"{lag.destination}{to}: {format_count(lag.sent, 'record')} sent{last}{rejected}; {pending}{oldest}{error}"


def forget_destination(store: Path, name: str) -> None:
    """Delete the cursors of the destination ``name``, so that nothing is retained for it. Raises CommandError."""
    from tooltrace.delivery.plan import cursors_of

    found = [files for each in cursors_of(name) if (files := DestinationFiles.of(store, each)).cursor.exists()]
    if not found:
        raise CommandError(
            f"nothing is retained for the destination {name}; tooltrace export --status lists the destinations"
        )
    in_use = [files.name for files in found if not files.forget_unless_in_use()]
    if in_use:
        names = ", ".join(in_use)
        raise CommandError(f"a process is delivering to {names}: stop it, or configure it without that destination")
    click.echo(f"Nothing is retained for {name} any more; the next fold removes its records from the journal.")

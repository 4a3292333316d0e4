"""A program that works on a store as it is told: ``python -m tests.crash.program STORE``.

A line of JSON on standard input is a step and its arguments. It writes a line to standard output for each call that has
returned, ``call ID``, for each record that a destination has taken, ``sent PART ID``, and ``done`` or ``failed WHY`` for each
step. With ``--deliver``, the destination has a cursor from the beginning.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import tooltrace as tt
from tooltrace.core.records import Record, ToolCall
from tooltrace.delivery.delivery import Delivery
from tooltrace.store.fold.background import BackgroundFold
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.upkeep.backup import backup, restore
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.retention import PrunePolicy

WAIT = 60.0


@tt.trace_tool
def say(text: str) -> str:
    """Return the text."""
    return text


def report(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def record(store: Path, conversation: str, ids: list[str]) -> None:
    tt.configure(store=store, durability="fsync")
    for call_id in ids:
        with tt.context(call_id=call_id, conversation_id=conversation):
            say(f"{conversation} says {call_id}")
        report(f"call {call_id}")


def end(store: Path) -> None:
    """End the journal, so that a fold removes it."""
    tt.shutdown(WAIT)


def forget(store: Path, conversation: str) -> None:
    found = tt.forget(conversation_id=conversation, store=store, wait=WAIT)
    assert not found.remaining, found.remaining


def remove_content(store: Path) -> None:
    prune(store, PrunePolicy(before=datetime.now(UTC) + timedelta(days=2)), wait=WAIT)


class Reporting:
    """A destination in two parts, which reports each record that it takes."""

    parts = ("spans", "events")

    def __init__(self, report: Callable[[str], None]) -> None:
        self.memory: dict[str, Any] = {}
        self._report = report

    def send(self, records: Sequence[Record]) -> None:
        for part in self.parts:
            self.send_part(part, records)

    def send_part(self, part: str, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record, ToolCall):
                self._report(f"sent {part} {record.call_id}")

    def close(self) -> None:
        pass


def files_of(store: Path) -> DestinationFiles:
    return DestinationFiles.of(store, "reporting")


def deliver(store: Path, report: Callable[[str], None] = report) -> None:
    """Deliver what waits, as the process does that has the destination's lock."""
    lock = files_of(store).lock()
    assert lock.exclusive(WAIT)
    try:
        delivery = Delivery(files_of(store), Reporting(report))
        while delivery.step() is not None:
            pass
        delivery.close()
    finally:
        lock.release()


STEPS: dict[str, Callable[..., Any]] = {
    "record": record,
    "deliver": deliver,
    "end": end,
    "fold": lambda store: fold(store, wait=WAIT),
    "prune": remove_content,
    "forget": forget,
    "backup": lambda store, file: backup(store, file, force=True, wait=WAIT),
    "restore": lambda store, file: restore(file, store, force=True, wait=WAIT),
}


def main(store: Path, delivers: bool) -> None:
    BackgroundFold.start = lambda self: None  # type: ignore[method-assign]  # one process: steps alone decide when a fold runs
    if delivers and not files_of(store).cursor.exists():
        files_of(store).create()
    report("ready")
    for line in sys.stdin:
        name, arguments = json.loads(line)
        try:
            STEPS[name](store, **arguments)
        except Exception as error:
            report(f"failed {name}: {type(error).__name__}: {' '.join(str(error).split())}")
        else:
            report("done")


if __name__ == "__main__":
    main(Path(sys.argv[1]), "--deliver" in sys.argv)

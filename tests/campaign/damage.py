"""Damage: bytes of the database or of a journal are changed, cut off or appended."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from pathlib import Path

from tests.campaign.processes import Agent
from tests.campaign.trial import Stored, Trial
from tooltrace.errors import TooltraceError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.upkeep.doctor import mend


def flip(choose: random.Random, file: Path) -> None:
    """Change some bytes."""
    with file.open("r+b") as opened:
        for _ in range(choose.randint(1, 50)):
            opened.seek(choose.randrange(file.stat().st_size))
            opened.write(bytes([choose.randrange(256)]))


def blank(choose: random.Random, file: Path) -> None:
    """Set a part to zero, as a file system does with blocks that it lost."""
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.seek(choose.randrange(size))
        opened.write(bytes(min(4096, size)))
        opened.truncate(size)


def cut(choose: random.Random, file: Path) -> None:
    """Cut off the end."""
    os.truncate(file, choose.randrange(file.stat().st_size))


def append(choose: random.Random, file: Path) -> None:
    """Append bytes of something else."""
    with file.open("ab") as opened:
        opened.write(choose.randbytes(choose.randint(1, 10_000)))


DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (flip, blank, cut, append)


def damage(choose: random.Random, folder: Path) -> Trial:
    """Damage the database or a journal of an agent that has ended.

    The store must open again; a call may be missing only where ``losses`` says so; no call may be invented.
    """
    store = folder / "store.duckdb"
    agent = Agent(store, "batch", "a")
    agent.wait_for_output()
    time.sleep(choose.uniform(0.2, 1))
    agent.end()
    in_database = choose.random() < 0.6
    if in_database:
        fold(store)
    file = store if in_database else next(iter(sorted(StorePaths.of(store).journal.glob("*.jsonl"))))
    how = choose.choice(DAMAGES)
    how(choose, file)
    what = f"{how.__name__} of the {'database' if in_database else 'journal'}"
    try:
        stored = Stored.of(store)
    except TooltraceError:  # a reader refuses what a person has to decide
        mend(store)
        stored = Stored.of(store)
    begun = set(agent.begun())
    trial = Trial(len(begun), len(begun), len(stored.calls), stored.losses.total())
    missing, invented = begun - stored.calls.keys(), stored.calls.keys() - begun
    trial.check(
        not missing or stored.losses.total() > 0, f"{len(missing)} calls are missing without a count after {what}"
    )
    trial.check(not invented, f"{len(invented)} calls were invented after {what}")
    return trial

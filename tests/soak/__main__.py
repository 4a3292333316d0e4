"""Work on one store for a chosen time: ``python -m tests.soak --minutes 60``.

An agent records bursts of calls and loses some of them, a receiver refuses some, this process reads, folds, prunes and
backs up. After each burst the ledger must be closed; at the end, the memory, the files and the descriptors of the last
third must not exceed those of the first. Prints the figures; exits with 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.campaign.ledger import Ledger
from tooltrace.store.upkeep.backup import backup
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.retention import PrunePolicy

CALLS = 500
"""Calls of a burst of each thread; the queue loses some of them."""
MAINTENANCE_EVERY = 10
"""Bursts between two prunes and backups."""
FEWEST = 4 * MAINTENANCE_EVERY
"""Bursts of a short run: each third that is compared has a prune and a backup."""
PAUSE = 0.2
"""Seconds between two bursts."""


@dataclass
class Figures:
    """Sizes that must not grow. Rows stay in the store, so its size is counted for each of them."""

    agent_mebibytes: float
    reader_mebibytes: float
    agent_descriptors: float
    reader_descriptors: float
    files: float
    database_bytes_per_call: float
    """Of the database and its backup, without the journal of the agent, which a fold removes once it has 64 MiB."""

    @classmethod
    def of(cls, agent: int, folder: Path, stored: int) -> Figures:
        files = [path for path in folder.rglob("*") if path.is_file()]
        return cls(
            *(_resident(pid) for pid in (agent, os.getpid())),
            *(len(os.listdir(f"/proc/{pid}/fd")) for pid in (agent, os.getpid())),
            len(files),
            sum(path.stat().st_size for path in files if path.suffix == ".duckdb") / max(stored, 1),
        )


ALLOWED = Figures(16, 32, 2, 2, 3, 16)
"""How much more the last third may have at most."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Work on one store, and watch memory, files and descriptors.")
    parser.add_argument("--minutes", type=float, default=60, help="time to run (default: 60)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the receiver's answers (default: 0)")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    ledger = Ledger(random.Random(options.seed), folder)
    begun = time.monotonic()
    found: list[Figures] = []
    bursts = 0
    while time.monotonic() - begun < 60 * options.minutes or bursts < FEWEST:
        ledger.burst(CALLS)
        bursts += 1
        if bursts % MAINTENANCE_EVERY == 0:
            prune(ledger.store, PrunePolicy(before=datetime.now(UTC) + timedelta(days=2)))
            backup(ledger.store, folder / "backup.duckdb", force=True)
            print(f"after {time.monotonic() - begun:,.0f} s: {found[-1] if found else '-'}", file=sys.stderr)
        if bursts >= MAINTENANCE_EVERY:  # the files of the first backup are there
            found.append(Figures.of(ledger.agent.pid, folder, ledger.trial.stored))
        if ledger.trial.problems:
            break
        time.sleep(PAUSE)
    ledger.end()
    problems = ledger.trial.problems + grown(found)
    for problem in problems:
        print(problem, file=sys.stderr)
    trial = ledger.trial
    print(f"{bursts} bursts: {trial.begun:,} calls offered, {trial.stored:,} stored, {trial.counted:,} lost, 0 pending")
    if problems:
        print(f"the store is in {folder}", file=sys.stderr)
        return 1
    shutil.rmtree(folder)
    return 0


def grown(found: list[Figures]) -> list[str]:
    """Print the largest figures of the first and the last third; return a sentence for each one that has grown."""
    third = max(1, len(found) // 3)
    sentences = []
    for name, limit in zip(Figures.__annotations__, astuple(ALLOWED), strict=True):
        first, end = (max(getattr(each, name) for each in part) for part in (found[:third], found[-third:]))
        print(f"{name.replace('_', ' ')}: {first:,.1f}, at the end {end:,.1f}")
        if end > first + limit:
            sentences.append(f"the {name.replace('_', ' ')} grew from {first:,.1f} to {end:,.1f}")
    return sentences


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    sys.exit(main())

"""Run faults against real stores for a chosen time: ``python -m tests.campaign --minutes 5``.

Prints a table of what held. Exits with 1 where a promise was broken; the seed of such a trial repeats its choices, and
its folder is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import logging
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.campaign.damage import damage
from tests.campaign.disk import full_disk
from tests.campaign.kills import kills
from tests.campaign.ledger import closed_ledger
from tests.campaign.receiver import receiver_faults
from tests.campaign.stopped import stopped
from tests.campaign.trial import Fault, Trial

FAULTS: dict[str, Fault] = {
    "kills": kills,
    "damage": damage,
    "full disk": full_disk,
    "stopped process": stopped,
    "failing receiver": receiver_faults,
    "lost calls": closed_ledger,
}
HEADING = ("fault", "trials", "calls", "acknowledged", "stored", "counted as lost", "trials with a broken promise")


def main(arguments: list[str] | None = None) -> int:
    """Run the trials, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(description="Run kills, damage and other faults against real stores.")
    parser.add_argument("--minutes", type=float, default=5, help="time to run (default: 5)")
    parser.add_argument(
        "--seed", type=int, default=None, help="seed of the first trial; without it, a new one each time"
    )
    parser.add_argument("--fault", choices=FAULTS, action="append", help="run only this fault; may be repeated")
    options = parser.parse_args(arguments)
    logging.getLogger("tooltrace").setLevel(logging.ERROR)  # warnings about damage are expected here
    names = options.fault or list(FAULTS)
    first = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    ends = time.monotonic() + 60 * options.minutes
    trials: dict[str, list[Trial]] = {name: [] for name in names}
    with contextlib.suppress(KeyboardInterrupt):  # the table has the trials that have ended
        for seed, name in zip(itertools.count(first), itertools.cycle(names), strict=False):
            if time.monotonic() > ends and all(trials.values()):
                break
            trials[name].append(run(name, seed))
            _show_progress(ends, trials)
    print(table(trials))
    return 1 if any(trial.problems for found in trials.values() for trial in found) else 0


def run(name: str, seed: int) -> Trial:
    """Run one trial in a new folder, which is kept only where a promise was broken."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-"))
    try:
        trial = FAULTS[name](random.Random(seed), folder)
    except Exception as error:  # a fault that nobody expected is a result too
        trial = Trial(problems=[f"{type(error).__name__}: {error}"])
    for problem in trial.problems:
        print(f"{name}, seed {seed}, {folder}: {problem}", file=sys.stderr)
    if not trial.problems:
        shutil.rmtree(folder)
    return trial


def table(trials: dict[str, list[Trial]]) -> str:
    """Return the results as a Markdown table."""
    rows = [
        (
            name,
            len(found),
            sum(trial.begun for trial in found),
            sum(trial.acknowledged for trial in found),
            sum(trial.stored for trial in found),
            sum(trial.counted for trial in found),
            sum(bool(trial.problems) for trial in found),
        )
        for name, found in trials.items()
    ]
    lines = [HEADING, ("---",) + ("---:",) * (len(HEADING) - 1), *rows]
    return "\n".join(
        "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in line) + " |" for line in lines
    )


def _show_progress(ends: float, trials: dict[str, list[Trial]]) -> None:
    if sys.stderr.isatty():
        left = max(0, ends - time.monotonic())
        done = sum(map(len, trials.values()))
        print(f"\r{done} trials, {left:.0f} s left ", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""Give random and hostile input to what reads it, for a chosen time: ``python -m tests.fuzz --minutes 5``.

Each reader must end without a crash and an unexpected exception, in CPU time and memory that are linear in the bytes,
and what it read must survive its own formats unchanged. The input of a crash is in the file that is named at the start;
an input that fails belongs into ``tests/fuzz/corpus``, a live object into ``tests/redact/hostile_values.py``.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz import objects, sql
from tests.fuzz.readers import READERS, Reader, seeds


def main() -> int:
    """Run each target for an equal part of the time, print what was read, and return the exit code."""
    names = ["objects", *READERS, "sql"]
    parser = argparse.ArgumentParser(description="Give random and hostile input to what reads it.")
    parser.add_argument("--minutes", type=float, default=5, help="time to run (default: 5)")
    parser.add_argument("--target", choices=names, action="append", help="run only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=None, help="seed of the choices; without it, a new one each time")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if options.seed is None else options.seed
    chosen = options.target or names
    for name in chosen:
        end = time.monotonic() + 60 * options.minutes / len(chosen)
        choose = random.Random(f"{seed} {name}")
        if name == "objects":
            found = objects.run(end)
        elif name == "sql":
            found = sql.run(choose, end)
        else:
            found = _run(READERS[name], choose, end)
        sys.stdout.write(f"{name} (seed {seed}): {found}\n")
    return 0


def _run(reader: Reader, choose: random.Random, end: float) -> str:
    last = Path(tempfile.gettempdir()) / f"fuzz-{reader.name}.bin"
    sys.stdout.write(f"the last input is in {last}\n")
    known, read, size, slowest = seeds(reader), 0, 0, 0.0
    while time.monotonic() < end:
        data = reader.mutated(known, choose)
        last.write_bytes(data)
        slowest = max(slowest, reader.check(data))
        read, size = read + 1, size + len(data)
    last.unlink(missing_ok=True)
    return f"{read:,} inputs of {size / 2**20:,.0f} MiB, the slowest took {1000 * slowest:.0f} ms"


if __name__ == "__main__":
    sys.exit(main())

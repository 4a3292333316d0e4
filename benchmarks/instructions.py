"""Count the instructions of a call in the calling thread: ``python -m benchmarks.instructions [--write]``, with valgrind.

callgrind counts what a program executes, so that the figures do not depend on the load of the machine. Each program runs twice,
with fewer and with more calls in a burst; the difference leaves the start of the program and the flushes out. It takes some
minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.page import COSTS_PAGE, machine, write_block
from benchmarks.payloads import payloads

BURSTS: Final = 5
CALLS: Final = (50, 250)
"""Calls in a burst. The queue is emptied after each: else the collector of garbage reads more queued calls the longer it runs."""
KIND: Final = "plain dict"
AIMS: Final = {"tooltrace, everything on": 0.23}

PROGRAM: Final = """
import gc, os, sys
from pathlib import Path
from benchmarks import rivals
from benchmarks.bare_span import in_bare_span, provider
from benchmarks.payloads import payloads
import tooltrace as tt

setup, kind, bursts, calls, folder = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5])
payload = payloads(rivals.tool_response())[kind]
if setup == "untraced":
    call = payload.caller(payload.tool())
elif setup == "bare SDK span":
    call = payload.caller(in_bare_span(provider(), payload.tool()))
else:
    if setup == "tooltrace, everything on":
        rivals.everything_on(folder / "store.duckdb")
    else:
        tt.configure(store=folder / "store.duckdb", durability="batch")
    call = payload.caller(tt.trace_tool(payload.tool()))
for _ in range(100):
    call()
tt.flush()
gc.collect()
gc.freeze()
for _ in range(bursts):
    for _ in range(calls):
        call()
    tt.flush()
os._exit(0)
"""


def instructions(setup: str) -> float:
    """Return the instructions of one call in the calling thread."""
    few, many = (_count(setup, calls) for calls in CALLS)
    return (many - few) / (CALLS[1] - CALLS[0]) / BURSTS


def _count(setup: str, calls: int) -> int:
    """Return the instructions of the program's first thread."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        valgrind = ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={out}", "--quiet"]
        command = [*valgrind, sys.executable, "-c", PROGRAM, setup, KIND, str(BURSTS), str(calls), folder]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
        subprocess.run(command, check=True, env=environment, cwd=folder, stderr=subprocess.DEVNULL)
        found = re.search(r"^(?:summary|totals): (\d+)", Path(f"{out}-01").read_text(), re.MULTILINE)
    assert found is not None, "callgrind wrote no total"
    return int(found[1])


def table() -> list[str]:
    """Return the Markdown table."""
    version = subprocess.run(["valgrind", "--version"], capture_output=True, check=True, text=True).stdout.strip()
    lines = [
        machine({"valgrind": version.removeprefix("valgrind-")}),
        "",
        "| calling thread | payload | instructions a call | × bare span | aim | |",
        "|---|---|---:|---:|---:|---|",
    ]
    sizes = f"{KIND}: {payloads()[KIND].sizes}"
    untraced = instructions("untraced")
    bare = instructions("bare SDK span") - untraced
    lines.append(f"| bare SDK span | {sizes} | {bare:,.0f} | 1 | | |")
    for setup in ("tooltrace, everything on", "tooltrace, journal alone"):
        count = instructions(setup) - untraced
        aim = AIMS.get(setup)
        verdict = "" if aim is None else "met" if count / bare <= aim else "**not yet**"
        lines.append(
            f"| {setup} | {sizes} | {count:,.0f} | {count / bare:.3f} | {'' if aim is None else f'≤ {aim:g}'} | {verdict} |"
        )
    return lines


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Count the instructions of a call in the calling thread.")
    parser.add_argument("--write", action="store_true", help="also write the table into the documentation")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed; install it, such as with: apt-get install valgrind")
    lines = table()
    sys.stdout.write("\n".join(lines) + "\n")
    if options.write:
        write_block(COSTS_PAGE, "instructions", lines)


if __name__ == "__main__":
    main()

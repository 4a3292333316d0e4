"""Processes of a trial: agents that record, and readers that ask and fold."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Literal

ROOT = Path(__file__).parents[2]
END_SECONDS = 900
"""Maximum seconds for a process to end after it was told to."""
READER = """
import sys, time, tooltrace as tt
while True:
    try:
        with tt.connect(sys.argv[1]) as db:
            db.execute("SELECT count(*) FROM tool_calls").fetchall()
    except tt.TooltraceError:
        time.sleep(0.005)
"""

Durability = Literal["batch", "call", "fsync"]


class Process:
    """A child process. A thread reads its output: a file of output would be cut off where the child's files are limited."""

    def __init__(self, arguments: list[str], **environment: str) -> None:
        self._output = bytearray()
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            env={**os.environ, "TOOLTRACE_STRICT": "", **environment},
        )

        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def output(self) -> str:
        """Return the output until now; the complete output of a process that has ended."""
        if not self.is_running:
            self._reader.join(END_SECONDS)
        return self._output.decode(errors="replace")

    def errors(self) -> str:
        return os.pread(self._errors.fileno(), 1 << 30, 0).decode(errors="replace")

    def wait_for_output(self) -> None:
        """Wait until the process has written something."""
        while not self._output:
            if not self.is_running:
                raise RuntimeError(f"a process of the trial did not start: {self.errors()[-2000:]}")
            time.sleep(0.01)

    def send(self, text: str) -> None:
        """Write to the standard input of the process."""
        assert self._process.stdin is not None
        self._process.stdin.write(text.encode())
        self._process.stdin.flush()

    def line(self, number: int) -> str:
        """Wait for the line ``number`` of the output, from 1 on, and return it."""
        while self._output.count(b"\n") < number:
            if not self.is_running:
                raise RuntimeError(f"a process of the trial did not answer: {self.errors()[-2000:]}")
            time.sleep(0.01)
        return self.output().splitlines()[number - 1]

    def signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    def kill(self) -> None:
        self.signal(signal.SIGKILL)
        self._process.wait()

    def end(self) -> int:
        """Tell the process to end; return its exit code. Raises subprocess.TimeoutExpired."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"\n")
            self._process.stdin.close()
        return self._process.wait(END_SECONDS)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while data := os.read(self._process.stdout.fileno(), 1 << 16):
            self._output += data


class Agent(Process):
    """A program that records calls, with what it reported about them."""

    def __init__(self, store: Path, durability: Durability, name: str, **environment: str) -> None:
        super().__init__(["-m", "tests.campaign.agent", str(store), durability, name], **environment)
        self.durability = durability

    def begun(self) -> list[str]:
        return self._lines("? ")

    def returned(self) -> list[str]:
        return self._lines("! ")

    def flushed(self) -> list[str]:
        """Return the calls that had returned when a flush that returned True began."""
        last = dict(line.rsplit("-", 1) for line in self._lines("= "))
        return [
            call for call in self.returned() if int(call.rsplit("-", 1)[1]) <= int(last.get(call.rsplit("-", 1)[0], -1))
        ]

    def acknowledged(self) -> list[str]:
        """Return the calls that the durability promises to keep if the process is killed now."""
        return self.flushed() if self.durability == "batch" else self.returned()

    def longest_call(self) -> float:
        """Return the seconds of the longest call; 0 where the agent did not end by itself."""
        return max(map(float, self._lines("slow ")), default=0.0)

    def _lines(self, start: str) -> list[str]:
        lines = self.output().splitlines(keepends=True)
        return [line[len(start) : -1] for line in lines if line.startswith(start) and line.endswith("\n")]


def reader(store: Path) -> Process:
    """Start a process that reads the store, and so folds it, until it is killed."""
    return Process(["-c", READER, str(store)])

"""Processes of the sandbox for tests of pages: each is forked from one that has imported its modules.

``tests/store/test_sandbox.py`` shows what a process that is started as in production may do, and what it has of its
environment.
"""

from __future__ import annotations

import asyncio
import subprocess

from tests.programs import start_program
from tooltrace.store.sandbox import client

WORKER = "from tooltrace.store.sandbox import worker; worker.main()"
start_as_in_production = client._start


async def start_forked() -> asyncio.subprocess.Process:
    return Process(start_program(WORKER, modules=("tooltrace.store.sandbox.worker",)))


class Process(asyncio.subprocess.Process):
    """The part of a process that the client uses: threads wait for this one, and a kill ends their waiting."""

    def __init__(self, started: subprocess.Popen[str]) -> None:
        self._started = started

    @property
    def returncode(self) -> int | None:
        return self._started.poll()

    def kill(self) -> None:
        self._started.kill()

    async def wait(self) -> int:
        code = await asyncio.to_thread(self._started.wait)
        for pipe in (self._started.stdin, self._started.stdout, self._started.stderr):
            pipe.close()
        return code

    async def communicate(self, given: bytes) -> tuple[bytes, bytes]:
        out, errors = await asyncio.to_thread(self._started.communicate, given.decode())
        return out.encode(), errors.encode()

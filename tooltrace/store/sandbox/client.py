"""The client of the sandbox, which passes each query to a separate process and always ends that process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any, Literal

import orjson

from tooltrace.errors import QueryError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.scratch import PrivateFolder, scratch
from tooltrace.store.result import QueryResult, Statement
from tooltrace.store.sandbox.limits import SandboxLimits, time_exceeded

FileForm = Literal["csv", "parquet"]

_START_SECONDS = 10.0
"""Seconds for opening the store, in addition to the query's limit: a fold may be needed first."""


@dataclass(frozen=True, slots=True)
class SandboxFile:
    """The result of a query as a file."""

    data: bytes
    full: bool
    """Whether the file has the maximum number of rows, so that the result may have more."""


class Sandbox:
    """A sandbox for queries of the store at ``store``, which belongs to one event loop.

    Up to ``at_once`` queries run at a time. A process for the next query is started in advance.
    """

    def __init__(self, store: str | os.PathLike[str], limits: SandboxLimits | None = None, *, at_once: int = 2) -> None:
        self._store = os.fspath(store)
        self._limits = limits or SandboxLimits()
        self._turns = asyncio.Semaphore(at_once)
        self._next_process: asyncio.Task[asyncio.subprocess.Process] | None = None
        self._running: dict[asyncio.subprocess.Process, asyncio.Future[None]] = {}
        """The processes of running queries, each with what is done once it has ended."""

    def warm(self) -> None:
        """Start a process for the next query, if none is ready."""
        if self._next_process is None:
            self._next_process = asyncio.create_task(_start())

    async def query(self, sql: str) -> QueryResult:
        """Return the result of ``sql`` with JSON-compatible values.

        Raises QueryError with a message for the author of the SQL.
        """
        response = await self._run(sql, None, None, self._limits)
        columns = [(column["name"], column["type"]) for column in response["columns"]]
        result = QueryResult.of_rows(columns, response["rows"], Statement(sql=sql), response["cut"])
        result.ms = response["ms"]
        return result

    async def write(self, sql: str, form: FileForm, limits: SandboxLimits | None = None) -> SandboxFile:
        """Return the result of ``sql`` as a file. Raises QueryError."""
        with PrivateFolder(scratch(StorePaths.of(self._store)), "result") as folder:
            path = folder.path / f"result.{form}"
            response = await self._run(sql, str(path), form, limits or self._limits)
            return SandboxFile(path.read_bytes(), full=response["cut"] is not None)

    async def close(self) -> None:
        """End all processes: those of running queries, and the one that waits for the next query."""
        # a server that shuts down cancels the queries, and ends its event loop without waiting for them
        for process in self._running:
            _kill(process)
        if self._running:
            await asyncio.wait(list(self._running.values()))
        starting, self._next_process = self._next_process, None
        if starting is not None:
            with contextlib.suppress(Exception):
                await _end(await starting)

    async def _run(self, sql: str, file: str | None, form: str | None, limits: SandboxLimits) -> dict[str, Any]:
        request = {"store": self._store, "sql": sql, "file": file, "form": form, "limits": asdict(limits)}
        async with self._turns:
            process = await self._pop_process()
            ended = self._running[process] = asyncio.get_running_loop().create_future()
            try:
                line = json.dumps(request).encode() + b"\n"
                response, _ = await asyncio.wait_for(process.communicate(line), limits.seconds + _START_SECONDS)
            except TimeoutError:
                raise QueryError(time_exceeded(limits)) from None
            finally:
                try:
                    await _end(process)
                finally:
                    del self._running[process]
                    ended.set_result(None)
        self.warm()  # after the query: a start during the query would slow it down
        return _read(response, process.returncode)

    async def _pop_process(self) -> asyncio.subprocess.Process:
        starting, self._next_process = self._next_process, None
        process = await starting if starting is not None else await _start()
        # a process that waited may have been killed meanwhile, by the system for example
        return process if process.returncode is None else await _start()


async def _start() -> asyncio.subprocess.Process:
    """Start a process that waits for a query.

    The process gets only the environment variables that Python needs to run, not the rest of this environment.
    """
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR", "LANG", "PYTHONPATH") if name in os.environ
    }
    return await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "tooltrace.store.sandbox.worker",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, env=environment,
    )  # fmt: skip


async def _end(process: asyncio.subprocess.Process) -> None:
    _kill(process)
    await process.wait()


def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


def _read(response: bytes, code: int | None) -> dict[str, Any]:
    try:
        values: dict[str, Any] = orjson.loads(response)
    except ValueError:
        raise QueryError(
            f"the process of the query ended (exit code {code}): the query needed more memory or time than allowed"
        ) from None
    if "error" in values:
        raise QueryError(values["error"])
    return values

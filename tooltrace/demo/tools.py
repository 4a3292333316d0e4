"""The demo's tools, written as a user would write them: an example of how tools are traced.

A decorator is enough. A tool may return any value, or raise: the recorder reads the result, and passes on the same
object. A tool that returns a ``ToolResponse`` can report more: its confidence with signals, the sources of the answer,
the error, and whether a retry may help.
"""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import AsyncGenerator, Generator
from contextlib import closing
from typing import Any

import httpx

import tooltrace as tt
from tooltrace.demo.calculator import value_of
from tooltrace.demo.python_outline import parse
from tooltrace.demo.server import TIMEOUT_HEADER
from tooltrace.demo.workspace import STDLIB, Library, OutsideWorkspace

MAX_NAMES = 40
MAX_ROWS = 100
MIN_CONFIDENCE = 0.5

log = tt.TraceLogger(version="2.1", tool_type="extension")
"""Logger for tools that cannot be decorated: see :meth:`Toolbox.list_directory`."""


class Toolbox:
    """The demo's tools as methods; ``self`` is not an argument of the model and is not recorded."""

    def __init__(self, library: Library, web: httpx.Client, async_web: httpx.AsyncClient) -> None:
        self.library = library
        self.web = web
        self.async_web = async_web

    # Plain functions: the return value is the data, the exception is the error.

    @tt.trace_tool
    def read_file(self, path: str) -> str:
        """Read a text file of the workspace."""
        return self.library.resolve(path).read_text(encoding="utf-8")

    @tt.trace_tool(version="1.2", confidence=0.99)
    def evaluate(self, expression: str) -> float:
        """Evaluate an arithmetic expression."""
        return value_of(expression)

    @tt.trace_tool(retryable=(httpx.TransportError,))
    def download(self, path: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """Get a page of the documentation server as JSON."""
        response = self.web.get(path, headers={TIMEOUT_HEADER: str(timeout_s)}, timeout=_timeout(timeout_s))
        page: dict[str, Any] = response.raise_for_status().json()
        return page

    # Streams: recorded when they end, in any way. The time spent in the consumer is measured separately.

    @tt.trace_tool
    def read_lines(self, path: str) -> Generator[str, None, None]:
        """Read a text file line by line."""
        with self.library.resolve(path).open(encoding="utf-8") as file:
            yield from file

    @tt.trace_tool
    async def follow(self, path: str) -> AsyncGenerator[str, None]:
        """Read a page of the server line by line as it arrives."""
        async with self.async_web.stream("GET", path) as response:
            async for line in response.aiter_lines():
                yield line

    # Tools that return a ToolResponse.

    @tt.trace_tool(version="3.0", tool_type="datastore")
    def search_docs(self, question: str) -> tt.ToolResponse:
        """Find the function whose docstring matches the question best."""
        hit = self.library.docs.search(question)
        if hit is None:
            return tt.ToolResponse.success("No docstring matches.", code="NO_MATCH", next_action="ask_user")
        entry, confidence = hit.entry, hit.confidence
        return tt.ToolResponse.success(
            f"{entry.name}: {entry.doc.splitlines()[0]}",
            {"name": entry.name, "line": entry.line},
            confidence=confidence,
            signals=hit.signals,
            sources=[tt.Source(type="file", id=entry.path, label=entry.name, section=f"line {entry.line}")],
            next_action="continue" if confidence >= MIN_CONFIDENCE else "human_review",
        )

    @tt.trace_tool
    def outline(self, path: str) -> tt.ToolResponse:
        """List the functions and classes that a module defines."""
        try:
            tree = parse(self.library.resolve(path).read_bytes())
        except (OutsideWorkspace, FileNotFoundError, SyntaxError, ValueError) as error:
            return _no_outline(path, error)
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        source = tt.Source(type="file", id=path)
        if len(names) > MAX_NAMES:
            shown = names[:MAX_NAMES]
            return tt.ToolResponse.partial(
                "\n".join(shown), shown, reason=f"the first {MAX_NAMES} of {len(names)} names", sources=[source]
            )
        return tt.ToolResponse.success("\n".join(names), names, sources=[source], stats={"names": len(names)})

    @tt.trace_tool(tool_type="datastore")
    def ask_database(self, sql: str, database: str) -> tt.ToolResponse:
        """Run an SQL query on a database of the workspace."""
        file = self.library.workspace / database
        mode = "ro" if database.startswith("library") else "rw"
        try:
            with closing(sqlite3.connect(f"file:{file}?mode={mode}", uri=True, timeout=0)) as db, db:
                rows = db.execute(sql).fetchmany(MAX_ROWS + 1)
        except sqlite3.OperationalError as error:
            return _sql_error(error)
        source = tt.Source(type="database", id=database, section=sql)
        if len(rows) > MAX_ROWS:
            return tt.ToolResponse.partial(
                data=rows[:MAX_ROWS], reason=f"truncated to {MAX_ROWS} rows", sources=[source], next_action="continue"
            )
        return tt.ToolResponse.success(data=rows, sources=[source], stats={"rows": len(rows)})

    @tt.trace_tool(version="2.0")
    async def fetch(self, path: str, api_key: str, timeout_s: float = 30.0) -> tt.ToolResponse:
        """Fetch a page of the documentation server. The key is recorded as redacted."""
        headers = {TIMEOUT_HEADER: str(timeout_s), "Authorization": f"Bearer {api_key}"}
        try:
            response = await self.async_web.get(path, headers=headers, timeout=_timeout(timeout_s))
        except httpx.TimeoutException as error:
            return tt.ToolResponse.error(
                tt.ToolErrorCode.TIMEOUT, f"no response within {timeout_s} s", type=type(error).__name__
            )
        if response.is_error:
            return _http_error(response)
        source = tt.Source(type="api", id=path.split("/")[1], url=str(response.url))
        return tt.ToolResponse.success(response.text, sources=[source], stats={"bytes": len(response.content)})

    # A tool of another library, which cannot be decorated: it is recorded from outside.

    def list_directory(self, path: str) -> list[str]:
        """List a directory of the workspace."""
        with log.call("list_directory", {"path": path}) as call:
            names = sorted(entry.name for entry in self.library.resolve(path).iterdir())
            call.finish(names)
        return names


def _no_outline(path: str, error: Exception) -> tt.ToolResponse:
    if isinstance(error, OutsideWorkspace):
        return tt.ToolResponse.error(
            tt.ToolErrorCode.ACCESS_DENIED,
            str(error),
            suggestion=f"Use a path that begins with {STDLIB}/.",
            user_message="The assistant tried to read a file that it has no access to.",
        )
    if isinstance(error, FileNotFoundError):
        return tt.ToolResponse.error(
            tt.ToolErrorCode.NOT_FOUND, f"{path} does not exist", suggestion="List the directory."
        )
    # Any string is a valid code, not only the known ones.
    return tt.ToolResponse.error("NOT_PYTHON", f"{path}: {error}", type=type(error).__name__, retryable=False)


def _timeout(seconds: float) -> httpx.Timeout:
    """Return a timeout for the response; connecting may take longer on a busy machine."""
    return httpx.Timeout(30.0, read=seconds)


_HTTP_CODES = {
    404: tt.ToolErrorCode.NOT_FOUND,
    429: tt.ToolErrorCode.RATE_LIMIT,
    503: tt.ToolErrorCode.SERVICE_UNAVAILABLE,
}


def _http_error(response: httpx.Response) -> tt.ToolResponse:
    code = _HTTP_CODES.get(response.status_code, tt.ToolErrorCode.API_ERROR)
    wait = response.headers.get("Retry-After")
    return tt.ToolResponse.error(
        code,
        f"{response.status_code} {response.reason_phrase}",
        type="http",
        suggestion=f"Wait {wait} s." if wait else None,
        stats={"retry_after_s": float(wait)} if wait else None,
    )


_SQL_CODES = {
    sqlite3.SQLITE_BUSY: tt.ToolErrorCode.CONFLICT,
    sqlite3.SQLITE_READONLY: tt.ToolErrorCode.PERMISSION_DENIED,
}


def _sql_error(error: sqlite3.OperationalError) -> tt.ToolResponse:
    message, number = str(error), error.sqlite_errorcode
    if message.startswith("no such table"):
        return tt.ToolResponse.error("NO_SUCH_TABLE", message, suggestion="The tables are modules and functions.")
    code = _SQL_CODES.get(number, tt.ToolErrorCode.INVALID_PARAM)
    return tt.ToolResponse.error(code, message, type=error.sqlite_errorname)

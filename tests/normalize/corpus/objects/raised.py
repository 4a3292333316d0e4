"""Exceptions, raised and caught for real where that needs no network."""

from __future__ import annotations

import asyncio
import errno
import http.client
import json
import socket
import sqlite3
import ssl
import subprocess
import sys
import urllib.error
from email.message import Message
from pathlib import Path
from typing import Any

import duckdb
import httpx
from pydantic import BaseModel

from .entries import caught, given, thrown
from .http import RequestsResponse, httpx_response


class Order(BaseModel):
    number: int


def _http_status(status: int) -> BaseException:
    return caught(httpx_response(status).raise_for_status)


def _chained() -> None:
    try:
        raise TimeoutError("the database did not answer")
    except TimeoutError as error:
        raise RuntimeError("could not load the profile") from error


def _sqlite(statement: str) -> BaseException:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    db.execute("INSERT INTO t VALUES (1)")
    error = caught(lambda: db.execute(statement))
    db.close()
    return error


def _duckdb(statement: str) -> BaseException:
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY)")
        return caught(lambda: db.execute(statement))


def needs(number: int) -> int:
    return number


_here = Path(__file__).parent
for _name, _run in {
    "exc_file_not_found": lambda: (_here / "no-such-file").read_text(),
    "exc_is_directory": _here.read_text,
    "exc_file_exists": _here.mkdir,
    "exc_zero_division": lambda: 1 / 0,
    "exc_key": lambda: {}["order_id"],
    "exc_index": lambda: [].pop(),
    "exc_value": lambda: int("x"),
    "exc_missing_argument": lambda: needs(),
    "exc_attribute": lambda: None.strip(),
    "exc_name": lambda: undefined_name,  # noqa: F821
    "exc_import": lambda: __import__("no_such_module_here"),
    "exc_syntax": lambda: compile("def f(:", "<tool>", "exec"),
    "exc_json": lambda: json.loads("{"),
    "exc_unicode": lambda: b"\xff\xfe".decode(),
    "exc_pydantic": lambda: Order(number="seventeen"),
    "exc_process_failed": lambda: subprocess.run([sys.executable, "-c", "exit(3)"], check=True),
    "exc_no_program": lambda: subprocess.run(["no-such-program-here"], check=False),
    "exc_duckdb_file": lambda: duckdb.connect("/no/such/folder/x.db"),
    "exc_chained": _chained,
    "exc_wait_for": lambda: asyncio.run(asyncio.wait_for(asyncio.sleep(60), 0)),
}.items():
    given(_name, lambda run=_run: caught(run))

for _name, _make in {
    "exc_permission": lambda: PermissionError(errno.EACCES, "Permission denied", "/etc/shadow"),
    "exc_timeout": lambda: TimeoutError("timed out"),
    "exc_timeout_empty": TimeoutError,
    "exc_refused": lambda: ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"),
    "exc_reset": lambda: ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
    "exc_broken_pipe": lambda: BrokenPipeError(errno.EPIPE, "Broken pipe"),
    "exc_dns": lambda: socket.gaierror(socket.EAI_NONAME, "Name or service not known"),
    "exc_ssl": lambda: ssl.SSLCertVerificationError(1, "certificate verify failed: certificate has expired"),
    "exc_host_unreachable": lambda: OSError(errno.EHOSTUNREACH, "No route to host"),
    "exc_disk_full": lambda: OSError(errno.ENOSPC, "No space left on device"),
    "exc_memory": MemoryError,
    "exc_recursion": lambda: RecursionError("maximum recursion depth exceeded"),
    "exc_runtime": lambda: RuntimeError("the index is corrupt"),
    "exc_not_implemented": NotImplementedError,
    "exc_bare": lambda: Exception(),
    "exc_remote_disconnected": lambda: http.client.RemoteDisconnected("Remote end closed connection without response"),
    "exc_group": lambda: ExceptionGroup("2 fetches failed", [TimeoutError("a"), TimeoutError("b")]),
    "exc_cancelled": asyncio.CancelledError,
    "exc_interrupt": KeyboardInterrupt,
    "exc_process_timeout": lambda: subprocess.TimeoutExpired(["sleep", "60"], 5.0),
    "exc_httpx_connect": lambda: httpx.ConnectError("[Errno 111] Connection refused"),
    "exc_httpx_connect_timeout": lambda: httpx.ConnectTimeout("timed out"),
    "exc_httpx_read_timeout": lambda: httpx.ReadTimeout("The read operation timed out"),
    "exc_httpx_pool_timeout": lambda: httpx.PoolTimeout(""),
    "exc_httpx_protocol": lambda: httpx.RemoteProtocolError("Server disconnected without sending a response."),
    "exc_httpx_url": lambda: httpx.UnsupportedProtocol("Request URL is missing an 'http://' or 'https://' protocol."),
    "exc_url_refused": lambda: urllib.error.URLError(ConnectionRefusedError(111, "Connection refused")),
    "exc_url_timeout": lambda: urllib.error.URLError(TimeoutError("timed out")),
    "exc_urllib_404": lambda: urllib.error.HTTPError("https://a.example/b", 404, "Not Found", Message(), None),
    "exc_urllib_429": lambda: urllib.error.HTTPError("https://a.example/b", 429, "Too Many Requests", Message(), None),
}.items():
    given(_name, lambda make=_make: thrown(make()))

for _status in (401, 403, 404, 409, 429, 500, 503, 504):
    given(f"exc_httpx_{_status}", lambda status=_status: _http_status(status))
for _name, _statement in {
    "no_table": "SELECT * FROM nope",
    "unique": "INSERT INTO t VALUES (1)",
    "syntax": "SELEC 1",
}.items():
    given(f"exc_sqlite_{_name}", lambda statement=_statement: _sqlite(statement))
for _name, _statement in {
    "no_table": "SELECT * FROM nope",
    "unique": "INSERT INTO t VALUES (1), (1)",
    "syntax": "SELEC 1",
    "convert": "SELECT 'a'::INTEGER",
}.items():
    given(f"exc_duckdb_{_name}", lambda statement=_statement: _duckdb(statement))
given("exc_sqlite_locked", lambda: thrown(sqlite3.OperationalError("database is locked")))


class RequestException(OSError):
    def __init__(self, *args: Any, response: Any = None, request: Any = None) -> None:
        super().__init__(*args)
        self.response, self.request = response, request


def requests_error(name: str, text: str, response: Any = None) -> Exception:
    """An exception of requests, under its real name and over its real bases."""
    base = type("RequestException", (RequestException,), {"__module__": "requests.exceptions"})
    timeout = type("Timeout", (base,), {"__module__": "requests.exceptions"})
    connection = type("ConnectionError", (base,), {"__module__": "requests.exceptions"})
    bases = {
        "ConnectTimeout": (connection, timeout),
        "ReadTimeout": (timeout,),
        "SSLError": (connection,),
        "MissingSchema": (base, ValueError),
        "HTTPError": (base,),
        "ConnectionError": (base,),
    }
    return type(name, bases[name], {"__module__": "requests.exceptions"})(text, response=response)


REFUSED = (
    "HTTPConnectionPool(host='127.0.0.1', port=9): Max retries exceeded with url: / (Caused by NewConnectionError("
    "\"HTTPConnection(host='127.0.0.1', port=9): Failed to establish a new connection: [Errno 111] Connection refused\"))"
)
given("exc_requests_refused", lambda: thrown(requests_error("ConnectionError", REFUSED)))
given("exc_requests_connect_timeout", lambda: thrown(requests_error("ConnectTimeout", "Connection to a timed out.")))
given("exc_requests_read_timeout", lambda: thrown(requests_error("ReadTimeout", "Read timed out. (read timeout=5)")))
given("exc_requests_ssl", lambda: thrown(requests_error("SSLError", "certificate verify failed")))
given(
    "exc_requests_schema",
    lambda: thrown(requests_error("MissingSchema", "Invalid URL 'a.example': No scheme supplied.")),
)
for _status, _reason in ((404, "Not Found"), (429, "Too Many Requests"), (503, "Service Unavailable")):
    given(
        f"exc_requests_{_status}",
        lambda status=_status, reason=_reason: thrown(
            requests_error(
                "HTTPError", f"{status} Error: {reason} for url: https://a.example", RequestsResponse(status, reason)
            )
        ),
    )
given("exc_class", lambda: TimeoutError)
given("exc_warning", lambda: DeprecationWarning("use search_v2"))
given("exc_gathered", lambda: [{"id": 1}, thrown(TimeoutError("timed out")), {"id": 3}])
given("exc_gathered_fine", lambda: [{"id": 1}, {"id": 2}])

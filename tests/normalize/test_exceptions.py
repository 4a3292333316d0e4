"""Exceptions to codes: real ones where the package is here, else stand-ins with the module, name and bases of the real."""

from __future__ import annotations

import asyncio
import binascii
import concurrent.futures
import csv
import errno
import io
import json
import socket
import sqlite3
import ssl
import subprocess
import sys
import tarfile
import urllib.error
import zipfile
import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import duckdb
import httpx
import pytest
import tenacity
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tooltrace.core.codes import ADVICE, advice_for
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.exceptions.codes import CODES
from tooltrace.normalize.exceptions.custom_readers import READERS
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.transports.http_status import STATUSES, of_status, retry_after

Code = str


def summarize(exc: BaseException) -> ExceptionSummary:
    """Return the summary with ``retryable`` as the response has it: stated, else advised by the code."""
    summary = reader.summarize(exc)
    return summary._replace(retryable=value_error_pair.of_exception(summary._asdict()).error.retryable)


def raised(act: Callable[[], Any]) -> ExceptionSummary:
    try:
        act()
    except BaseException as error:
        return summarize(error)
    raise AssertionError("nothing was raised")


def stand_in(path: str, *bases: type, **members: Any) -> Any:
    """A class with the module and name of ``path``."""
    module, _, name = path.rpartition(".")
    return type(name, bases or (Exception,), {"__module__": module, **members})


def sql(*statements: str) -> Callable[[], Any]:
    def run() -> None:
        db = sqlite3.connect(":memory:")
        try:
            for each in statements:
                db.execute(each)
        finally:
            db.close()

    return run


def duck(*statements: str) -> Callable[[], Any]:
    def run() -> None:
        with duckdb.connect() as db:
            for each in statements:
                db.execute(each).fetchall()

    return run


class Person(BaseModel):
    age: int


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FileNotFoundError("f"), "NOT_FOUND"),
        (OSError(errno.ENOENT, "gone"), "NOT_FOUND"),
        (FileExistsError("f"), "ALREADY_EXISTS"),
        (PermissionError("f"), "PERMISSION_DENIED"),
        (IsADirectoryError("d"), "IS_DIRECTORY"),
        (NotADirectoryError("d"), "INVALID_PARAM"),
        (TimeoutError(), "TIMEOUT"),
        (asyncio.TimeoutError(), "TIMEOUT"),
        (concurrent.futures.TimeoutError(), "TIMEOUT"),
        (subprocess.TimeoutExpired("sleep", 3), "TIMEOUT"),
        (ConnectionResetError(), "NETWORK_ERROR"),
        (socket.gaierror(-2, "Name or service not known"), "NETWORK_ERROR"),
        (ssl.SSLError("handshake"), "NETWORK_ERROR"),
        (asyncio.IncompleteReadError(b"", 3), "NETWORK_ERROR"),
        (OSError(errno.EHOSTUNREACH, "no route"), "NETWORK_ERROR"),
        (OSError(errno.EMFILE, "too many files"), "SERVICE_UNAVAILABLE"),
        (OSError(errno.EROFS, "read-only"), "PERMISSION_DENIED"),
        (OSError(errno.EBUSY, "busy"), "CONFLICT"),
        (OSError("no number"), "EXECUTION_ERROR"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), "BINARY_FILE"),
        (KeyError("k"), "NOT_FOUND"),
        (ValueError("v"), "INVALID_PARAM"),
        (TypeError("t"), "INVALID_PARAM"),
        (NotImplementedError(), "INTERNAL_ERROR"),
        (ModuleNotFoundError("m"), "INTERNAL_ERROR"),
        (RuntimeError("r"), "EXECUTION_ERROR"),
        (ZeroDivisionError(), "EXECUTION_ERROR"),
        (subprocess.CalledProcessError(1, "x"), "EXECUTION_ERROR"),
        (subprocess.CalledProcessError(127, "x"), "NOT_FOUND"),
        (urllib.error.URLError(TimeoutError()), "TIMEOUT"),
        (urllib.error.URLError(ConnectionRefusedError()), "NETWORK_ERROR"),
        (urllib.error.URLError("unknown url type: foo"), "INVALID_PARAM"),
        (httpx.ConnectTimeout("slow"), "TIMEOUT"),
        (httpx.PoolTimeout("full"), "TIMEOUT"),
        (httpx.ConnectError("refused"), "NETWORK_ERROR"),
        (httpx.RemoteProtocolError("closed"), "NETWORK_ERROR"),
        (httpx.UnsupportedProtocol("ftp"), "INVALID_PARAM"),
        (httpx.TooManyRedirects("loop"), "API_ERROR"),
    ],
    ids=repr,
)
def test_exceptions_are_classified_by_class_or_number(error: BaseException, code: Code) -> None:
    summary = summarize(error)
    assert summary.code == code
    assert summary.type.endswith(type(error).__qualname__)


@pytest.mark.parametrize(
    ("act", "code", "retryable"),
    [
        (lambda: json.loads("{"), "INVALID_FORMAT", False),
        (lambda: zipfile.ZipFile(io.BytesIO(b"no")), "INVALID_FORMAT", False),
        (lambda: tarfile.open(fileobj=io.BytesIO(b"no")), "INVALID_FORMAT", False),
        (lambda: list(csv.reader(["a" * 200_000])), "INVALID_FORMAT", False),
        (lambda: zlib.decompress(b"no"), "INVALID_FORMAT", False),
        (lambda: binascii.a2b_base64("a", strict_mode=True), "INVALID_FORMAT", False),
        (lambda: compile("1 +", "f", "exec"), "INVALID_FORMAT", False),
        (lambda: Person(age="old"), "INVALID_PARAM", False),
        (sql("SELECT * FROM nowhere"), "NOT_FOUND", False),
        (sql("SELEC 1"), "INVALID_FORMAT", False),
        (sql("CREATE TABLE t (a PRIMARY KEY)", *["INSERT INTO t VALUES (1)"] * 2), "CONFLICT", False),
        (sql("CREATE TABLE t (a NOT NULL)", "INSERT INTO t VALUES (NULL)"), "CONFLICT", False),
        (sql(*["CREATE TABLE t (a)"] * 2), "ALREADY_EXISTS", False),
        (lambda: sqlite3.connect("/nowhere/at/all.db"), "NOT_FOUND", False),
        (duck("SELECT * FROM nowhere"), "NOT_FOUND", False),
        (duck("SELEC 1"), "INVALID_FORMAT", False),
        (duck("SELECT CAST('a' AS INT)"), "INVALID_PARAM", False),
        (duck("CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (1)"), "CONFLICT", False),
        (duck(*["CREATE TABLE t (a INT)"] * 2), "ALREADY_EXISTS", False),
        (duck("SELECT * FROM 'nowhere.csv'"), "NOT_FOUND", False),
        (lambda: httpx.Response(200, text="no").json(), "INVALID_FORMAT", False),
        (lambda: httpx.get("http://127.0.0.1:1/"), "NETWORK_ERROR", True),
    ],
)
def test_exceptions_of_real_engines_are_classified(act: Callable[[], Any], code: Code, retryable: bool | None) -> None:
    summary = raised(act)
    assert (summary.code, summary.retryable) == (code, retryable), summary


def test_a_locked_database_may_be_free_later(tmp_path: Any) -> None:
    first = sqlite3.connect(tmp_path / "d.db", isolation_level=None)
    second = sqlite3.connect(tmp_path / "d.db", timeout=0, isolation_level=None)
    try:
        first.execute("BEGIN EXCLUSIVE")
        summary = raised(lambda: second.execute("BEGIN EXCLUSIVE"))
    finally:
        first.close()
        second.close()
    assert (summary.code, summary.retryable, summary.message) == ("CONFLICT", True, "database is locked")


@pytest.mark.parametrize(
    "status", [400, 401, 403, 404, 408, 409, 412, 418, 422, 429, 500, 501, 502, 503, 504, 529, 599]
)
def test_the_status_decides_wherever_a_client_puts_it(status: int) -> None:
    request = httpx.Request("GET", "https://x.test")
    response = httpx.Response(status, request=request)
    bare = SimpleNamespace(status_code=status, headers={})
    carriers = [
        httpx.HTTPStatusError("m", request=request, response=response),
        urllib.error.HTTPError("https://x.test", status, "m", Message(), None),
        _with(stand_in("requests.exceptions.HTTPError", OSError)("m"), response=bare),
        _with(stand_in("aiohttp.client_exceptions.ClientResponseError")("m"), status=status, headers={}),
        _with(stand_in("openai.NotFoundError", stand_in("openai.APIError"))("m"), status_code=status, response=bare),
        _with(stand_in("anthropic.APIStatusError", stand_in("anthropic.APIError"))("m"), status_code=status),
        _with(stand_in("google.api_core.exceptions.GoogleAPICallError")("m"), code=HTTPStatus(404) if status == 404 else status),
        _with(stand_in("google.genai.errors.APIError")("m"), code=status, status="SOME_NAME"),
        _with(stand_in("starlette.exceptions.HTTPException")("m"), status_code=status),
        _with(stand_in("my.tools.Failed", ValueError)("m"), status=status),
        _with(stand_in("my.tools.Wrapped")("m"), response=bare),
    ]  # fmt: skip
    expected = of_status(status)
    again = advice_for(expected.code).retryable if expected.retryable is None else expected.retryable
    for carrier in carriers:
        summary = summarize(carrier)
        assert (summary.code, summary.retryable) == (expected.code, again), carrier


def _with(error: Any, **attributes: Any) -> Any:
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


def test_authentication_and_permission_statuses_differ() -> None:
    assert (of_status(401).code, of_status(403).code) == ("ACCESS_DENIED", "PERMISSION_DENIED")
    assert of_status(403, {"x-ratelimit-remaining": "0"}).code == "RATE_LIMIT"
    assert of_status(403, {"retry-after": "60"}) == ("RATE_LIMIT", None, 60.0)


def test_only_retryable_errors_have_a_wait() -> None:
    assert of_status(423, {"retry-after": "5"}).retry_after_s == 5.0
    assert of_status(404, {"retry-after": "5"}).retry_after_s is None
    assert of_status(503, {"x-ratelimit-reset": "5"}).retry_after_s is None


@given(st.integers())
def test_every_status_has_a_known_code(status: int) -> None:
    verdict = of_status(status)
    assert verdict.code in ADVICE
    if 400 <= status < 500 and status not in STATUSES:
        assert verdict == ("API_ERROR", False, None)


def grpc_error(name: str, *, state: bool) -> Any:
    code = SimpleNamespace(name=name)
    kind = stand_in("grpc.RpcError")
    if state:
        return _with(stand_in("grpc._channel._InactiveRpcError", kind)("m"), _state=SimpleNamespace(code=code))
    return stand_in("tests.Own", kind, code=lambda self: code)("m")


@pytest.mark.parametrize("state", [True, False])
@pytest.mark.parametrize(
    ("name", "code", "retryable"),
    [
        ("UNAVAILABLE", "SERVICE_UNAVAILABLE", True),
        ("DEADLINE_EXCEEDED", "TIMEOUT", True),
        ("UNAUTHENTICATED", "ACCESS_DENIED", False),
        ("FAILED_PRECONDITION", "CONFLICT", False),
        ("ABORTED", "CONFLICT", True),
        ("RESOURCE_EXHAUSTED", "RATE_LIMIT", True),
        ("SOMETHING_NEW", "API_ERROR", None),
    ],
)
def test_grpc(name: str, code: Code, retryable: bool | None, state: bool) -> None:
    summary = summarize(grpc_error(name, state=state))
    assert (summary.code, summary.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("name", "status", "code"),
    [
        ("NoSuchKey", 404, "NOT_FOUND"),
        ("404", 404, "NOT_FOUND"),
        ("ThrottlingException", 400, "RATE_LIMIT"),
        ("SlowDown", 503, "RATE_LIMIT"),
        ("AccessDenied", 403, "PERMISSION_DENIED"),
        ("ExpiredToken", 400, "ACCESS_DENIED"),
        ("InvalidSignatureException", 403, "ACCESS_DENIED"),
        ("ConditionalCheckFailedException", 400, "CONFLICT"),
        ("BucketAlreadyExists", 409, "ALREADY_EXISTS"),
        ("ValidationException", 400, "INVALID_PARAM"),
        ("InternalError", 500, "API_ERROR"),
        ("NobodyKnows", 503, "SERVICE_UNAVAILABLE"),
        (None, None, "API_ERROR"),
    ],
)
def test_aws(name: str | None, status: int | None, code: Code) -> None:
    response = {"Error": {"Code": name}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = _with(
        stand_in("botocore.errorfactory.Own", stand_in("botocore.exceptions.ClientError"))("m"), response=response
    )
    assert summarize(error).code == code


@pytest.mark.parametrize(
    ("state", "code", "retryable"),
    [
        ("23505", "CONFLICT", False),
        ("40001", "CONFLICT", True),
        ("40P01", "CONFLICT", True),
        ("57014", "TIMEOUT", True),
        ("08006", "NETWORK_ERROR", True),
        ("53300", "SERVICE_UNAVAILABLE", True),
        ("28P01", "ACCESS_DENIED", False),
        ("42501", "PERMISSION_DENIED", False),
        ("42P01", "NOT_FOUND", False),
        ("42601", "INVALID_FORMAT", False),
        ("42P07", "ALREADY_EXISTS", False),
        ("22P02", "INVALID_PARAM", False),
        ("P0001", "EXECUTION_ERROR", None),
    ],
)
def test_postgres_by_its_state_however_the_driver_names_it(state: str, code: Code, retryable: bool | None) -> None:
    for module, name in (("psycopg", "sqlstate"), ("psycopg2", "pgcode")):
        base = stand_in(f"{module}.ProgrammingError", stand_in(f"{module}.DatabaseError", stand_in(f"{module}.Error")))
        error = stand_in(f"{module}.errors.Own", base, **{name: state})("m")
        assert summarize(error)[:1] + summarize(error)[3:4] == (code, retryable)
        outer = stand_in("sqlalchemy.exc.ProgrammingError", stand_in("sqlalchemy.exc.StatementError"))("(psycopg) m")
        assert summarize(_with(outer, orig=error)).code == code
        assert summarize(outer).type == "sqlalchemy.exc.ProgrammingError"
    assert summarize(stand_in("my.driver.Oops", sqlstate=state)("m")).code == code


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (stand_in("pymysql.err.IntegrityError")(1062, "Duplicate entry"), "CONFLICT", False),
        (stand_in("pymysql.err.OperationalError")(1213, "Deadlock"), "CONFLICT", True),
        (stand_in("pymysql.err.OperationalError")(2003, "Can't connect"), "NETWORK_ERROR", True),
        (stand_in("mysql.connector.errors.ProgrammingError", errno=1146)("m"), "NOT_FOUND", False),
        (stand_in("psycopg.OperationalError")("connection failed: refused"), "NETWORK_ERROR", True),
        (stand_in("pyodbc.OperationalError")("HYT00", "Login timeout"), "TIMEOUT", True),
        (stand_in("pymongo.errors.OperationFailure", code=13, details=None)("m"), "PERMISSION_DENIED", False),
        (stand_in("pymongo.errors.OperationFailure", code=429, details=None)("m"), "EXECUTION_ERROR", None),
        (stand_in("pymongo.errors.OperationFailure", details={"writeErrors": [{"code": 11000}]})("m"), "CONFLICT", False),
        (stand_in("redis.exceptions.AuthenticationError", stand_in("redis.exceptions.ConnectionError"))("m"), "ACCESS_DENIED", False),
        (stand_in("redis.exceptions.TimeoutError")("m"), "TIMEOUT", True),
        (stand_in("sqlalchemy.exc.NoResultFound")("m"), "NOT_FOUND", False),
        (stand_in("requests.exceptions.ConnectTimeout", stand_in("requests.exceptions.ConnectionError", OSError), stand_in("requests.exceptions.Timeout", OSError))(), "TIMEOUT", True),
        (stand_in("requests.exceptions.ConnectionError", OSError)(stand_in("urllib3.exceptions.ReadTimeoutError")("m")), "TIMEOUT", True),
        (stand_in("requests.exceptions.SSLError", OSError)("bad certificate"), "NETWORK_ERROR", False),
        (stand_in("urllib3.exceptions.MaxRetryError", reason=stand_in("urllib3.exceptions.ResponseError")("too many 503 error responses"))(), "SERVICE_UNAVAILABLE", True),
        (stand_in("aiohttp.client_exceptions.ServerTimeoutError", TimeoutError)(), "TIMEOUT", True),
        (stand_in("aiohttp.client_exceptions.ContentTypeError", status=200)("m"), "INVALID_FORMAT", False),
        (stand_in("openai.RateLimitError", stand_in("openai.APIError"), status_code=429, code="insufficient_quota")("m"), "RATE_LIMIT", False),
        (stand_in("github.GithubException.RateLimitExceededException", stand_in("github.GithubException.GithubException"), status=403)("API rate limit exceeded"), "RATE_LIMIT", True),
        (stand_in("github.GithubException.GithubException", status=403)("Resource not accessible"), "PERMISSION_DENIED", False),
        (stand_in("anthropic.APIStatusError", stand_in("anthropic.APIError"), status_code=200, type="overloaded_error")("m"), "SERVICE_UNAVAILABLE", True),
        (stand_in("mcp.shared.exceptions.McpError", error=SimpleNamespace(code=-32602))("m"), "INVALID_PARAM", False),
        (stand_in("mcp.shared.exceptions.MCPError", error=SimpleNamespace(code=408))("m"), "TIMEOUT", True),
        (stand_in("playwright._impl._errors.TimeoutError", stand_in("playwright._impl._errors.Error"))("Timeout 30000ms exceeded"), "TIMEOUT", True),
        (stand_in("playwright._impl._errors.Error")("Page.goto: net::ERR_NAME_NOT_RESOLVED"), "NETWORK_ERROR", True),
        (stand_in("jsonschema.exceptions.ValidationError")("m"), "INVALID_PARAM", False),
        (stand_in("my.tools.Busy", retryable=True)("m"), "EXECUTION_ERROR", True),
        (stand_in("my.tools.Bad", ValueError, retryable=False)("m"), "INVALID_PARAM", False),
        (stand_in("my.tools.Coded", code="CIRCUIT_OPEN")("m"), "CIRCUIT_OPEN", True),
        (stand_in("my.tools.Child", httpx.ReadTimeout)("m"), "TIMEOUT", True),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}" if isinstance(value, Exception) else str(value),
)  # fmt: skip
def test_clients_and_databases(error: Exception, code: Code, retryable: bool | None) -> None:
    summary = summarize(error)
    assert (summary.code, summary.retryable) == (code, retryable)


def test_the_inner_exception_of_a_wrapper_decides() -> None:
    @tenacity.retry(stop=tenacity.stop_after_attempt(1))
    def give_up() -> None:
        raise TimeoutError("too slow")

    summary = raised(give_up)
    assert (summary.code, summary.type) == ("TIMEOUT", "tenacity.RetryError")
    assert summary.message.endswith(": TimeoutError: too slow")
    summary = summarize(ExceptionGroup("tasks", [ExceptionGroup("inner", [httpx.ConnectError("refused")])]))
    assert (summary.code, summary.type) == ("NETWORK_ERROR", "ExceptionGroup")
    assert summary.message == "tasks (1 sub-exception): httpx.ConnectError: refused"
    assert summarize(ExceptionGroup("g", [TimeoutError(), httpx.ReadTimeout("r")])).code == "TIMEOUT"
    assert summarize(ExceptionGroup("g", [TimeoutError(), KeyError()])).code == "EXECUTION_ERROR"


class ToolFailed(Exception):
    pass


class AcmeTimeoutError(Exception):
    pass


def chained(error: BaseException, first: BaseException, cause: BaseException | bool | None = True) -> BaseException:
    """``error``, raised while ``first`` is handled; ``cause`` as in ``raise … from``, True for ``first``, False for none."""
    try:
        try:
            raise first
        except BaseException as handled:
            if cause is False:
                raise error
            raise error from (handled if cause is True else cause)
    except BaseException as met:
        return met


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (chained(ToolFailed(), TimeoutError()), "TIMEOUT"),
        (chained(ToolFailed(), TimeoutError(), False), "TIMEOUT"),
        (chained(ToolFailed(), TimeoutError(), None), "TIMEOUT"),
        (chained(ValueError(), TimeoutError()), "TIMEOUT"),
        (chained(ToolFailed(), chained(KeyError(), httpx.ReadTimeout("r"))), "TIMEOUT"),
        (chained(ToolFailed(), ExceptionGroup("g", [TimeoutError()])), "TIMEOUT"),
        (ExceptionGroup("g", [chained(ToolFailed(), TimeoutError()), ToolFailed()]), "TIMEOUT"),
        (AcmeTimeoutError(), "TIMEOUT"),
        (chained(ToolFailed(), TimeoutError(), KeyError()), "EXECUTION_ERROR"),
        (chained(ToolFailed(), PermissionError()), "EXECUTION_ERROR"),
    ],
)
def test_a_timeout_in_the_chain_is_a_timeout_whatever_the_class(error: BaseException, code: str) -> None:
    assert summarize(error).code == code


def test_what_the_caller_of_a_tool_was_handling_is_no_cause() -> None:
    def tool() -> None:
        raise ToolFailed

    try:
        raise TimeoutError
    except TimeoutError as earlier:
        summary = raised(tool)
        error = ToolFailed()
        error.__context__ = earlier
    assert (summary.code, summarize(error).code) == ("EXECUTION_ERROR", "EXECUTION_ERROR")


def test_a_wrapper_that_contains_itself_terminates() -> None:
    error = stand_in("sqlalchemy.exc.OperationalError", stand_in("sqlalchemy.exc.StatementError"))("m")
    assert summarize(_with(error, orig=error)).code == "EXECUTION_ERROR"
    error = stand_in("sqlalchemy.exc.IntegrityError", stand_in("sqlalchemy.exc.StatementError"))("m")
    assert summarize(_with(error, orig=error)).code == "CONFLICT"
    deep: Exception = TimeoutError()
    for _ in range(500):
        deep = ExceptionGroup("g", [deep])
    assert summarize(deep).code in ("TIMEOUT", "EXECUTION_ERROR")
    wide = ExceptionGroup("g", [TimeoutError() for _ in range(100_000)])
    assert summarize(wide).code == "TIMEOUT"


# when to come again


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, 30.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"ratelimit-reset": "50"}, 50.0),
        ({"ratelimit": "limit=100, remaining=0, reset=50"}, 50.0),
        ({"ratelimit": '"default";r=0;t=50'}, 50.0),
        ({"x-ratelimit-reset-after": "1.25", "x-ratelimit-reset": "1"}, 1.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "9" * 12}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_in_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_reset_may_be_a_time_of_day() -> None:
    then = (datetime.now(UTC) + timedelta(hours=1)).replace(microsecond=0)
    resets = (str(int(then.timestamp())), str(int(then.timestamp() * 1000)), then.isoformat())
    for headers in (
        *({"x-ratelimit-reset": shown} for shown in resets),
        {"retry-after": format_datetime(then, usegmt=True)},
    ):
        found = retry_after(headers)
        assert found is not None
        assert (then - datetime.now(UTC)).total_seconds() - 1 <= found <= 3600, headers


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "ratelimit", "x-ratelimit-reset", "date"]), st.text()
    )
)
def test_any_header_gives_a_valid_wait_or_none(headers: dict[str, str]) -> None:
    wait = retry_after(headers)
    assert wait is None or 0 <= wait <= 366 * 86400


@given(st.floats(0, 86400))
def test_retry_after_seconds_round_trip(seconds: float) -> None:
    shown = f"{seconds:.3f}"
    assert retry_after({"retry-after": shown}) == float(shown)


def test_the_wait_is_recorded_and_in_the_message() -> None:
    request = httpx.Request("GET", "https://x.test")
    for headers in ({"Retry-After": "30"}, {"RETRY-AFTER": "30"}):
        summary = summarize(
            httpx.HTTPStatusError("m", request=request, response=httpx.Response(429, headers=headers, request=request))
        )
        assert (summary.retry_after_s, summary.stats, summary.suggestion) == (
            30.0,
            {"retry_after_s": 30.0},
            "retry after 30 s",
        )
    with_wait = summarize(stand_in("my.bot.RetryAfter", retry_after=timedelta(seconds=2.5))("m"))
    assert (with_wait.retry_after_s, with_wait.suggestion) == (2.5, "retry after 2.5 s")
    silent = summarize(ValueError())
    assert (silent.retry_after_s, silent.stats, silent.suggestion) == (None, None, None)


def test_rate_limit_headers_of_a_success_give_no_wait() -> None:
    request = httpx.Request("GET", "https://x.test")
    response = httpx.Response(404, headers={"x-ratelimit-reset": "50"}, request=request)
    assert summarize(httpx.HTTPStatusError("m", request=request, response=response)).retry_after_s is None


# hostile ones


class Hostile(Exception):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __str__(self) -> str:
        raise RuntimeError


class Meta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError(name)


class HostileClass(Exception, metaclass=Meta):
    pass


class Trap:
    """Not a number, not a text, and furious when it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError(name)

    __eq__ = __hash__ = __bool__ = __int__ = __index__ = __iter__ = None  # type: ignore[assignment]


def test_an_exception_whose_attributes_raise_is_recorded() -> None:
    assert summarize(Hostile()).code == "EXECUTION_ERROR"
    assert summarize(Hostile()).type.endswith("Hostile")
    assert summarize(HostileClass()).type.endswith(".HostileClass")
    odd = stand_in("my.tools.Slow", TimeoutError, code=Trap(), retryable=Trap(), response=Trap())
    assert summarize(odd("m")).code == "TIMEOUT"
    assert summarize(stand_in("botocore.exceptions.ConnectTimeoutError", response=Trap())("m")).code == "TIMEOUT"
    assert summarize(stand_in("pymysql.err.IntegrityError", errno=Trap(), args=Trap())("m")).code == "CONFLICT"


ODD: dict[str, Any] = {
    "text": "404",
    "real": 404.0,
    "true": True,
    "negative": -1,
    "huge": 10**400,
    "none": None,
    "trap": Trap(),
    "object": object(),
    "bytes": b"404",
    "list": [404],
    "function": lambda: 404,
}


@pytest.mark.parametrize("odd", ODD)
def test_a_status_of_another_type_is_ignored(odd: str) -> None:
    for name in ("status_code", "status", "code", "sqlstate", "pgcode", "response", "headers"):
        summary = summarize(stand_in("my.tools.Odd", **{name: ODD[odd]})("m"))
        assert (summary.code, summary.message, summary.retryable, summary.retry_after_s) == (
            "EXECUTION_ERROR",
            "m",
            None,
            None,
        )
    assert summarize(stand_in("my.tools.Odd", retryable=ODD[odd])("m")).retryable is (True if odd == "true" else None)
    assert summarize(stand_in("my.tools.Odd", retry_after=ODD[odd])("m")).retry_after_s == (
        404.0 if odd == "real" else None
    )


@pytest.mark.parametrize("odd", ODD)
def test_no_class_of_the_tables_is_read_with_a_crash(odd: str) -> None:
    names = (
        "status_code status code response headers reason orig errno sqlstate pgcode sqlite_errorname returncode error details "
        "last_attempt _state"
    )
    members = dict.fromkeys(names.split(), ODD[odd])
    for path in {*CODES, *READERS}:
        if not path.startswith("builtins."):
            summary = summarize(stand_in(path, **members)("m"))
            assert summary.code in ADVICE, path
            assert (summary.message, summary.type) == ("m", path)


def test_the_tables_name_existing_classes() -> None:
    here = "builtins httpx sqlite3 json zipfile tarfile ssl socket subprocess _duckdb tenacity urllib pydantic_core".split()
    pep_249 = {name.rpartition(".")[2] for name in CODES if name.startswith("sqlite3.")}
    for name in {*CODES, *READERS}:
        module, _, member = name.rpartition(".")
        if module.partition(".")[0] not in here or module not in sys.modules or member in pep_249:
            continue
        kind = getattr(sys.modules[module], member, None)
        assert isinstance(kind, type), name
        assert f"{kind.__module__}.{kind.__qualname__}" == name


class Plain(Exception):
    """An exception whose class provides no attribute in common use."""


class Computed(Exception):
    """An exception that computes its attributes."""

    def __getattr__(self, name: str) -> int:
        if name == "status_code":
            return 404
        raise AttributeError(name)


class Slotted(Exception):
    """An exception with an attribute that is not in its ``__dict__``."""

    __slots__ = ("retry_after",)
    retry_after: int


def test_an_attribute_of_one_exception_counts_although_others_of_its_class_have_none() -> None:
    assert summarize(Plain("why")).code == "EXECUTION_ERROR"
    limited = Plain("why")
    limited.status_code = 429  # type: ignore[attr-defined]
    assert summarize(limited).code == "RATE_LIMIT"
    assert summarize(Plain("why")).code == "EXECUTION_ERROR"


def test_computed_attributes_and_slots_count() -> None:
    assert summarize(Computed("why")).code == "NOT_FOUND"
    slotted = Slotted("why")
    slotted.retry_after = 30
    assert summarize(slotted).retry_after_s == 30
    assert summarize(Slotted("why")).retry_after_s is None

"""Readers for exceptions whose class alone does not decide: by status, errno, cause or message."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tooltrace.core.codes import ADVICE
from tooltrace.core.codes import ToolErrorCode as C
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions.codes import ErrorClassification
from tooltrace.normalize.exceptions.services import AWS, GRPC, GRPC_FINAL, JSON_RPC
from tooltrace.normalize.terms import SPENT_QUOTA, lookup_code
from tooltrace.normalize.transports.completed_process import exit_code
from tooltrace.normalize.transports.http_status import lower_headers, of_status

_FINAL_CONFLICT = ErrorClassification(C.CONFLICT, retryable=False)
"""Violation of a constraint: the same row will not fit later either."""

_STATES: dict[str, ErrorClassification] = {
    "02": ErrorClassification(C.NOT_FOUND), "P0": ErrorClassification(C.EXECUTION_ERROR), "P0002": ErrorClassification(C.NOT_FOUND), "P0003": _FINAL_CONFLICT,
    "08": ErrorClassification(C.NETWORK_ERROR),
    "0A": ErrorClassification(C.INVALID_PARAM), "21": ErrorClassification(C.INVALID_PARAM), "22": ErrorClassification(C.INVALID_PARAM),
    "42": ErrorClassification(C.INVALID_PARAM), "54": ErrorClassification(C.INVALID_PARAM), "07": ErrorClassification(C.INVALID_PARAM),
    "23": _FINAL_CONFLICT, "27": _FINAL_CONFLICT, "44": _FINAL_CONFLICT, "2B": _FINAL_CONFLICT,
    "25006": ErrorClassification(C.PERMISSION_DENIED), "25P03": ErrorClassification(C.TIMEOUT), "25": ErrorClassification(C.INTERNAL_ERROR),
    "28": ErrorClassification(C.ACCESS_DENIED),
    "3D": ErrorClassification(C.NOT_FOUND), "3F": ErrorClassification(C.NOT_FOUND), "34": ErrorClassification(C.NOT_FOUND), "26": ErrorClassification(C.NOT_FOUND),
    "40": ErrorClassification(C.CONFLICT), "40002": _FINAL_CONFLICT,
    "42501": ErrorClassification(C.PERMISSION_DENIED), "42601": ErrorClassification(C.INVALID_FORMAT), "42000": ErrorClassification(C.INVALID_PARAM),
    **dict.fromkeys(("42P01", "42703", "42704", "42883", "42P02", "42S02", "42S22"), ErrorClassification(C.NOT_FOUND)),
    **dict.fromkeys(("42P07", "42710", "42P04", "42P06", "42P05", "42P03", "42723", "42701", "42S01"), ErrorClassification(C.ALREADY_EXISTS)),
    "53": ErrorClassification(C.SERVICE_UNAVAILABLE),
    "55": _FINAL_CONFLICT, "55006": ErrorClassification(C.CONFLICT), "55P03": ErrorClassification(C.CONFLICT),
    "57": ErrorClassification(C.SERVICE_UNAVAILABLE), "57014": ErrorClassification(C.TIMEOUT), "57P04": ErrorClassification(C.NOT_FOUND), "57P05": ErrorClassification(C.TIMEOUT),
    "58": ErrorClassification(C.INTERNAL_ERROR), "58P01": ErrorClassification(C.NOT_FOUND), "F0": ErrorClassification(C.INTERNAL_ERROR),
    "XX": ErrorClassification(C.INTERNAL_ERROR), "HYT00": ErrorClassification(C.TIMEOUT), "HYT01": ErrorClassification(C.TIMEOUT),
}  # fmt: skip
"""Classification by SQLSTATE: the whole, or its class of two characters.

Sources: SQL, PostgreSQL's appendix A, ODBC.
"""

_STATE = r"[0-9A-Z]{5}"

SQLITE: dict[str, ErrorClassification] = {
    "BUSY": ErrorClassification(C.CONFLICT), "LOCKED": ErrorClassification(C.CONFLICT),
    "CONSTRAINT": _FINAL_CONFLICT, "MISMATCH": ErrorClassification(C.INVALID_PARAM), "RANGE": ErrorClassification(C.INVALID_PARAM),
    "TOOBIG": ErrorClassification(C.INVALID_PARAM), "PERM": ErrorClassification(C.PERMISSION_DENIED), "READONLY": ErrorClassification(C.PERMISSION_DENIED),
    "AUTH": ErrorClassification(C.PERMISSION_DENIED), "CANTOPEN": ErrorClassification(C.NOT_FOUND), "NOTADB": ErrorClassification(C.INVALID_FORMAT),
    "CORRUPT": ErrorClassification(C.INVALID_FORMAT), "INTERRUPT": ErrorClassification(C.TIMEOUT), "NOMEM": ErrorClassification(C.INTERNAL_ERROR),
    "FULL": ErrorClassification(C.EXECUTION_ERROR, retryable=False),
}  # fmt: skip
"""Classification by SQLite's result codes, without ``SQLITE_`` and the extension."""

MYSQL: dict[int, ErrorClassification] = {
    **dict.fromkeys((1045, 1698, 1862), ErrorClassification(C.ACCESS_DENIED)),
    **dict.fromkeys((1044, 1142, 1143, 1227, 1290, 1370, 1792), ErrorClassification(C.PERMISSION_DENIED)),
    **dict.fromkeys((1008, 1049, 1051, 1054, 1091, 1146, 1305), ErrorClassification(C.NOT_FOUND)),
    **dict.fromkeys((1007, 1050, 1060, 1061, 1304), ErrorClassification(C.ALREADY_EXISTS)),
    **dict.fromkeys((1048, 1062, 1216, 1217, 1451, 1452, 1557, 1586, 3819), _FINAL_CONFLICT),
    **dict.fromkeys((1205, 1213, 3572), ErrorClassification(C.CONFLICT)),
    **dict.fromkeys((1040, 1053, 1203, 1226), ErrorClassification(C.SERVICE_UNAVAILABLE)),
    **dict.fromkeys((1317, 3024), ErrorClassification(C.TIMEOUT)),
    **dict.fromkeys((1064, 1149), ErrorClassification(C.INVALID_FORMAT)),
    **dict.fromkeys((1052, 1136, 1264, 1292, 1364, 1366, 1406), ErrorClassification(C.INVALID_PARAM)),
    **dict.fromkeys((1152, 1158, 1160, 2002, 2003, 2005, 2006, 2013, 2055), ErrorClassification(C.NETWORK_ERROR)),
    **dict.fromkeys((1159, 1161), ErrorClassification(C.TIMEOUT)),
}
"""Classification by the error numbers of MySQL's and MariaDB's server (1000…) and client (2000…)."""

MONGO: dict[int, ErrorClassification] = {
    13: ErrorClassification(C.PERMISSION_DENIED), 18: ErrorClassification(C.ACCESS_DENIED), 26: ErrorClassification(C.NOT_FOUND), 27: ErrorClassification(C.NOT_FOUND),
    43: ErrorClassification(C.NOT_FOUND), 48: ErrorClassification(C.ALREADY_EXISTS), 85: _FINAL_CONFLICT, 86: _FINAL_CONFLICT,
    11000: _FINAL_CONFLICT, 11001: _FINAL_CONFLICT, 12582: _FINAL_CONFLICT, 112: ErrorClassification(C.CONFLICT), 251: ErrorClassification(C.CONFLICT),
    50: ErrorClassification(C.TIMEOUT), 89: ErrorClassification(C.TIMEOUT), 262: ErrorClassification(C.TIMEOUT), 9: ErrorClassification(C.INVALID_FORMAT),
    **dict.fromkeys((2, 14, 72, 121, 10334), ErrorClassification(C.INVALID_PARAM)), 59: ErrorClassification(C.NOT_FOUND),
    6: ErrorClassification(C.NETWORK_ERROR), 7: ErrorClassification(C.NETWORK_ERROR), 16500: ErrorClassification(C.RATE_LIMIT),
    **dict.fromkeys((91, 189, 10107, 11600, 11602, 13435, 13436), ErrorClassification(C.SERVICE_UNAVAILABLE)),
}  # fmt: skip
"""Classification by MongoDB's error codes."""

_WORDS: tuple[tuple[str, ErrorClassification], ...] = (
    (r"syntax error|incomplete input|unrecognized token", ErrorClassification(C.INVALID_FORMAT)),
    (r"already exists", ErrorClassification(C.ALREADY_EXISTS)),
    (r"could not set lock|is locked|conflicting lock|deadlock", ErrorClassification(C.CONFLICT)),
    (r"permission denied|read-?only|not authorized", ErrorClassification(C.PERMISSION_DENIED)),
    (r"no such|does ?n[o']t exist|not found|no files found|cannot open file|unable to open database", ErrorClassification(C.NOT_FOUND)),
    (r"timed? ?out|timeout", ErrorClassification(C.TIMEOUT)),
    ((r"could(?: not|n't) (?:connect|establish|translate|resolve)|failed to resolve|server closed the connection|lost connection"
     r"|connection (?:refused|reset|error|failed|is bad|is closed|to server)"), ErrorClassification(C.NETWORK_ERROR)),
    (r"no space left|disk is full|disk full", ErrorClassification(C.EXECUTION_ERROR, retryable=False)),
)  # fmt: skip
"""Classification by the messages of drivers without codes; only for exceptions of those drivers."""


def of_sqlstate(state: object) -> ErrorClassification | None:
    """Return the classification of an SQLSTATE; None if ``state`` is not one, or an unknown one."""
    if not isinstance(state, str) or not re.fullmatch(_STATE, state):
        return None
    return _STATES.get(state) or _STATES.get(state[:2])


def of_words(message: str) -> ErrorClassification | None:
    """Return the classification of the message of a database's error; None for unknown words."""
    front = message[:500].lower()
    return next((verdict for words, verdict in _WORDS if re.search(words, front)), None)


_STATUS_NAMES = ("status_code", "status", "http_status", "code")


def safe_getattr(owner: Any, *names: str) -> Any:
    """Return the attribute at the end of the path ``names``; None if it is missing or raises."""
    for name in names:
        try:
            owner = getattr(owner, name, None)
        except BaseException as error:  # a property of the tool's own class may raise
            pass_on_signal(error)
            return None
        if owner is None:
            return None
    return owner


def safe_int(value: Any) -> int | None:
    """Return ``value`` as an int if it is a whole number or an enum of one; else None."""
    # int.__index__ instead of int(): an enum of the tool may override the conversion.
    kind = type(value)
    return int.__index__(value) if issubclass(kind, int) and kind is not bool else None


def classify_status(exc: Any, _: str = "") -> ErrorClassification | None:
    """Classify by the HTTP status that the exception, or its response, carries."""
    status = next((found for name in _STATUS_NAMES if (found := failed_status(safe_getattr(exc, name)))), None)
    response = safe_getattr(exc, "response")
    if status is None and response is not None:
        status = failed_status(safe_getattr(response, "status_code")) or failed_status(safe_getattr(response, "status"))
    return None if status is None else of_status(status, _headers(exc, response))


def failed_status(value: Any) -> int | None:
    """Return ``value`` if it is an HTTP status that reports a failure; else None."""
    status = safe_int(value)
    return status if status is not None and 400 <= status < 600 else None


def _headers(exc: Any, response: Any) -> dict[str, str]:
    for owner in (response, exc):
        headers = safe_getattr(owner, "headers") if owner is not None else None
        if headers is not None:
            try:
                return lower_headers(headers)
            except BaseException as error:  # not a header object after all, or one that cannot be read
                pass_on_signal(error)
    return {}


COMMON_ATTRIBUTES = (*_STATUS_NAMES, "response", "sqlstate", "pgcode", "retryable", "retry_after")
"""The attributes by which :func:`classify_attributes` classifies."""


def classify_attributes(exc: Any) -> ErrorClassification | None:
    """Classify an exception whose class is in no table by attributes in common use.

    These are an HTTP status, an SQLSTATE, one of our codes, ``retryable`` and ``retry_after``.
    """
    # From the most specific to the least: a status and an SQLSTATE are standardised, ``code`` may mean anything.
    classified = classify_status(exc) or of_sqlstate(safe_getattr(exc, "sqlstate") or safe_getattr(exc, "pgcode"))
    if classified is None:
        code = safe_getattr(exc, "code")
        classified = ErrorClassification(str(code)) if isinstance(code, str) and code in ADVICE else None
    again, wait = safe_getattr(exc, "retryable"), _seconds(safe_getattr(exc, "retry_after"))
    if type(again) is not bool and wait is None:
        return classified
    code, known, when = classified or ErrorClassification(C.EXECUTION_ERROR)
    return ErrorClassification(code, again if type(again) is bool else known, when if wait is None else wait)


def _seconds(value: Any) -> float | None:
    kind = type(value)
    if issubclass(kind, timedelta):
        value = timedelta.total_seconds(value)
    elif issubclass(kind, int) and kind is not bool:
        value = int.__index__(value)
    elif issubclass(kind, float):
        value = float.__float__(value)
    else:
        return None
    return float(value) if 0 <= value < 1e8 else None


Reader = Callable[[Any, str], ErrorClassification | BaseException | None]
"""Reader of an exception and its message.

Returns a classification, another exception to classify instead, or None.
"""

_ERRNOS: dict[int, ErrorClassification] = {
    number: verdict
    for names, verdict in (
        ("ENOSPC EDQUOT EIO", ErrorClassification(C.EXECUTION_ERROR, retryable=False)),
        ("EROFS", ErrorClassification(C.PERMISSION_DENIED)),
        ("EMFILE ENFILE EAGAIN ENOBUFS", ErrorClassification(C.SERVICE_UNAVAILABLE)),
        ("ENOMEM", ErrorClassification(C.INTERNAL_ERROR)),
        ("EBUSY ETXTBSY EDEADLK ENOLCK EADDRINUSE", ErrorClassification(C.CONFLICT)),
        ("ENOTEMPTY", ErrorClassification(C.CONFLICT, retryable=False)),
        ("EINVAL ENAMETOOLONG ELOOP EFBIG EXDEV ESPIPE EBADF ENOTSUP E2BIG", ErrorClassification(C.INVALID_PARAM)),
        ("ENXIO ENODEV ESTALE", ErrorClassification(C.NOT_FOUND)),
        ("ENOEXEC EILSEQ", ErrorClassification(C.INVALID_FORMAT)),
        ("EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN ENETRESET EADDRNOTAVAIL ENOTCONN EPROTO", ErrorClassification(C.NETWORK_ERROR)),
        ("ETIME", ErrorClassification(C.TIMEOUT)),
    )
    for name in names.split()
    if (number := getattr(errno, name, None)) is not None
}  # fmt: skip

_RETRIES_EXHAUSTED = r"too many (\d{3}) error responses"


def _classify_api(exc: Any, _: str) -> ErrorClassification | None:
    """Classify an error of a model provider's client.

    The HTTP status decides; without one, as in a stream, the error's own name.
    """
    named = next((code for name in ("code", "error_code", "type") if (code := _named(safe_getattr(exc, name)))), None)
    classified = classify_status(exc)
    if classified is None:
        return ErrorClassification(named or C.API_ERROR)
    spent = safe_getattr(exc, "code") == SPENT_QUOTA
    return classified._replace(retryable=False, retry_after_s=None) if spent else classified


def _classify_github(exc: Any, message: str) -> ErrorClassification | None:
    """Classify an error of PyGithub by its status; GitHub answers 403 when a rate limit is exceeded."""
    classified = classify_status(exc)
    if classified is None or classified.code != C.PERMISSION_DENIED or "rate limit" not in message.lower():
        return classified
    return classified._replace(code=C.RATE_LIMIT, retryable=True)


def _named(word: Any) -> str | None:
    return lookup_code(word) if isinstance(word, str) else None


def _redirected(exc: Any, message: str) -> ErrorClassification:
    """Classify an error that ``raise_for_status`` raised, by its status.

    Without a failed status, as for a redirect that was not followed, the error is API_ERROR and not retryable.
    """
    return classify_status(exc, message) or ErrorClassification(C.API_ERROR, retryable=False)


def _classify_content(exc: Any, message: str) -> ErrorClassification:
    return classify_status(exc, message) or ErrorClassification(C.INVALID_FORMAT)


def _classify_reason(exc: Any, _: str) -> ErrorClassification | BaseException | None:
    reason = safe_getattr(exc, "reason")
    if type(reason) is str and reason.startswith(("unknown url type", "no host given")):
        return ErrorClassification(C.INVALID_PARAM)
    return _exception(reason)


def _classify_first_argument(exc: Any, _: str) -> BaseException | None:
    return _exception(_first(exc))


def _classify_exhausted_retries(_: Any, message: str) -> ErrorClassification | None:
    match = re.search(_RETRIES_EXHAUSTED, message)
    return of_status(int(match[1])) if match else ErrorClassification(C.API_ERROR)


def _classify_aws(exc: Any, _: str) -> ErrorClassification:
    response = safe_getattr(exc, "response")
    response = response if isinstance(response, dict) else {}
    error, about = response.get("Error"), response.get("ResponseMetadata")
    code = error.get("Code") if isinstance(error, dict) else None
    about = about if isinstance(about, dict) else {}
    status = failed_status(about.get("HTTPStatusCode"))
    headers = about.get("HTTPHeaders")
    by_status = of_status(status, lower_headers(headers) if isinstance(headers, dict) else None) if status else None
    named = next((name for words, name in AWS if isinstance(code, str) and re.search(words, code)), None)
    if named is not None:
        # A conflict of two writers may pass; a precondition that failed is part of the call itself.
        final = False if named == C.CONFLICT and "Conflict" not in str(code) else None
        return ErrorClassification(named, final, by_status.retry_after_s if by_status else None)
    return by_status or ErrorClassification(C.API_ERROR)


def _classify_grpc(exc: Any, _: str) -> ErrorClassification:
    """Classify an error of gRPC by the status that a finished call stores.

    The call's ``code()`` is the last resort, because it may wait for a call that is not finished.
    """
    # ``_state`` is of the synchronous client, ``_code`` of the asynchronous one.
    code = safe_getattr(exc, "_state", "code") or safe_getattr(exc, "_code")
    if code is None:
        code_member = safe_getattr(exc, "code")
        try:
            code = code_member() if callable(code_member) else code_member
        except BaseException as error:  # a stand-in's own code may raise
            pass_on_signal(error)
            code = None
    name = safe_getattr(code, "name")
    known = GRPC.get(name) if isinstance(name, str) else None
    return ErrorClassification(known or C.API_ERROR, False if name in GRPC_FINAL else None)


def _classify_errno(exc: Any, _: str) -> ErrorClassification | None:
    number = safe_int(safe_getattr(exc, "errno"))
    return None if number is None else _ERRNOS.get(number)


def _classify_exit(exc: Any, _: str) -> ErrorClassification | None:
    status = safe_int(safe_getattr(exc, "returncode"))
    return None if status is None else ErrorClassification(exit_code(status))


def _classify_sqlite(exc: Any, message: str) -> ErrorClassification | None:
    name = safe_getattr(exc, "sqlite_errorname")
    words = name.split("_") if isinstance(name, str) else []
    return (SQLITE.get(words[1]) if len(words) > 1 else None) or of_words(message)


def _classify_postgres(exc: Any, message: str) -> ErrorClassification | None:
    return of_sqlstate(safe_getattr(exc, "sqlstate") or safe_getattr(exc, "pgcode")) or of_words(message)


def _classify_mysql(exc: Any, message: str) -> ErrorClassification | None:
    number = safe_int(safe_getattr(exc, "errno")) or safe_int(_first(exc))
    known = MYSQL.get(number) if number is not None else None
    return known or of_sqlstate(safe_getattr(exc, "sqlstate")) or of_words(message)


def _classify_odbc(exc: Any, message: str) -> ErrorClassification | None:
    return of_sqlstate(_first(exc)) or of_words(message)


def _classify_mongo(exc: Any, _: str) -> ErrorClassification:
    number = safe_int(safe_getattr(exc, "code"))
    details = safe_getattr(exc, "details")
    errors = details.get("writeErrors") if isinstance(details, dict) else None
    # A failed bulk write has a general code; the code of the first write says why.
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        number = safe_int(errors[0].get("code"))
    return (MONGO.get(number) if number is not None else None) or ErrorClassification(C.EXECUTION_ERROR)


def _classify_message(_: Any, message: str) -> ErrorClassification | None:
    return of_words(message)


def _classify_duckdb_http(exc: Any, message: str) -> ErrorClassification:
    return classify_status(exc, message) or ErrorClassification(C.NETWORK_ERROR)


def _classify_origin(exc: Any, _: str) -> BaseException | None:
    return _exception(safe_getattr(exc, "orig"))


def _classify_last_attempt(exc: Any, _: str) -> BaseException | None:
    return _exception(safe_getattr(exc, "last_attempt", "_exception"))


def _classify_json_rpc(exc: Any, message: str) -> ErrorClassification:
    number = safe_int(safe_getattr(exc, "error", "code"))
    if number is not None and failed_status(number):
        return of_status(number)
    # MCP's clients use -32000 for a closed connection; other servers use it for any error of their own.
    if number == -32000 and "clos" not in message.lower():
        return ErrorClassification(C.API_ERROR)
    return ErrorClassification(JSON_RPC.get(number, C.API_ERROR) if number is not None else C.API_ERROR)


def _classify_tool_error(_: Any, message: str) -> ErrorClassification | None:
    """Classify the error of MCP's server for a tool that it does not have; any other is the tool's own."""
    return ErrorClassification(C.NOT_FOUND) if message.startswith("Unknown tool: ") else None


def _classify_browser(_: Any, message: str) -> ErrorClassification | None:
    return ErrorClassification(C.NETWORK_ERROR) if "net::ERR_" in message[:2000] else None


def _first(exc: Any) -> Any:
    args = safe_getattr(exc, "args")
    return args[0] if type(args) is tuple and args else None


def _exception(value: Any) -> BaseException | None:
    return value if issubclass(type(value), BaseException) else None


def _each(reader: Reader, names: str, *, within: str) -> dict[str, Reader]:
    return {f"{module}.{name}": reader for module in within.split() for name in names.split()}


_PEP_249 = "Error DatabaseError OperationalError ProgrammingError IntegrityError DataError InternalError InterfaceError NotSupportedError"

READERS: dict[str, Reader] = {
    **_each(_classify_errno, "OSError", within="builtins"),
    **_each(_classify_exit, "CalledProcessError", within="subprocess"),
    **_each(classify_status, "HTTPError", within="urllib.error"),
    **_each(_classify_reason, "URLError", within="urllib.error"),
    **_each(_redirected, "HTTPStatusError", within="httpx httpx2"),
    **_each(_redirected, "HTTPError", within="requests.exceptions niquests.exceptions"),
    **_each(classify_status, "RequestException", within="requests.exceptions niquests.exceptions"),
    **_each(_classify_first_argument, "ConnectionError RetryError", within="requests.exceptions niquests.exceptions"),
    **_each(_classify_reason, "MaxRetryError", within="urllib3.exceptions"),
    **_each(_classify_exhausted_retries, "ResponseError", within="urllib3.exceptions"),
    **_each(classify_status, "ClientResponseError", within="aiohttp.client_exceptions"),
    **_each(_classify_content, "ContentTypeError", within="aiohttp.client_exceptions"),
    **_each(_classify_api, "APIError", within="openai anthropic google.genai.errors"),
    **_each(_classify_github, "GithubException", within="github.GithubException github"),
    **_each(classify_status, "GoogleAPICallError", within="google.api_core.exceptions"),
    **_each(_classify_aws, "ClientError", within="botocore.exceptions"),
    **_each(_classify_grpc, "RpcError", within="grpc"),
    **_each(_classify_sqlite, _PEP_249, within="sqlite3"),
    **_each(_classify_postgres, _PEP_249, within="psycopg psycopg2"),
    **_each(_classify_postgres, "PostgresError", within="asyncpg.exceptions._base"),
    **_each(
        _classify_mysql,
        _PEP_249,
        within="pymysql.err MySQLdb._exceptions MySQLdb mysql.connector.errors asyncmy.errors",
    ),
    **_each(_classify_odbc, _PEP_249, within="pyodbc"),
    **_each(_classify_origin, "StatementError", within="sqlalchemy.exc"),
    **_each(_classify_origin, f"DBAPIError {_PEP_249}", within="sqlalchemy.exc"),
    **_each(_classify_mongo, "OperationFailure", within="pymongo.errors"),
    **_each(_classify_duckdb_http, "HTTPException", within="_duckdb duckdb.duckdb duckdb"),
    **_each(
        _classify_message,
        "IOException CatalogException BinderException ConnectionException Error",
        within="_duckdb duckdb.duckdb duckdb",
    ),
    **_each(_classify_last_attempt, "RetryError", within="tenacity"),
    **_each(_classify_json_rpc, "McpError MCPError", within="mcp.shared.exceptions"),
    **_each(_classify_tool_error, "ToolError", within="mcp.server.mcpserver.exceptions"),
    **_each(_classify_browser, "Error", within="playwright._impl._errors playwright._impl._api_types"),
    **_each(_classify_browser, "WebDriverException", within="selenium.common.exceptions"),
}
"""Readers of exceptions by ``module.Class``.

If a reader returns None, the classification of the class in the tables applies.
"""

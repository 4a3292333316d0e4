"""Exceptions whose class alone does not tell: what their status, number or cause says."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from typing import Any

from tooltrace.codes import ToolErrorCode as C
from tooltrace.interrupts import pass_on_signal
from tooltrace.normalize.attributes import attribute, by_status, failed_status, whole
from tooltrace.normalize.completed_process import exit_code
from tooltrace.normalize.database_codes import MONGO, MYSQL, SQLITE, of_sqlstate, of_words
from tooltrace.normalize.http_status import lower_headers, of_status
from tooltrace.normalize.service_codes import AWS, GRPC, GRPC_FINAL, JSON_RPC
from tooltrace.normalize.verdict import Verdict
from tooltrace.normalize.words import known_code

Reader = Callable[[Any, str], Verdict | BaseException | None]
"""Of an exception and its message. The answer may be another exception, which tells instead; None where nothing tells."""

_ERRNOS: dict[int, Verdict] = {
    number: verdict
    for names, verdict in (
        ("ENOSPC EDQUOT EIO", Verdict(C.EXECUTION_ERROR, retryable=False)),
        ("EROFS", Verdict(C.PERMISSION_DENIED)),
        ("EMFILE ENFILE EAGAIN ENOBUFS", Verdict(C.SERVICE_UNAVAILABLE)),
        ("ENOMEM", Verdict(C.INTERNAL_ERROR)),
        ("EBUSY ETXTBSY EDEADLK ENOLCK EADDRINUSE", Verdict(C.CONFLICT)),
        ("ENOTEMPTY", Verdict(C.CONFLICT, retryable=False)),
        ("EINVAL ENAMETOOLONG ELOOP EFBIG EXDEV ESPIPE EBADF ENOTSUP E2BIG", Verdict(C.INVALID_PARAM)),
        ("ENXIO ENODEV ESTALE", Verdict(C.NOT_FOUND)),
        ("ENOEXEC EILSEQ", Verdict(C.INVALID_FORMAT)),
        ("EHOSTUNREACH ENETUNREACH ENETDOWN EHOSTDOWN ENETRESET EADDRNOTAVAIL ENOTCONN EPROTO", Verdict(C.NETWORK_ERROR)),
        ("ETIME", Verdict(C.TIMEOUT)),
    )
    for name in names.split()
    if (number := getattr(errno, name, None)) is not None
}  # fmt: skip

_TOO_MANY = r"too many (\d{3}) error responses"


def _by_api(exc: Any, _: str) -> Verdict | None:
    """Of the model providers' clients: by status, else by the error's own name, which a stream has alone."""
    named = next((code for name in ("code", "error_code", "type") if (code := _named(attribute(exc, name)))), None)
    found = by_status(exc)
    if found is None:
        return Verdict(named or C.API_ERROR)
    spent = attribute(exc, "code") == "insufficient_quota"
    return found._replace(retryable=False, retry_after_s=None) if spent else found


def _named(word: Any) -> str | None:
    return known_code(word) if isinstance(word, str) else None


def _redirected(exc: Any, message: str) -> Verdict:
    """Of ``raise_for_status``: by status; a redirect that nobody followed is none of the errors."""
    return by_status(exc, message) or Verdict(C.API_ERROR, retryable=False)


def _by_content(exc: Any, message: str) -> Verdict:
    return by_status(exc, message) or Verdict(C.INVALID_FORMAT)


def _by_reason(exc: Any, _: str) -> Verdict | BaseException | None:
    reason = attribute(exc, "reason")
    if type(reason) is str and reason.startswith(("unknown url type", "no host given")):
        return Verdict(C.INVALID_PARAM)
    return _exception(reason)


def _by_first_argument(exc: Any, _: str) -> BaseException | None:
    return _exception(_first(exc))


def _by_too_many(_: Any, message: str) -> Verdict | None:
    found = re.search(_TOO_MANY, message)
    return of_status(int(found[1])) if found else Verdict(C.API_ERROR)


def _by_aws(exc: Any, _: str) -> Verdict:
    response = attribute(exc, "response")
    response = response if isinstance(response, dict) else {}
    error, about = response.get("Error"), response.get("ResponseMetadata")
    code = error.get("Code") if isinstance(error, dict) else None
    about = about if isinstance(about, dict) else {}
    status = failed_status(about.get("HTTPStatusCode"))
    headers = about.get("HTTPHeaders")
    found = of_status(status, lower_headers(headers) if isinstance(headers, dict) else None) if status else None
    named = next((name for words, name in AWS if isinstance(code, str) and re.search(words, code)), None)
    if named is not None:
        final = False if named == C.CONFLICT and "Conflict" not in str(code) else None
        return Verdict(named, final, found.retry_after_s if found else None)
    return found or Verdict(C.API_ERROR)


def _by_grpc(exc: Any, _: str) -> Verdict:
    """A finished call keeps its code; asking for it by ``code()`` may wait for a call that is not finished."""
    code = attribute(exc, "_state", "code") or attribute(exc, "_code")
    if code is None:
        ask = attribute(exc, "code")
        try:
            code = ask() if callable(ask) else ask
        except BaseException as error:  # a stand-in's own
            pass_on_signal(error)
            code = None
    name = attribute(code, "name")
    found = GRPC.get(name) if isinstance(name, str) else None
    return Verdict(found or C.API_ERROR, False if name in GRPC_FINAL else None)


def _by_errno(exc: Any, _: str) -> Verdict | None:
    number = whole(attribute(exc, "errno"))
    return None if number is None else _ERRNOS.get(number)


def _by_exit(exc: Any, _: str) -> Verdict | None:
    status = whole(attribute(exc, "returncode"))
    return None if status is None else Verdict(exit_code(status))


def _by_sqlite(exc: Any, message: str) -> Verdict | None:
    name = attribute(exc, "sqlite_errorname")
    words = name.split("_") if isinstance(name, str) else []
    return (SQLITE.get(words[1]) if len(words) > 1 else None) or of_words(message)


def _by_postgres(exc: Any, message: str) -> Verdict | None:
    return of_sqlstate(attribute(exc, "sqlstate") or attribute(exc, "pgcode")) or of_words(message)


def _by_mysql(exc: Any, message: str) -> Verdict | None:
    number = whole(attribute(exc, "errno")) or whole(_first(exc))
    known = MYSQL.get(number) if number is not None else None
    return known or of_sqlstate(attribute(exc, "sqlstate")) or of_words(message)


def _by_odbc(exc: Any, message: str) -> Verdict | None:
    return of_sqlstate(_first(exc)) or of_words(message)


def _by_mongo(exc: Any, _: str) -> Verdict:
    number = whole(attribute(exc, "code"))
    details = attribute(exc, "details")
    errors = details.get("writeErrors") if isinstance(details, dict) else None
    if isinstance(errors, list) and errors and isinstance(errors[0], dict):
        number = whole(errors[0].get("code"))
    return (MONGO.get(number) if number is not None else None) or Verdict(C.EXECUTION_ERROR)


def _by_message(_: Any, message: str) -> Verdict | None:
    return of_words(message)


def _by_duckdb_http(exc: Any, message: str) -> Verdict:
    return by_status(exc, message) or Verdict(C.NETWORK_ERROR)


def _by_origin(exc: Any, _: str) -> BaseException | None:
    return _exception(attribute(exc, "orig"))


def _by_last_attempt(exc: Any, _: str) -> BaseException | None:
    return _exception(attribute(exc, "last_attempt", "_exception"))


def _by_json_rpc(exc: Any, message: str) -> Verdict:
    number = whole(attribute(exc, "error", "code"))
    if number is not None and failed_status(number):
        return of_status(number)
    if number == -32000 and "clos" not in message.lower():
        return Verdict(C.API_ERROR)
    return Verdict(JSON_RPC.get(number, C.API_ERROR) if number is not None else C.API_ERROR)


def _by_browser(_: Any, message: str) -> Verdict | None:
    return Verdict(C.NETWORK_ERROR) if "net::ERR_" in message[:2000] else None


def _first(exc: Any) -> Any:
    args = attribute(exc, "args")
    return args[0] if type(args) is tuple and args else None


def _exception(value: Any) -> BaseException | None:
    return value if issubclass(type(value), BaseException) else None


def _each(reader: Reader, names: str, *, within: str) -> dict[str, Reader]:
    return {f"{module}.{name}": reader for module in within.split() for name in names.split()}


_PEP_249 = "Error DatabaseError OperationalError ProgrammingError IntegrityError DataError InternalError InterfaceError NotSupportedError"

READERS: dict[str, Reader] = {
    **_each(_by_errno, "OSError", within="builtins"),
    **_each(_by_exit, "CalledProcessError", within="subprocess"),
    **_each(by_status, "HTTPError", within="urllib.error"),
    **_each(_by_reason, "URLError", within="urllib.error"),
    **_each(_redirected, "HTTPStatusError", within="httpx httpx2"),
    **_each(_redirected, "HTTPError", within="requests.exceptions niquests.exceptions"),
    **_each(by_status, "RequestException", within="requests.exceptions niquests.exceptions"),
    **_each(_by_first_argument, "ConnectionError RetryError", within="requests.exceptions niquests.exceptions"),
    **_each(_by_reason, "MaxRetryError", within="urllib3.exceptions"),
    **_each(_by_too_many, "ResponseError", within="urllib3.exceptions"),
    **_each(by_status, "ClientResponseError", within="aiohttp.client_exceptions"),
    **_each(_by_content, "ContentTypeError", within="aiohttp.client_exceptions"),
    **_each(_by_api, "APIError", within="openai anthropic google.genai.errors"),
    **_each(by_status, "GoogleAPICallError", within="google.api_core.exceptions"),
    **_each(_by_aws, "ClientError", within="botocore.exceptions"),
    **_each(_by_grpc, "RpcError", within="grpc"),
    **_each(_by_sqlite, _PEP_249, within="sqlite3"),
    **_each(_by_postgres, _PEP_249, within="psycopg psycopg2"),
    **_each(_by_postgres, "PostgresError", within="asyncpg.exceptions._base"),
    **_each(
        _by_mysql, _PEP_249, within="pymysql.err MySQLdb._exceptions MySQLdb mysql.connector.errors asyncmy.errors"
    ),
    **_each(_by_odbc, _PEP_249, within="pyodbc"),
    **_each(_by_origin, "StatementError", within="sqlalchemy.exc"),
    **_each(_by_origin, f"DBAPIError {_PEP_249}", within="sqlalchemy.exc"),
    **_each(_by_mongo, "OperationFailure", within="pymongo.errors"),
    **_each(_by_duckdb_http, "HTTPException", within="_duckdb duckdb.duckdb duckdb"),
    **_each(
        _by_message,
        "IOException CatalogException BinderException ConnectionException Error",
        within="_duckdb duckdb.duckdb duckdb",
    ),
    **_each(_by_last_attempt, "RetryError", within="tenacity"),
    **_each(_by_json_rpc, "McpError MCPError", within="mcp.shared.exceptions"),
    **_each(_by_browser, "Error", within="playwright._impl._errors playwright._impl._api_types"),
    **_each(_by_browser, "WebDriverException", within="selenium.common.exceptions"),
}
"""``module.Class`` to what reads its exceptions; where it finds nothing, the tables' verdict on the class stands."""

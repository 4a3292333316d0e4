"""Error codes by the name of an exception's class.

Names are used so that no client library has to be imported.
"""

from __future__ import annotations

from typing import NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.codes import ToolErrorCode as C


class ErrorClassification(NamedTuple):
    """Classification of a failure, from a table or from what the failure itself carries."""

    code: str
    retryable: bool | None = None
    """Whether the same call may succeed later; None: the advice for the code applies."""
    retry_after_s: float | None = None
    """Seconds to wait before the next attempt, if the other side said so."""


UNDECIDED = ErrorClassification(ToolErrorCode.EXECUTION_ERROR)
"""Classification of an exception that gives no indication."""


def wait_words(seconds: float | None) -> str | None:
    """Return the suggestion to retry after ``seconds``; None if they are unknown."""
    if seconds is None:
        return None
    return f"retry after {round(seconds, 3):.12g} s" if seconds else "retry now"


def _all(
    code: C, names: str, *, within: str = "builtins", retryable: bool | None = None
) -> dict[str, ErrorClassification]:
    """Return the same classification for all classes ``names`` of the modules ``within``."""
    verdict = ErrorClassification(code, retryable)
    return {f"{module}.{name}": verdict for module in within.split() for name in names.split()}


_BUILTIN = {
    **_all(C.NOT_FOUND, "FileNotFoundError KeyError ProcessLookupError"),
    **_all(C.INVALID_PARAM, "NotADirectoryError ValueError TypeError OverflowError"),
    **_all(C.ALREADY_EXISTS, "FileExistsError"),
    **_all(C.PERMISSION_DENIED, "PermissionError"),
    **_all(C.IS_DIRECTORY, "IsADirectoryError"),
    **_all(C.TIMEOUT, "TimeoutError"),
    **_all(C.NETWORK_ERROR, "ConnectionError"),
    **_all(C.BINARY_FILE, "UnicodeDecodeError"),
    **_all(C.INVALID_FORMAT, "SyntaxError"),
    **_all(C.INTERNAL_ERROR, "NotImplementedError MemoryError RecursionError"),
    **_all(C.INTERNAL_ERROR, "ImportError", retryable=False),
}

_STANDARD_LIBRARY = {
    **_all(C.TIMEOUT, "TimeoutExpired", within="subprocess"),
    **_all(C.TIMEOUT, "TimeoutError", within="concurrent.futures._base asyncio.exceptions multiprocessing.context"),
    **_all(C.NETWORK_ERROR, "IncompleteReadError", within="asyncio.exceptions"),
    **_all(C.INTERNAL_ERROR, "InvalidStateError", within="asyncio.exceptions concurrent.futures._base"),
    **_all(C.INTERNAL_ERROR, "BrokenExecutor", within="concurrent.futures._base"),
    **_all(C.NETWORK_ERROR, "gaierror herror", within="socket"),
    **_all(C.NETWORK_ERROR, "SSLError", within="ssl"),
    **_all(C.NETWORK_ERROR, "SSLCertVerificationError", within="ssl", retryable=False),
    **_all(C.NETWORK_ERROR, "URLError ContentTooShortError", within="urllib.error"),
    **_all(C.API_ERROR, "HTTPError", within="urllib.error"),
    **_all(C.EXECUTION_ERROR, "CalledProcessError", within="subprocess"),
    **_all(C.NETWORK_ERROR, "HTTPException RemoteDisconnected", within="http.client"),
    **_all(C.INVALID_PARAM, "InvalidURL", within="http.client"),
    **_all(C.NETWORK_ERROR, "SMTPServerDisconnected SMTPConnectError SMTPHeloError", within="smtplib"),
    **_all(C.ACCESS_DENIED, "SMTPAuthenticationError", within="smtplib"),
    **_all(C.INVALID_PARAM, "SMTPRecipientsRefused SMTPSenderRefused", within="smtplib"),
    **_all(C.INVALID_FORMAT, "JSONDecodeError", within="json.decoder"),
    **_all(C.INVALID_FORMAT, "BadZipFile LargeZipFile", within="zipfile"),
    **_all(C.INVALID_FORMAT, "TarError", within="tarfile"),
    **_all(C.INVALID_FORMAT, "Error", within="_csv csv configparser binascii"),
    **_all(C.INVALID_FORMAT, "error", within="zlib struct"),
    **_all(C.INVALID_FORMAT, "LZMAError", within="_lzma lzma"),
    **_all(C.INVALID_FORMAT, "BadGzipFile", within="gzip"),
    **_all(C.INVALID_FORMAT, "PickleError UnpicklingError", within="_pickle pickle"),
    **_all(C.INVALID_FORMAT, "ExpatError", within="xml.parsers.expat pyexpat"),
    **_all(C.INVALID_FORMAT, "TOMLDecodeError", within="tomllib"),
    **_all(C.INVALID_FORMAT, "ReadError", within="shutil"),
    **_all(C.INVALID_FORMAT, "MessageError", within="email.errors"),
    **_all(C.NOT_FOUND, "NoSectionError NoOptionError", within="configparser"),
    **_all(C.INVALID_PARAM, "SameFileError", within="shutil"),
    **_all(C.INVALID_PARAM, "InvalidOperation", within="decimal"),
    **_all(C.INVALID_PARAM, "error", within="re sre_constants"),
    **_all(C.INVALID_PARAM, "PatternError", within="re"),
}

_HTTPX = "httpx httpx2"
_HTTPX_AND_CORE = "httpx httpx2 httpcore httpcore2"
_REQUESTS = "requests.exceptions niquests.exceptions"
_AIOHTTP = "aiohttp.client_exceptions"

_HTTP_CLIENTS = {
    **_all(C.TIMEOUT, "TimeoutException", within=_HTTPX_AND_CORE),
    **_all(C.NETWORK_ERROR, "TransportError NetworkError ProtocolError ProxyError", within=_HTTPX_AND_CORE),
    **_all(C.INVALID_PARAM, "UnsupportedProtocol LocalProtocolError", within=_HTTPX_AND_CORE),
    **_all(C.INVALID_PARAM, "InvalidURL CookieConflict", within=_HTTPX),
    **_all(C.INVALID_FORMAT, "DecodingError", within=_HTTPX),
    **_all(C.API_ERROR, "TooManyRedirects", within=_HTTPX, retryable=False),
    **_all(C.INTERNAL_ERROR, "StreamError", within=_HTTPX),
    **_all(C.TIMEOUT, "Timeout ConnectTimeout ReadTimeout", within=_REQUESTS),
    **_all(C.API_ERROR, "RequestException", within=_REQUESTS),
    **_all(C.NETWORK_ERROR, "ConnectionError ProxyError ChunkedEncodingError", within=_REQUESTS),
    **_all(C.SERVICE_UNAVAILABLE, "RetryError", within=_REQUESTS),
    **_all(C.NETWORK_ERROR, "SSLError", within=_REQUESTS, retryable=False),
    **_all(
        C.INVALID_PARAM,
        "MissingSchema InvalidSchema InvalidURL InvalidHeader URLRequired InvalidJSONError",
        within=_REQUESTS,
    ),
    **_all(C.INVALID_FORMAT, "JSONDecodeError ContentDecodingError", within=_REQUESTS),
    **_all(C.API_ERROR, "TooManyRedirects", within=_REQUESTS, retryable=False),
    **_all(C.INTERNAL_ERROR, "StreamConsumedError UnrewindableBodyError", within=_REQUESTS),
    **_all(C.NETWORK_ERROR, "HTTPError NewConnectionError NameResolutionError", within="urllib3.exceptions"),
    **_all(C.NETWORK_ERROR, "SSLError", within="urllib3.exceptions", retryable=False),
    **_all(C.TIMEOUT, "TimeoutError ReadTimeoutError ConnectTimeoutError", within="urllib3.exceptions"),
    **_all(C.INVALID_PARAM, "LocationValueError InvalidHeader", within="urllib3.exceptions"),
    **_all(C.INVALID_FORMAT, "DecodeError", within="urllib3.exceptions"),
    **_all(C.API_ERROR, "ClientError", within=_AIOHTTP),
    **_all(C.NETWORK_ERROR, "ClientConnectionError ClientPayloadError", within=_AIOHTTP),
    **_all(C.NETWORK_ERROR, "ClientSSLError ServerFingerprintMismatch", within=_AIOHTTP, retryable=False),
    **_all(C.NETWORK_ERROR, "ClientConnectorCertificateError", within=_AIOHTTP, retryable=False),
    **_all(C.TIMEOUT, "ServerTimeoutError", within=_AIOHTTP),
    **_all(C.INVALID_PARAM, "InvalidURL NonHttpUrlClientError", within=_AIOHTTP),
    **_all(C.API_ERROR, "TooManyRedirects", within=_AIOHTTP, retryable=False),
    **_all(C.NETWORK_ERROR, "ConnectionClosed", within="websockets.exceptions"),
}

_MODEL_CLIENTS = "openai anthropic"

_SERVICES = {
    **_all(C.API_ERROR, "OpenAIError", within="openai"),
    **_all(C.API_ERROR, "AnthropicError", within="anthropic"),
    **_all(C.API_ERROR, "GoogleAPICallError", within="google.api_core.exceptions"),
    **_all(C.TIMEOUT, "APITimeoutError", within=_MODEL_CLIENTS),
    **_all(C.NETWORK_ERROR, "APIConnectionError", within=_MODEL_CLIENTS),
    **_all(C.INVALID_FORMAT, "APIResponseValidationError", within=_MODEL_CLIENTS),
    **_all(C.ACCESS_DENIED, "CredentialsError", within="anthropic"),
    **_all(C.API_ERROR, "LengthFinishReasonError ContentFilterFinishReasonError", within="openai", retryable=False),
    **_all(C.TIMEOUT, "RetryError", within="google.api_core.exceptions"),
    **_all(C.ACCESS_DENIED, "GoogleAuthError", within="google.auth.exceptions"),
    **_all(C.NETWORK_ERROR, "TransportError", within="google.auth.exceptions"),
    **_all(C.TIMEOUT, "TimeoutError", within="google.auth.exceptions"),
    **_all(C.TIMEOUT, "ConnectTimeoutError ReadTimeoutError", within="botocore.exceptions"),
    **_all(C.NETWORK_ERROR, "ConnectionError HTTPClientError", within="botocore.exceptions"),
    **_all(C.NETWORK_ERROR, "SSLError", within="botocore.exceptions", retryable=False),
    **_all(
        C.ACCESS_DENIED,
        "NoCredentialsError PartialCredentialsError CredentialRetrievalError TokenRetrievalError NoAuthTokenError "
        "SSOError LoginError",
        within="botocore.exceptions",
    ),
    **_all(
        C.INVALID_PARAM,
        "ParamValidationError ValidationError NoRegionError InvalidConfigError",
        within="botocore.exceptions",
    ),
    **_all(C.NOT_FOUND, "ProfileNotFound DataNotFoundError", within="botocore.exceptions"),
    **_all(C.TIMEOUT, "FutureTimeoutError", within="grpc"),
}

_POOLS = "psycopg_pool.errors psycopg_pool psycopg_pool.pool"
_REDIS = "redis.exceptions valkey.exceptions"
_MONGO = "pymongo.errors"
_ALCHEMY = "sqlalchemy.exc"
_DUCKDB = "_duckdb duckdb.duckdb duckdb"

_DATABASES = {
    **_all(C.TIMEOUT, "PoolTimeout", within=_POOLS),
    **_all(C.SERVICE_UNAVAILABLE, "TooManyRequests PoolClosed", within=_POOLS),
    **_all(C.TIMEOUT, "ConnectionTimeout CancellationTimeout", within="psycopg.errors"),
    **_all(C.INTERNAL_ERROR, "InterfaceError", within="asyncpg.exceptions._base"),
    **_all(C.TIMEOUT, "ConnectionTimeoutError ReadTimeoutError WriteTimeoutError", within="mysql.connector.errors"),
    **_all(C.SERVICE_UNAVAILABLE, "PoolError", within="mysql.connector.errors"),
    **_all(C.NOT_FOUND, "NoResultFound NoSuchTableError NoSuchColumnError NoReferenceError", within=_ALCHEMY),
    **_all(C.TIMEOUT, "TimeoutError", within=_ALCHEMY),
    **_all(C.NETWORK_ERROR, "DisconnectionError", within=_ALCHEMY),
    **_all(C.INVALID_PARAM, "ArgumentError InvalidRequestError CompileError", within=_ALCHEMY),
    **_all(C.INTERNAL_ERROR, "PendingRollbackError MissingGreenlet ResourceClosedError", within=_ALCHEMY),
    **_all(C.CONFLICT, "StaleDataError", within="sqlalchemy.orm.exc"),
    **_all(C.NOT_FOUND, "ObjectDeletedError", within="sqlalchemy.orm.exc"),
    **_all(C.TIMEOUT, "TimeoutError", within=_REDIS),
    **_all(C.NETWORK_ERROR, "ConnectionError", within=_REDIS),
    **_all(C.ACCESS_DENIED, "AuthenticationError AuthenticationWrongNumberOfArgsError", within=_REDIS),
    **_all(C.PERMISSION_DENIED, "AuthorizationError NoPermissionError", within=_REDIS),
    **_all(C.CONFLICT, "WatchError LockError", within=_REDIS),
    **_all(C.NOT_FOUND, "NoScriptError", within=_REDIS),
    **_all(C.INVALID_PARAM, "DataError ResponseError CrossSlotTransactionError", within=_REDIS),
    **_all(C.INVALID_FORMAT, "InvalidResponse", within=_REDIS),
    **_all(
        C.SERVICE_UNAVAILABLE,
        "BusyLoadingError MaxConnectionsError ReadOnlyError OutOfMemoryError ClusterError ClusterDownError TryAgainError "
        "SlotNotCoveredError",
        within=_REDIS,
    ),
    **_all(C.TIMEOUT, "NetworkTimeout ServerSelectionTimeoutError WaitQueueTimeoutError", within=_MONGO),
    **_all(C.TIMEOUT, "ExecutionTimeout WTimeoutError", within=_MONGO),
    **_all(C.NETWORK_ERROR, "ConnectionFailure", within=_MONGO),
    **_all(C.SERVICE_UNAVAILABLE, "NotPrimaryError", within=_MONGO),
    **_all(C.CONFLICT, "DuplicateKeyError", within=_MONGO, retryable=False),
    **_all(C.ALREADY_EXISTS, "CollectionInvalid", within=_MONGO),
    **_all(C.NOT_FOUND, "CursorNotFound", within=_MONGO),
    **_all(C.INVALID_PARAM, "ConfigurationError InvalidName InvalidOperation DocumentTooLarge", within=_MONGO),
    **_all(C.INVALID_PARAM, "BSONError", within="bson.errors"),
    **_all(C.INVALID_FORMAT, "ParserException SyntaxException SerializationException", within=_DUCKDB),
    **_all(
        C.INVALID_PARAM,
        "InvalidInputException InvalidTypeException ConversionException OutOfRangeException TypeMismatchException "
        "NotImplementedException",
        within=_DUCKDB,
    ),
    **_all(C.CONFLICT, "ConstraintException DependencyException SequenceException", within=_DUCKDB, retryable=False),
    **_all(C.CONFLICT, "TransactionException ResourceInUseException", within=_DUCKDB),
    **_all(C.INVALID_PARAM, "BinderException CatalogException", within=_DUCKDB),
    **_all(C.CONFLICT, "ConnectionException", within=_DUCKDB, retryable=False),
    **_all(C.PERMISSION_DENIED, "PermissionException", within=_DUCKDB),
    **_all(C.TIMEOUT, "InterruptException", within=_DUCKDB),
    **_all(C.INTERNAL_ERROR, "OutOfMemoryException InternalException FatalException", within=_DUCKDB),
}

_DRIVERS = (
    "sqlite3 psycopg psycopg2 pymysql.err MySQLdb._exceptions MySQLdb mysql.connector.errors asyncmy.errors pyodbc "
    "oracledb.exceptions snowflake.connector.errors clickhouse_connect.driver.exceptions trino.exceptions "
    f"databricks.sql.exc {_ALCHEMY} {_DUCKDB}"
)
"""Modules of drivers with the exceptions of PEP 249."""

_PEP_249 = {
    **_all(C.CONFLICT, "IntegrityError", within=_DRIVERS, retryable=False),
    **_all(C.INVALID_PARAM, "ProgrammingError DataError NotSupportedError", within=_DRIVERS),
    **_all(C.INTERNAL_ERROR, "InternalError InterfaceError", within=_DRIVERS),
    **_all(C.EXECUTION_ERROR, "OperationalError DatabaseError Error", within=_DRIVERS),
}

_OTHERS = {
    **_all(C.INVALID_PARAM, "ValidationError", within="pydantic_core._pydantic_core pydantic.error_wrappers"),
    **_all(C.INVALID_PARAM, "ValidationError", within="pydantic.v1.error_wrappers jsonschema.exceptions"),
    **_all(C.INTERNAL_ERROR, "SchemaError", within="jsonschema.exceptions"),
    **_all(C.INVALID_FORMAT, "YAMLError", within="yaml.error"),
    **_all(C.INVALID_FORMAT, "ParserError EmptyDataError", within="pandas.errors"),
    **_all(C.INVALID_FORMAT, "UnidentifiedImageError", within="PIL"),
    **_all(C.TIMEOUT, "TimeoutError", within="playwright._impl._errors playwright._impl._api_types"),
    **_all(C.TIMEOUT, "TimeoutException", within="selenium.common.exceptions"),
    **_all(C.NOT_FOUND, "NoSuchElementException", within="selenium.common.exceptions"),
    **_all(C.CIRCUIT_OPEN, "CircuitBreakerError", within="pybreaker circuitbreaker aiobreaker.state"),
    **_all(C.NETWORK_ERROR, "BrokenResourceError ClosedResourceError EndOfStream", within="anyio"),
    **_all(C.NOT_FOUND, "NotFoundError", within="fastmcp.exceptions"),
    **_all(C.INVALID_PARAM, "ValidationError", within="fastmcp.exceptions"),
    # with these a tool of pydantic-ai or Agno asks the model for another call, and with ToolFailed for none
    **_all(C.EXECUTION_ERROR, "ModelRetry", within="pydantic_ai.exceptions", retryable=True),
    **_all(C.EXECUTION_ERROR, "ToolFailed", within="pydantic_ai.exceptions", retryable=False),
    **_all(C.EXECUTION_ERROR, "RetryAgentRun", within="agno.exceptions", retryable=True),
    # a guardrail of openai-agents refused the call
    **_all(
        C.PERMISSION_DENIED,
        "InputGuardrailTripwireTriggered OutputGuardrailTripwireTriggered "
        "ToolInputGuardrailTripwireTriggered ToolOutputGuardrailTripwireTriggered",
        within="agents.exceptions",
        retryable=False,
    ),
}

CODES: dict[str, ErrorClassification] = {
    # First, so that the tables of single drivers override what all drivers have in common.
    **_PEP_249,
    **_BUILTIN,
    **_STANDARD_LIBRARY,
    **_HTTP_CLIENTS,
    **_SERVICES,
    **_DATABASES,
    **_OTHERS,
}
"""Classification by ``module.Class``."""

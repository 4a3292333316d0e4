"""Exceptions to codes."""

from __future__ import annotations

import json
from typing import NamedTuple

from tooltrace.capture import message_of
from tooltrace.codes import ToolErrorCode, advice

# The first class that fits wins, so a subclass stands before its base.
_CODES: tuple[tuple[type[BaseException], ToolErrorCode], ...] = (
    (FileNotFoundError, ToolErrorCode.NOT_FOUND),
    (NotADirectoryError, ToolErrorCode.INVALID_PARAM),
    (FileExistsError, ToolErrorCode.ALREADY_EXISTS),
    (PermissionError, ToolErrorCode.PERMISSION_DENIED),
    (IsADirectoryError, ToolErrorCode.IS_DIRECTORY),
    (TimeoutError, ToolErrorCode.TIMEOUT),
    (ConnectionError, ToolErrorCode.NETWORK_ERROR),
    (UnicodeDecodeError, ToolErrorCode.BINARY_FILE),
    (json.JSONDecodeError, ToolErrorCode.INVALID_FORMAT),
    (SyntaxError, ToolErrorCode.INVALID_FORMAT),
    (KeyError, ToolErrorCode.NOT_FOUND),
    (ValueError, ToolErrorCode.INVALID_PARAM),
    (TypeError, ToolErrorCode.INVALID_PARAM),
    (NotImplementedError, ToolErrorCode.INTERNAL_ERROR),
    (MemoryError, ToolErrorCode.INTERNAL_ERROR),
    (RecursionError, ToolErrorCode.INTERNAL_ERROR),
)

_OTHERWISE = ToolErrorCode.EXECUTION_ERROR

_FOREIGN: dict[str, ToolErrorCode] = {
    "httpx.TimeoutException": ToolErrorCode.TIMEOUT,
    "httpx.TransportError": ToolErrorCode.NETWORK_ERROR,
    "requests.exceptions.Timeout": ToolErrorCode.TIMEOUT,
    "requests.exceptions.ConnectionError": ToolErrorCode.NETWORK_ERROR,
}
"""By name, so that no client is imported to know its errors."""


class SeenException(NamedTuple):
    """What a record keeps of an exception; the object itself would keep its frames alive."""

    code: str
    type: str
    """The class, with its module unless it is a builtin."""
    message: str
    retryable: bool | None


def read(exc: BaseException, retryable: tuple[type[BaseException], ...] = ()) -> SeenException:
    """What ``exc`` says. ``retryable``: classes after which the same call may succeed."""
    code = _foreign_code(exc) or next((code for kind, code in _CODES if isinstance(exc, kind)), _OTHERWISE)
    again = True if retryable and isinstance(exc, retryable) else advice(code).retryable
    return SeenException(code.value, class_name(exc), message_of(exc), again)


def _foreign_code(exc: BaseException) -> ToolErrorCode | None:
    """The code of the nearest base that the table of foreign classes names."""
    names = (f"{kind.__module__}.{kind.__qualname__}" for kind in type(exc).__mro__)
    return next((code for name in names if (code := _FOREIGN.get(name))), None)


def class_name(exc: BaseException) -> str:
    """``json.decoder.JSONDecodeError``, ``KeyError``: the form of OTel's ``error.type``."""
    kind = type(exc)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

"""Exceptions to codes."""

from __future__ import annotations

import json
from typing import NamedTuple

from tooltrace.capture import message_of
from tooltrace.codes import ToolErrorCode, advice

# The first class that fits wins, so a subclass stands before its base.
_CODES: tuple[tuple[type[BaseException], ToolErrorCode], ...] = (
    (FileNotFoundError, ToolErrorCode.NOT_FOUND),
    (FileExistsError, ToolErrorCode.ALREADY_EXISTS),
    (PermissionError, ToolErrorCode.PERMISSION_DENIED),
    (IsADirectoryError, ToolErrorCode.IS_DIRECTORY),
    (TimeoutError, ToolErrorCode.TIMEOUT),
    (ConnectionError, ToolErrorCode.NETWORK_ERROR),
    (UnicodeDecodeError, ToolErrorCode.BINARY_FILE),
    (json.JSONDecodeError, ToolErrorCode.INVALID_FORMAT),
    (KeyError, ToolErrorCode.NOT_FOUND),
    (ValueError, ToolErrorCode.INVALID_PARAM),
    (TypeError, ToolErrorCode.INVALID_PARAM),
    (NotImplementedError, ToolErrorCode.INTERNAL_ERROR),
    (MemoryError, ToolErrorCode.INTERNAL_ERROR),
    (RecursionError, ToolErrorCode.INTERNAL_ERROR),
)


class SeenException(NamedTuple):
    """What a record keeps of an exception; the object itself would keep its frames alive."""

    code: str
    type: str
    """The class, with its module unless it is a builtin."""
    message: str
    retryable: bool | None


def read(exc: BaseException, retryable: tuple[type[BaseException], ...] = ()) -> SeenException:
    """What ``exc`` says. ``retryable``: classes after which the same call may succeed."""
    code = next((code for kind, code in _CODES if isinstance(exc, kind)), ToolErrorCode.EXECUTION_ERROR)
    again = True if retryable and isinstance(exc, retryable) else advice(code).retryable
    return SeenException(code.value, class_name(exc), message_of(exc), again)


def class_name(exc: BaseException) -> str:
    """``json.decoder.JSONDecodeError``, ``KeyError``: the form of OTel's ``error.type``."""
    kind = type(exc)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"

"""Error codes, and the default advice of each: retryable or not, and the next action.

The set is open: any string is a code. The table covers the codes that the HelloAgents document and
package define. The error types of the other protocols are mapped to these codes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NamedTuple

NextAction = Literal["continue", "retry", "ask_user", "human_review", "stop"]
"""Next step that a tool advises its agent to take."""


class ToolErrorCode(StrEnum):
    """The well-known error codes.

    Each member equals its string; any other string is a custom code.
    """

    NOT_FOUND = "NOT_FOUND"
    ALREADY_EXISTS = "ALREADY_EXISTS"
    ACCESS_DENIED = "ACCESS_DENIED"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    IS_DIRECTORY = "IS_DIRECTORY"
    BINARY_FILE = "BINARY_FILE"
    INVALID_PARAM = "INVALID_PARAM"
    INVALID_FORMAT = "INVALID_FORMAT"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    TIMEOUT = "TIMEOUT"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    CONFLICT = "CONFLICT"
    CIRCUIT_OPEN = "CIRCUIT_OPEN"
    NETWORK_ERROR = "NETWORK_ERROR"
    API_ERROR = "API_ERROR"
    RATE_LIMIT = "RATE_LIMIT"
    SERVICE_UNAVAILABLE = "SERVICE_UNAVAILABLE"
    PARTIAL_SUCCESS = "PARTIAL_SUCCESS"
    DEPRECATED = "DEPRECATED"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def get_all_codes(cls) -> list[str]:
        """Return the well-known codes as texts."""
        return [code.value for code in cls]

    @classmethod
    def is_valid_code(cls, code: str) -> bool:
        """Whether ``code`` is a well-known code; other codes are allowed too."""
        return code in cls.get_all_codes()


CALL_LIMIT: Final = "CALL_LIMIT"
"""Code of a call that was refused because a limit of calls was reached."""
BLOCKED: Final = "BLOCKED"
"""Code of a call that a hook, a middleware, a guardrail or a rule refused without a code of its own."""


class Advice(NamedTuple):
    """The advice of an error code, used where the tool itself gives none."""

    retryable: bool | None
    """Whether the same call may succeed later; None where the code alone does not decide it."""
    next_action: NextAction


NO_ADVICE = Advice(None, "human_review")
"""The advice for a code that is not in the table."""

ADVICE: dict[str, Advice] = {
    ToolErrorCode.NOT_FOUND: Advice(False, "ask_user"),
    ToolErrorCode.ALREADY_EXISTS: Advice(False, "continue"),
    ToolErrorCode.ACCESS_DENIED: Advice(False, "human_review"),
    ToolErrorCode.PERMISSION_DENIED: Advice(False, "human_review"),
    ToolErrorCode.IS_DIRECTORY: Advice(False, "continue"),
    ToolErrorCode.BINARY_FILE: Advice(False, "continue"),
    ToolErrorCode.INVALID_PARAM: Advice(False, "continue"),
    ToolErrorCode.INVALID_FORMAT: Advice(False, "continue"),
    ToolErrorCode.EXECUTION_ERROR: Advice(None, "human_review"),
    ToolErrorCode.TIMEOUT: Advice(True, "retry"),
    ToolErrorCode.INTERNAL_ERROR: Advice(None, "human_review"),
    ToolErrorCode.CONFLICT: Advice(True, "retry"),
    ToolErrorCode.CIRCUIT_OPEN: Advice(True, "stop"),
    ToolErrorCode.NETWORK_ERROR: Advice(True, "retry"),
    ToolErrorCode.API_ERROR: Advice(None, "retry"),
    ToolErrorCode.RATE_LIMIT: Advice(True, "retry"),
    ToolErrorCode.SERVICE_UNAVAILABLE: Advice(True, "retry"),
    ToolErrorCode.PARTIAL_SUCCESS: Advice(None, "continue"),
    ToolErrorCode.DEPRECATED: Advice(False, "human_review"),
    ToolErrorCode.UNKNOWN: Advice(None, "human_review"),
}


def next_step(code: str | None, retryable: bool | None, suggestion: str | None) -> NextAction:
    """Return the next action after an error with ``code``, where the tool stated none.

    ``retryable`` and ``suggestion``: the tool's own statements; None where it made none. They override the advice of
    the code, except ``stop``: ``retryable`` gives ``retry``, and a suggestion ``continue``, because the model acts on
    it. An error that is not retryable turns ``retry`` into ``human_review``.
    """
    advised = advice_for(code).next_action
    if advised == "stop":
        return "stop"
    if retryable:
        return "retry"
    if suggestion:
        return "continue"
    return "human_review" if retryable is False and advised == "retry" else advised


def advice_for(code: str | None) -> Advice:
    """Return the advice for ``code`` from the table, else :data:`NO_ADVICE`."""
    return ADVICE.get(code, NO_ADVICE) if code else NO_ADVICE

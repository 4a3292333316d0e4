"""What a failure comes to: its code, whether the same call may succeed, and when."""

from __future__ import annotations

from typing import NamedTuple

from tooltrace.codes import ToolErrorCode


class Verdict(NamedTuple):
    """What a table, or what the failure carries, says of it."""

    code: str
    retryable: bool | None = None
    """None: as the code advises."""
    retry_after_s: float | None = None
    """Seconds from now, where the other side said when to come again."""


UNDECIDED = Verdict(ToolErrorCode.EXECUTION_ERROR)
"""The verdict on what says nothing of itself."""


def wait_words(seconds: float | None) -> str | None:
    """The suggestion to come again in so many ``seconds``."""
    if seconds is None:
        return None
    return f"retry after {round(seconds, 3):.12g} s" if seconds else "retry now"

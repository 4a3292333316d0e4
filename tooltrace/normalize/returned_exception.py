"""An exception that a tool returned instead of raising it."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.exceptions import SeenException
from tooltrace.normalize.parts import failure
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.see import EXCEPTION
from tooltrace.response import ToolResponse


@builtin("exception", "certain", Reads(kinds=(EXCEPTION,)))
def RULE(seen: Seen) -> ToolResponse | None:
    """Read as if it had been raised."""
    return of_exception(seen.data) if seen.is_a(EXCEPTION) else None


def of_exception(error: dict[str, Any], **fields: Any) -> ToolResponse:
    """The failure that a ``SeenException``, as an object, tells of."""
    said = SeenException(**error)
    return failure(
        said.message,
        said.code,
        type=said.type,
        retryable=said.retryable,
        suggestion=said.suggestion,
        stats=said.stats,
        **fields,
    )

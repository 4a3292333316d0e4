"""An exception that a tool returned instead of raising it."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import failure
from tooltrace.normalize.rule import Seen, builtin
from tooltrace.normalize.see import EXCEPTION
from tooltrace.response import ToolResponse


@builtin("exception", "certain")
def RULE(seen: Seen) -> ToolResponse | None:  # noqa: N802 - a rule, which the decorator makes of it
    """Read as if it had been raised."""
    return of_exception(seen.data) if seen.is_a(EXCEPTION) else None


def of_exception(error: dict[str, Any], **fields: Any) -> ToolResponse:
    """The failure that a ``SeenException``, as an object, tells of."""
    said = {name: error.get(name) for name in ("code", "type", "retryable")}
    wait = error.get("retry_after_s")
    stats = None if wait is None else {"retry_after_s": wait}
    suggestion = None if wait is None else f"Retry after {wait:g} s."
    return failure(error.get("message"), **said, stats=stats, suggestion=suggestion, **fields)

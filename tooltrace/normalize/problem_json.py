"""RFC 9457 (and 7807), ``application/problem+json``: type, title, status, detail, instance, and extensions."""

from __future__ import annotations

from tooltrace.normalize.parts import Taken, failure
from tooltrace.normalize.rule import Reads, Seen, builtin
from tooltrace.normalize.words import http_status
from tooltrace.response import ToolResponse


@builtin("problem_json", "certain", Reads(members=("title",)))
def RULE(seen: Seen) -> ToolResponse | None:
    """A title, a status of HTTP from 400 on, and a ``type`` that is a URI; what stands besides is an extension."""
    data = seen.data
    if not isinstance(data, dict) or type(data.get("status")) is not int or not http_status(data["status"]):
        return None
    kind, title = data.get("type"), data.get("title")
    if not isinstance(title, str) or not isinstance(kind, str) or not _is_uri(kind):
        return None
    taken = Taken(data)
    taken.first("type")
    detail, status = taken.first("detail", only=str), taken.first("status")
    title = taken.first("title")
    context = {**(taken.rest() or {}), "status": status, **({"title": title} if detail else {})}
    return failure(detail or title, status, type=kind, context=context)


def _is_uri(text: str) -> bool:
    """A URI, or a reference relative to one: ``about:blank``, ``/problems/out-of-credit``."""
    return (":" in text or text.startswith("/")) and not any(map(str.isspace, text))

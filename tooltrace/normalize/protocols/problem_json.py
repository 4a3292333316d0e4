"""Rule for RFC 9457 (and 7807), ``application/problem+json``.

Members: type, title, status, detail, instance, and extensions.
"""

from __future__ import annotations

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.response_builders import MemberReader, build_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import http_status

_ALONE = frozenset({"title", "detail", "status", "instance", "errors", "traceId", "code", "request_id"})
"""Members of a problem that leaves out its type."""


@builtin("problem_json", "certain", Matches(members=("title",)))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object with a title, an HTTP status from 400 on, and a ``type`` that is a URI.

    All other members are extensions. Without a type, title, detail and status must be all.
    """
    data = view.data
    if not isinstance(data, dict) or type(data.get("status")) is not int or not http_status(data["status"]):
        return None
    kind, title = data.get("type"), data.get("title")
    if not isinstance(title, str):
        return None
    if kind is None and not ("detail" in data and set(data) <= _ALONE):
        return None
    if kind is not None and not (isinstance(kind, str) and _is_uri(kind)):
        return None
    members = MemberReader(data)
    members.pop("type")
    detail, status = members.pop("detail", only=str), members.pop("status")
    title = members.pop("title")
    context = {**(members.remaining() or {}), "status": status, **({"title": title} if detail else {})}
    return build_error(detail or title, status, type=kind, context=context)


def _is_uri(text: str) -> bool:
    """Whether ``text`` is a URI or a relative reference: ``about:blank``, ``/problems/out-of-credit``."""
    return (":" in text or text.startswith("/")) and not any(map(str.isspace, text))

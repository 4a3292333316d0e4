"""The error bodies of web services: {"error": {message, type or code}}, AWS, JSON:API."""

from __future__ import annotations

from typing import Any

from tooltrace.normalize.parts import Taken, beside, failure, read_error
from tooltrace.normalize.rule import Seen, builtin
from tooltrace.normalize.words import http_status, known_code
from tooltrace.response import ToolResponse

_BESIDE = frozenset({"error", "type", "request_id", "status", "status_code", "trace_id"})
_JSON_API = frozenset({"id", "links", "status", "code", "title", "detail", "source", "meta"})


@builtin("api_error", "certain")
def RULE(seen: Seen) -> ToolResponse | None:  # noqa: N802 - a rule, once decorated
    """The body of a failed request, and nothing else: as OpenAI, Anthropic, Google, Stripe, AWS and JSON:API say it."""
    if not isinstance(seen.data, dict):
        return None
    return _one_error(seen.data) or _aws(seen.data) or _json_api(seen.data)


def _one_error(data: dict[str, Any]) -> ToolResponse | None:
    error = data.get("error")
    if not isinstance(error, dict) or not Taken(data).names() <= _BESIDE:
        return None
    if not isinstance(error.get("message"), str) or not {"type", "code", "status"} & set(error):
        return None
    if data.get("type", "error") != "error":
        return None
    said = read_error(error)
    status = error.get("status")  # Google's own word is nearer than the status of HTTP that it was sent with
    if isinstance(status, str) and known_code(status):
        about = {**said.get("context", {}).get("error", {}), "code": said["code"]}
        said |= {"code": status, "context": {"error": about}}
    taken = Taken(data)
    taken.first("error", "type") if data.get("type") is None else (taken.first("error"), taken.first("type"))
    return failure(**beside(said, taken.rest()))


def _aws(data: dict[str, Any]) -> ToolResponse | None:
    """``{"__type": "com.amazonaws…#ResourceNotFoundException", "message": …}``."""
    kind = data.get("__type")
    taken = Taken({name: value for name, value in data.items() if name != "__type"})
    if not isinstance(kind, str) or not kind:
        return None
    message = taken.first("message", only=str)
    return failure(message, known_code(kind.rpartition("#")[2]), type=kind, context=taken.rest())


def _json_api(data: dict[str, Any]) -> ToolResponse | None:
    errors = data.get("errors")
    if not isinstance(errors, list) or not errors or not set(data) <= {"errors", "meta", "jsonapi", "links"}:
        return None
    if not all(isinstance(error, dict) and _is_json_api(error) for error in errors):
        return None
    first = errors[0]
    status = first.get("status")
    said = {"message": first.get("detail") or first.get("title"), "code": status if http_status(status) else None}
    own = first.get("code") if isinstance(first.get("code"), str) else None
    return failure(**said, type=own, context=data)


def _is_json_api(error: dict[str, Any]) -> bool:
    return set(error) <= _JSON_API and bool({"title", "detail"} & set(error)) and bool({"status", "code"} & set(error))

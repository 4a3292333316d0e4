"""Rule for the error bodies of web services: {"error": {message, type or code}}, AWS, JSON:API."""

from __future__ import annotations

from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.normalize.exceptions.services import aws_code
from tooltrace.normalize.lazy_regex import lazy
from tooltrace.normalize.response_builders import MemberReader, build_error, merge_context, read_error
from tooltrace.normalize.rule import Matches, ResultView, builtin
from tooltrace.normalize.terms import http_status, lookup_code

_OTHER_MEMBERS = frozenset({"error", "type", "request_id", "status", "status_code", "trace_id"})
_OF_A_REQUEST = frozenset({"error", "id"})
"""Members of an error with the id of the request: Qianfan, and OpenAI's form elsewhere."""
_OF_AN_ANSWER = frozenset({"error", "type", "time"})
"""Members of an error with the form and the time of the answer: Brave."""
_AWS_FAULT = lazy(r"(?:Exception|Error|Fault|Failure)$")
_SALESFORCE = frozenset({"message", "errorCode", "fields", "extendedErrorDetails"})
_JSON_API = frozenset({"id", "links", "status", "code", "title", "detail", "source", "meta"})


@builtin("api_error", "certain", Matches(members=("error", "errors", "type"), arrays=True))
def RULE(view: ResultView) -> ToolResponse | None:
    """Read an object or a list that is only the body of a failed request.

    Forms: OpenAI, Anthropic, Google, Stripe, Salesforce, AWS and JSON:API.
    """
    if isinstance(view.data, list):
        return _listed(view.data)
    if not isinstance(view.data, dict):
        return None
    return _one_error(view.data) or _aws(view.data) or _json_api(view.data)


def _one_error(data: dict[str, Any]) -> ToolResponse | None:
    error = data.get("error")
    if not isinstance(error, dict):
        return None
    names = MemberReader(data).names()
    # An id beside an error may be that of an entity; then only a complete error counts.
    if names == _OF_A_REQUEST and not {"message", "code", "type"} <= set(error):
        return None
    if not (names <= _OTHER_MEMBERS or names == _OF_A_REQUEST or names <= _OF_AN_ANSWER):
        return None
    words = error.get("message", error.get("detail") if "ErrorResponse" in data.values() else None)
    if not isinstance(words, str) or not {"type", "code", "status"} & set(error):
        return None
    if data.get("type", "error") not in ("error", "ErrorResponse"):
        return None
    reading = read_error(error)
    status = error.get("status")  # Google's own word is more specific than the HTTP status
    if isinstance(status, str) and lookup_code(status):
        about = {**reading.get("context", {}).get("error", {}), "code": reading["code"]}
        reading |= {"code": status, "context": {"error": about}}
    members = MemberReader(data)
    members.pop("error"), members.pop("type")
    return build_error(**merge_context(reading, members.remaining()))


def _listed(errors: list[Any]) -> ToolResponse | None:
    """Read the errors of Salesforce: ``[{"message": …, "errorCode": "NOT_FOUND"}]``."""
    if not errors or not all(isinstance(error, dict) and _is_listed(error) for error in errors):
        return None
    first = errors[0]
    code = lookup_code(first["errorCode"]) or first["errorCode"]
    return build_error(first["message"], code, type=first["errorCode"], context={"errors": errors})


def _is_listed(error: dict[str, Any]) -> bool:
    texts = isinstance(error.get("message"), str) and isinstance(error.get("errorCode"), str)
    return texts and set(error) <= _SALESFORCE


def _aws(data: dict[str, Any]) -> ToolResponse | None:
    """Read an error of AWS, as the service sends it or as the service's clients convert it.

    Forms: ``{"__type": "com.amazonaws…#ResourceNotFoundException", "message": …}`` and ``{"Error": {"Code":
    "NoSuchKey", "Message": …}, "ResponseMetadata": …}``.
    """
    members = MemberReader({name: value for name, value in data.items() if name != "__type"})
    kind, error = data.get("__type"), data.get("Error")
    if isinstance(kind, str) and _AWS_FAULT.search(kind) and "message" in members:
        code = aws_code(kind.rpartition("#")[2])
        return build_error(members.pop("message", only=str), code, type=kind, context=members.remaining())
    if not isinstance(error, dict) or not members.names() <= {"error", "response_metadata", "request_id", "host_id"}:
        return None
    if isinstance(error.get("Code"), str) and isinstance(error.get("Message"), str):
        reading = {**read_error(error), "code": aws_code(error["Code"]), "type": error["Code"]}
        members.pop("error")
        return build_error(**merge_context(reading, members.remaining()))
    return None


def _json_api(data: dict[str, Any]) -> ToolResponse | None:
    errors = data.get("errors")
    if not isinstance(errors, list) or not errors or not set(data) <= {"errors", "meta", "jsonapi", "links"}:
        return None
    if not all(isinstance(error, dict) and _is_json_api(error) for error in errors):
        return None
    first = errors[0]
    status = first.get("status")
    reading = {"message": first.get("detail") or first.get("title"), "code": status if http_status(status) else None}
    code = first.get("code") if isinstance(first.get("code"), str) else None
    return build_error(**reading, type=code, context=data)


def _is_json_api(error: dict[str, Any]) -> bool:
    return set(error) <= _JSON_API and bool({"title", "detail"} & set(error)) and bool({"status", "code"} & set(error))

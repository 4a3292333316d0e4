"""Outcome of a call, read from its span: from the status, the exception event and the attributes."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ResponseMeta, ToolResponse, is_response
from tooltrace.ingest.call_builder import NO_RESULT
from tooltrace.ingest.spans.conventions.attributes import FETCH_FAILURES, GENERIC_ERRORS, NOT_RUN
from tooltrace.ingest.spans.conventions.base import SpanToolCall, text
from tooltrace.ingest.spans.span_records import message_of
from tooltrace.normalize import Rule, normalize
from tooltrace.normalize.exceptions.codes import CODES, UNDECIDED, ErrorClassification
from tooltrace.normalize.exceptions.control_flow import ending_by_name
from tooltrace.normalize.exceptions.reader import ExceptionSummary
from tooltrace.normalize.response_builders import build_error
from tooltrace.otel import attributes as names
from tooltrace.otel.span_data import EventData

RULE = "span_status"
"""Rule name for results that the span's own status decides."""


class CallOutcome(NamedTuple):
    """The ending of a call, with its exception or its result."""

    ending: str | None = "returned"
    """None where the span has no end and states nothing."""
    error: ExceptionSummary | None = None
    result: Any = NO_RESULT

    @property
    def failed(self) -> bool:
        """Whether the tool raised, or reported an error."""
        return self.ending == "raised" or (is_response(self.result) and self.result.status == "error")

    @property
    def detail(self) -> int:
        """Level of detail about the failure, from 1 to 3; 0 if there is none."""
        if not self.failed:
            return 0
        if self.error is not None:
            # A full class name beats a bare one: it allows a classification by the class.
            return 3 if "." in self.error.type or hasattr(builtins, self.error.type) else 2
        return 2 if self.result.error is not None and self.result.error.message else 1


def outcome_of(call: SpanToolCall, rules: tuple[Rule, ...]) -> CallOutcome:
    """Return the outcome of the call that ``call`` shows.

    ``rules`` judge the result, unless the span itself reports a failure.
    """
    exception = _exception(call)
    if call.ending is not None:
        return CallOutcome(call.ending, None, call.result)
    if not _is_failure(call, exception):
        if not call.form.end_ns and call.form.status != "ok" and call.result is NO_RESULT:
            return CallOutcome("handed_over")  # its end was not seen
        return CallOutcome("returned", None, _reported(call))
    kind, message = _kind_and_message(call, exception)
    if kind in NOT_RUN and exception is None:
        error = _rpc_error(kind, message).error
        return CallOutcome(
            "refused", ExceptionSummary(UNDECIDED.code if error is None else error.code, kind, message, None)
        )
    ending = ending_by_name((kind, *_bases(kind))) if kind else "raised"
    if ending == "paused":
        return CallOutcome("paused")
    if ending == "returned":
        return CallOutcome("returned", None, _reported(call))
    if ending == "refused":
        return CallOutcome(ending, by_name(kind or "", message))
    if ending != "raised":
        return CallOutcome(ending, ExceptionSummary(UNDECIDED.code, kind or "", message, None))
    if exception is not None or _is_class(kind):
        return CallOutcome("raised", by_name(kind or names.ERROR_TYPE_OTHER, message), call.result)
    return CallOutcome("returned", None, _failure(call, kind, message, rules))


def _exception(call: SpanToolCall) -> EventData | None:
    """Return the last exception event of the span; None if there is none."""
    return next((event for event in reversed(call.form.events) if event.name == "exception"), None)


def _is_failure(call: SpanToolCall, exception: EventData | None) -> bool:
    status = call.form.status
    if status == "error" or call.error_message is not None:
        return True
    # The instrumentation states success; an exception event is then one that the tool handled.
    if status == "ok":
        return False
    escaped = exception is not None and str(exception.attributes.get("exception.escaped")).lower() == "true"
    return escaped or (call.error_type is not None and call.error_type not in ("0", ""))


def _kind_and_message(call: SpanToolCall, exception: EventData | None) -> tuple[str | None, str]:
    """Return the error's class or kind, and its message."""
    event = {} if exception is None else exception.attributes
    kind = text(event.get("exception.type")) or call.error_type
    if kind in GENERIC_ERRORS and call.error_type not in (None, names.ERROR_TYPE_OTHER):
        kind = call.error_type
    message = event.get("exception.message")
    if not isinstance(message, str):
        message = message_of(call.form) or call.error_message
    return kind, message or ""


def _is_class(kind: str | None) -> bool:
    """Whether ``kind`` names an exception class, such as ``FileNotFoundError`` or ``httpx.ReadTimeout``."""
    if kind is None or not all(part.isidentifier() for part in kind.split(".")):
        return False
    last = kind.rpartition(".")[2]
    return kind in CODES or (last[:1].isupper() and not last.isupper())  # TOOL_ERROR is a code, not a class


def _reported(call: SpanToolCall) -> Any:
    """Return the result for the rules to interpret; a span without failure and result states only that the tool returned."""
    if call.result is NO_RESULT:
        return ToolResponse.success(meta=ResponseMeta(rule=RULE, rule_grade="unread"))
    return call.result


def _failure(call: SpanToolCall, kind: str | None, message: str, rules: tuple[Rule, ...]) -> ToolResponse:
    """Return the error of a call that failed without an exception.

    If the rules find an error in the result, that error takes precedence over the span's own kind and message.
    """
    if call.result is not NO_RESULT:
        response = normalize(call.result, rules=rules)
        if response.status == "error":
            has_data = response.payload is not None or isinstance(call.result, str)
            return response if has_data else response.model_copy(update={"data": call.result})
    code = text(kind)
    number = code is not None and code.lstrip("-").isdigit()
    if number and code is not None and code.startswith("-"):
        found = _rpc_error(code, message)
    else:
        found = build_error(message, code if number else None, type=None if kind == names.ERROR_TYPE_OTHER else kind)
    result = None if call.result is NO_RESULT else call.result
    text_of_result = result if isinstance(result, str) else found.text
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    return found.model_copy(
        update={"text": text_of_result, "data": None if isinstance(result, str) else result, "meta": meta}
    )


def _rpc_error(number: str, message: str) -> ToolResponse:
    """Return the error of JSON-RPC with the negative ``number``, as MCP's spans have it."""
    code = int(number) if len(number) < 10 else 0
    return normalize({"jsonrpc": "2.0", "error": {"code": code, "message": message}})


def by_name(kind: str, message: str) -> ExceptionSummary:
    """Summarise an exception of which only the class name and the message are known."""
    if kind == "TypeError" and message.startswith(FETCH_FAILURES):
        return ExceptionSummary(str(ToolErrorCode.NETWORK_ERROR), kind, message, True, None)
    verdict = next((CODES[name] for name in _bases(kind) if name in CODES), None) or _by_last(kind)
    if verdict is None and not hasattr(builtins, kind):
        error = build_error(message, type=kind).error
        verdict = UNDECIDED if error is None else ErrorClassification(error.code, error.stated_retryable)
    code, again, wait = verdict or UNDECIDED
    class_name = kind.removeprefix("builtins.")
    return ExceptionSummary(str(code), class_name, message, again, wait)


def _bases(kind: str) -> Iterator[str]:
    """Yield the names of the class and, if its module is loaded, of its bases; import nothing."""
    module, _, last = kind.rpartition(".")
    # The bare name may be of a builtin class; other libraries leave out the module too.
    yield f"{module or 'builtins'}.{last}"
    known = sys.modules.get(module or "builtins")
    found = vars(known).get(last) if known is not None else None
    if isinstance(found, type) and issubclass(found, BaseException):
        for base in type.__getattribute__(found, "__mro__")[1:]:
            yield f"{base.__module__}.{base.__qualname__}"


def _by_last(kind: str) -> ErrorClassification | None:
    """Classify by the bare class name, if all classes of that name in the table have the same code."""
    last = f".{kind.rpartition('.')[2]}"
    found = {verdict.code: verdict for name, verdict in CODES.items() if name.endswith(last)}
    return next(iter(found.values())) if len(found) == 1 else None

"""Outcome of a call, read from its span: from the status, the exception event and the attributes."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from tooltrace.core.codes import advice_for
from tooltrace.core.response import ResponseMeta, ToolResponse, is_response
from tooltrace.ingest.call_builder import NO_RESULT
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

    ending: str = "returned"
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
            return 3 if "." in self.error.type or hasattr(builtins, self.error.type) else 2
        return 2 if self.result.error is not None and self.result.error.message else 1


def outcome_of(seen: SpanToolCall, rules: tuple[Rule, ...]) -> CallOutcome:
    """Return the outcome of the call that ``seen`` shows.

    ``rules`` judge the result, unless the span itself reports a failure.
    """
    thrown = _exception(seen)
    if seen.ending is not None:
        return CallOutcome(seen.ending, None, seen.result)
    if not _says_failed(seen, thrown):
        return CallOutcome("returned", None, _reported(seen))
    kind, message = _what(seen, thrown)
    ending = ending_by_name((kind, *_bases(kind))) if kind else "raised"
    if ending == "paused":
        return CallOutcome("paused")
    if ending == "returned":
        return CallOutcome("returned", None, _reported(seen))
    if ending != "raised":
        return CallOutcome(ending, ExceptionSummary(UNDECIDED.code, kind or "", message, None))
    if thrown is not None or _is_class(kind):
        return CallOutcome("raised", by_name(kind or names.ERROR_TYPE_OTHER, message), seen.result)
    return CallOutcome("returned", None, _failure(seen, kind, message, rules))


def _exception(seen: SpanToolCall) -> EventData | None:
    """Return the last exception event of the span; None if there is none."""
    return next((event for event in reversed(seen.form.events) if event.name == "exception"), None)


def _says_failed(seen: SpanToolCall, thrown: EventData | None) -> bool:
    status = seen.form.status
    if status == "error" or seen.error_message is not None:
        return True
    if status == "ok":
        return False
    escaped = thrown is not None and str(thrown.attributes.get("exception.escaped")).lower() == "true"
    return escaped or (seen.error_type is not None and seen.error_type not in ("0", ""))


def _what(seen: SpanToolCall, thrown: EventData | None) -> tuple[str | None, str]:
    """Return the error's class or kind, and its message."""
    said = {} if thrown is None else thrown.attributes
    kind = text(said.get("exception.type")) or seen.error_type
    message = said.get("exception.message")
    if not isinstance(message, str):
        message = message_of(seen.form) or seen.error_message
    return kind, message or ""


def _is_class(kind: str | None) -> bool:
    """Whether ``kind`` names an exception class, such as ``FileNotFoundError`` or ``httpx.ReadTimeout``."""
    if kind is None or not all(part.isidentifier() for part in kind.split(".")):
        return False
    last = kind.rpartition(".")[2]
    return kind in CODES or last[:1].isupper()


def _reported(seen: SpanToolCall) -> Any:
    """Return the result for the rules to interpret; a span without failure and result is a success."""
    if seen.result is NO_RESULT:
        return ToolResponse.success(meta=ResponseMeta(rule=RULE, rule_grade="certain"))
    return seen.result


def _failure(seen: SpanToolCall, kind: str | None, message: str, rules: tuple[Rule, ...]) -> ToolResponse:
    """Return the error of a call that failed without an exception.

    If the rules find an error in the result, that error takes precedence over the span's own kind and message.
    """
    if seen.result is not NO_RESULT:
        read = normalize(seen.result, rules=rules)
        if read.status == "error":
            return read
    code = text(kind)
    number = code is not None and code.lstrip("-").isdigit()
    if number and code is not None and code.startswith("-"):
        answer = {"jsonrpc": "2.0", "error": {"code": int(code) if len(code) < 10 else 0, "message": message}}
        found = normalize(answer)
    else:
        found = build_error(message, code if number else None, type=None if kind == names.ERROR_TYPE_OTHER else kind)
    given = None if seen.result is NO_RESULT else seen.result
    words = given if isinstance(given, str) else found.text
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    return found.model_copy(update={"text": words, "data": None if isinstance(given, str) else given, "meta": meta})


def by_name(kind: str, message: str) -> ExceptionSummary:
    """Summarise an exception of which only the class name and the message are known."""
    verdict = next((CODES[name] for name in _bases(kind) if name in CODES), None) or _by_last(kind)
    if verdict is None and not hasattr(builtins, kind):
        error = build_error(message, type=kind).error
        verdict = UNDECIDED if error is None else ErrorClassification(error.code, error.retryable)
    code, again, wait = verdict or UNDECIDED
    own = kind.removeprefix("builtins.")
    return ExceptionSummary(str(code), own, message, advice_for(code).retryable if again is None else again, wait)


def _bases(kind: str) -> Iterator[str]:
    """Yield the names of the class and, if its module is loaded, of its bases; import nothing."""
    module, _, last = kind.rpartition(".")
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

"""Outcome of an external span's call, as far as SQL can determine it: from the span's status and the exception's name.

The results themselves are not read: a failure that only the data shows counts as a success here, of grade ``unread``.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from typing import Final

from tooltrace.clickhouse.attribute_sql import Reader, quote_literal, quote_literals
from tooltrace.clickhouse.conventions_sql import SPAN, coalesce_attribute, equals
from tooltrace.core.codes import ToolErrorCode
from tooltrace.ingest.spans.conventions.attributes import DEFERRED, FETCH_FAILURES, GENERIC_ERRORS, NOT_RUN
from tooltrace.normalize import normalize
from tooltrace.normalize.exceptions.codes import CODES, UNDECIDED, ErrorClassification
from tooltrace.normalize.exceptions.control_flow import ANY_MODULE, ENDINGS, Ending
from tooltrace.normalize.terms import normalize_code
from tooltrace.otel import attributes as names

RULE: Final = "span_status"


def _kinds_ending(ending: Ending) -> str:
    """Return the condition that ``ending_by_name`` finds ``ending`` for the class of the exception."""
    names = "|".join(
        f"(?:{'.*' if package in ANY_MODULE else re.escape(package) + '(?:[.].*)?'}[.])?{name}"
        for package, classes in ENDINGS.items()
        for name in sorted(classes)
        if classes[name] == ending
    )
    return f"match(ifNull(kind, ''), {quote_literal(f'^(?:{names})$')})"


_WITHOUT_ERROR: Final[tuple[Ending, ...]] = ("cancelled", "abandoned", "paused", "refused")
_HUMP, _SPLIT, _ENDING = r"([a-z0-9])([A-Z])", r"\1_\2", "_(ERROR|EXCEPTION|FAILURE|ERR)$"
_CLASS: Final = r"^([A-Za-z_][A-Za-z0-9_]*\.)*[A-Z][A-Za-z0-9_]*[a-z][A-Za-z0-9_]*$"


def _classifications() -> dict[str, ErrorClassification]:
    """Return the classification of each exception by the last part of its name, if all exceptions of the name agree."""
    found: dict[str, dict[str, ErrorClassification]] = {}
    for name, classification in CODES.items():
        found.setdefault(name.rpartition(".")[2], {})[classification.code] = classification
    known = {
        name: next(iter(classifications.values()))
        for name, classifications in found.items()
        if len(classifications) == 1
    }
    for name, kind in vars(builtins).items():
        if isinstance(kind, type) and issubclass(kind, BaseException):
            bases = (f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__)
            known[name] = next((CODES[base] for base in bases if base in CODES), UNDECIDED)
    return known


def aliases(reader: Reader) -> dict[str, str]:
    """Return the expressions that the columns share, by their names in SQL."""
    thrown = "Events.Attributes[arrayLastIndex(name -> name = 'exception', Events.Name)]"
    level = equals(reader, "langfuse.observation.level", "ERROR")
    reported = f"coalesce({coalesce_attribute(reader, 'error_message')}, StatusMessage)"
    other, error_type = quote_literal(names.ERROR_TYPE_OTHER), reader.text(SPAN, names.ERROR_TYPE)
    stack = "Traceback (most recent call last)"
    return {
        "thrown": "has(Events.Name, 'exception')",
        "thrown_type": f"if(thrown, nullIf({reader.nested_text(thrown, names.EXCEPTION_TYPE)}, ''), NULL)",
        "thrown_message": f"if(thrown, nullIf({reader.nested_text(thrown, names.EXCEPTION_MESSAGE)}, ''), NULL)",
        "escaped": f"if(thrown, lower({reader.nested_text(thrown, 'exception.escaped')}) = 'true', false)",
        "reported_message": f"multiIf(is_langfuse AND {level}, {reported}, "
        f"is_logfire AND StatusCode = 'Error', {_logfire(reader)}, NULL)",
        "reported_type": coalesce_attribute(reader, "error_type"),
        "kind": f"coalesce(if(thrown_type IN ({quote_literals(GENERIC_ERRORS)}), nullIf({error_type}, {other}), NULL), "
        "thrown_type, reported_type)",
        "last_name": "arrayElement(splitByChar('.', ifNull(kind, '')), -1)",
        "message": "coalesce(thrown_message, nullIf(trim(TRAILING ' \\n\\r\\t' FROM "
        f"splitByString({quote_literal(stack)}, StatusMessage)[1]), ''), reported_message)",
        "failed": "multiIf(StatusCode = 'Error' OR reported_message IS NOT NULL, true, StatusCode = 'Ok', false, "
        "escaped OR ifNull(reported_type NOT IN ('0', ''), false))",
        "ended": _ended(reader),
        "error_word": f"replaceRegexpOne(upper(replaceRegexpAll(last_name, {quote_literal(_HUMP)}, {quote_literal(_SPLIT)})), {quote_literal(_ENDING)}, '')",
        "known_code": _code(),
    }


def _logfire(reader: Reader) -> str:
    """Return the message of a failed function of openai-agents, from the JSON text in the attribute ``error``."""
    error = f"ifNull({reader.text(SPAN, 'error')}, '')"
    detail, message = (f"nullIf(JSONExtractString({error}, {path}), '')" for path in ("'data', 'error'", "'message'"))
    return f"coalesce({detail}, {message})"


def _is_failed_fetch() -> str:
    """Return the condition that JavaScript's ``fetch`` failed, which raises a TypeError."""
    pattern = quote_literal(f"^({'|'.join(FETCH_FAILURES)})")
    return f"(kind = 'TypeError' AND match(ifNull(message, ''), {pattern}))"


def _ended(reader: Reader) -> str:
    raised = f"thrown OR ifNull(match(kind, {quote_literal(_CLASS)}), false)"
    return (
        f"multiIf(is_pydantic_ai AND {reader.has(SPAN, DEFERRED)}, 'paused', NOT failed, 'returned', "
        f"NOT thrown AND kind IN ({quote_literals(sorted(NOT_RUN))}), 'refused', "
        + "".join(f"{_kinds_ending(ending)}, '{ending}', " for ending in _WITHOUT_ERROR)
        + f"{raised}, 'raised', 'returned')"
    )


def _code() -> str:
    """Return the code by the exception's name; else by the failure's word: code, HTTP status, JSON-RPC number."""
    codes = {str(code): str(code) for code in ToolErrorCode}
    codes |= {name.removesuffix("_ERROR"): code for name, code in codes.items()}
    numbers = {str(status): str(normalize_code(status)) for status in range(400, 600)}
    numbers |= {str(number): _rpc(number) for number in (-32700, -32600, -32601, -32602, -32603)}
    by_word = _transformed("error_word", codes | numbers, quote_literal(UNDECIDED.code))
    raised = _transformed(
        "last_name", {name: str(classification.code) for name, classification in _classifications().items()}, by_word
    )
    network = quote_literal(str(ToolErrorCode.NETWORK_ERROR))
    return f"multiIf(ended = 'raised' AND {_is_failed_fetch()}, {network}, ended IN ('raised', 'refused'), {raised}, {by_word})"


def _rpc(number: int) -> str:
    error = normalize({"jsonrpc": "2.0", "error": {"code": number, "message": ""}}).error
    return UNDECIDED.code if error is None else error.code


def _transformed(text: str, known: dict[str, str], other: str) -> str:
    """Map ``text`` by ``known``. Grouped by value, because few values stand for many names."""
    groups: dict[str, list[str]] = {}
    for name, value in known.items():
        groups.setdefault(quote_literal(value), []).append(name)
    groups.pop(other, None)
    return f"multiIf({', '.join(f'{text} IN ({quote_literals(group)}), {value}' for value, group in groups.items())}, {other})"


def columns() -> dict[str, str]:
    """Return the columns of the outcome."""
    report = "failed AND ended = 'returned'"
    other = quote_literal(names.ERROR_TYPE_OTHER)
    return {
        "status": "multiIf(ended NOT IN ('returned', 'raised'), NULL, failed, 'error', 'success')",
        "ending": "ended",
        "code": "if(failed AND ended IN ('returned', 'raised', 'refused'), known_code, NULL)",
        "error_type": f"multiIf(NOT failed OR ended IN ('paused', 'abandoned'), NULL, ended = 'raised', "
        f"replaceRegexpOne(ifNull(kind, {other}), '^builtins\\\\.', ''), nullIf(kind, {other}))",
        "error_message": f"multiIf(NOT failed OR ended = 'paused', NULL, {report}, coalesce(message, nullIf(kind, {other}), known_code), message)",
        "retryable": f"CAST(if(failed AND ended IN ('returned', 'raised'), {_retryable()}, NULL) AS Nullable(Bool))",
        "rule": f"multiIf(ended = 'raised', 'exception', ended = 'returned', {quote_literal(RULE)}, NULL)",
        "rule_grade": "multiIf(ended NOT IN ('returned', 'raised'), NULL, failed, 'certain', 'unread')",
    }


def _retryable() -> str:
    """Return whether to retry, where the class of the exception states it."""
    by_class = {name: one.retryable for name, one in _classifications().items() if one.retryable is not None}
    return f"if(ended = 'raised', {_flag('last_name', by_class, 'NULL')}, NULL)"


def _flag(text: str, known: Mapping[str, bool | None], other: str) -> str:
    named = ((flag, [name for name, value in known.items() if value is flag]) for flag in (True, False))
    parts = [f"{text} IN ({quote_literals(names_)}), {str(flag).lower()}" for flag, names_ in named if names_]
    return f"multiIf({', '.join(parts)}, {other})"

"""Conversion of any tool's result to a ``ToolResponse``.

Named rules do the reading; each protocol has a file of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace.core.response import ResponseMeta, ToolResponse, is_response
from tooltrace.normalize.engine import apply_rules
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.registry import CERTAIN_RULES, RULES
from tooltrace.normalize.rule import Failed, Grade, Rule, checked_rules, rule

__all__ = [
    "CERTAIN_RULES",
    "ENVELOPES",
    "EXCEPTION",
    "NONE",
    "PLAIN",
    "RULES",
    "TOOL_RESPONSE",
    "Failed",
    "Grade",
    "Rule",
    "checked_rules",
    "normalize",
    "rule",
]

TOOL_RESPONSE = "tool_response"
"""The result is a ``ToolResponse`` already."""
PLAIN = "plain"
"""Any other value: the tool returned it, and nothing states whether the tool worked. The value is the data."""
NONE = "none"
"""The tool returned None: a response without data, and nothing states whether the tool worked."""
ENVELOPES = frozenset({TOOL_RESPONSE, "hello_agents", "envelope", "eino", "magic"})
"""Rules for protocols with a member for the data: an error without data is recorded without the envelope around it."""
EXCEPTION = "exception"
"""The tool raised: an error, classified by the class of the exception."""


def normalize(value: Any, *, rules: Sequence[Rule] = RULES) -> ToolResponse:
    """Return ``value`` as a ``ToolResponse``.

    ``meta.rule`` names the rule that read the value, ``meta.rule_grade`` tells whether that reading is certain. Nothing
    that the value's own code raises leaves this function.

    A value that no rule recognises becomes the data of a response with status ``success`` and the grade ``unread``: the
    tool returned, and nothing states whether it worked.

    ``rules``: the rules that may read the value, in their order: put your own before :data:`RULES`, or pass
    :data:`CERTAIN_RULES` for the rules that do not go by words. Raises ConfigError for an item that is not a rule.
    """
    # The two built-in sets are checked already; the comparison saves a scan of them in each call.
    if rules is not RULES and rules is not CERTAIN_RULES:
        rules = checked_rules(rules, "nothing was read")
    if is_response(value):
        return value  # type: ignore[no-any-return]
    return apply_rules(value, rules) or _success(value)


def _success(value: Any) -> ToolResponse:
    # type(value) instead of isinstance: a tool's object may define ``__class__``, and its code must not run here.
    if issubclass(type(value), BaseException):
        return value_error_pair.of_exception(
            reader.summarize(value).as_data(), meta={"rule": EXCEPTION, "rule_grade": "certain"}
        )
    if value is None:
        return ToolResponse.success(meta=_unread(NONE))
    # str.__str__ gives the characters of a subclass of str without its own ``__str__``.
    text = str.__str__(value) if issubclass(type(value), str) else ""
    return ToolResponse.success(text, value, meta=_unread(PLAIN))


def _unread(name: str) -> ResponseMeta:
    return ResponseMeta(rule=name, rule_grade="unread")

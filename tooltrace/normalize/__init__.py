"""Any tool's result as a ``ToolResponse``, by a named rule; one file for each protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace.core.response import ResponseMeta, ToolResponse, is_response
from tooltrace.normalize.engine import apply_rules
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.protocols import value_error_pair
from tooltrace.normalize.registry import CERTAIN_RULES, RULES
from tooltrace.normalize.rule import Grade, Rule, checked_rules, rule

__all__ = [
    "CERTAIN_RULES",
    "EXCEPTION",
    "NONE",
    "PLAIN",
    "RULES",
    "TOOL_RESPONSE",
    "Grade",
    "Rule",
    "checked_rules",
    "normalize",
    "rule",
]

TOOL_RESPONSE = "tool_response"
"""The result is a ``ToolResponse`` already."""
PLAIN = "plain"
"""Any other value: the tool returned, so it reports success, and the value is its data."""
NONE = "none"
"""The tool returned nothing: success without data."""
EXCEPTION = "exception"
"""The tool raised: an error, by the class of the exception."""


def normalize(value: Any, *, rules: Sequence[Rule] = RULES) -> ToolResponse:
    """``value`` as a ``ToolResponse``; ``meta.rule`` says by which rule it was read, and ``meta.rule_grade`` whether
    that is certain. Nothing that the value does raises.

    ``rules``: what may read it, in their order: your own before :data:`RULES`, or :data:`CERTAIN_RULES` for those
    that do not go by words. What no rule knows is a success, and its data. Raises ConfigError for what is no rule.
    """
    if rules is not RULES and rules is not CERTAIN_RULES:
        rules = checked_rules(rules, "nothing was read")
    if is_response(value):
        return value  # type: ignore[no-any-return]
    return apply_rules(value, rules) or _plain(value)


def _plain(value: Any) -> ToolResponse:
    if issubclass(type(value), BaseException):
        return value_error_pair.of_exception(reader.summarize(value)._asdict(), meta=_meta(EXCEPTION).model_dump())
    if value is None:
        return ToolResponse.success(meta=_meta(NONE))
    text = str.__str__(value) if issubclass(type(value), str) else ""
    return ToolResponse.success(text, value, meta=_meta(PLAIN))


def _meta(name: str) -> ResponseMeta:
    return ResponseMeta(rule=name, rule_grade="certain")

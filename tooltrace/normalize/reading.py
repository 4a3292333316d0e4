"""Which rule reads a result: the first of them that knows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tooltrace import guard
from tooltrace.interrupts import pass_on_signal
from tooltrace.normalize.index import index_of
from tooltrace.normalize.rule import Rule, Seen
from tooltrace.normalize.see import seen, sight
from tooltrace.response import ToolResponse, is_response

_DEEPEST = 2
"""How many envelopes are opened, one inside the other."""


def read(value: Any, rules: Sequence[Rule]) -> ToolResponse | None:
    """A live result by the first of ``rules`` that knows it; None where none does."""
    look = seen(*sight(value))
    for rule in index_of(rules).asked(look):
        found = _ask(rule, value if rule.live else look)
        if found is not None:
            return _opened(_stamped(found, rule), rule, rules, 1)
    return None


def read_seen(look: Seen, rules: Sequence[Rule], depth: int = 0) -> ToolResponse | None:
    """As :func:`read`, of what is left of a result: live rules have had their turn. Inside an envelope, ``depth`` of
    them down, they get the data, or the text."""
    for rule in index_of(rules).asked(look):
        if rule.live and not depth:
            continue
        found = _ask(rule, (look.data if look.text is None else look.text) if rule.live else look)
        if found is not None:
            return _opened(_stamped(found, rule), rule, rules, depth + 1)
    return None


def _ask(rule: Rule, value: Any) -> ToolResponse | None:
    try:
        found = rule.read(value)
    except BaseException as error:
        pass_on_signal(error)
        if guard.strict and not rule.live:  # a fault of ours is raised under test
            raise
        guard.faults.say_once(
            f"rule_{rule.name}",
            f"the rule {rule.name!r} failed; the next ones read the result",
            counted=False,
            trace=True,
        )
        return None
    return found if found is not None and is_response(found) else None


def _stamped(found: ToolResponse, rule: Rule) -> ToolResponse:
    meta = found.meta.model_copy(update={"rule": rule.name, "rule_grade": rule.grade})
    return found.model_copy(update={"meta": meta})


def _opened(found: ToolResponse, rule: Rule, rules: Sequence[Rule], depth: int) -> ToolResponse:
    """A success in an envelope is as good as what the envelope holds."""
    if rule.opens is None or found.status != "success" or depth > _DEEPEST:
        return found
    rules = rules if rule.opens == "all" else index_of(rules).of_words
    for said in (found.data, found.text or None):
        inner = None if said is None else read_seen(seen(said) if type(said) is str else Seen(said), rules, depth)
        if inner is not None and inner.status != "success":
            return _merged(found, inner, rule)
    return found


def _merged(outer: ToolResponse, inner: ToolResponse, rule: Rule) -> ToolResponse:
    """The outer answer with the failure that it held; the rule's name says where it was found."""
    name = f"{rule.name}/{inner.meta.rule}"
    return outer.model_copy(
        update={
            "status": inner.status,
            "code": inner.code,
            "error_info": inner.error_info,
            "reason": outer.reason or inner.reason,
            "next_action": outer.next_action or inner.next_action,
            "confidence": inner.confidence if outer.confidence is None else outer.confidence,
            "stats": {**(inner.stats or {}), **(outer.stats or {})} or None,
            "meta": outer.meta.model_copy(update={"rule": name, "rule_grade": inner.meta.rule_grade}),
        }
    )

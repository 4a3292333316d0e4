"""Application of rules: the first rule that recognises a result makes the response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tooltrace import faults
from tooltrace.core.response import ToolResponse, is_response
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.result_view import snapshot_result, view_of
from tooltrace.normalize.rule import ResultView, Rule
from tooltrace.normalize.terms import snake_case


class RuleIndex:
    """Index of rules by the results that they read; keeps the order of the rules."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules if isinstance(rules, tuple) else tuple(rules)
        self._by_kind: dict[str, list[int]] = {}
        self._by_member: dict[str, list[int]] = {}
        self._of_texts: dict[Callable[[str], bool] | None, list[int]] = {}
        self._of_arrays: list[int] = []
        self._of_all: list[int] = []
        for number, rule in enumerate(self.rules):
            self._add(number, rule)
        self.of_words = tuple(rule for rule in self.rules if rule.words)
        """The rules that go by the words of an error message."""
        self.of_certain = tuple(rule for rule in self.rules if rule.grade == "certain")
        """The rules that go by a protocol's own fields."""

    def opened_by(self, rule: Rule) -> tuple[Rule, ...]:
        """Return the rules that read what ``rule`` found inside an envelope."""
        return {"words": self.of_words, "certain": self.of_certain}.get(rule.opens or "", self.rules)

    def _add(self, number: int, rule: Rule) -> None:
        if rule.reads is None:
            self._of_all.append(number)
            return
        for kind in rule.reads.kinds:
            self._by_kind.setdefault(kind, []).append(number)
        for member in rule.reads.members:
            self._by_member.setdefault(member, []).append(number)
        if rule.reads.texts:
            self._of_texts.setdefault(rule.reads.texts_with, []).append(number)
        self._of_arrays += [number] * rule.reads.arrays

    def candidates(self, view: ResultView) -> Iterable[Rule]:
        """Return the rules that may recognise ``view``, in their order."""
        kind_of = type(view.data)
        numbers = list(self._of_all)
        for kind in view.kinds:
            numbers += self._by_kind.get(kind, ())
        if kind_of is dict:
            numbers += [number for name in view.data for number in self._by_member.get(snake_case(name), ())]
        elif kind_of is list:
            numbers += self._of_arrays
        elif kind_of is str:
            for may_read, of_texts in self._of_texts.items():
                if may_read is None or may_read(view.data):
                    numbers += of_texts
        # A rule can be found by a kind and by several members; sorting by number restores the order of precedence.
        return [self.rules[number] for number in sorted(set(numbers))] if numbers else ()


_cached: dict[int, RuleIndex] = {}
_MAX_CACHED = 64


def index_of(rules: Sequence[Rule]) -> RuleIndex:
    """Return the index of ``rules``.

    Indexes are cached, since a process uses few sets of rules.
    """
    index = _cached.get(id(rules))
    if index is None or index.rules is not rules:
        index = RuleIndex(rules)
        if index.rules is rules:  # a tuple: immutable, and held by the index, so no other object can get its id
            if len(_cached) >= _MAX_CACHED:
                _cached.clear()
            _cached[id(rules)] = index
    return index


_MAX_DEPTH = 2
"""Maximum number of nested envelopes that are opened."""


def apply_rules(value: Any, rules: Sequence[Rule]) -> ToolResponse | None:
    """Return the response of the first of ``rules`` that recognises a live result; None if none does."""
    view = view_of(*snapshot_result(value))
    for rule in index_of(rules).candidates(view):
        response = _apply(rule, value if rule.live else view)
        if response is not None:
            return _look_inside(_with_rule_name(response, rule), rule, rules, 1)
    return None


def apply_rules_to_view(view: ResultView, rules: Sequence[Rule], depth: int = 0) -> ToolResponse | None:
    """Apply ``rules`` to a view of a result, like :func:`apply_rules`.

    Live rules are skipped at ``depth`` 0, because they have already read the tool's object. Inside an envelope
    (``depth`` counts the envelopes around the view) they get the text, or else the data.
    """
    for rule in index_of(rules).candidates(view):
        if rule.live and not depth:
            continue
        response = _apply(rule, (view.data if view.text is None else view.text) if rule.live else view)
        if response is not None:
            return _look_inside(_with_rule_name(response, rule), rule, rules, depth + 1)
    return None


def _apply(rule: Rule, value: Any) -> ToolResponse | None:
    try:
        response = rule.read(value)
    except BaseException as error:
        pass_on_signal(error)
        if faults.raise_faults and not rule.live:  # under test, a fault in a built-in rule is raised
            raise
        faults.faults.warn_once(
            f"rule_{rule.name}",
            f"the rule {rule.name!r} failed: the rules after it read the result",
            counted=False,
            trace=True,
        )
        return None
    return response if response is not None and is_response(response) else None


def _with_rule_name(response: ToolResponse, rule: Rule) -> ToolResponse:
    """Return ``response`` with the name and the grade of ``rule``.

    A success that states nothing about its outcome stays ``unread``: the rule of a message without such a member marks it.
    """
    unread = response.status == "success" and response.meta.rule_grade == "unread"
    grade = "unread" if unread else rule.grade
    return response.model_copy(
        update={"meta": response.meta.model_copy(update={"rule": rule.name, "rule_grade": grade})}
    )


def _look_inside(response: ToolResponse, rule: Rule, rules: Sequence[Rule], depth: int) -> ToolResponse:
    """Return the failure that a success in an envelope holds; else ``response``.

    If the envelope states nothing about the outcome, the reading of its content decides.
    """
    if rule.opens is None or response.status != "success" or depth > _MAX_DEPTH:
        return response
    rules = index_of(rules).opened_by(rule)
    # The data come first: the text often only repeats them.
    for content in (response.payload, response.text or None):
        inner = (
            None
            if content is None
            else apply_rules_to_view(view_of(content) if type(content) is str else ResultView(content), rules, depth)
        )
        if inner is not None and (inner.status != "success" or response.meta.rule_grade == "unread"):
            return _merged(response, inner, rule)
    return response


def _merged(outer: ToolResponse, inner: ToolResponse, rule: Rule) -> ToolResponse:
    """Return the outer response with the failure found inside it.

    The rule's name tells where: outer rule, slash, inner rule.
    """
    inside = {"rule": f"{rule.name}/{inner.meta.rule}", "rule_grade": inner.meta.rule_grade}
    found = {
        "status": inner.status,
        "code": inner.code,
        "failure": inner.failure,
        "reason": outer.reason or inner.reason,
        "next_action": outer.next_action or inner.next_action,
        "next_action_advised": outer.next_action is None and inner.next_action_advised,
        "confidence": inner.confidence if outer.confidence is None else outer.confidence,
        "stats": {**(inner.stats or {}), **(outer.stats or {})} or None,
        "meta": outer.meta.model_copy(update=inside),
    }
    return outer.model_copy(update=found)

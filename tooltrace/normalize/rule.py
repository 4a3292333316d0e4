"""Rules: each is a named way to read the results of one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args, overload

from msgspec import Struct

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.normalize.response_builders import build_error, read_error

Grade = Literal["certain", "heuristic"]
"""``certain``: the protocol's own fields say so. ``heuristic``: words or shapes suggest it."""

Opens = Literal["all", "certain", "words"] | None
"""Rules that search a success of a protocol for a failure inside it.

``all``: any rule, for a protocol that only carries a tool's answer. ``certain``: only the rules that go by a protocol's
fields, for an answer that states that it is not an error, so that words in it are content. ``words``: only the rules
that go by words, for a protocol in which the tool itself reports success. None: no rule.
"""

Read = Callable[[Any], ToolResponse | None]


class ResultView(Struct, frozen=True):
    """Data of a result, copied when it was recorded; never the tool's own object.

    The built-in rules read this view.
    """

    data: Any
    """The result as JSON data; a text that is a JSON object or array is parsed."""
    kinds: tuple[str, ...] = ()
    """The result's class and that class's bases as ``module.Class``, nearest first; empty for JSON's own types."""
    text: str | None = None
    """The result itself, if it was a text; else None."""

    def is_a(self, *names: str) -> bool:
        """Whether the result's class, or a base of it, has one of the ``names``."""
        return bool(self.kinds) and any(name in self.kinds for name in names)


@dataclass(frozen=True, slots=True)
class Matches:
    """Results that a rule may recognise; the rule does not see any others."""

    kinds: tuple[str, ...] = ()
    """Objects of these classes."""
    members: tuple[str, ...] = ()
    """Objects with at least one of these members; names in snake case match every spelling."""
    texts: bool = False
    """Texts that are not JSON objects or arrays."""
    texts_with: Callable[[str], bool] | None = None
    """Quick test of a text; the rule does not see a text that fails it. None: the rule sees every text."""
    arrays: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Named reader of results: returns a ``ToolResponse``, or None for a result that it does not recognise."""

    name: str
    """Name of the rule, recorded with every call whose result it read."""
    grade: Grade
    read: Read
    live: bool = True
    """Whether the rule reads the tool's own object, in the tool's thread.

    The built-in rules read a :class:`ResultView` instead, in any thread.
    """
    reads: Matches | None = None
    """Results that the rule may recognise; None: any result."""
    opens: Opens = None
    """Set for an envelope: a success whose data or text may still hold a failure."""
    words: bool = False
    """Whether the rule goes by the words of a text that is nothing but an error message."""

    def __repr__(self) -> str:
        return f"Rule({self.name!r}, {self.grade!r})"


class RuleSet(tuple[Rule, ...]):  # noqa: SLOT001 - a tuple has no slots
    """A tuple of rules that prints as its name, because they are too many for a signature or a log line."""

    _name: str

    def __new__(cls, name: str, rules: Iterable[Rule]) -> Self:
        """Return ``rules`` as the set ``name``."""
        found = super().__new__(cls, rules)
        found._name = name
        return found

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> tuple[type[RuleSet], tuple[str, tuple[Rule, ...]]]:
        return RuleSet, (self._name, tuple(self))


Failed = Callable[[Any], bool | str | None]
"""Tells of a tool's result whether the call failed: True or the message, False, or None for another result."""


@overload
def rule(name: str, grade: Grade = "certain") -> Callable[[Read], Rule]: ...
@overload
def rule(name: str, grade: Grade = "certain", *, failed: Failed) -> Rule: ...
def rule(name: str, grade: Grade = "certain", *, failed: Failed | None = None) -> Callable[[Read], Rule] | Rule:
    """Make a rule from a function that reads a tool's result.

    The function returns a ``ToolResponse``, or None if the result is not for this rule::

        @tt.rule("acme")
        def acme(value):
            if isinstance(value, AcmeReply) and value.fault:
                return tt.ToolResponse.error(value.fault.code, value.fault.words)

        tt.configure(rules=[acme, *tt.RULES])

    With ``failed``, the rule is one line. The function returns True or a message for a failure, False for a success, and
    None for a result that is not for this rule. A result in which it does not find what it looks for is not for it either::

        booking = tt.rule("booking", failed=lambda value: value["state"] == "denied")

    Raises ConfigError for an unknown grade.
    """
    if grade not in get_args(Grade):
        raise ConfigError(f"the grade of a rule must be certain or heuristic, got {grade!r} for the rule {name!r}")
    if not isinstance(name, str):
        raise ConfigError(f"the name of a rule must be a text, got {name!r}: @tt.rule('my_api')")
    if failed is None:
        return lambda read: Rule(name, grade, read)
    if not callable(failed):
        raise ConfigError(f"failed must be a function of the result, got {failed!r} for the rule {name!r}")
    return Rule(name, grade, lambda value: _by_outcome(failed, value))


def _by_outcome(failed: Failed, value: Any) -> ToolResponse | None:
    try:
        outcome = failed(value)
    except (LookupError, TypeError, AttributeError):  # a result of another shape
        return None
    if outcome is None:
        return None
    if outcome is False or not outcome:
        return ToolResponse.success(value if isinstance(value, str) else "", value)
    if isinstance(outcome, str):
        return build_error(outcome, data=value)
    reading = read_error(value) if isinstance(value, str | dict) else {"message": None}
    return build_error(**reading, text=value if isinstance(value, str) else None)


def checked_rules(rules: Iterable[Rule], place: str) -> tuple[Rule, ...]:
    """Return ``rules`` as a tuple; a tuple is returned itself. Raises ConfigError if an item is not a rule.

    The identity counts: a call whose rules are the built-in ones needs no search for a rule of the user.
    """
    # A single rule instead of a list becomes a tuple of one, so that the message below names it if it is not a rule.
    checked = rules if isinstance(rules, tuple) else tuple(rules) if isinstance(rules, Iterable) else (rules,)
    for each in checked:
        if not isinstance(each, Rule):
            raise ConfigError(f"rules must be rules made with @tt.rule(name), got {each!r}; {place}")
    return checked


def builtin(
    name: str, grade: Grade, reads: Matches, *, opens: Opens = None, words: bool = False
) -> Callable[[Callable[[ResultView], ToolResponse | None]], Rule]:
    """Make a built-in rule from a function that takes a :class:`ResultView`."""
    return lambda read: Rule(name, grade, read, live=False, reads=reads, opens=opens, words=words)

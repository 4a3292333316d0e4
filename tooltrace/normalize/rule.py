"""What a rule is: a named way to read one protocol's results."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError

Grade = Literal["certain", "heuristic"]
"""``certain``: the protocol's own fields say so. ``heuristic``: words or shapes suggest it."""

Opens = Literal["all", "words"] | None
"""What may find a failure in a success of a protocol: any rule, where the protocol only carries a tool's answer; those
that go by words, where it is the tool that says success."""

Read = Callable[[Any], ToolResponse | None]


@dataclass(frozen=True, slots=True)
class ResultView:
    """A result as the built-in rules read it: what it said at that moment, and never the object itself."""

    data: Any
    """JSON data. Of a text that is itself a JSON object or array, what it says."""
    kinds: tuple[str, ...] = ()
    """Its class and the bases of that, ``module.Class``, nearest first; none for what JSON has itself."""
    text: str | None = None
    """The result, where it was a text."""

    def is_a(self, *names: str) -> bool:
        """Whether its class, or a base of that, has one of the ``names``."""
        return any(name in self.kinds for name in names)


@dataclass(frozen=True, slots=True)
class Matches:
    """What a rule may know; it is not asked about anything else."""

    kinds: tuple[str, ...] = ()
    """Objects of these classes."""
    members: tuple[str, ...] = ()
    """Objects with at least one of these members, in snake case, whichever way they spell it."""
    texts: bool = False
    """Texts that are no JSON."""
    arrays: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """Reads what it knows as a ``ToolResponse``, and answers None to everything else."""

    name: str
    """Recorded with every call that the rule read."""
    grade: Grade
    read: Read
    live: bool = True
    """Reads the tool's own object, in the tool's thread. The built-in rules read a :class:`Seen`, anywhere."""
    reads: Matches | None = None
    """None: anything."""
    opens: Opens = None
    """The protocol is an envelope: a success may still hold a failure, in its data or in its text."""
    words: bool = False
    """Goes by the words of a text that is nothing but the message of an error."""


def rule(name: str, grade: Grade = "certain") -> Callable[[Read], Rule]:
    """Make a rule of a function that takes a tool's result and gives a ``ToolResponse``, or None where it is not
    the rule's to read::

        @tt.rule("acme")
        def acme(value):
            if isinstance(value, AcmeReply) and value.fault:
                return tt.ToolResponse.error(value.fault.code, value.fault.words)

        tt.configure(rules=[acme, *tt.RULES])
    """
    if grade not in get_args(Grade):
        raise ConfigError(f"the grade of a rule is certain or heuristic, got {grade!r} for the rule {name!r}")
    return lambda read: Rule(str(name), grade, read)


def checked_rules(rules: Iterable[Rule], place: str) -> tuple[Rule, ...]:
    """``rules`` as they are kept. Raises ConfigError."""
    kept = tuple(rules) if isinstance(rules, Iterable) else (rules,)
    for each in kept:
        if not isinstance(each, Rule):
            raise ConfigError(f"rules takes rules, made with @tt.rule(name), got {each!r}; {place}")
    return kept


def builtin(
    name: str, grade: Grade, reads: Matches, *, opens: Opens = None, words: bool = False
) -> Callable[[Callable[[ResultView], ToolResponse | None]], Rule]:
    """Make a rule of a function that takes a :class:`Seen`."""
    return lambda read: Rule(name, grade, read, live=False, reads=reads, opens=opens, words=words)

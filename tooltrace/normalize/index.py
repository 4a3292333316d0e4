"""Which rules are worth asking about a result: most results are nobody's, and asking all costs more than recording."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tooltrace.normalize.rule import Rule, Seen
from tooltrace.normalize.words import snake


class Index:
    """Rules by what they read, in their order."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._by_kind: dict[str, list[int]] = {}
        self._by_member: dict[str, list[int]] = {}
        self._of_texts: list[int] = []
        self._of_arrays: list[int] = []
        self._of_all: list[int] = []
        for number, rule in enumerate(self.rules):
            self._enter(number, rule)
        self.of_words = tuple(rule for rule in self.rules if rule.words)
        """The rules that go by words."""

    def _enter(self, number: int, rule: Rule) -> None:
        if rule.reads is None:
            self._of_all.append(number)
            return
        for kind in rule.reads.kinds:
            self._by_kind.setdefault(kind, []).append(number)
        for member in rule.reads.members:
            self._by_member.setdefault(member, []).append(number)
        self._of_texts += [number] * rule.reads.texts
        self._of_arrays += [number] * rule.reads.arrays

    def asked(self, look: Seen) -> Iterable[Rule]:
        """The rules that may know ``look``, in their order."""
        found = list(self._of_all)
        for kind in look.kinds:
            found += self._by_kind.get(kind, ())
        kind_of = type(look.data)
        if kind_of is dict:
            for member in look.data:
                found += self._by_member.get(snake(member), ())
        elif kind_of is list:
            found += self._of_arrays
        elif kind_of is str:
            found += self._of_texts
        return [self.rules[number] for number in sorted(set(found))] if found else ()


_known: dict[int, Index] = {}
_MOST = 64


def index_of(rules: Sequence[Rule]) -> Index:
    """The index of ``rules``; kept, since a process has few sets of them."""
    index = _known.get(id(rules))
    if index is None or index.rules is not rules:
        index = Index(rules)
        if index.rules is rules:  # a tuple: it will not change, and is held here, so its id stays its own
            if len(_known) >= _MOST:
                _known.clear()
            _known[id(rules)] = index
    return index

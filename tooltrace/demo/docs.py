"""Search over docstrings: an inverted index, and the signals that say how sure an answer is."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_WORD = re.compile(r"[a-z]{3,}")


class Entry(NamedTuple):
    """One documented function or class."""

    name: str
    """Qualified: ``textwrap.TextWrapper.fill``."""
    path: str
    line: int
    doc: str


class Hit(NamedTuple):
    """What a search found, and the signals for it, each in [0, 1]."""

    entry: Entry
    coverage: float
    """Share of the question's weight that the docstring's words carry."""
    margin: float
    """How far the second best is behind."""
    detail: float
    """How much was asked: one word is little to go by, six are much."""

    @property
    def signals(self) -> dict[str, float]:
        """The signals by name."""
        return {name: round(getattr(self, name), 3) for name in ("coverage", "margin", "detail")}

    @property
    def confidence(self) -> float:
        """What the signals say together. Rather too sure of itself, as such formulas are until somebody
        compares them with outcomes.
        """
        return round(min(0.99, 0.3 + 0.35 * self.coverage + 0.25 * math.sqrt(self.margin) + 0.1 * self.detail), 3)


def words(text: str) -> list[str]:
    """The words of ``text``, in order and in lower case; those of one or two letters left out."""
    return _WORD.findall(text.lower())


def entries_of(tree: ast.Module, module: str, path: str) -> Iterable[Entry]:
    """What a module documents."""
    yield from _walk(tree.body, module, path)


def _walk(body: Iterable[ast.stmt], prefix: str, path: str) -> Iterable[Entry]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}"
            if doc := ast.get_docstring(node):
                yield Entry(name, path, node.lineno, doc)
            if isinstance(node, ast.ClassDef):
                yield from _walk(node.body, name, path)


class DocIndex:
    """All entries by the words of their docstrings."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._lengths = [len(words(entry.doc)) for entry in self.entries]
        self._usual = sum(self._lengths) / max(1, len(self._lengths))
        self._where: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for number, entry in enumerate(self.entries):
            for word, count in Counter(words(entry.doc)).items():
                self._where[word][number] = count

    def search(self, question: str) -> Hit | None:
        """The entry that fits best, or None where no word is known. Ties go to the first by name."""
        asked = sorted(set(words(question)))
        scores = self._scores(asked)
        if not scores:
            return None
        best, second, *_ = [*sorted(scores, key=lambda n: (-scores[n], self.entries[n].name)), None]
        assert best is not None
        total = sum(map(self._weight, asked))
        found = sum(self._weight(word) for word in asked if best in self._where.get(word, ()))
        behind = scores[second] / scores[best] if second is not None else 0.0
        return Hit(self.entries[best], found / total, 1 - behind, min(1.0, len(asked) / 6))

    def _scores(self, asked: list[str]) -> dict[int, float]:
        """BM25 of each entry that has one of the words."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in asked:
            weight = self._weight(word)
            for number, count in self._where.get(word, {}).items():
                length = 0.25 + 0.75 * self._lengths[number] / self._usual
                scores[number] += weight * count * 2.2 / (count + 1.2 * length)
        return scores

    def _weight(self, word: str) -> float:
        """Inverse document frequency: a rare word tells more."""
        return math.log(1 + len(self.entries) / (1 + len(self._where.get(word, ()))))

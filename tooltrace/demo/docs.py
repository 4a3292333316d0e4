"""Search over docstrings: an inverted index, and signals for the confidence of an answer."""

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
    """Qualified name, such as ``textwrap.TextWrapper.fill``."""
    path: str
    line: int
    doc: str


class Hit(NamedTuple):
    """The result of a search, with its signals, each in [0, 1]."""

    entry: Entry
    coverage: float
    """Share of the question's total weight that belongs to words in the docstring."""
    margin: float
    """Distance to the second-best score: 1 minus the ratio of the second-best score to the best."""
    detail: float
    """Number of words in the question, relative to six: a single word identifies little."""

    @property
    def signals(self) -> dict[str, float]:
        """The signals by name."""
        return {name: round(getattr(self, name), 3) for name in ("coverage", "margin", "detail")}

    @property
    def confidence(self) -> float:
        """Confidence from the signals combined.

        The formula is overconfident, as such formulas are until somebody compares them with labels.
        """
        return round(min(0.99, 0.3 + 0.35 * self.coverage + 0.25 * math.sqrt(self.margin) + 0.1 * self.detail), 3)


def words(text: str) -> list[str]:
    """Return the words of ``text``, in order and in lower case, without words of one or two letters."""
    return _WORD.findall(text.lower())


def entries_of(tree: ast.Module, module: str, path: str) -> Iterable[Entry]:
    """Yield the documented functions and classes of a module."""
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
    """Index of all entries by the words of their docstrings."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._lengths = [len(words(entry.doc)) for entry in self.entries]
        self._mean_length = sum(self._lengths) / max(1, len(self._lengths))
        self._postings: defaultdict[str, dict[int, int]] = defaultdict(dict)
        for number, entry in enumerate(self.entries):
            for word, count in Counter(words(entry.doc)).items():
                self._postings[word][number] = count

    def search(self, question: str) -> Hit | None:
        """Return the best entry; None if no word is known. The first name wins a tie."""
        terms = sorted(set(words(question)))
        scores = self._scores(terms)
        if not scores:
            return None
        best, second, *_ = [*sorted(scores, key=lambda n: (-scores[n], self.entries[n].name)), None]
        assert best is not None
        total = sum(map(self._weight, terms))
        found = sum(self._weight(word) for word in terms if best in self._postings.get(word, ()))
        runner_up = scores[second] / scores[best] if second is not None else 0.0
        return Hit(self.entries[best], found / total, 1 - runner_up, min(1.0, len(terms) / 6))

    def _scores(self, terms: list[str]) -> dict[int, float]:
        """Return the BM25 score of each entry that has one of the words."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in terms:
            weight = self._weight(word)
            for number, count in self._postings.get(word, {}).items():
                length = 0.25 + 0.75 * self._lengths[number] / self._mean_length
                scores[number] += weight * count * 2.2 / (count + 1.2 * length)
        return scores

    def _weight(self, word: str) -> float:
        """Return the inverse document frequency: a rare word counts more."""
        return math.log(1 + len(self.entries) / (1 + len(self._postings.get(word, ()))))

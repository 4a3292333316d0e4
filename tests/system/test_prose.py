"""The cheap part of the rules for docstrings and comments; CONTRIBUTING has the rest."""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

OPENINGS = re.compile(r"(Of|So|Such|That|What|Whoever|Beside)\b")
"""Words with which a docstring begins as a fragment: its subject is missing, or stands at the end."""
RIDDLES = re.compile(
    r"(?<!there )\b(is|are) no (?!longer)[a-z]|\bwhat is (asked|said|told|given|taken) is\b|\bso many\b", re.IGNORECASE
)
"""Inverted and archaic turns, anywhere in a docstring or a comment."""


def sources() -> Iterator[Path]:
    for folder in ("tooltrace", "exporters", "dashboards"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string that stands alone: docstrings, and those that describe the assignment above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()


def test_docstrings_begin_with_their_subject() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sources()
        for line, text in docstrings(ast.parse(path.read_text()))
        if text and OPENINGS.match(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_prose_has_no_riddles() -> None:
    wrong = []
    for path in sources():
        texts = list(docstrings(ast.parse(path.read_text())))
        with path.open("rb") as file:
            texts += [(t.start[0], t.string) for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT]
        wrong += [
            f"{path.relative_to(ROOT)}:{line}: {found[0]!r}" for line, text in texts if (found := RIDDLES.search(text))
        ]
    assert not wrong, "\n".join(wrong)


def test_comments_of_the_queries_have_no_riddles() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}"
        for path in sorted((ROOT / "queries").glob("*.sql"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := RIDDLES.search(line.partition("--")[2]))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_heading_of_a_query_says_what_a_row_is() -> None:
    """The first sentence after the question: how many rows there are, or what each stands for."""
    rows = re.compile(r"-- (One row|Two rows|Ten rows)")
    wrong = [
        path.name
        for path in sorted((ROOT / "queries").glob("*.sql"))
        if not rows.match(path.read_text().splitlines()[2])
    ]
    assert not wrong, wrong

"""The cheap part of the rules for docstrings, comments, messages and pages; CONTRIBUTING has the rest."""

from __future__ import annotations

import ast
import json
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click

from tooltrace.cli import cli

ROOT = Path(__file__).parents[2]

OPENINGS = re.compile(r"(Of|So|Such|That|What|Whoever|Beside)\b")
"""Words with which a docstring begins as a fragment: its subject is missing, or stands at the end."""
RIDDLES = re.compile(
    r"(?<!there )\b(is|are) no (?!longer)[a-z]|\bwhat is (asked|said|told|given|taken) is\b|\bso many\b", re.IGNORECASE
)
"""Inverted and archaic turns, anywhere in a docstring or a comment."""

OLD_WORDS = re.compile(
    r"^test_(?:what|who|whoever|of|so|such|that|whatever)_|^test_\w*(?:(?<!there)_(?:is|are)_no_(?!longer)|_(?:told|said|asked|asks|anew|nobody)(?:_|$))"
)
"""Openings and words that no name of a test may have."""

TEST = re.compile(r"def\s+(test_\w+)")

BANNED = re.compile(
    rf"^{OPENINGS.pattern}|\bnothing was asked\b|\bit takes\b|\bcannot be (?:said|told|asked)\b|\bwhoever\b"
    r"|\b(?:told|said|asked|saying|telling|spoken)\b"
    rf"|{RIDDLES.pattern}",
    re.IGNORECASE,
)
"""Turns that no message, help text or page text may have."""


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders or ("tooltrace", "exporters", "dashboards"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(parent.is_symlink() for parent in path.parents):
                yield path


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def sources_with(pattern: re.Pattern[str]) -> Iterator[Path]:
    """The sources and tests whose text matches: the others need not be parsed."""
    for path in sources("tooltrace", "exporters", "dashboards", "tests"):
        if pattern.search(path.read_text()):
            yield path


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with path.open("rb") as file:
        yield from ((t.start[0], t.string) for t in tokenize.tokenize(file.readline) if t.type == tokenize.COMMENT)


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every string that stands alone: docstrings, and those that describe the assignment above them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.strip()


def test_docstrings_begin_with_their_subject() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in sources_with(re.compile(rf"""["']\s*{OPENINGS.pattern}"""))
        for line, text in docstrings(parsed(path))
        if text and OPENINGS.match(text)
    ]
    assert not wrong, "\n".join(wrong)


def test_prose_has_no_inverted_sentences() -> None:
    wrong = []
    for path in sources_with(RIDDLES):
        wrong += [
            f"{path.relative_to(ROOT)}:{line}: {found[0]!r}"
            for line, text in (*docstrings(parsed(path)), *comments(path))
            if (found := RIDDLES.search(text))
        ]
    assert not wrong, "\n".join(wrong)


def test_names_of_tests_state_a_behaviour() -> None:
    """Refuse names that begin with a question word or a preposition, and the words of :data:`OLD_WORDS`."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
        for path in sources("tests")
        if any(OLD_WORDS.search(name) for name in TEST.findall(path.read_text()))
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and OLD_WORDS.search(node.name)
    ]
    assert not wrong, "\n".join(wrong)


def raised_messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the texts of every ``raise X("…")``; values in a message are replaced by "…"."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)):
            continue
        for argument in node.exc.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield node.lineno, argument.value
            elif isinstance(argument, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "…" for part in argument.values)
                yield node.lineno, "".join(map(str, parts))


def help_texts(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    """Yield the help texts of ``command``, its options and its subcommands."""
    yield from ((name, text) for text in (command.help, command.short_help) if text)
    for option in command.params:
        if isinstance(option, click.Option) and option.help:
            yield f"{name} {option.opts[0]}", option.help
    if isinstance(command, click.Group):
        for key, child in command.commands.items():
            yield from help_texts(child, f"{name} {key}")


def test_error_messages_are_in_plain_english() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {found[0]!r} in {text!r}"
        for path in sources()
        for line, text in raised_messages(parsed(path))
        if (found := BANNED.search(text))
    ]
    assert not wrong, "\n".join(wrong)


def test_help_texts_are_in_plain_english() -> None:
    texts = list(help_texts(cli, "tooltrace"))
    assert len(texts) > 80
    wrong = [f"{name}: {found[0]!r} in {text!r}" for name, text in texts if (found := BANNED.search(text))]
    assert not wrong, "\n".join(wrong)


def test_page_texts_are_in_plain_english() -> None:
    texts: dict[str, str] = json.loads((ROOT / "dashboards" / "strings" / "en.json").read_text())
    wrong = [f"{key}: {found[0]!r} in {text!r}" for key, text in texts.items() if (found := BANNED.search(text))]
    assert not wrong, "\n".join(wrong)


def test_comments_of_the_queries_have_no_inverted_sentences() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}: {found[0]!r}"
        for path in sorted((ROOT / "queries").glob("*.sql"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (found := RIDDLES.search(line.partition("--")[2]))
    ]
    assert not wrong, "\n".join(wrong)


def test_a_heading_of_a_query_describes_its_rows() -> None:
    """The first sentence after the question: how many rows there are, or what each stands for."""
    rows = re.compile(r"-- (One row|Two rows|Ten rows)")
    wrong = [
        path.name
        for path in sorted((ROOT / "queries").glob("*.sql"))
        if not rows.match(path.read_text().splitlines()[2])
    ]
    assert not wrong, wrong

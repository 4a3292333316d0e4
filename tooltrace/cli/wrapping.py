"""Lines that are too wide for the terminal, broken between words."""

from __future__ import annotations

import re
import shutil
import sys
from typing import TYPE_CHECKING

import click

from tooltrace.cli.sanitize import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_WORD = re.compile(r"\s*\S+\s*")
_QUOTED_WORD = re.compile(r"""\s*(?:'[^']*'|"[^"]*"|\S)+\s*""")
"""A word of a shell's command: blanks between quotes belong to it."""
_CONTINUED = 2
"""Spaces before the further lines of a command."""


def print_wrapped(out: Console, line: Text, indent: int) -> None:
    """Print ``line``; further lines continue behind ``indent`` spaces.

    A word that is wider than the terminal, such as a URL, stays one word.
    """
    for number, part in enumerate(line.divide(_breaks(line.plain, out.width, indent))):
        if number:
            part.pad_left(indent)
        part.rstrip()  # a space behind a full line would begin a line of its own
        out.print(part, soft_wrap=True)


def echo_sentence(text: str, *, err: bool = False) -> None:
    """Print ``text`` without control characters, on a terminal in lines that end between words."""
    text = clean(text)
    if (sys.stderr if err else sys.stdout).isatty():
        # one column is left free: some terminals begin a line of their own behind a full one
        at = _breaks(text, max(shutil.get_terminal_size().columns - 1, 1), 0)
        text = "\n".join(text[begin:end].rstrip() for begin, end in zip([0, *at], [*at, None], strict=True))
    click.echo(text, err=err)


def echo_command(text: str, *, indent: int = 0, err: bool = False) -> None:
    """Print a line with a command, on a terminal in lines that a shell reads as one: each but the last ends in a backslash.

    ``indent``: spaces before it. A word that is wider than the terminal stays one word, so that it can be copied.
    """
    text = " " * indent + clean(text)
    if (sys.stderr if err else sys.stdout).isatty():
        # a space and a backslash end a line, and one column is left free, as for a sentence
        at = _breaks(text, max(shutil.get_terminal_size().columns - 3, 1), indent + _CONTINUED, _QUOTED_WORD)
        parts = [text[begin:end].rstrip() for begin, end in zip([0, *at], [*at, None], strict=True)]
        text = f" \\\n{' ' * (indent + _CONTINUED)}".join(parts)
    click.echo(text, err=err)


def _breaks(text: str, width: int, indent: int, words: re.Pattern[str] = _WORD) -> list[int]:
    """Return the positions in ``text`` at which further lines begin."""
    from rich.cells import cell_len

    found: list[int] = []
    column = 0
    for word in words.finditer(text):
        if column and column + cell_len(word[0].rstrip()) > width:
            found.append(word.start())
            column = indent
        column += cell_len(word[0])
    return found

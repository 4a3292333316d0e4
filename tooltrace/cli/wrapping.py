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


def print_wrapped(out: Console, line: Text, indent: int) -> None:
    """Print ``line``; further lines continue behind ``indent`` spaces.

    A word that is wider than the terminal, such as a URL, stays one word.
    """
    first, *rest = line.divide(_breaks(line.plain, out.width, indent))
    out.print(first, soft_wrap=True)
    for part in rest:
        part.pad_left(indent)
        out.print(part, soft_wrap=True)


def echo_sentence(text: str, *, err: bool = False) -> None:
    """Print ``text`` without control characters, on a terminal in lines that end between words."""
    text = clean(text)
    if (sys.stderr if err else sys.stdout).isatty():
        # one column is left free: some terminals begin a line of their own behind a full one
        at = _breaks(text, max(shutil.get_terminal_size().columns - 1, 1), 0)
        text = "\n".join(text[begin:end].rstrip() for begin, end in zip([0, *at], [*at, None], strict=True))
    click.echo(text, err=err)


def _breaks(text: str, width: int, indent: int) -> list[int]:
    """Return the positions in ``text`` at which further lines begin."""
    from rich.cells import cell_len

    found: list[int] = []
    column = 0
    for word in _WORD.finditer(text):
        if column and column + cell_len(word[0].rstrip()) > width:
            found.append(word.start())
            column = indent
        column += cell_len(word[0])
    return found

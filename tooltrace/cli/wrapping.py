"""Lines that are too wide for the terminal, broken between words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

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

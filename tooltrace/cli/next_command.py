"""The command that leads on from a result, as the user can type it."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tooltrace.analysis import Query, find
from tooltrace.cli.wrapping import echo_command
from tooltrace.core.visible import MOST_NAME_CHARACTERS, visible_name
from tooltrace.recording.settings import default_address, default_store
from tooltrace.store.base import Store
from tooltrace.store.result import Row

OVERVIEW = "query overview"
_FIELD = re.compile(r"\{(\w+)\}")


@cache
def program() -> str:
    """Return the words with which the user starts this program: ``tooltrace`` where the shell finds it under that name."""
    started = Path(sys.argv[0] if sys.argv else "")
    on_path = shutil.which("tooltrace")
    if started.parts[-2:] == ("tooltrace", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m tooltrace"
    if started.name != "tooltrace" or (on_path is not None and _is_same(Path(on_path), started)):
        return "tooltrace"
    return shlex.quote(_short(str(started.absolute())))


def store_words(store: Store) -> str:
    """Return `` --store …`` for a command on ``store``; an empty text where it is the default."""
    default = default_address() or default_store()
    return "" if str(store) == str(default) else f" --store {shlex.quote(_short(str(store)))}"


def print_next(command: str, store: Store) -> None:
    """Print ``command``, the arguments of a command on ``store``, on standard error."""
    echo_command(f"Next: {program()} {command}{store_words(store)}", err=True)


def next_of(query: Query, columns: Sequence[str], rows: Sequence[Row], window: Mapping[str, Any]) -> str:
    """Return the command that leads on from ``rows``, by the first of them that has the values of its arguments.

    An option without a value is left out; without a value for an argument, the command is that for an overview.
    ``window``: the user's texts for ``since`` and ``until``, which the next query gets too.
    """
    needed = [columns.index(name) for name in _FIELD.findall(query.header.next) if name in columns]
    best = next((row for row in rows if all(row[at] is not None for at in needed)), rows[0])
    row = dict(zip(columns, best, strict=True))
    words: list[str] = []
    for word in query.header.next.split():
        field = _FIELD.fullmatch(word)
        if field is None:
            words.append(word)
        elif row.get(field[1]) is not None:
            value = str(row[field[1]])
            if len(value) > MOST_NAME_CHARACTERS:  # nobody would type it
                return OVERVIEW
            words.append(_shell_word(value))
        elif words and words[-1].startswith("-"):
            words.pop()
        else:
            return OVERVIEW
    return " ".join([*words, *_window_words(words, window)])


def _shell_word(text: str) -> str:
    """Return ``text`` as one word of a shell, with escapes ($'…') for characters that a terminal does not show."""
    if not text.strip() or visible_name(text) == text:
        return shlex.quote(text)
    plain = text.replace("\\", "\\\\").replace("'", "\\'")
    shown = "".join(each if each.isascii() and each.isprintable() else _shell_escape(each) for each in plain)
    return f"$'{shown}'"


def _shell_escape(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 128 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _window_words(words: list[str], window: Mapping[str, Any]) -> list[str]:
    if len(words) < 2 or words[0] != "query":
        return []
    known = {parameter.name for parameter in find(words[1]).header.parameters}
    return [
        f"--{name} {shlex.quote(str(window[name]))}"
        for name in ("since", "until")
        if isinstance(window.get(name), str) and name in known
    ]


def _short(store: str) -> str:
    """Return a path below the working directory as a relative one."""
    path = Path(store)
    if not path.is_absolute():
        return store
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else store


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False

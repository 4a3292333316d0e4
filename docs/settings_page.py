"""The table of the options of ``tt.configure``, made of its signature and its docstring."""

from __future__ import annotations

import inspect
import re

from docs.docstrings import PARAMETER
from docs.markdown import safe, table
from tooltrace.recording.config import configure


def options_table() -> str:
    """Return the options of ``tt.configure`` with their defaults and meanings."""
    meanings = described()
    rows = [(f"`{name}`", default, safe(meanings.get(name, ""))) for name, default in defaults().items()]
    return table(("option", "default", "meaning"), rows)


def defaults() -> dict[str, str]:
    """Return the default of each option."""
    return {each.name: _default(each.default) for each in inspect.signature(configure).parameters.values()}


def _default(value: object) -> str:
    """Return a default as code; an option that keeps its value where it is left out has none of its own."""
    if repr(value) == "…":
        return "not set"
    return f"`{value:_}`" if isinstance(value, int) else f"`{value!r}`".replace("tooltrace.", "tt.")


def described() -> dict[str, str]:
    """Return the meaning of each option in the docstring."""
    lines = (inspect.getdoc(configure) or "").splitlines()
    found: dict[str, str] = {}
    names: list[str] = []
    for line in lines:
        if match := PARAMETER.match(line):
            names = re.findall(r"``(\w+)``", match[0])
            found |= dict.fromkeys(names, line[match.end() :])
        elif line:
            found |= {name: f"{found[name]} {line}" for name in names}
        else:
            names = []
    return {name: _plain(text) for name, text in found.items()}


def _plain(text: str) -> str:
    """Return reST as Markdown: roles and double backticks become code."""
    return re.sub(r":\w+:`~?\.?([^`]+)`", r"`\1`", text.replace("``", "`"))

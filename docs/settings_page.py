"""The table of the options of ``tt.configure``, made of its signature and its docstring."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap

from docs.docstrings import PARAMETER
from docs.markdown import safe, table
from tooltrace.recording.config import configure


def options_table() -> str:
    """Return the options of ``tt.configure`` with their defaults and meanings."""
    meanings = described()
    rows = [(f"`{name}`", default, safe(meanings.get(name, ""))) for name, default in defaults().items()]
    return table(("option", "default", "meaning"), rows)


def defaults() -> dict[str, str]:
    """Return the default of each option as it is written in the code; empty for one that is not a plain value."""
    function = ast.parse(textwrap.dedent(inspect.getsource(configure))).body[0]
    assert isinstance(function, ast.FunctionDef)
    written = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return {
        argument.arg: f"`{ast.unparse(default)}`" if isinstance(default, ast.Constant | ast.BinOp) else ""
        for argument, default in written
    }


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

"""Docstrings as the API reference shows them.

A docstring of this project describes a parameter as a line that begins with ````name``: ``. The reference shows them as a
list. Sentences that begin with "Raises" stay in the text.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from msgspec import Struct

PARAMETER = re.compile(r"``(\w+)``(?:, ``(\w+)``)*: ")


def setup(app: Any) -> dict[str, bool]:
    """Register the conversion with Sphinx."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-before-process-signature", _shorten_defaults)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True}


def _process(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    lines[:] = with_fields(lines)


class _Default:
    """A default that is shown by its own ``repr``: Sphinx writes out the items of a tuple, such as all rules."""

    def __init__(self, value: object) -> None:
        self._text = "…" if type(value) is object else repr(value)

    def __repr__(self) -> str:
        return self._text


def _shorten_defaults(_app: Any, obj: Any, _is_bound_method: bool) -> None:
    if not inspect.isfunction(obj):
        return
    signature = inspect.signature(obj)
    parameters = [
        each if each.default is inspect.Parameter.empty else each.replace(default=_Default(each.default))
        for each in signature.parameters.values()
    ]
    obj.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]


def _signature(
    _app: Any, _what: str, _name: str, obj: Any, _options: Any, _signature: str | None, _returned: str | None
) -> tuple[str, None] | None:
    """Leave out the signature of a record: its fields are the columns of a table, which have a page of their own."""
    return ("", None) if isinstance(obj, type) and issubclass(obj, Struct) else None


def with_fields(lines: list[str]) -> list[str]:
    """Return ``lines`` with a definition for each described parameter.

    A description ends before the next parameter, before an empty line, and before a sentence of the function.
    """
    made: list[str] = []
    described = False
    for line in lines:
        if found := PARAMETER.match(line):
            if not described and made and made[-1]:
                made.append("")
            names = re.findall(r"``(\w+)``", found[0])
            made.append(f"* {', '.join(f'**{name}**' for name in names)}: {line[found.end() :]}")
            described = True
        elif described and line.startswith(("Raises ", "Returns ", "The result ")):
            made += ["", line]
            described = False
        elif described and line and not line.startswith(" "):
            made.append(f"  {line}")
        else:
            described = described and bool(line)
            made.append(line)
    return made

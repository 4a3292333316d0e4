"""What a docstring says about a function and its parameters: Google, NumPy, reST and Epydoc styles."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

from tooltrace.spec import describe

_TYPES: dict[str, Any] = {
    "str": str, "string": str, "int": int, "integer": int, "float": float, "number": float, "bool": bool,
    "boolean": bool, "list": list, "array": list, "dict": dict, "object": dict,
}  # fmt: skip
"""Types that docstrings and other descriptions name in words."""


@dataclass(frozen=True, slots=True)
class Described:
    """A function's own words."""

    text: str | None = None
    """All that stands before the sections, for the model."""
    parameters: dict[str, str] = field(default_factory=dict)
    """Parameter to its description."""
    types: dict[str, Any] = field(default_factory=dict)
    """Parameter to its type, where the docstring names a simple one."""


def read(function: Any) -> Described:
    """The docstring of ``function``. One that cannot be parsed counts as a description only."""
    text = inspect.getdoc(function)
    if not text:
        return Described()
    from docstring_parser import parse

    try:
        parsed = parse(text)
    except Exception:  # anything may stand in a docstring
        return Described(describe(function))
    words = [part for part in (parsed.short_description, parsed.long_description) if part]
    known = {param.arg_name.lstrip("*"): param for param in parsed.params}
    return Described(
        "\n\n".join(words) or None,
        {name: " ".join(p.description.split()) for name, p in known.items() if p.description},
        {name: kind for name, p in known.items() if (kind := type_named(p.type_name)) is not None},
    )


def type_named(name: str | None) -> Any:
    """The type that ``name`` means; None where it is no simple one."""
    return _TYPES.get(name.strip().lower()) if isinstance(name, str) else None

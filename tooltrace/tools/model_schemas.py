"""Tools in the formats of model APIs."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal

from tooltrace.errors import ConfigError
from tooltrace.tools.registered_tool import RegisteredTool

Style = Literal["openai", "anthropic", "plain"]
"""``openai``: Chat Completions; ``anthropic``: Messages; ``plain``: name, description, parameters."""


def schema(tool: RegisteredTool, style: Style = "openai") -> dict[str, Any]:
    """Return ``tool`` in the format of ``style``, as a new object. Raises ConfigError for an unknown style.

    A tool of the model's provider is returned as it was registered, whatever the style.
    """
    if style not in _STYLES:
        raise ConfigError(f"unknown schema style {style!r}: expected one of {', '.join(_STYLES)}")
    if tool.definition is not None:
        return deepcopy(dict(tool.definition))
    return _STYLES[style]({"name": tool.name, "description": tool.description or ""}, tool.from_model.schema())


def _openai(head: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {**head, "parameters": parameters}}


def _anthropic(head: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    return {**head, "input_schema": parameters}


def _bare(head: dict[str, Any], parameters: dict[str, Any]) -> dict[str, Any]:
    return {**head, "parameters": parameters}


_STYLES: dict[str, Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "plain": _bare,
}

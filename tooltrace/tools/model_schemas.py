"""Tools in the formats of model APIs: ours, and those that the provider of the model runs, such as ``{"type": "web_search"}``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Literal

from tooltrace.errors import ConfigError
from tooltrace.recording.tool_spec import named_spec
from tooltrace.tools.options import ToolOptions
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.schema import Parameters


def from_definition(definition: dict[str, Any], options: Mapping[str, Any]) -> RegisteredTool:
    """Register ``definition``, which ``schemas`` passes on unchanged; the registry cannot run it.

    Its name is the one inside it, else its type, else its only member. Raises ConfigError for a dict without a name,
    and for options, which would have no effect.
    """
    if options:
        raise ConfigError(f"options do not apply to a dict, whose tool the provider runs: remove {', '.join(options)}")
    function = definition.get("function")
    name = (function.get("name") if isinstance(function, Mapping) else None) or definition.get("name")
    name = name or definition.get("type") or (next(iter(definition)) if len(definition) == 1 else None)
    if not isinstance(name, str):
        raise ConfigError(f"a dict that defines a tool must have a name or a type, got {definition!r}")
    nothing = Parameters((), extra=True, title=name)
    return RegisteredTool(
        spec=named_spec(name),
        options=ToolOptions(),
        description=None,
        parameters=nothing,
        from_model=nothing,
        invoke=_refuse,
        definition=deepcopy(definition),
    )


def _refuse(_: dict[str, Any]) -> Any:
    raise RuntimeError("a tool of the model's provider cannot be run here")


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

"""Adapter for a dict that defines a tool of the model's provider, such as ``{"type": "web_search"}``."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

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

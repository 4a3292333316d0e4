"""Adapter for tool objects with ``name``, ``description`` and ``run(parameters)``, as in HelloAgents."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.normalize import NONE, PLAIN
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.tools.functions import for_model, spec_with, untraced
from tooltrace.tools.options import ToolOptions
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.schema import REQUIRED, ParameterField, Parameters, type_named
from tooltrace.tools.tool_class import unrecorded


def is_run_tool(tool: Any) -> bool:
    """Whether ``tool`` is an object with a name, a description and ``run(parameters)``."""
    if isinstance(tool, type) or not _accepts_one(getattr(tool, "run", None)):
        return False
    return isinstance(getattr(tool, "name", None), str) and isinstance(getattr(tool, "description", None), str)


def _accepts_one(run: Any) -> bool:
    """Whether ``run`` can be called with one argument."""
    if not callable(run):
        return False
    try:
        inspect.signature(run).bind({})
    except (TypeError, ValueError):
        return False
    return True


def from_run_tool(tool: Any, options: ToolOptions) -> RegisteredTool:
    """Register ``tool`` with the parameters that ``get_parameters()`` declares; without it, any are allowed."""
    version = getattr(tool, "version", None)
    run, traced = untraced(unrecorded(tool.run))
    base = ToolSpec(name=tool.name, description=tool.description, version=version if isinstance(version, str) else None)
    if traced is not None:
        base = replace(traced, name=base.name, description=base.description, version=base.version or traced.version)
    parameters = _parameters(tool).without(options.hidden)
    return RegisteredTool(
        spec=spec_with(base, options),
        options=options,
        description=options.description or tool.description,
        parameters=parameters,
        from_model=for_model(parameters, options, tool.name),
        invoke=run,
        asynchronous=inspect.iscoroutinefunction(run),
    )


def expanded(tool: Any) -> list[Any]:
    """Return the tools that ``tool`` expands to; itself if there are none."""
    return (tool.get_expanded_tools() if getattr(tool, "expandable", False) else None) or [tool]


def with_output(response: ToolResponse, result: Any) -> ToolResponse:
    """Return the response to what a function returned, in HelloAgents' form, if no rule reads ``result``."""
    if response.meta.rule not in (PLAIN, NONE):
        return response
    try:
        text = str(result)
    except Exception:  # raised by the result's own code
        text = response.text
    return response.model_copy(update={"text": text, "data": {"output": response.payload}})


def arguments(tool: RegisteredTool | None, sent: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Return the arguments in ``sent``, a mapping or a text that need not be JSON.

    A text that is not an object of the tool's parameters is its first parameter; ``input`` if it declares none.
    """
    if not isinstance(sent, str) or tool is None:
        return sent
    names = tool.from_model.names
    try:
        members = json.loads(sent)
    except (ValueError, RecursionError):
        members = None
    if isinstance(members, dict) and (not names or set(members) <= set(names)):
        return members
    return {names[0] if names else "input": sent}


def _parameters(tool: Any) -> Parameters:
    declared = getattr(tool, "get_parameters", None)
    if not callable(declared):
        return Parameters((), extra=True, title=tool.name)
    try:
        fields = [_parameter(each) for each in declared()]
    except Exception as error:
        raise ConfigError(f"get_parameters() of the tool {tool.name!r} cannot be read: {error!r}") from error
    return Parameters(fields, title=tool.name)


def _parameter(declared: Any) -> ParameterField:
    """Return a parameter as the object declares it.

    The default None of an optional parameter means that it was left out.
    """
    if not isinstance(declared, Mapping):
        declared = {key: getattr(declared, key, None) for key in ("name", "type", "description", "required", "default")}
    kind = type_named(declared.get("type")) or Any
    required = declared.get("required")
    default = declared.get("default")
    optional = default is not None or required is False
    return ParameterField(
        name=declared["name"],
        annotation=Optional[kind] if optional and default is None else kind,  # noqa: UP045 - Any too
        default=default if optional else REQUIRED,
        description=declared.get("description") or None,
    )

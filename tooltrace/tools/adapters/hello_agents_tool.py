"""Adapter for tool objects with ``name``, ``description`` and ``run(parameters)``, as in HelloAgents."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

from tooltrace.errors import ConfigError
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.tools.functions import for_model, spec_with, untraced
from tooltrace.tools.options import ToolOptions
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.schema import REQUIRED, Parameter, Parameters, type_named


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
    run, traced = untraced(tool.run)
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


def _parameters(tool: Any) -> Parameters:
    declared = getattr(tool, "get_parameters", None)
    if not callable(declared):
        return Parameters((), extra=True, title=tool.name)
    try:
        fields = [_parameter(each) for each in declared()]
    except Exception as error:
        raise ConfigError(f"get_parameters() of the tool {tool.name!r} cannot be read: {error!r}") from error
    return Parameters(fields, title=tool.name)


def _parameter(declared: Any) -> Parameter:
    """Return a parameter as the object declares it.

    The default None of an optional parameter means that it was left out.
    """
    if not isinstance(declared, Mapping):
        declared = {key: getattr(declared, key, None) for key in ("name", "type", "description", "required", "default")}
    kind = type_named(declared.get("type")) or Any
    required = declared.get("required")
    default = declared.get("default")
    optional = default is not None or required is False
    return Parameter(
        name=declared["name"],
        annotation=Optional[kind] if optional and default is None else kind,  # noqa: UP045 - Any too
        default=default if optional else REQUIRED,
        description=declared.get("description") or None,
    )

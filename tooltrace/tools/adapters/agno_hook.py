"""Adapter for hooks with Agno's parameters, such as ``(function_name, function_call, arguments)``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.normalize import normalize
from tooltrace.tools.hooks import AnyHook, Proceed, ToolInvocation, is_async

_PARAMETERS = {
    "name": "name",
    "function_name": "name",
    "function": "function",
    "func": "function",
    "function_call": "function",
    "args": "arguments",
    "arguments": "arguments",
}
"""The parameters that Agno fills in by their names, with what they get; it leaves out the others."""


def adapted(hook: Callable[..., Any]) -> AnyHook:
    """Return ``hook`` as a hook of the registry. Raises ConfigError for parameters that only Agno can fill in.

    ``function(**arguments)`` runs the tool with these arguments and returns its text; the hook returns what the model
    gets. The tool's own response is kept where the hook returns that text.
    """
    names = _names(hook)

    def values(call: ToolInvocation, function: Callable[..., Any]) -> dict[str, Any]:
        known = {"name": call.tool, "function": function, "arguments": call.arguments}
        return {name: known[_PARAMETERS[name]] for name in names}

    if is_async(hook):

        @functools.wraps(hook)
        async def arun(call: ToolInvocation, proceed: Callable[[], Any]) -> ToolResponse:
            found: list[ToolResponse] = []

            async def function(**arguments: Any) -> Any:
                _replace(call, arguments)
                found.append(await proceed())
                return _value(found[-1])

            return _response(await hook(**values(call, function)), found)

        return arun

    @functools.wraps(hook)
    def run(call: ToolInvocation, proceed: Proceed) -> ToolResponse:
        found: list[ToolResponse] = []

        def function(**arguments: Any) -> Any:
            _replace(call, arguments)
            found.append(proceed())
            return _value(found[-1])

        return _response(hook(**values(call, function)), found)

    return run


def _names(hook: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(hook).parameters.values()
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the parameters of the hook {hook!r} cannot be read") from error
    needed = [each for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if unknown := [each.name for each in needed if each.name not in _PARAMETERS and each.default is each.empty]:
        raise ConfigError(
            f"a hook with Agno's parameters cannot have {', '.join(unknown)}: use {', '.join(_PARAMETERS)}"
        )
    return [each.name for each in needed if each.name in _PARAMETERS]


def _replace(call: ToolInvocation, arguments: dict[str, Any]) -> None:
    """Make ``arguments`` those of the call; the hook may also have changed the dict of the call itself."""
    given = dict(arguments)
    call.arguments.clear()
    call.arguments.update(given)


def _value(response: ToolResponse) -> Any:
    return response if response.status != "success" else response.text or response.payload


def _response(value: Any, found: list[ToolResponse]) -> ToolResponse:
    """Return the tool's own response where the hook passed it on, else what it returned."""
    for response in found:
        if value is response or value is _value(response):
            return response
    return normalize(value)

"""Tools of a registry as the loops of HelloAgents' agents look them up and call them."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.recording import context
from tooltrace.tools.adapters.hello_agents_stack import UNKNOWN_CALLER, CallerInfo, caller
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.tool_class import ToolParameter

_PACKAGE = "hello_agents"
_LOOP = "_execute_tool_call"
"""The method of the package's agents between their loop and a tool."""


class RegistryTool:
    """A tool that runs through its registry, which validates, records and limits the call.

    In a loop of the package, the call has the model's id, the agent and the session, and the response is the package's own.
    """

    expandable = False

    def __init__(
        self,
        tool: RegisteredTool,
        execute: Callable[..., ToolResponse],
        aexecute: Callable[..., Awaitable[ToolResponse]],
    ) -> None:
        self.name = tool.name
        self.description = tool.description or ""
        self._tool = tool
        self._execute = execute
        self._aexecute = aexecute

    def get_parameters(self) -> list[ToolParameter]:
        """Return the parameters that the model provides."""
        schema = self._tool.from_model.schema()
        required = schema.get("required", ())
        return [
            ToolParameter(
                name=name,
                type=_type_of(part),
                description=part.get("description", ""),
                required=name in required,
                default=part.get("default"),
            )
            for name, part in schema["properties"].items()
        ]

    def run(self, parameters: Mapping[str, Any]) -> ToolResponse:
        """Run one call through the registry."""
        return self._execute(self.name, parameters)

    def run_with_timing(self, parameters: Mapping[str, Any]) -> Any:
        """Run one call for a loop of the package."""
        who = self._caller()
        with _context_of(who):
            return _package_response(self._execute(self.name, parameters, call_id=who.call_id))

    async def arun_with_timing(self, parameters: Mapping[str, Any]) -> Any:
        """Run one call for an asynchronous loop of the package."""
        who = self._caller()
        with _context_of(who):
            return _package_response(await self._aexecute(self.name, parameters, call_id=who.call_id))

    def _caller(self) -> CallerInfo:
        agents = sys.modules.get(f"{_PACKAGE}.core.agent")
        return UNKNOWN_CALLER if agents is None else caller(_LOOP, self.name, agents.Agent, self)


def _context_of(who: CallerInfo) -> AbstractContextManager[None]:
    conversation = context.current.get().conversation_id or who.session
    return context.context(agent=who.agent, conversation_id=conversation)


def _package_response(response: ToolResponse) -> Any:
    """Return the package's own response: its statuses do not equal their texts."""
    package = sys.modules.get(f"{_PACKAGE}.tools.response")
    return response if package is None else package.ToolResponse.from_dict(response.to_dict())


def _type_of(schema: Mapping[str, Any]) -> str:
    kinds = [schema, *schema.get("anyOf", ())]
    return next((kind["type"] for kind in kinds if kind.get("type") not in (None, "null")), "string")

"""``ToolRegistry``: the tools that a model may call."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import Any, TypeVar, Unpack, overload

from tooltrace.core.keywords import UNSET, named_options
from tooltrace.core.paused_call import PausedCall
from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError, near
from tooltrace.recording.circuit_breaker import CircuitBreaker
from tooltrace.tools import execution, human_review, injection, model_schemas, options, toolkits
from tooltrace.tools.adapters import agno_function, agno_hook, hello_agents_tool
from tooltrace.tools.adapters.hello_agents_loop import RegistryTool
from tooltrace.tools.cache import Cache
from tooltrace.tools.functions import from_function
from tooltrace.tools.hooks import AnyHook
from tooltrace.tools.options import OptionWords, ToolOptions
from tooltrace.tools.registered_tool import Adapt, CallLimiter, RegisteredTool
from tooltrace.tools.state import RegistryState

T = TypeVar("T")

logger = logging.getLogger("tooltrace")


class ToolRegistry:
    """Functions, toolkits and tool objects, offered to a model and run for it.

    Every call gets a ToolResponse and is recorded once: also a call of an unknown tool, with invalid arguments, over
    the limit, or answered from the cache. Thread-safe.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        call_limit: int | None = None,
        tool_call_limit: int | None = None,
        inject: injection.Provided | None = None,
        hooks: Iterable[AnyHook] = (),
        tool_hooks: Iterable[Callable[..., Any]] = (),
        cache_size: int = 1000,
        breaker: bool = True,
        review: bool = True,
    ) -> None:
        """Register ``tools``, which are what ``register`` accepts.

        ``call_limit``: maximum number of calls that are run, of all tools together, until ``reset``; ``tool_call_limit`` is
        Agno's name for it. ``inject``: map from a parameter's name or class to its value, or to a function that makes it
        for each call. ``hooks``: what ``add_hook`` accepts. ``tool_hooks``: hooks with Agno's parameters, such as
        ``(function_name, function_call, arguments)``, inside of ``hooks``. ``cache_size``: maximum number of cached
        responses of tools with ``cache``. ``breaker``: whether a CircuitBreaker refuses the calls of a tool that fails
        repeatedly; one among ``hooks`` replaces it. ``review``: whether a result for which the tool stated the next action
        ``human_review`` waits for a person: the response has ``paused``, and ``resume`` returns the result.
        """
        self._state = RegistryState(
            limits=CallLimiter(_one_limit(call_limit, tool_call_limit)),
            cache=Cache(cache_size),
            provided=injection.check(inject or {}),
            review=review,
        )
        self._lock = RLock()
        if not isinstance(tools, Iterable):
            raise ConfigError(f"tools must be a list of tools, got {tools!r}: pass [{tools!r}]")
        for tool in tools:
            self.register(tool)
        self._own_breaker = CircuitBreaker() if breaker else None
        if self._own_breaker is not None:
            self._state.hooks = (self._own_breaker,)
        for hook in (*hooks, *map(agno_hook.adapted, tool_hooks)):
            self.add_hook(hook)

    @overload
    def register(self, tool: T, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> T: ...
    @overload
    def register(self, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> Callable[[T], T]: ...
    @named_options(OptionWords)
    def register(self, tool: Any = UNSET, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> Any:
        """Register a tool, or all tools of a toolkit, and return the argument; also a decorator, bare or with options.

        Accepts a function, method, partial or callable object; an object with ``name``, ``description`` and
        ``run(parameters)``; an object, class or module whose methods are tools: those that its ``tools`` or ``__all__``
        lists, else those marked by ``tool``, else the public ones. A dict is the definition of a tool that the model's
        provider runs: ``schemas`` returns it unchanged, and ``execute`` returns an error. Options are the fields of
        ToolOptions. ``replace`` allows replacing a tool of the same name. Raises ConfigError, and then registers nothing.
        """
        if tool is UNSET:
            return lambda later: self.register(later, replace=replace, **words)
        self._add_tools([self._registered(each, words) for each in _tools_of(tool, words)], replace=replace)
        return tool

    @property
    def names(self) -> list[str]:
        """The names under which the model may call the tools, in the order of registration."""
        return list(self._state.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._state.tools

    def __len__(self) -> int:
        return len(self._state.tools)

    def schemas(self, style: model_schemas.Style = "openai") -> list[dict[str, Any]]:
        """Return the tools in the format of a model API.

        ``openai`` is Chat Completions, ``anthropic`` is Messages, ``plain`` is name, description, parameters.
        """
        return [model_schemas.schema(tool, style) for tool in list(self._state.tools.values())]

    def execute(
        self, name: str, arguments: str | Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolResponse:
        """Run one call. ``arguments`` are the model's JSON text or a mapping; ``call_id`` is the model's id.

        Returns a ToolResponse and records the call in every case. An exception of the tool becomes an error in the
        response; KeyboardInterrupt, SystemExit and CancelledError are raised. A coroutine runs in a new event loop.
        Raises ConfigError if a hook is a coroutine function.
        """
        return execution.execute(self._state, name, arguments, call_id)

    async def aexecute(
        self, name: str, arguments: str | Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolResponse:
        """Run one call as :meth:`execute` does, in an event loop.

        A tool that is not a coroutine function runs in a thread, with the caller's context variables.
        """
        return await execution.aexecute(self._state, name, arguments, call_id)

    def register_tool(self, tool: Any, auto_expand: bool = True) -> None:
        """Register a tool object as HelloAgents does: a tool of the same name is replaced.

        The tool answers a missing parameter itself; what it raises then becomes our message.
        ``auto_expand``: register the tools of ``get_expanded_tools`` where the object is ``expandable``.
        """
        for each in hello_agents_tool.expanded(tool) if auto_expand else [tool]:
            self._replace(each, {}, checks_itself=hello_agents_tool.is_run_tool(each))

    def register_function(
        self, func: Callable[..., Any] | str, name: str | None = None, description: Any = None
    ) -> None:
        """Register a function as HelloAgents does, also as ``register_function(name, description, func)``.

        A tool of the same name is replaced. What the function returns is ``data["output"]`` of the response, and its
        text, unless it is a result that a rule reads.
        """
        if isinstance(func, str):
            self._replace(description, {"name": func, "description": name}, hello_agents_tool.with_output)
        else:
            self._replace(func, {"name": name, "description": description}, hello_agents_tool.with_output)

    def execute_tool(
        self, name: str, input_text: str | Mapping[str, Any], *, call_id: str | None = None
    ) -> ToolResponse:
        """Run one call as :meth:`execute` does, with HelloAgents' input.

        ``input_text``: the arguments as a mapping or its JSON; any other text is the first argument.
        """
        return self.execute(name, hello_agents_tool.arguments(self._state.tools.get(name), input_text), call_id=call_id)

    def list_tools(self) -> list[str]:
        """Return the names of the tools, as HelloAgents does."""
        return self.names

    def get_tool(self, name: str) -> RegistryTool | None:
        """Return the tool ``name`` for an agent of HelloAgents, which runs it through this registry; None if there is none."""
        tool = self._state.tools.get(name)
        return None if tool is None or tool.definition is not None else self._for_agents(tool)

    def get_all_tools(self) -> list[RegistryTool]:
        """Return all tools as :meth:`get_tool` does."""
        return [self._for_agents(tool) for tool in self._state.tools.values() if tool.definition is None]

    def get_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function that was registered under ``name``; None if there is none, or it is another kind of tool."""
        tool = self._state.tools.get(name)
        return tool.original if tool is not None and callable(tool.original) else None

    def unregister_tool(self, name: str) -> None:
        """Remove the tool ``name``. Raises ConfigError if there is none."""
        with self._lock:
            if name not in self._state.tools:
                raise ConfigError(f"no tool named {name!r} is registered{near(name, self.names)}")
            self._state.tools = {key: tool for key, tool in self._state.tools.items() if key != name}

    def resume(
        self,
        paused: PausedCall | ToolResponse | Mapping[str, Any] | str,
        *,
        approve: bool | None = None,
        decline: bool | str | None = None,
        inputs: Mapping[str, Any] | None = None,
        result: Any = UNSET,
        answered_by: str | None = None,
        note: str | None = None,
    ) -> ToolResponse:
        """Resume a call that waits for a person; also in another process that has the same tools.

        ``paused``: the response of ``execute``, its ``paused``, or that as JSON. ``approve``: True, with ``inputs`` if
        arguments are to be changed. ``decline``: True or the reason. ``inputs``: the arguments that the call waits for.
        ``result``: the result of an execution elsewhere, or a corrected one in place of a result that waits for review. ``answered_by``: name of the person. ``note``: the comment of the person.

        The gate is recorded with the person, the time and the changes; the waiting time does not count as the tool's
        time, and a decline is not a failure. Raises ReviewError if the decision does not fit the call, or this registry
        already accepted a decision on it: nothing is run then, and the call keeps waiting. Two processes that hold the
        same call can both run it: the application has to make sure that only one does.
        """
        answer = human_review.answer_of(
            approve=approve, decline=decline, inputs=inputs, result=result, by=answered_by, note=note
        )
        return execution.resume(self._state, *human_review.load_paused(paused, answer))

    async def aresume(
        self,
        paused: PausedCall | ToolResponse | Mapping[str, Any] | str,
        *,
        approve: bool | None = None,
        decline: bool | str | None = None,
        inputs: Mapping[str, Any] | None = None,
        result: Any = UNSET,
        answered_by: str | None = None,
        note: str | None = None,
    ) -> ToolResponse:
        """Resume a call as :meth:`resume` does, in an event loop."""
        answer = human_review.answer_of(
            approve=approve, decline=decline, inputs=inputs, result=result, by=answered_by, note=note
        )
        return await execution.aresume(self._state, *human_review.load_paused(paused, answer))

    def add_hook(self, hook: AnyHook) -> None:
        """Put ``hook(call, proceed)`` around every call that is run, inside the hooks added before.

        The hook gets a ToolInvocation and ``proceed``, which returns the tool's ToolResponse. It may change
        ``call.arguments``, respond without proceeding, or change the response. A coroutine function works only with
        ``aexecute``, and awaits ``proceed()``. If a hook raises, the response is INTERNAL_ERROR. A CircuitBreaker is put
        inside all other hooks, so that their refusals are not failures of the tool, and replaces the registry's own.
        """
        if not callable(hook):
            raise ConfigError(f"a hook must accept (call, proceed), got {hook!r}")
        with self._lock:
            hooks = [*self._state.hooks, hook]
            if isinstance(hook, CircuitBreaker) and self._own_breaker in hooks:
                hooks.remove(self._own_breaker)
            self._state.hooks = tuple(sorted(hooks, key=lambda each: isinstance(each, CircuitBreaker)))

    def reset(self) -> None:
        """Set the call counts back to zero."""
        self._state.limits.reset()

    def clear_cache(self) -> None:
        """Remove all cached responses."""
        self._state.cache.clear()

    def _for_agents(self, tool: RegisteredTool) -> RegistryTool:
        return RegistryTool(tool, self.execute, self.aexecute)

    def _registered(self, tool: Any, words: OptionWords) -> RegisteredTool:
        return dataclasses.replace(self._adapted(tool, words), original=tool)

    def _adapted(self, tool: Any, words: OptionWords) -> RegisteredTool:
        if isinstance(tool, dict):
            return model_schemas.from_definition(tool, words)
        if hello_agents_tool.is_run_tool(tool):
            return hello_agents_tool.from_run_tool(tool, options.settle(ToolOptions(), words))
        if agno_function.is_agno_function(tool):
            its = agno_function.options_of(tool)
            return from_function(tool.entrypoint, options.settle(its, words), self._state.provided)
        beforehand = options.marked(tool) or agno_function.approval_of(tool)
        return from_function(tool, options.settle(beforehand, words), self._state.provided)

    def _replace(
        self, tool: Any, words: OptionWords, adapt: Adapt | None = None, *, checks_itself: bool = False
    ) -> None:
        """Register what ``register`` accepts, in place of a tool of the same name, with a warning."""
        for each in _tools_of(tool, words):
            new = dataclasses.replace(self._registered(each, words), adapt=adapt, checks_itself=checks_itself)
            if new.name in self:
                logger.warning("the tool %r was registered before: it is replaced", new.name)
            self._add_tools([new], replace=True)

    def _add_tools(self, new: list[RegisteredTool], *, replace: bool) -> None:
        with self._lock:
            # Copy and replace: running calls read the dict without the lock, and an error registers nothing.
            tools = dict(self._state.tools)
            for tool in new:
                _check_name(tool.name)
                if tool.name in tools and not replace:
                    raise ConfigError(
                        f"a tool named {tool.name!r} is already registered: pass another name, or replace=True"
                    )
                tools[tool.name] = tool
            self._state.tools = tools


def _one_limit(call_limit: int | None, tool_call_limit: int | None) -> int | None:
    if call_limit is not None and tool_call_limit is not None:
        raise ConfigError("call_limit and tool_call_limit are the same: pass one of them")
    return tool_call_limit if call_limit is None else call_limit


def _tools_of(tool: Any, words: OptionWords) -> list[Any]:
    found = list(toolkits.tools_of(tool))
    if words.get("name") is not None and len(found) > 1:
        raise ConfigError(
            f"name={words['name']!r} applies to one tool, but {tool!r} has {len(found)}: name them with tt.tool"
        )
    return found


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"the name of a tool must be a non-empty text, got {name!r}")

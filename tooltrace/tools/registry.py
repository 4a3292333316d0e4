"""``ToolRegistry``: the tools that a model may call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from threading import RLock
from typing import Any, TypeVar, Unpack, overload

from tooltrace.core.response import PausedCall, ToolResponse
from tooltrace.errors import ConfigError
from tooltrace.tools import execution, human_review, injection, model_schemas, options, toolkits
from tooltrace.tools.adapters import agno_function, hello_agents_tool
from tooltrace.tools.cache import Cache
from tooltrace.tools.functions import from_function
from tooltrace.tools.hooks import AnyHook
from tooltrace.tools.options import OptionWords, ToolOptions
from tooltrace.tools.registered_tool import CallLimiter, RegisteredTool
from tooltrace.tools.state import RegistryState

T = TypeVar("T")

_LATER: Any = object()


class ToolRegistry:
    """Functions, toolkits and tool objects, offered to a model and run for it.

    Every call is answered with a ToolResponse and recorded once: also one of an unknown tool, with wrong arguments,
    over the limit, or answered from the cache. May be used from many threads.
    """

    def __init__(
        self,
        tools: Iterable[Any] = (),
        *,
        call_limit: int | None = None,
        inject: injection.Provided | None = None,
        hooks: Iterable[AnyHook] = (),
        cache_size: int = 1000,
    ) -> None:
        """``tools``: what ``register`` takes. ``call_limit``: how many calls are run, of all tools together, until
        ``reset``. ``inject``: a parameter's name or class, to its value, or to a function that makes it for each call.
        ``hooks``: what ``add_hook`` takes. ``cache_size``: how many answers are kept for tools with ``cache``.
        """
        self._state = RegistryState(
            limits=CallLimiter(call_limit), cache=Cache(cache_size), provided=injection.check(inject or {})
        )
        self._lock = RLock()
        for tool in tools:
            self.register(tool)
        for hook in hooks:
            self.add_hook(hook)

    @overload
    def register(self, tool: T, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> T: ...
    @overload
    def register(self, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> Callable[[T], T]: ...
    def register(self, tool: Any = _LATER, /, *, replace: bool = False, **words: Unpack[OptionWords]) -> Any:
        """Take a tool, or all tools of a toolkit; as a decorator too, bare or with options. Returns what it was given.

        A function, method, partial or callable object; an object with ``name``, ``description`` and
        ``run(parameters)``; an object, class or module whose methods are tools: those that its ``tools`` or
        ``__all__`` lists, else those marked by ``tool``, else the public ones. Options are the fields of ToolOptions.
        ``replace``: a tool of the same name makes room. Raises ConfigError, and then takes nothing.
        """
        if tool is _LATER:
            return lambda later: self.register(later, replace=replace, **words)
        self._take([self._registered(each, words) for each in _tools_of(tool, words)], replace=replace)
        return tool

    @property
    def names(self) -> list[str]:
        """The names that the model may call, in the order of their registration."""
        return list(self._state.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._state.tools

    def __len__(self) -> int:
        return len(self._state.tools)

    def schemas(self, style: model_schemas.Style = "openai") -> list[dict[str, Any]]:
        """The tools in the form that a model's API takes: ``openai`` (Chat Completions), ``anthropic`` (Messages) or
        ``plain`` (name, description, parameters)."""
        return [model_schemas.schema(tool, style) for tool in list(self._state.tools.values())]

    def execute(
        self, name: str, arguments: str | Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolResponse:
        """Run one call: ``arguments`` are the model's JSON text, or a mapping; ``call_id`` is the model's id.

        Always a ToolResponse, always recorded. What the tool raises is an error in the response; KeyboardInterrupt,
        SystemExit and CancelledError go through. A coroutine is run in a loop of its own. Raises ConfigError where a
        hook is a coroutine.
        """
        return execution.execute(self._state, name, arguments, call_id)

    async def aexecute(
        self, name: str, arguments: str | Mapping[str, Any] | None = None, *, call_id: str | None = None
    ) -> ToolResponse:
        """As :meth:`execute`, in an event loop. A tool that is no coroutine runs in a thread, with the caller's
        context variables."""
        return await execution.aexecute(self._state, name, arguments, call_id)

    def resume(
        self,
        paused: PausedCall | ToolResponse | Mapping[str, Any] | str,
        *,
        approve: bool | None = None,
        decline: bool | str | None = None,
        inputs: Mapping[str, Any] | None = None,
        result: Any = human_review.UNGIVEN,
        by: str | None = None,
        note: str | None = None,
    ) -> ToolResponse:
        """Go on with a call that waits for a person; in another process too, with the same tools.

        ``paused``: the response that ``execute`` gave, its ``paused``, or that as JSON. ``approve=True``, with ``inputs``
        where arguments are to be changed; ``decline``, True or the reason; ``inputs``: the arguments that the call waits
        for; ``result``: what an execution elsewhere gave. ``by``: who decided. ``note``: what they said.

        The gate is on record with who, when and what was changed; the wait is not the tool's time, a decline is no
        failure. Raises ReviewError where the answer does not fit the call, or this registry took an answer to it already:
        nothing is done then, and the call waits on. Two processes that hold the same call can both run it: whoever
        hands it out sees to it that one does.
        """
        answer = human_review.answer_of(
            approve=approve, decline=decline, inputs=inputs, result=result, by=by, note=note
        )
        return execution.resume(self._state, *human_review.load_paused(paused, answer))

    async def aresume(
        self,
        paused: PausedCall | ToolResponse | Mapping[str, Any] | str,
        *,
        approve: bool | None = None,
        decline: bool | str | None = None,
        inputs: Mapping[str, Any] | None = None,
        result: Any = human_review.UNGIVEN,
        by: str | None = None,
        note: str | None = None,
    ) -> ToolResponse:
        """As :meth:`resume`, in an event loop."""
        answer = human_review.answer_of(
            approve=approve, decline=decline, inputs=inputs, result=result, by=by, note=note
        )
        return await execution.aresume(self._state, *human_review.load_paused(paused, answer))

    def add_hook(self, hook: AnyHook) -> None:
        """Put ``hook(call, proceed)`` around every call that is run, inside the hooks before it.

        It gets a ToolInvocation, and the way on: ``proceed()`` returns the tool's ToolResponse. It may change
        ``call.arguments``, answer without proceeding, or change the answer. A coroutine serves ``aexecute`` only, and
        awaits ``proceed()``. Where a hook raises, the answer is INTERNAL_ERROR.
        """
        if not callable(hook):
            raise ConfigError(f"a hook is called with (call, proceed), which {hook!r} cannot be")
        with self._lock:
            self._state.hooks = (*self._state.hooks, hook)

    def reset(self) -> None:
        """Begin to count the calls anew."""
        self._state.limits.reset()

    def clear_cache(self) -> None:
        """Forget the answers that are kept."""
        self._state.cache.clear()

    def _registered(self, tool: Any, words: OptionWords) -> RegisteredTool:
        if hello_agents_tool.is_run_tool(tool):
            return hello_agents_tool.from_run_tool(tool, options.settle(ToolOptions(), words))
        if agno_function.is_agno_function(tool):
            its = agno_function.options_of(tool)
            return from_function(tool.entrypoint, options.settle(its, words), self._state.provided)
        beforehand = options.marked(tool) or ToolOptions()
        return from_function(tool, options.settle(beforehand, words), self._state.provided)

    def _take(self, new: list[RegisteredTool], *, replace: bool) -> None:
        with self._lock:
            tools = dict(self._state.tools)
            for tool in new:
                _check_name(tool.name)
                if tool.name in tools and not replace:
                    raise ConfigError(f"a tool {tool.name!r} is registered already; give another name, or replace=True")
                tools[tool.name] = tool
            self._state.tools = tools


def _tools_of(tool: Any, words: OptionWords) -> list[Any]:
    found = list(toolkits.tools_of(tool))
    if words.get("name") is not None and len(found) > 1:
        raise ConfigError(
            f"name={words['name']!r} is for one tool, and {tool!r} holds {len(found)}; name them with tt.tool"
        )
    return found


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.strip():
        raise ConfigError(f"a tool needs a name that a model can call, got {name!r}")

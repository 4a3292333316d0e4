"""The decorator ``trace_tool``, which records every call of a function without changing its behaviour.

The kind of callable, its signature and its name are determined at decoration, to keep a call cheap. Each kind has its
own wrapper below.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import AsyncGeneratorType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any, Final, ParamSpec, TypeVar, overload

from tooltrace.errors import ConfigError
from tooltrace.normalize import Failed, Rule
from tooltrace.otel.sdk_internals import detach
from tooltrace.recording import config, generators, injected_parameters
from tooltrace.recording.cancellation import watch_deadlines
from tooltrace.recording.circuit_breaker import CircuitBreaker
from tooltrace.recording.config import get_recorder
from tooltrace.recording.generators import NullStreamRecorder, StreamRecorder
from tooltrace.recording.lazy_results import FOLLOWED_ITERATORS, follow_iterator
from tooltrace.recording.recorder import activate
from tooltrace.recording.retryable import Retryable
from tooltrace.recording.tool_spec import (
    Capture,
    ReadConfidence,
    ReadSources,
    ToolSettings,
    ToolSpec,
    checked_inject,
    describe,
    named_spec,
    parameters_of,
    positional_parameters,
)
from tooltrace.redact.inspection import bases, module_of, name_of
from tooltrace.redact.redaction import Redact, Redaction

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@overload
def trace_tool(tool: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def trace_tool(tool: classmethod[T, P, R], /) -> classmethod[T, P, R]: ...
@overload
def trace_tool(tool: staticmethod[P, R], /) -> staticmethod[P, R]: ...
@overload
def trace_tool(
    *,
    name: str | None = None,
    version: str | None = None,
    description: str | None = None,
    tool_type: str = "function",
    capture: Capture | None = None,
    redact: Redaction | Redact | Iterable[str] | None = None,
    confidence: ReadConfidence | None = None,
    sources: ReadSources | None = None,
    retryable: Retryable = (),
    rules: Iterable[Rule] | None = None,
    reads: Failed | None = None,
    inject: str | Iterable[str] = (),
    breaker: CircuitBreaker | None = None,
) -> _Decorator: ...
def trace_tool(
    tool: Any = None,
    /,
    *,
    name: str | None = None,
    version: str | None = None,
    description: str | None = None,
    tool_type: str = "function",
    capture: Capture | None = None,
    redact: Redaction | Redact | Iterable[str] | None = None,
    confidence: ReadConfidence | None = None,
    sources: ReadSources | None = None,
    retryable: Retryable = (),
    rules: Iterable[Rule] | None = None,
    reads: Failed | None = None,
    inject: str | Iterable[str] = (),
    breaker: CircuitBreaker | None = None,
) -> Any:
    """Record every call of ``tool``. Used bare (``@trace_tool``) or with options (``@trace_tool(name=...)``).

    Works on functions, coroutines, generators, async generators, methods, class and static methods, callable
    objects and partials, above or below other decorators. The decorated tool returns the same object and raises
    the same exception as before. Raises ConfigError for a class, for an object that is not callable, for a
    framework's tool object, and for an unusable option.

    ``name``: name of the tool; default: the function's name.
    ``version``: version of the tool.
    ``description``: description of the tool; default: the first paragraph of the docstring.
    ``tool_type``: ``function``, ``extension`` or ``datastore``.
    ``capture``: ``"metadata"`` records neither arguments nor results.
    ``redact``: a Redaction, a callable ``(field, value) -> value`` or key names, applied after the configured
    redaction.
    ``confidence``, ``sources``: fixed values, or functions that read them from a result; used where the result carries
    none.
    ``retryable``: exception classes after which the same call may succeed, or functions that say so of the exception or of
    the ToolResponse with an error: True, False, or None for no opinion. What ``stamina.retry(on=…)`` accepts is accepted.
    ``rules``: the rules that read this tool's results, see :func:`tooltrace.normalize`.
    ``reads``: a function of a result that returns True or a message if the call failed, False if it worked, and None if the
    rules should read it: the rule of :func:`tooltrace.rule` for this tool alone.
    ``inject``: names of parameters that the application fills in instead of the model; they are not recorded. Run
    contexts of agent frameworks are recognised without it.
    ``breaker``: refuses calls after several failures in a row: the decorated tool then raises CircuitOpen.
    """
    options = ToolSettings(
        version=version,
        description=description,
        tool_type=tool_type,
        capture=capture,
        redact=redact,
        confidence=confidence,
        sources=sources,
        retryable=retryable,
        rules=rules,
        reads=reads,
        inject=inject,
    )
    decorator = _Decorator(name, options, _checked_breaker(breaker))
    return decorator if tool is None else decorator(tool)


def _checked_breaker(breaker: Any) -> CircuitBreaker | None:
    if breaker is not None and not isinstance(breaker, CircuitBreaker):
        raise ConfigError(f"breaker must be a CircuitBreaker, got {breaker!r}")
    return breaker


class _Decorator:
    """The decorator that ``trace_tool`` returns when it is called with options only."""

    def __init__(self, name: str | None, options: ToolSettings, breaker: CircuitBreaker | None) -> None:
        self._name = name
        self._breaker = breaker
        self._options = options

    @overload
    def __call__(self, tool: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(self, tool: classmethod[T, P, R], /) -> classmethod[T, P, R]: ...
    @overload
    def __call__(self, tool: staticmethod[P, R], /) -> staticmethod[P, R]: ...
    def __call__(self, tool: Any, /) -> Any:
        if isinstance(tool, classmethod | staticmethod):
            return type(tool)(self(tool.__func__))
        framework = framework_of(tool)
        if framework is not None:
            name = getattr(tool, "__name__", None) or getattr(tool, "name", None) or getattr(tool, "tool_name", None)
            raise ConfigError(
                f"trace_tool() got the tool {name!r} of {framework}, a {type(tool).__name__}, whose calls it cannot "
                f"record: put @trace_tool below the framework's decorator, directly above the function"
            )
        if isinstance(tool, type) or not callable(tool):
            raise ConfigError(
                f"trace_tool() needs a function or another callable, got {tool!r}; for a class, decorate its methods"
            )
        spec = spec_of(tool, self._name, self._options)
        # inside the recording, which records the refusals of the breaker
        run = tool if self._breaker is None else self._breaker.guard(tool, _code_of(tool), spec.name, spec.rules)
        return _wrap(run, spec)


def spec_of(tool: Callable[..., Any], name: str | None = None, options: ToolSettings | None = None) -> ToolSpec:
    """Return the spec of ``tool``, from its signature, its docstring and the options of ``trace_tool``."""
    code = _code_of(tool)
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise ConfigError(
            f"the name of a tool must be a text that is not empty, got {name!r}: leave it out for the function's"
        )
    name = _name_of(tool) if name is None else name
    parameters = parameters_of(tool)
    options = ToolSettings() if options is None else options
    inject = checked_inject(options.get("inject", ()), parameters, name)
    description = options.get("description")
    settings = options.copy()
    settings["description"] = describe(code) if description is None else description
    settings["inject"] = inject
    spec = named_spec(name, **settings)
    positional, skip, rest = positional_parameters(parameters)
    find = functools.partial(injected_parameters.find, parameters, getattr(inspect.unwrap(code), "__globals__", {}))
    # an annotation may use a name that the module defines later: the first call then searches again
    known = find()
    return replace(
        spec,
        parameters=positional,
        skip=skip,
        rest=rest,
        keywords=next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), None),
        injected=spec.injected | known.injected,
        call_id_parameter=known.call_id,
        find_injected=find if known.undecided else None,
    )


def _code_of(tool: Any) -> Any:
    """Return the function that holds the code: behind partials, or the ``__call__`` of a callable object."""
    while isinstance(tool, functools.partial):
        tool = tool.func
    return tool if inspect.isroutine(tool) else type(tool).__call__


def _name_of(tool: Any) -> str:
    while isinstance(tool, functools.partial):
        tool = tool.func
    return getattr(tool, "__name__", None) or type(tool).__name__


def _wrap(tool: Callable[..., Any], spec: ToolSpec) -> Callable[..., Any]:
    code = _code_of(tool)
    if inspect.iscoroutinefunction(code) or inspect.isasyncgenfunction(code):
        watch_deadlines()  # before the first call, which may be inside a deadline already
    if inspect.iscoroutinefunction(code):
        wrapper: Callable[..., Any] = _coroutine(tool, spec)
    elif inspect.isasyncgenfunction(code):
        wrapper = generators.async_generator_function(_stream(tool, spec))
    elif inspect.isgeneratorfunction(code):
        wrapper = generators.generator_function(_stream(tool, spec))
    else:
        wrapper = _function(tool, spec)
    functools.update_wrapper(wrapper, tool)
    if not isinstance(tool, FunctionType | MethodType):
        _copy_appearance(wrapper, tool)
    wrapper.__tooltrace__ = spec  # type: ignore[attr-defined]
    return wrapper


def _copy_appearance(wrapper: Any, tool: Any) -> None:
    """Copy the name and the public methods of a partial, a cache or another callable object."""
    wrapper.__name__ = name = _name_of(tool)
    wrapper.__qualname__ = getattr(tool, "__qualname__", name)
    for method in dir(type(tool)):
        if not method.startswith("_") and callable(getattr(type(tool), method)):
            setattr(wrapper, method, getattr(tool, method))


_FOLLOWED: Final = frozenset({*map(id, (CoroutineType, GeneratorType, AsyncGeneratorType)), *FOLLOWED_ITERATORS})
"""Classes of results that are followed to their end, by ``id()``: a lookup by the class runs the ``__hash__`` of its metaclass."""


def _function(tool: Callable[..., Any], spec: ToolSpec) -> Callable[..., Any]:
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recorder = config.active_recorder or get_recorder()
        attempt = recorder.begin(spec, spec.arguments(args, kwargs) if args else kwargs)
        if attempt is None:
            return tool(*args, **kwargs)
        token = activate(attempt)
        try:
            result = tool(*args, **kwargs)
        except BaseException as error:
            detach(token)
            recorder.raised(attempt, error)
            raise
        detach(token)
        # a decorator between trace_tool and the tool hides the kind of callable: the tool has not run yet
        if id(type(result)) in _FOLLOWED:
            return _follow(result, recorder, attempt)
        recorder.returned(attempt, result)
        return result

    return wrapper


def _coroutine(tool: Callable[..., Any], spec: ToolSpec) -> Callable[..., Any]:
    async def wrapper(*args: Any, **kwargs: Any) -> Any:
        recorder = config.active_recorder or get_recorder()
        attempt = recorder.begin(spec, spec.arguments(args, kwargs))
        if attempt is None:
            return await tool(*args, **kwargs)
        token = activate(attempt)
        try:
            result = await tool(*args, **kwargs)
        except BaseException as error:
            detach(token)
            recorder.raised(attempt, error)
            raise
        detach(token)
        if id(type(result)) in _FOLLOWED:  # what was awaited only made the stream: the tool has not run yet
            return _follow(result, recorder, attempt)
        recorder.returned(attempt, result)
        return result

    return wrapper


def _stream(tool: Callable[..., Any], spec: ToolSpec) -> Callable[..., tuple[Any, StreamRecorder]]:
    """Return a function that begins the attempt and opens the stream.

    The function runs when the consumer requests the first item.
    """

    def begin(*args: Any, **kwargs: Any) -> tuple[Any, StreamRecorder]:
        recorder = config.active_recorder or get_recorder()
        attempt = recorder.begin(spec, spec.arguments(args, kwargs))
        if attempt is None:
            return tool(*args, **kwargs), NullStreamRecorder()
        # the span is not current here: this call only makes the generator; its wrapper activates the span for each step
        try:
            return tool(*args, **kwargs), StreamRecorder(recorder, attempt)
        except BaseException as error:
            recorder.raised(attempt, error)
            raise

    return begin


def _follow(result: Any, recorder: Any, attempt: Any) -> Any:
    kind = type(result)
    if id(kind) in FOLLOWED_ITERATORS:
        return follow_iterator(result, StreamRecorder(recorder, attempt))
    hidden = generators.UnstartedAwaitable(result, recorder, attempt)
    if kind is CoroutineType:
        followed: Any = generators.coroutine(hidden)
    elif kind is GeneratorType:
        followed = generators.generator_function(hidden.open_stream)()
    else:
        followed = generators.async_generator_function(hidden.open_stream)()
    followed.__name__, followed.__qualname__ = result.__name__, result.__qualname__
    # not at exit: an object that exists then was not dropped by its consumer
    weakref.finalize(followed, hidden.abandoned).atexit = False
    return followed


TOOL_CLASSES: Final[Mapping[str, frozenset[str]]] = {
    "agent_framework": frozenset({"FunctionTool"}),
    "agents": frozenset({"FunctionTool"}),  # openai-agents
    "agno": frozenset({"Function"}),
    "autogen_core": frozenset({"BaseTool"}),
    "crewai": frozenset({"BaseTool"}),
    "fastmcp": frozenset({"Tool"}),
    "google.adk": frozenset({"BaseTool"}),
    "haystack": frozenset({"Tool"}),
    "langchain_core": frozenset({"BaseTool"}),
    "mcp.server": frozenset({"Tool"}),
    "pydantic_ai": frozenset({"Tool"}),
    "smolagents": frozenset({"Tool"}),
    "strands": frozenset({"AgentTool"}),
}
"""Classes of tool objects by package. A tool object that its agent accepts as a function too is not listed."""


def framework_of(tool: Any) -> str | None:
    """Return the package whose tool object ``tool`` is; None for a plain function."""
    for base in bases(type(tool)):
        module, name = module_of(base), name_of(base)
        for package, classes in TOOL_CLASSES.items():
            if name in classes and (module == package or module.startswith(package + ".")):
                return package
    return None

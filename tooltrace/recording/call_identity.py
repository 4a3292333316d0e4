"""The model's call id, the conversation, the agent and the model of a call, as far as a framework provides them.

A framework passes them to a tool in an injected argument, such as a run context, or as attributes of the span
that is current while the tool runs. No framework is imported: the class of an injected argument is recognised by its
module. The argument itself is not recorded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, Final, NamedTuple
from uuid import UUID

from opentelemetry.context.context import Context

from tooltrace.faults import pass_on_signal
from tooltrace.otel.attributes import MODEL_NAMES
from tooltrace.otel.sdk_internals import SPAN_KEY, attributes_of
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.context import BAGGAGE_KEY, CallContext, with_baggage
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.inspection import bases, module_of

Path = tuple[str, ...]
"""Attribute names, or keys of a mapping, from an injected argument to a value."""


class Paths(NamedTuple):
    """The paths to the four values in an injected argument; an empty path where the framework has no such value."""

    call_id: Path = ()
    conversation_id: Path = ()
    agent: Path = ()
    model: Path = ()
    """Path to the name of the model, or to an object that :func:`model_name` knows."""


class CallIdentity(NamedTuple):
    """The four values that a framework provides about a call; None where a value is unknown."""

    call_id: str | None = None
    conversation_id: str | None = None
    agent: str | None = None
    model: str | None = None


NO_IDENTITY: Final = CallIdentity()

_CONFIG = (("configurable", "thread_id"), ("metadata", "lc_agent_name"))
"""Paths to the conversation and the agent in a ``RunnableConfig``, which is a dict."""

PATHS: Final[Mapping[str, Paths]] = {
    "agent_framework": Paths(("metadata", "call_id"), ("session", "session_id")),
    "agents": Paths(
        ("tool_call_id",), ("run_config", "group_id"), ("agent", "name"), ("agent", "model")
    ),  # openai-agents
    "agno.agent": Paths(agent=("name",), model=("model",)),
    "agno.run": Paths((), ("session_id",)),
    "agno.team": Paths(agent=("name",), model=("model",)),
    "builtins": Paths((), *_CONFIG),
    "google.adk": Paths(
        ("function_call_id",), ("session", "id"), ("agent_name",), ("_invocation_context", "agent", "model")
    ),
    "langgraph": Paths(("tool_call_id",), *(("config", *path) for path in _CONFIG)),
    "pydantic_ai": Paths(("tool_call_id",), ("conversation_id",), ("agent", "name"), ("model",)),
    "strands.agent": Paths((), ("_session_manager", "session_id"), ("name",), ("model",)),
    "strands.types": Paths(
        ("tool_use", "toolUseId"), ("agent", "_session_manager", "session_id"), ("agent", "name"), ("agent", "model")
    ),
}
"""Paths by the package of an injected argument's class."""

_TOOL_NAMES: Final = ("gen_ai.tool.name", "tool.name", "traceloop.entity.name")
_CALL_IDS: Final = ("gen_ai.tool.call.id", "tool_call.id", "tool.call.id")
_CONVERSATIONS: Final = ("gen_ai.conversation.id", "session.id")
_AGENTS: Final = ("gen_ai.agent.name",)


def from_arguments(injected: Iterable[Any], call_id: Any = None) -> CallIdentity:
    """Return the identity that the ``injected`` arguments of a call contain. Never raises.

    ``call_id``: the argument that the framework marks as the call id, where the tool has one.
    """
    known: list[str | None] | None = None if call_id is None else [_text(call_id), None, None, None]
    for argument in injected:
        kind = type(argument)
        # by id: a lookup by the class itself would run the ``__hash__`` of its metaclass
        entry = _classes.get(id(kind)) or _find_readers(kind)
        for place, read in entry[1]:
            try:
                value = read(argument)
            except BaseException as error:  # a property of a framework or of a user's subclass may raise
                pass_on_signal(error)
                continue
            if value is None:
                continue
            if known is None:
                known = [None, None, None, None]
            if known[place] is None:
                known[place] = (value or None) if type(value) is str else _text(value)
    return NO_IDENTITY if known is None else CallIdentity(*known)


def from_span(span: Any, tool: str) -> CallIdentity:
    """Return the identity that the enclosing ``span`` of another library has for a call of ``tool``. Never raises.

    The call id counts only where the span shows a call of the same tool: a tool may call further tools.
    """
    try:
        attributes = attributes_of(span)
        if not attributes:
            return NO_IDENTITY
        same_tool = _first(attributes, _TOOL_NAMES) == tool
        return CallIdentity(
            _first(attributes, _CALL_IDS) if same_tool else None,
            _first(attributes, _CONVERSATIONS),
            _first(attributes, _AGENTS),
            _first(attributes, MODEL_NAMES),
        )
    except BaseException as error:  # a span class of the application
        pass_on_signal(error)
        return NO_IDENTITY


def complete(context: CallContext, identity: CallIdentity | CallContext) -> CallContext:
    """Return ``context`` with the conversation, the agent and the model of ``identity`` where it has none itself."""
    if identity is NO_IDENTITY:
        return context
    conversation_id, agent, model = context.conversation_id, context.agent, context.model
    if (
        (conversation_id is not None or identity.conversation_id is None)
        and (agent is not None or identity.agent is None)
        and (model is not None or identity.model is None)
    ):
        return context
    return CallContext(
        context.call,
        identity.conversation_id if conversation_id is None else conversation_id,
        identity.agent if agent is None else agent,
        identity.model if model is None else model,
        context.attributes,
    )


def model_name(model: Any) -> str | None:
    """Return the name of ``model``: a text, or an object of a framework that has it as text. Never raises."""
    if type(model) is str:
        return model or None
    try:
        for member in _MODEL_MEMBERS:
            found = getattr(model, member, None)
            if type(found) is str and found:
                return found
        config = getattr(model, "config", None)  # of strands
        return _text(config.get("model_id")) if type(config) is dict else None
    except BaseException as error:  # a property of a framework or of a user's subclass may raise
        pass_on_signal(error)
        return None


_MODEL_MEMBERS: Final = ("model_name", "model_id", "model", "id")
"""Members in which the classes of frameworks for models have the name."""


def _first(attributes: Mapping[Any, Any], names: tuple[str, ...]) -> str | None:
    for name in names:
        value = _text(attributes.get(name))
        if value is not None:
            return value
    return None


def _text(value: Any) -> str | None:
    """Return an id or a name as text; None for anything else, and for an empty text."""
    if type(value) is str:
        return value or None
    return str(value) if type(value) is int or type(value) is UUID else None


def _reader(path: Path) -> Callable[[Any], Any]:
    """Return the function that follows ``path``, and may raise AttributeError.

    One attribute is read without a loop, because most paths are that.
    """
    if len(path) == 1:
        return attrgetter(path[0])

    def read(value: Any) -> Any:
        for name in path:
            value = value.get(name) if type(value) is dict else getattr(value, name, None)
            if value is None:
                return None
        return value

    return read


def _model_reader(read: Callable[[Any], Any]) -> Callable[[Any], str | None]:
    return lambda argument: model_name(read(argument))


Readers = tuple[tuple[int, Callable[[Any], Any]], ...]
"""Functions that read the values of an identity, each with the place of its value in ``CallIdentity``."""

_classes: dict[int, tuple[type, Readers]] = {}
"""Readers of each class, by ``id()`` of the class; the entry holds the class, so that its id stays unique."""
_MAX_CLASSES = 1024


def _find_readers(kind: type) -> tuple[type, Readers]:
    """Return the entry of ``kind`` in the table, which is made here."""
    modules = (module_of(base) for base in bases(kind) if base is not object)
    paths = next((found for module in modules if (found := _paths_in(module)) is not None), Paths())
    if len(_classes) >= _MAX_CLASSES:
        _classes.clear()
    readers = [(place, _reader(path)) for place, path in enumerate(paths[:3]) if path]
    if paths.model:
        readers.append((3, _model_reader(_reader(paths.model))))
    entry = kind, tuple(readers)
    _classes[id(kind)] = entry
    return entry


def _paths_in(module: str) -> Paths | None:
    """Return the paths of the nearest package around ``module`` that has any."""
    while module:
        if module in PATHS:
            return PATHS[module]
        module = module.rpartition(".")[0]
    return None


CONFIG: Final = "langchain_core.runnables.config"
"""The module whose context variable has the configuration; without it, no call is made by LangChain."""
_OPENINFERENCE: Final = "openinference.instrumentation.langchain"


class CurrentRun(NamedTuple):
    """The context of a call, and its identity, as far as LangChain provides them."""

    otel: Context
    identity: CallIdentity = NO_IDENTITY


def current_run(otel: Context, tool: str) -> CurrentRun:
    """Return what is known about a call of ``tool`` in ``otel``; the span of the run, if innermost, is current there.

    Never raises.
    """
    try:
        config = sys.modules[CONFIG].var_child_runnable_config.get()
        if config is None:
            return CurrentRun(otel)
        identity = from_arguments((config,))
        instrumentation = sys.modules.get(_OPENINFERENCE)
        if instrumentation is None:
            return CurrentRun(otel, identity)
        return _with_span(otel, identity, instrumentation, config, tool)
    except BaseException as error:  # another version of LangChain or of the instrumentation
        pass_on_signal(error)
        return CurrentRun(otel)


def _with_span(otel: Context, identity: CallIdentity, instrumentation: Any, config: Any, tool: str) -> CurrentRun:
    instrumentor = instrumentation.LangChainInstrumentor()
    if not instrumentor.is_instrumented_by_opentelemetry:
        return CurrentRun(otel, identity)
    span = instrumentation.get_current_span()
    if span is None or not span.is_recording() or _began(otel.get(SPAN_KEY)) >= _began(span):
        return CurrentRun(otel, identity)
    # a Context refuses assignment, and is a dict: the copy is changed before anybody sees it
    inner = Context(otel)
    dict.__setitem__(inner, SPAN_KEY, span)
    run = instrumentor._tracer.run_map.get(str(config["callbacks"].parent_run_id))  # noqa: SLF001 - no public place
    call_id = run.extra.get("tool_call_id") if run is not None and run.name == tool else None
    return CurrentRun(inner, identity if call_id is None else identity._replace(call_id=str(call_id)))


def _began(span: Any) -> int:
    """Return the time at which ``span`` began: both spans enclose the call, so the later one is the innermost."""
    return getattr(span, "start_time", None) or 0


CALL_KEY: Final = "tooltrace-call"
"""Context key of the call that the model requested.

Set while the tool runs, so that calls made by the tool itself do not get the model's call id.
"""


def identify(
    spec: ToolSpec, arguments: dict[str, Any] | None, context: CallContext, otel: Context, call_id: str | None
) -> tuple[str | None, Context, CallContext, dict[str, Any] | None]:
    """Return the call id, the context of the span, the completed ``context``, and the arguments that the model supplied.

    Baggage and injected arguments come first, then LangChain's current run, then the enclosing span: ours, or one of
    another library. ``call_id``: as the caller knows it; it comes before that of ``context`` and that of a framework.
    """
    if BAGGAGE_KEY in otel:
        context = with_baggage(context, otel)
    framework_call_id = None
    if arguments is not None and (spec.injected or spec.find_injected is not None):
        arguments, injected, marked = spec.split_injected(arguments)
        identity = from_arguments(injected, marked)
        framework_call_id, context = identity.call_id, complete(context, identity)
    if CONFIG in sys.modules:
        otel, identity = current_run(otel, spec.name)
        framework_call_id = framework_call_id or identity.call_id
        context = complete(context, identity)
    enclosing = otel.get(SPAN_KEY)
    if type(enclosing) is Attempt:  # isinstance is slow for a class with abstract bases
        context = complete(context, enclosing.call_context)
    elif enclosing is not None:
        identity = from_span(enclosing, spec.name)
        framework_call_id = framework_call_id or identity.call_id
        context = complete(context, identity)
    # inside a tool, its own call is marked in the context: the calls that it makes are not the model's
    if call_id is None and context.call is not None and otel.get(CALL_KEY) is not context.call:
        call_id = context.call.value
    return framework_call_id if call_id is None else call_id, otel, context, arguments

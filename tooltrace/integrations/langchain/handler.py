"""The callback handler that records LangChain's tools."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache, lru_cache
from itertools import chain
from threading import RLock
from typing import Any, NamedTuple, Unpack
from uuid import UUID

from tooltrace.core.keywords import named_options
from tooltrace.core.lru import LruMap
from tooltrace.faults import suppress_faults
from tooltrace.integrations.framework_call import FrameworkCall, text_or_none
from tooltrace.normalize.exceptions.control_flow import ending_of
from tooltrace.recording.tool_spec import ToolSettings, ToolSpec, named_spec

try:
    from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found,unused-ignore]
    from langchain_core.tracers.context import register_configure_hook  # type: ignore[import-not-found,unused-ignore]
except ImportError as error:
    raise ImportError("langchain-core is not installed: pip install 'tooltrace-recorder[langchain]'") from error

__all__ = ["ProcessHandler", "ToolTraceCallbackHandler", "process_handler"]

STYLE = "langchain"
_MAX_OPEN_CALLS = 10_000
"""Maximum number of calls that run at once; beyond it the oldest is recorded as abandoned."""
_CONVERSATIONS = ("thread_id", "session_id", "conversation_id")
"""Names of the conversation in a run's metadata, as LangGraph and applications use them."""
_AGENT = "lc_agent_name"
_MODEL = "ls_model_name"
"""Name of the model in the metadata of its run, as it was configured; tools do not receive it."""


class _ModelRun(NamedTuple):
    """What the metadata of a run of a model states."""

    model: str | None = None
    conversation: str | None = None
    agent: str | None = None


class ToolTraceCallbackHandler(BaseCallbackHandler):  # type: ignore[misc,unused-ignore]
    """Handler that records every tool call of its runs: the model's call id, arguments, result or exception.

    One handler may serve any number of runs, in any number of threads. ``options`` are those of ``trace_tool`` except
    the name, applied to every tool. Raises UnknownOption for another one, and ConfigError for an invalid value.
    """

    run_inline = True  # runs in the caller's context, whose span is the parent

    @named_options(ToolSettings)
    def __init__(self, **options: Unpack[ToolSettings]) -> None:
        self._options = options
        named_spec("", **options)  # raises for invalid options early
        self._running: OrderedDict[UUID, FrameworkCall] = OrderedDict()
        self._models: LruMap[_ModelRun] = LruMap(_MAX_OPEN_CALLS)
        """The runs of models that are under way."""
        self._asked: LruMap[str] = LruMap(_MAX_OPEN_CALLS)
        """The model that asked for a call, by the conversation and the id of the call."""
        self._lock = RLock()
        self._spec = lru_cache(maxsize=1024)(self._spec_of)

    def on_chat_model_start(
        self, *_given: Any, run_id: UUID, metadata: Mapping[str, Any] | None = None, **_more: Any
    ) -> None:
        """Remember which model the run calls, and in which conversation."""
        with suppress_faults("begin"):
            known = metadata or {}
            self._models.put(
                run_id, _ModelRun(text_or_none(known.get(_MODEL)), _conversation(known), known.get(_AGENT))
            )

    def on_llm_end(self, response: Any, *, run_id: UUID, **_more: Any) -> None:
        """Remember the calls that the model asked for: the tools run outside of its run. Record those that are no JSON."""
        with suppress_faults("begin"):
            run = self._models.pop(run_id) or _ModelRun()
            for answer in chain.from_iterable(response.generations):
                message: Any = getattr(answer, "message", None)
                model = run.model or text_or_none(getattr(message, "response_metadata", {}).get("model_name"))
                for wanted in getattr(message, "tool_calls", ()):
                    if model is not None and wanted.get("id") is not None:
                        self._asked.put((run.conversation, wanted["id"]), model)
                for wanted in getattr(message, "invalid_tool_calls", ()):
                    self._refuse(wanted, run._replace(model=model))

    def _refuse(self, wanted: Mapping[str, Any], run: _ModelRun) -> None:
        """Record a call whose arguments cannot be parsed: no tool is run."""
        call = FrameworkCall(
            self._spec(str(wanted.get("name") or "tool"), None),
            wanted.get("args"),
            style=STYLE,
            call_id=text_or_none(wanted.get("id")),
            agent=run.agent,
            conversation=run.conversation,
            model=run.model,
        )
        call.refused("INVALID_PARAM", str(wanted.get("error") or "the arguments are not valid JSON"))

    def on_llm_error(self, *_given: Any, run_id: UUID, **_more: Any) -> None:
        """Forget the run of a model that failed."""
        self._models.pop(run_id)

    def on_tool_start(
        self,
        serialized: Mapping[str, Any] | None,
        input_str: str,
        *,
        run_id: UUID,
        metadata: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Begin the attempt of a tool."""
        with suppress_faults("begin", lost=1):
            described = serialized or {}
            spec = self._spec(str(described.get("name") or more.get("name") or "tool"), described.get("description"))
            arguments = {"input": input_str} if inputs is None else dict(inputs)
            known = metadata or {}
            conversation, call_id = _conversation(known), text_or_none(more.get("tool_call_id"))
            call = FrameworkCall(
                spec,
                arguments,
                style=STYLE,
                call_id=call_id,
                agent=known.get(_AGENT),
                conversation=conversation,
                model=self._asked.get((conversation, call_id)),
            )
            call.enter()
            self._remember(run_id, call)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_more: Any) -> None:
        """Record that the tool returned ``output``."""
        call = self._running.pop(run_id, None)
        if call is not None:
            call.returned(output)
            text = getattr(output, "content", None)
            if isinstance(text, str) and getattr(output, "tool_call_id", None) is not None:
                call.model_reads(text)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        """Record that ``error`` left the tool, or that the tool was paused."""
        call = self._running.pop(run_id, None)
        if call is None:
            return
        if ending_of(type(error)) == "paused":
            call.finish("paused", waits_for="input")
        elif _unfit_arguments(error):
            call.refused("INVALID_PARAM", str(error), error=error)
        else:
            call.raised(error)

    def _remember(self, run_id: UUID, call: FrameworkCall) -> None:
        with self._lock:
            self._running[run_id] = call
            forgotten = self._running.popitem(last=False)[1] if len(self._running) > _MAX_OPEN_CALLS else None
        if forgotten is not None:
            forgotten.finish("abandoned")

    def _spec_of(self, tool: str, description: str | None) -> ToolSpec:
        options = self._options.copy()
        if description:
            options.setdefault("description", description)
        return named_spec(tool, **options)


def _conversation(metadata: Mapping[str, Any]) -> str | None:
    return next((text for key in _CONVERSATIONS if (text := text_or_none(metadata.get(key))) is not None), None)


def _unfit_arguments(error: BaseException) -> bool:
    """Whether LangChain raised ``error`` while it validated the arguments, before the tool ran."""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name == "_parse_input" and trace.tb_frame.f_globals.get("__name__") == "langchain_core.tools.base":
            return True
        trace = trace.tb_next
    return False


class ProcessHandler(ToolTraceCallbackHandler):
    """The handler of all runs that have none of their own."""

    on = False
    """Whether it records."""

    @property
    def ignore_agent(self) -> bool:
        """Whether LangChain skips this handler for tools."""
        return not self.on

    @property
    def ignore_chat_model(self) -> bool:
        """Whether LangChain skips this handler at the start of a model."""
        return not self.on

    @property
    def ignore_llm(self) -> bool:
        """Whether LangChain skips this handler at the end of a model."""
        return not self.on


@cache
def process_handler() -> ProcessHandler:
    """Return the handler of all runs; the first call registers it with LangChain."""
    handler = ProcessHandler()
    # The default makes the handler visible in every context, also in threads that copy none.
    variable: ContextVar[ToolTraceCallbackHandler] = ContextVar("tooltrace_langchain", default=handler)
    register_configure_hook(variable, inheritable=True, handle_class=ToolTraceCallbackHandler)
    return handler

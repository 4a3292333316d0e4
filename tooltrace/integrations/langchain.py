"""Recording of LangChain's tools by a callback handler, without instrumentation or changes to a tool.

::

    from tooltrace.integrations.langchain import ToolTraceCallbackHandler

    agent.invoke(question, config={"callbacks": [ToolTraceCallbackHandler()]})

A tool decorated with ``trace_tool`` records itself: use only one of the two. If OpenInference or Traceloop already
instruments LangChain, add ``TooltraceSpanProcessor`` to their provider instead.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from threading import RLock
from typing import Any
from uuid import UUID

from tooltrace.faults import suppress_faults
from tooltrace.normalize.exceptions.control_flow import ending_of
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.context import context
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.tool_spec import ToolSpec, named_spec

try:
    from langchain_core.callbacks import BaseCallbackHandler  # type: ignore[import-not-found,unused-ignore]
except ImportError as error:
    raise ImportError("langchain-core is not installed: pip install 'tooltrace[langchain]'") from error

__all__ = ["ToolTraceCallbackHandler"]

_MOST = 10_000
"""Maximum number of calls that run at once; beyond it the oldest is recorded as abandoned."""
_CONVERSATIONS = ("thread_id", "session_id", "conversation_id")
"""Names of the conversation in a run's metadata, as LangGraph and applications use them."""
_AGENT = "lc_agent_name"


class ToolTraceCallbackHandler(BaseCallbackHandler):  # type: ignore[misc,unused-ignore]
    """Handler that records every tool call of its runs: the model's call id, arguments, result or exception.

    One handler may serve any number of runs, in any number of threads. ``options`` are those of ``trace_tool``, applied
    to every tool (``version``, ``capture``, ``redact``, …). Raises ConfigError for an unknown option.
    """

    run_inline = True  # runs in the caller's context, whose span is the parent

    def __init__(self, **options: Any) -> None:
        self._options = options
        named_spec("", **options)  # raises for invalid options early
        self._running: OrderedDict[UUID, tuple[Recorder, Attempt]] = OrderedDict()
        self._lock = RLock()
        self._spec = lru_cache(maxsize=1024)(self._spec_of)

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
            told = serialized or {}
            spec = self._spec(str(told.get("name") or more.get("name") or "tool"), told.get("description"))
            arguments = {"input": input_str} if inputs is None else dict(inputs)
            recorder, around = get_recorder(), metadata or {}
            conversation = next((around[key] for key in _CONVERSATIONS if around.get(key) is not None), None)
            with context(conversation_id=conversation, agent_name=around.get(_AGENT)):
                attempt = recorder.begin(spec, arguments, call_id=more.get("tool_call_id"))
            if attempt is not None:
                self._remember(run_id, recorder, attempt)

    def on_tool_end(self, output: Any, *, run_id: UUID, **_more: Any) -> None:
        """Record that the tool returned ``output``."""
        running = self._running.pop(run_id, None)
        if running is not None:
            running[0].returned(running[1], output)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_more: Any) -> None:
        """Record that ``error`` left the tool, or that the tool was paused."""
        running = self._running.pop(run_id, None)
        if running is None:
            return
        recorder, attempt = running
        if ending_of(type(error)) == "paused":
            recorder.finish_without_run(attempt, "paused")
        else:
            recorder.raised(attempt, error)

    def _remember(self, run_id: UUID, recorder: Recorder, attempt: Attempt) -> None:
        with self._lock:
            self._running[run_id] = recorder, attempt
            forgotten = self._running.popitem(last=False)[1] if len(self._running) > _MOST else None
        if forgotten is not None:
            forgotten[0].finish_without_run(forgotten[1], "abandoned")

    def _spec_of(self, tool: str, description: str | None) -> ToolSpec:
        known = {"description": description, **self._options} if description else self._options
        return named_spec(tool, **known)

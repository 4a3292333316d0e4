"""Conversation, agent and OpenInference's span of LangChain's current run, for a decorated tool that it calls.

LangChain has the configuration of the run in a context variable. OpenInference's instrumentation makes a span for a
tool's run, and does not make it current: a traced call without it would be in another trace, and a second row. The
attributes of that span are set at its end, so the call id is read from the run. Nothing is imported.
"""

from __future__ import annotations

import sys
from typing import Any, Final, NamedTuple

from opentelemetry.context.context import Context

from tooltrace.faults import pass_on_signal
from tooltrace.otel.sdk_internals import SPAN_KEY
from tooltrace.recording.call_identity import NO_IDENTITY, CallIdentity, from_arguments

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

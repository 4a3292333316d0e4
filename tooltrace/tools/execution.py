"""Execution of one call through a registry, the same in a thread and in an event loop.

``prepare`` finds the tool, checks the limit, parses and validates the arguments, and checks whether a person has to
agree. ``run`` calls the hooks, inside them the cache and inside it the tool; then it normalizes the result, adds the
call's metadata and records. Every outcome is a ToolResponse and one record. The cache is inside the hooks, so that a
hook that refuses calls runs each time.
"""

from __future__ import annotations

from typing import Any

from tooltrace.core.paused_call import PausedCall
from tooltrace.core.response import ToolResponse
from tooltrace.tools import hooks, human_review, invoke, result_review
from tooltrace.tools.call_execution import CallExecution
from tooltrace.tools.hooks import ToolInvocation
from tooltrace.tools.human_review import ReviewDecision
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall, prepare


def execute(state: RegistryState, name: str, sent: Any, call_id: str | None) -> ToolResponse:
    """Run one call in this thread. Raises ConfigError if a hook is a coroutine function."""
    hooks.refuse_async(state.hooks)
    return run(state, prepare(state, name, sent, call_id))


async def aexecute(state: RegistryState, name: str, sent: Any, call_id: str | None) -> ToolResponse:
    """Run one call in this event loop."""
    return await arun(state, prepare(state, name, sent, call_id))


def resume(state: RegistryState, paused: PausedCall, decision: ReviewDecision) -> ToolResponse:
    """Resume a paused call in this thread. Raises ReviewError or ConfigError."""
    hooks.refuse_async(state.hooks)
    if paused.kind == "review":
        return result_review.finish(state, paused, decision)
    with human_review.resume_context(paused):
        prepared = human_review.prepare_resume(state, paused, decision)
        if not human_review.runs_tool(decision):
            return human_review.finish_without_run(prepared, decision)
        try:
            response = run(state, prepared)
        # The person has decided, even if a cancellation or an interrupt ends the run.
        except BaseException:
            human_review.record_decision(paused, decision, prepared.spec, None)
            raise
        return human_review.finish_run(prepared, decision, response)


async def aresume(state: RegistryState, paused: PausedCall, decision: ReviewDecision) -> ToolResponse:
    """Resume a paused call in this event loop. Raises ReviewError."""
    if paused.kind == "review":
        return result_review.finish(state, paused, decision)
    with human_review.resume_context(paused):
        prepared = human_review.prepare_resume(state, paused, decision)
        if not human_review.runs_tool(decision):
            return human_review.finish_without_run(prepared, decision)
        try:
            response = await arun(state, prepared)
        # As above: the decision is recorded without a run.
        except BaseException:
            human_review.record_decision(paused, decision, prepared.spec, None)
            raise
        return human_review.finish_run(prepared, decision, response)


def run(state: RegistryState, prepared: PreparedCall) -> ToolResponse:
    """Run a prepared call in this thread, or pause it for a person."""
    if prepared.gate is not None:
        return human_review.pause(prepared)
    with CallExecution(state, prepared) as execution:
        call = execution.invocation
        response = execution.refusal or hooks.run_with_hooks(state.hooks, call, lambda: _tool(execution, call))
    return result_review.hold(state, prepared, execution.finish(response))


async def arun(state: RegistryState, prepared: PreparedCall) -> ToolResponse:
    """Run a prepared call in this event loop, or pause it for a person."""
    if prepared.gate is not None:
        return human_review.pause(prepared)
    with CallExecution(state, prepared) as execution:
        call = execution.invocation
        response = execution.refusal or await hooks.arun_with_hooks(state.hooks, call, lambda: _atool(execution, call))
    return result_review.hold(state, prepared, execution.finish(response))


def _tool(execution: CallExecution, call: ToolInvocation) -> ToolResponse:
    ready = execution.ready(call)
    return ready if isinstance(ready, ToolResponse) else execution.answer(ready, invoke.call(ready.tool, ready.values))


async def _atool(execution: CallExecution, call: ToolInvocation) -> ToolResponse:
    ready = execution.ready(call)
    if isinstance(ready, ToolResponse):
        return ready
    return execution.answer(ready, await invoke.acall(ready.tool, ready.values))

"""The way of one call through a registry, the same from a thread and from an event loop.

``prepare``: find the tool, check the limit, parse and check the arguments, ask whether a person has to agree. ``run``:
the hooks, inside them the cache, inside it the tool; normalize, say in ``meta`` what is known, record. Whatever comes
of it is a ToolResponse and one record. The cache stands inside the hooks: a hook that refuses a call is asked each time.
"""

from __future__ import annotations

from typing import Any

from tooltrace.paused import PausedCall
from tooltrace.registry import calling, hooks, review
from tooltrace.registry.hooks import ToolInvocation
from tooltrace.registry.preparing import Prepared, prepare
from tooltrace.registry.review import Answer
from tooltrace.registry.run import Run
from tooltrace.registry.state import State
from tooltrace.response import ToolResponse


def execute(state: State, name: str, sent: Any, call_id: str | None) -> ToolResponse:
    """Run one call in this thread. Raises ConfigError where a hook would have to be awaited."""
    hooks.refuse_async(state.hooks)
    return run(state, prepare(state, name, sent, call_id))


async def aexecute(state: State, name: str, sent: Any, call_id: str | None) -> ToolResponse:
    """Run one call in this event loop."""
    return await arun(state, prepare(state, name, sent, call_id))


def resume(state: State, held: PausedCall, answer: Answer) -> ToolResponse:
    """Go on with a paused call in this thread. Raises ReviewError, ConfigError."""
    hooks.refuse_async(state.hooks)
    with review.around(held):
        prepared = review.going_on(state, held, answer)
        if not review.is_run(answer):
            return review.end(prepared, answer)
        try:
            response = run(state, prepared)
        except BaseException:
            review.answered(held, answer, prepared.spec, None)
            raise
        return review.done(prepared, answer, response)


async def aresume(state: State, held: PausedCall, answer: Answer) -> ToolResponse:
    """Go on with a paused call in this event loop. Raises ReviewError."""
    with review.around(held):
        prepared = review.going_on(state, held, answer)
        if not review.is_run(answer):
            return review.end(prepared, answer)
        try:
            response = await arun(state, prepared)
        except BaseException:
            review.answered(held, answer, prepared.spec, None)
            raise
        return review.done(prepared, answer, response)


def run(state: State, prepared: Prepared) -> ToolResponse:
    """Run a call that was prepared, in this thread; or stop it for a person."""
    if prepared.gate is not None:
        return review.pause(prepared)
    with Run(state, prepared) as begun:
        call = begun.invocation
        answer = begun.refusal or hooks.around(state.hooks, call, lambda: _tool(begun, call))
    return begun.finish(answer)


async def arun(state: State, prepared: Prepared) -> ToolResponse:
    """Run a call that was prepared, in this event loop; or stop it for a person."""
    if prepared.gate is not None:
        return review.pause(prepared)
    with Run(state, prepared) as begun:
        call = begun.invocation
        answer = begun.refusal or await hooks.aaround(state.hooks, call, lambda: _atool(begun, call))
    return begun.finish(answer)


def _tool(begun: Run, call: ToolInvocation) -> ToolResponse:
    ready = begun.ready(call)
    return ready if isinstance(ready, ToolResponse) else begun.answer(ready, calling.call(ready.tool, ready.values))


async def _atool(begun: Run, call: ToolInvocation) -> ToolResponse:
    ready = begun.ready(call)
    if isinstance(ready, ToolResponse):
        return ready
    return begun.answer(ready, await calling.acall(ready.tool, ready.values))

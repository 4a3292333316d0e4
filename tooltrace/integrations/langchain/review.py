"""Review after a call, in agents of LangChain: a result that a person has to review stops the graph before the model reads it.

The interrupt is raised between the tools and the model, so that the tool does not run again when the graph is resumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import wraps
from typing import Any, Final

from tooltrace.faults import suppress_faults
from tooltrace.integrations import reviews
from tooltrace.normalize import normalize
from tooltrace.recording.config import get_recorder

try:
    from langchain.agents.middleware import AgentMiddleware  # type: ignore[import-not-found,unused-ignore]
    from langchain_core.messages import ToolMessage  # type: ignore[import-not-found,unused-ignore]
    from langgraph.types import interrupt  # type: ignore[import-not-found,unused-ignore]
except ImportError as error:
    raise ImportError("ReviewMiddleware needs langchain and langgraph: pip install langchain") from error

__all__ = ["ReviewMiddleware"]

_MARK: Final = "tooltrace_review"
"""Member of a message's ``response_metadata``, which the model does not receive: when and where its result was held."""
_DECISIONS: Final = ("approve", "edit", "reject")
_EXPECTED: Final = (
    "resume with {{'decisions': […]}} and one decision for each of the results, of which there are {n}: {{'type': 'approve'}}, "
    "{{'type': 'edit', 'content': '…'}} or {{'type': 'reject', 'message': '…'}}; got {answer!r:.200}"
)


class ReviewMiddleware(AgentMiddleware):  # type: ignore[misc,unused-ignore]
    """Pause an agent before its model reads a result for which the tool stated the next action ``human_review``.

    ``create_agent(model, tools, middleware=[ReviewMiddleware()], checkpointer=…)``. The value of the interrupt has one entry
    for each result under ``review``: ``call_id``, ``tool`` and ``content``. Resume with as many decisions, in any process:
    ``Command(resume={"decisions": [{"type": "approve"}]})``; ``{"type": "edit", "content": …}`` replaces the text that the
    model reads, and ``{"type": "reject", "message": …}`` withholds it. Another answer interrupts again, with ``error``. The row of the call keeps what the tool said; the gate
    of the kind ``review`` has the decision.
    """

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Run the tool, and mark a result that waits for a person."""
        results: list[Any] = []
        return _marked(request, handler(_watched(request, results)), results)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Do the same in an event loop."""
        results: list[Any] = []
        return _marked(request, await handler(_watched(request, results)), results)

    def before_model(self, state: Mapping[str, Any], runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's
        """Interrupt the graph where results wait; return the messages as the person decided."""
        held = _held(state["messages"])
        if not held:
            return None
        shown = [{"call_id": each.tool_call_id, "tool": each.name, "content": each.content} for each in held]
        answer = interrupt({"review": shown})
        while not _fits(answer, len(held)):  # raised here, an error would leave the wrong answer in the checkpoint
            answer = interrupt({"review": shown, "error": _EXPECTED.format(n=len(held), answer=answer)})
        return {
            "messages": [_decided(each, decision) for each, decision in zip(held, answer["decisions"], strict=True)]
        }


def _watched(request: Any, results: list[Any]) -> Any:
    """Return ``request`` with a tool that appends what its function returns: LangChain makes a text of it."""
    functions = {name: getattr(request.tool, name, None) for name in ("func", "coroutine")}
    found = {name: _appending(function, results) for name, function in functions.items() if callable(function)}
    return request.override(tool=request.tool.model_copy(update=found)) if found else request


def _appending(function: Callable[..., Any], results: list[Any]) -> Callable[..., Any]:
    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if not isinstance(result, Awaitable):
            results.append(result)
            return result

        async def wait() -> Any:
            results.append(await result)
            return results[-1]

        return wait()

    return call


def _marked(request: Any, message: Any, results: list[Any]) -> Any:
    """Return ``message`` with a mark where its result waits for a person, and record the question."""
    if not isinstance(message, ToolMessage):
        return message
    result = results[-1] if results else message.content
    if normalize(result).stated_next_action != "human_review":
        return message
    call_id, asked_at = request.tool_call["id"], datetime.now(UTC)
    recorder = get_recorder()
    span_id = recorder.last_span_id(call_id)
    if span_id is not None:
        with suppress_faults("record", lost=1):
            reviews.record_question(recorder, reviews.PendingReview(span_id, call_id, "review", asked_at), None)
    mark = {"span_id": span_id, "asked_at": asked_at.isoformat()}
    return message.model_copy(update={"response_metadata": {**message.response_metadata, _MARK: mark}})


def _held(messages: Sequence[Any]) -> list[Any]:
    """Return the results at the end of ``messages`` that wait for a person."""
    found: list[Any] = []
    for message in reversed(messages):
        if not isinstance(message, ToolMessage):
            break
        if _MARK in message.response_metadata:
            found.insert(0, message)
    return found


def _fits(answer: Any, n: int) -> bool:
    decisions = answer.get("decisions") if isinstance(answer, Mapping) else None
    return (
        isinstance(decisions, list)
        and len(decisions) == n
        and all(isinstance(each, Mapping) and each.get("type") in _DECISIONS for each in decisions)
        and all(isinstance(each.get("content"), str) for each in decisions if each["type"] == "edit")
    )


def _decided(message: Any, decision: Mapping[str, Any]) -> Any:
    """Return the message that the model reads after ``decision``, and record the answer."""
    rest = dict(message.response_metadata)
    mark, kind, note = rest.pop(_MARK), decision["type"], decision.get("message")
    changed: dict[str, Any] = {"response_metadata": rest}
    if kind == "edit":
        changed["content"] = decision["content"]
    elif kind == "reject":
        reason = f": {note}" if note else ""
        changed |= {"content": f"A person declined the result of this call{reason}", "status": "error"}
    if mark["span_id"] is not None:
        with suppress_faults("record", lost=1):
            recorder = get_recorder()
            review = reviews.PendingReview(
                mark["span_id"], message.tool_call_id, "review", datetime.fromisoformat(mark["asked_at"])
            )
            outcome = "declined" if kind == "reject" else "approved"
            reviews.record_answer(recorder, review, outcome, None, note=None if note is None else str(note))
            if "content" in changed:
                recorder.record_model_message(
                    message.tool_call_id, changed["content"], style="langchain", span_id=mark["span_id"]
                )
    return message.model_copy(update=changed)

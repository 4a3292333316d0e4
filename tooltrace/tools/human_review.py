"""Calls that wait for a person: paused, passed to the application, and resumed in this or another process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pydantic import ValidationError

from tooltrace.core.records import Gate
from tooltrace.core.response import PausedCall, ResponseMeta, ToolResponse
from tooltrace.errors import ReviewError
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.recording import context
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import snapshot
from tooltrace.tools import argument_errors, builtin_responses
from tooltrace.tools.call_execution import begin
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall

Decision = Literal["approved", "declined", "expired"]

UNGIVEN: Any = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """The decision of a person."""

    decision: Decision
    by: str | None = None
    note: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the person provided or changed."""
    result: Any = UNGIVEN
    """Result of an execution outside the registry."""


# Pausing.


def pause(prepared: PreparedCall) -> ToolResponse:
    """Record that the call is paused, and return a response with everything needed to resume it."""
    tool = prepared.tool
    assert tool is not None, "a call of no tool has its answer"
    assert prepared.gate is not None, "nobody has to be asked"
    recorder, asked_at = get_recorder(), datetime.now(UTC)
    attempt = recorder.begin(prepared.spec, prepared.recorded, call_id=prepared.call_id)
    if attempt is None:
        return builtin_responses.unrecorded(tool.name)
    recorder.finish_without_run(attempt, "paused")
    expires = tool.options.expires_after
    held = PausedCall(
        tool=tool.name,
        tool_version=tool.spec.version,
        kind=prepared.gate,
        arguments=prepared.given,
        wanted=_wanted(tool) if prepared.gate == "input" else {},
        call_id=_call_id(attempt),
        attempt=attempt.number,
        span_id=attempt.hex_id,
        trace_id=f"{attempt.trace_id:032x}",
        conversation_id=attempt.call_context.conversation_id,
        agent=attempt.call_context.agent,
        asked_at=asked_at,
        expires_at=None if expires is None else asked_at + timedelta(seconds=expires),
    )
    recorder.put(Gate(call_id=held.call_id, span_id=held.span_id, kind=held.kind, asked_at=held.asked_at))
    return builtin_responses.paused(held, _meta(attempt, tool.spec))


def _wanted(tool: RegisteredTool) -> dict[str, Any]:
    """Return the schemas of the parameters that the model does not provide."""
    mine = set(tool.asked.names)
    return {name: schema for name, schema in tool.parameters.schema()["properties"].items() if name not in mine}


# Resuming.


def answer_of(
    *, approve: bool | None, decline: bool | str | None, inputs: Mapping[str, Any] | None, result: Any, by: str | None,
    note: str | None,
) -> ReviewDecision:  # fmt: skip
    """Return the decision in the arguments of ``resume``. Raises ReviewError if there is none, or more than one."""
    if not isinstance(approve, bool | None):
        raise ReviewError(f"approve= takes True or False, got {approve!r}; the call waits on")
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ReviewError(f"inputs= takes arguments by name, got {type(inputs).__name__}; the call waits on")
    refused = approve is False or decline not in (None, False)
    allowed = bool(approve) or inputs is not None or result is not UNGIVEN
    if refused == allowed:
        said = "both yes and no" if refused else "neither yes nor no"
        raise ReviewError(
            f"resume() was told {said}: give one of approve=, decline=, inputs=, result=; the call waits on"
        )
    if refused:
        return ReviewDecision(
            decision="declined", by=_said(by), note=_said(decline if isinstance(decline, str) else note)
        )
    return ReviewDecision(decision="approved", by=_said(by), note=_said(note), inputs=dict(inputs or {}), result=result)


def _said(word: Any) -> str | None:
    return None if word is None else str(word)


def load_paused(paused: Any, answer: ReviewDecision) -> tuple[PausedCall, ReviewDecision]:
    """Return the paused call, from any form it was stored in, and the decision on it.

    A decision after the deadline becomes ``expired``. Raises ReviewError.
    """
    held = _opened(paused)
    late = held.expires_at is not None and datetime.now(UTC) > held.expires_at
    return held, replace(answer, decision="expired", inputs={}, result=UNGIVEN) if late else answer


def _opened(paused: PausedCall | ToolResponse | Mapping[str, Any] | str | bytes) -> PausedCall:
    if isinstance(paused, ToolResponse):
        paused = paused.paused or {}
    if isinstance(paused, PausedCall):
        return paused
    try:
        return (
            PausedCall.model_validate_json(paused)
            if isinstance(paused, str | bytes)
            else PausedCall.model_validate(paused)
        )
    except ValidationError as error:
        raise ReviewError(
            f"this is no paused call, and nothing was done: {error.error_count()} members do not fit"
        ) from error


def prepare_resume(state: RegistryState, held: PausedCall, answer: ReviewDecision) -> PreparedCall:
    """Return the call with a person's decision, ready to run or to finish without a run.

    Raises ReviewError; the call then keeps waiting.
    """
    tool = state.tools.get(held.tool)
    if tool is None:
        raise ReviewError(f"this registry has no tool {held.tool!r} to go on with; the call waits on")
    if tool.options.gate != held.kind:
        raise ReviewError(f"the tool {held.tool!r} does not wait for {held.kind} here; the call waits on")
    _fits(held, answer)
    prepared = PreparedCall(spec=tool.spec, call_id=held.call_id, given={**held.arguments, **answer.inputs}, tool=tool)
    prepared.resumed = held
    if answer.decision == "approved" and held.kind != "external":
        _validate(prepared, tool)
    else:
        prepared.arguments = prepared.given
    # Checked last, so that an invalid answer does not count as the one answer to the call.
    if not state.answered.first(held.span_id):
        raise ReviewError(f"the call {held.call_id} of {held.tool!r} was answered already; nothing was done")
    return prepared


def _fits(held: PausedCall, answer: ReviewDecision) -> None:
    if answer.decision != "approved":
        return
    if (held.kind == "external") != (answer.result is not UNGIVEN):
        wants = "result=" if held.kind == "external" else "approve= or inputs="
        raise ReviewError(f"the call {held.call_id} waits for {wants}; it waits on")


def _validate(prepared: PreparedCall, tool: RegisteredTool) -> None:
    try:
        prepared.arguments = tool.parameters.validate(prepared.given)
    except ValidationError as error:
        wrong = argument_errors.faults(error, prepared.given, tool.parameters, lambda _: False)
        raise ReviewError(f"the call of {tool.name!r} cannot go on, and waits: {'; '.join(wrong)}") from error


def resume_context(held: PausedCall) -> AbstractContextManager[None]:
    """Restore the conversation and the agent of the paused call, unless the current context names others."""
    now = context.current.get()
    return context.context(
        conversation_id=held.conversation_id if now.conversation_id is None else None,
        agent_name=held.agent if now.agent is None else None,
    )


def runs_tool(answer: ReviewDecision) -> bool:
    """Whether the tool is run now. Otherwise it was run elsewhere, or the call was declined or has expired."""
    return answer.decision == "approved" and answer.result is UNGIVEN


def finish_without_run(prepared: PreparedCall, answer: ReviewDecision) -> ToolResponse:
    """Finish a call that is not run here: declined, expired, or executed elsewhere."""
    held, recorder = prepared.resumed, get_recorder()
    assert held is not None, "only a paused call is ended so"
    attempt = begin(recorder, prepared)
    if answer.decision == "approved":
        response = normalize(answer.result, rules=recorder.rules_of(prepared.spec))
        if attempt is not None:
            recorder.returned(attempt, response, duration_ns=UNKNOWN)
    else:
        response = builtin_responses.not_run(answer.decision, answer.note)
        if attempt is not None:
            recorder.finish_without_run(attempt, answer.decision)
    record_decision(held, answer, prepared.spec, None if attempt is None else attempt.hex_id)
    if attempt is None:
        return response
    return response.model_copy(update={"meta": _meta(attempt, prepared.spec, response.meta)})


def finish_run(prepared: PreparedCall, answer: ReviewDecision, response: ToolResponse) -> ToolResponse:
    """Record the decision with the span of the run that it led to."""
    assert prepared.resumed is not None, "only a paused call is gone on with"
    record_decision(prepared.resumed, answer, prepared.spec, response.meta.span_id)
    return response


def record_decision(held: PausedCall, answer: ReviewDecision, spec: ToolSpec, resumed: str | None) -> None:
    """Record the decision, who made it and when. ``resumed`` is the id of the span that resumed the call."""
    recorder = get_recorder()
    settings = recorder.settings
    with suppress_faults("record", lost=1):
        redactions = [each for each in (settings.redaction, spec.redact) if each is not None]
        sieve = Sanitizer(redactions, settings.field_limit)
        changed = {name: value for name, value in answer.inputs.items() if held.arguments.get(name, UNGIVEN) != value}
        if (spec.capture or settings.capture) != "full":
            changed = dict.fromkeys(changed)
        recorder.put(
            Gate(
                call_id=held.call_id,
                span_id=held.span_id,
                kind=held.kind,
                decision=answer.decision,
                asked_at=held.asked_at,
                answered_at=datetime.now(UTC),
                answered_by=sieve.sanitize_text("answered_by", answer.by),
                note=sieve.sanitize_text("note", answer.note),
                changed=sieve.sanitize_json("changed", snapshot(changed)) if changed else None,
                resumed_span_id=resumed,
            )
        )


def _meta(attempt: Attempt, spec: ToolSpec, meta: ResponseMeta | None = None) -> ResponseMeta:
    known = {
        "tool_name": spec.name,
        "tool_version": spec.version,
        "call_id": _call_id(attempt),
        "span_id": attempt.hex_id,
        "trace_id": f"{attempt.trace_id:032x}",
        "attempt": attempt.number,
    }
    return (meta or ResponseMeta()).model_copy(update=known)


def _call_id(attempt: Attempt) -> str:
    return attempt.call_id or attempt.hex_id

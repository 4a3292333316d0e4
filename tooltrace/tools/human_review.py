"""Calls that wait for a person: paused, passed to the application, and resumed in this or another process."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from pydantic import ValidationError

from tooltrace.core.keywords import UNSET
from tooltrace.core.paused_call import PausedCall
from tooltrace.core.record_redaction import redact_record
from tooltrace.core.records import Gate
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.errors import ReviewError
from tooltrace.faults import suppress_faults
from tooltrace.normalize import normalize
from tooltrace.recording import context
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN
from tooltrace.recording.result_copy import with_failed_value
from tooltrace.recording.tool_spec import ToolSpec
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import snapshot
from tooltrace.tools import argument_errors, builtin_responses
from tooltrace.tools.call_execution import begin
from tooltrace.tools.registered_tool import RegisteredTool
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall

Decision = Literal["approved", "declined", "expired"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewDecision:
    """The decision of a person."""

    decision: Decision
    by: str | None = None
    note: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that the person provided or changed."""
    result: Any = UNSET
    """Result of an execution outside the registry, or the corrected result of one inside it."""

    @property
    def has_result(self) -> bool:
        """Whether the person supplied a result."""
        return self.result is not UNSET


# Pausing.


def pause(prepared: PreparedCall) -> ToolResponse:
    """Record that the call is paused, and return a response with everything needed to resume it."""
    tool = prepared.tool
    assert tool is not None, "a call of an unknown tool is refused before it runs"
    assert prepared.gate is not None, "the call needs no decision"
    recorder, asked_at = get_recorder(), datetime.now(UTC)
    attempt = recorder.begin(prepared.spec, prepared.recorded, call_id=prepared.call_id)
    if attempt is None:
        return builtin_responses.unrecorded(tool.name)
    recorder.finish_without_run(attempt, "paused")
    expires = tool.options.expires_after
    paused = PausedCall(
        tool=tool.name,
        tool_version=tool.spec.version,
        kind=prepared.gate,
        arguments=prepared.sent,
        wanted=_requested_schemas(tool) if prepared.gate == "input" else {},
        call_id=_call_id(attempt),
        first_span_id=attempt.first_span_id,
        attempt=attempt.number,
        span_id=attempt.hex_id,
        trace_id=f"{attempt.trace_id:032x}",
        conversation_id=attempt.call_context.conversation_id,
        agent=attempt.call_context.agent,
        asked_at=asked_at,
        expires_at=None if expires is None else asked_at + timedelta(seconds=expires),
        approval_type=tool.options.approval_type,
    )
    gate = Gate(call_id=paused.call_id, span_id=paused.span_id, kind=paused.kind, asked_at=paused.asked_at)
    recorder.put(redact_record(gate, (recorder.settings.redaction,), recorder.settings.field_limit))
    return builtin_responses.paused(paused, _meta(attempt, tool.spec))


def _requested_schemas(tool: RegisteredTool) -> dict[str, Any]:
    """Return the schemas of the parameters that the model does not provide."""
    from_model = set(tool.from_model.names)
    return {name: schema for name, schema in tool.parameters.schema()["properties"].items() if name not in from_model}


# Resuming.


def answer_of(
    *, approve: bool | None, decline: bool | str | None, inputs: Mapping[str, Any] | None, result: Any, by: str | None,
    note: str | None,
) -> ReviewDecision:  # fmt: skip
    """Return the decision in the arguments of ``resume``. Raises ReviewError if there is none, or more than one."""
    if not isinstance(approve, bool | None):
        raise ReviewError(f"approve must be True or False, got {approve!r}; the call is still paused")
    if inputs is not None and not isinstance(inputs, Mapping):
        raise ReviewError(
            f"inputs must map argument names to values, got {type(inputs).__name__}; the call is still paused"
        )
    refused = approve is False or decline not in (None, False)
    allowed = bool(approve) or inputs is not None or result is not UNSET
    if refused == allowed:
        passed = "both yes and no" if refused else "neither yes nor no"
        raise ReviewError(
            f"resume() got {passed}: pass one of approve=, decline=, inputs=, result=; the call is still paused"
        )
    if refused:
        return ReviewDecision(
            decision="declined", by=_as_text(by), note=_as_text(decline if isinstance(decline, str) else note)
        )
    return ReviewDecision(
        decision="approved", by=_as_text(by), note=_as_text(note), inputs=dict(inputs or {}), result=result
    )


def _as_text(word: Any) -> str | None:
    return None if word is None else str(word)


def load_paused(paused: Any, decision: ReviewDecision) -> tuple[PausedCall, ReviewDecision]:
    """Return the paused call, from any form it was stored in, and the decision on it.

    A decision after the deadline becomes ``expired``. Raises ReviewError.
    """
    paused = _parsed_pause(paused)
    late = paused.expires_at is not None and datetime.now(UTC) > paused.expires_at
    return paused, replace(decision, decision="expired", inputs={}, result=UNSET) if late else decision


def _parsed_pause(paused: PausedCall | ToolResponse | Mapping[str, Any] | str | bytes) -> PausedCall:
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
            f"this is not a paused call: {error.error_count()} members are invalid; nothing was done"
        ) from error


def prepare_resume(state: RegistryState, paused: PausedCall, decision: ReviewDecision) -> PreparedCall:
    """Return the call with a person's decision, ready to run or to finish without a run.

    Raises ReviewError; the call then keeps waiting.
    """
    tool = state.tools.get(paused.tool)
    if tool is None:
        raise ReviewError(
            f"this registry has no tool {paused.tool!r} to resume the call with; the call is still paused"
        )
    if tool.options.gate != paused.kind:
        raise ReviewError(f"the tool {paused.tool!r} does not require {paused.kind} here; the call is still paused")
    _check_decision(paused, decision)
    prepared = PreparedCall(
        spec=tool.spec, call_id=paused.call_id, sent={**paused.arguments, **decision.inputs}, tool=tool
    )
    prepared.resumed = paused
    if decision.decision == "approved" and paused.kind != "external":
        _validate(prepared, tool)
    else:
        prepared.arguments = prepared.sent
    # Checked last, so that an invalid answer does not count as the one answer to the call.
    if not state.answered.first(paused.span_id):
        raise ReviewError(f"the call {paused.call_id} of {paused.tool!r} was already answered; nothing was done")
    return prepared


def _check_decision(paused: PausedCall, decision: ReviewDecision) -> None:
    if decision.decision != "approved":
        return
    if (paused.kind == "external") != (decision.result is not UNSET):
        wants = "result=" if paused.kind == "external" else "approve= or inputs="
        raise ReviewError(f"the call {paused.call_id} requires {wants}; it is still paused")


def _validate(prepared: PreparedCall, tool: RegisteredTool) -> None:
    try:
        prepared.arguments = tool.parameters.validate(prepared.sent)
    except ValidationError as error:
        wrong = argument_errors.faults(error, prepared.sent, tool.parameters, lambda _: False)
        raise ReviewError(
            f"the call of {tool.name!r} cannot be resumed and is still paused: {'; '.join(wrong)}"
        ) from error


def resume_context(paused: PausedCall) -> AbstractContextManager[None]:
    """Restore the conversation and the agent of the paused call, unless the current context names others."""
    now = context.current.get()
    return context.context(
        conversation_id=paused.conversation_id if now.conversation_id is None else None,
        agent=paused.agent if now.agent is None else None,
    )


def runs_tool(decision: ReviewDecision) -> bool:
    """Whether the tool is run now. Otherwise it was run elsewhere, or the call was declined or has expired."""
    return decision.decision == "approved" and decision.result is UNSET


def finish_without_run(prepared: PreparedCall, decision: ReviewDecision) -> ToolResponse:
    """Finish a call that is not run here: declined, expired, or executed elsewhere."""
    paused, recorder = prepared.resumed, get_recorder()
    assert paused is not None, "only a paused call is finished without a run"
    attempt = begin(recorder, prepared)
    if decision.decision == "approved":
        response = normalize(decision.result, rules=recorder.rules_of(prepared.spec))
        if attempt is not None:
            recorder.returned(attempt, with_failed_value(response, decision.result), duration_ns=UNKNOWN)
    else:
        response = builtin_responses.not_run(decision.decision, decision.note)
        if attempt is not None:
            recorder.finish_without_run(attempt, decision.decision)
    record_decision(paused, decision, prepared.spec, None if attempt is None else attempt.hex_id)
    if attempt is None:
        return response
    return response.model_copy(update={"meta": _meta(attempt, prepared.spec, response.meta)})


def finish_run(prepared: PreparedCall, decision: ReviewDecision, response: ToolResponse) -> ToolResponse:
    """Record the decision with the span of the run that it led to."""
    assert prepared.resumed is not None, "only a paused call is resumed"
    record_decision(prepared.resumed, decision, prepared.spec, response.meta.span_id)
    return response


def record_decision(paused: PausedCall, decision: ReviewDecision, spec: ToolSpec, resumed: str | None) -> None:
    """Record the decision, who made it and when. ``resumed`` is the id of the span that resumed the call."""
    recorder = get_recorder()
    settings = recorder.settings
    with suppress_faults("record", lost=1):
        redactions = [each for each in (settings.redaction, spec.redact) if each is not None]
        sanitizer = Sanitizer(redactions, settings.field_limit)
        changed = {name: value for name, value in decision.inputs.items() if paused.arguments.get(name, UNSET) != value}
        if (spec.capture or settings.capture) != "full":
            changed = dict.fromkeys(changed)
        recorder.put(
            Gate(
                call_id=sanitizer.sanitize_name("call_id", paused.call_id),
                span_id=paused.span_id,
                kind=paused.kind,
                decision=decision.decision,
                asked_at=paused.asked_at,
                answered_at=datetime.now(UTC),
                answered_by=sanitizer.sanitize_text("answered_by", decision.by),
                note=sanitizer.sanitize_text("note", decision.note),
                changed=sanitizer.sanitize_json("changed", snapshot(changed)) if changed else None,
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

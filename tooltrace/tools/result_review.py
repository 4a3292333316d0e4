"""Review after a call: a result with the next action ``human_review`` waits until a person approves, corrects or declines it.

The tool was run, and its row is complete. The result is in the PausedCall, so that another process can resume it; the
decision adds no row, because nothing is run, and is recorded with the gate.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import orjson

from tooltrace.core.paused_call import PausedCall
from tooltrace.core.record_redaction import redact_record
from tooltrace.core.records import Gate
from tooltrace.core.response import ResponseMeta, ToolResponse
from tooltrace.errors import ReviewError
from tooltrace.normalize import normalize
from tooltrace.otel.sdk_internals import current_context
from tooltrace.recording import context
from tooltrace.recording.config import get_recorder
from tooltrace.recording.tool_spec import named_spec
from tooltrace.redact.walk import to_json_bytes
from tooltrace.tools import builtin_responses
from tooltrace.tools.human_review import ReviewDecision, record_decision
from tooltrace.tools.state import RegistryState
from tooltrace.tools.validation import PreparedCall


def hold(state: RegistryState, prepared: PreparedCall, response: ToolResponse) -> ToolResponse:
    """Return ``response``, or one that waits for a person where the tool stated ``human_review``."""
    tool, meta = prepared.tool, response.meta
    if not state.review or tool is None or response.paused is not None or response.stated_next_action != "human_review":
        return response
    if meta.span_id is None or meta.trace_id is None:
        return builtin_responses.unrecorded(tool.name)
    known, asked_at, wait = context.call_context(current_context()), datetime.now(UTC), tool.options.expires_after
    paused = PausedCall(
        tool=tool.name,
        tool_version=tool.spec.version,
        kind="review",
        arguments=prepared.sent,
        result=response.model_dump(mode="json", fallback=lambda value: orjson.loads(to_json_bytes(value))),
        call_id=meta.call_id or meta.span_id,
        attempt=meta.attempt or 1,
        span_id=meta.span_id,
        trace_id=meta.trace_id,
        conversation_id=known.conversation_id,
        agent=known.agent,
        asked_at=asked_at,
        expires_at=None if wait is None else asked_at + timedelta(seconds=wait),
        approval_type=tool.options.approval_type,
    )
    recorder = get_recorder()
    gate = Gate(call_id=paused.call_id, span_id=paused.span_id, kind="review", asked_at=asked_at)
    recorder.put(redact_record(gate, (recorder.settings.redaction,), recorder.settings.field_limit))
    return builtin_responses.held(paused, meta)


def finish(state: RegistryState, paused: PausedCall, decision: ReviewDecision) -> ToolResponse:
    """Record the decision on a held result, and return the response for the model. Raises ReviewError.

    An approved result advises to continue; ``result=`` of the decision replaces it.
    """
    if decision.inputs:
        raise ReviewError(
            f"the call {paused.call_id} was run and takes no inputs=: pass approve=, decline= or result=; it is still paused"
        )
    if paused.result is None:
        raise ReviewError(f"the call {paused.call_id} has no result to review; nothing was done")
    held = ToolResponse.model_validate(paused.result)
    if not state.answered.first(paused.span_id):
        raise ReviewError(f"the call {paused.call_id} of {paused.tool!r} was already answered; nothing was done")
    tool = state.tools.get(paused.tool)
    spec = named_spec(paused.tool, version=paused.tool_version) if tool is None else tool.spec
    record_decision(paused, decision, spec, None)
    if decision.decision != "approved":
        return builtin_responses.not_passed_on(decision.decision, decision.note, held.meta)
    if not decision.has_result:
        return held.model_copy(update={"next_action": "continue"})
    corrected = normalize(decision.result, rules=get_recorder().rules_of(spec))
    return corrected.model_copy(update={"meta": _meta_of(corrected, held)})


def _meta_of(corrected: ToolResponse, held: ToolResponse) -> ResponseMeta:
    """Return the metadata of the call, with the rule that read the corrected result."""
    return held.meta.model_copy(update={"rule": corrected.meta.rule, "rule_grade": corrected.meta.rule_grade})

"""Calls that wait for a person in Agno: the pause, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tooltrace.core.records import Gate
from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.integrations.agno.call_context import AgnoContext, span_id
from tooltrace.integrations.agno.pending_reviews import (
    PendingReview,
    asked_at,
    derived_span_id,
    find_pending,
    kind_of,
    remember,
)
from tooltrace.integrations.side_table import WeakSideTable
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN, Recorder
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import snapshot


class Answered:
    """A paused call on which a person has decided."""

    def __init__(self, tool: Any, pending: PendingReview | None, inputs: Mapping[str, Any] | None = None) -> None:
        self.note: str | None = tool.confirmation_note
        self.pending = pending
        self._inputs = inputs

    @property
    def number(self) -> int | None:
        """The number of the resumed attempt: that of the paused one, which was not executed yet."""
        return None if self.pending is None else self.pending.number

    def approved(self, recorder: Recorder, attempt: Attempt | None, arguments: Mapping[str, Any] | None) -> None:
        """Record that the call continues, as ``attempt`` if that is known."""
        with suppress_faults("record", lost=1):
            changed = _changes(self.pending, arguments) if self._inputs is None else self._inputs
            self._keep(recorder, "approved", attempt, dict(changed))

    def declined(self, recorder: Recorder, attempt: Attempt) -> None:
        """Record that the person declined the call; ``attempt`` is the record of the call."""
        with suppress_faults("record", lost=1):
            self._keep(recorder, "declined", attempt, {})

    def _keep(self, recorder: Recorder, decision: str, attempt: Attempt | None, changed: dict[str, Any]) -> None:
        pending = self.pending
        if pending is None:
            return
        if attempt is not None and pending.span is not None:
            attempt.add_link(pending.span)
        settings = recorder.settings
        sanitizer = Sanitizer((settings.redaction,), settings.field_limit)
        if settings.capture != "full":
            changed = dict.fromkeys(changed)
        recorder.put(
            Gate(
                call_id=pending.call_id,
                span_id=pending.span_id,
                kind=pending.kind,
                asked_at=pending.at,
                decision=decision,
                answered_at=datetime.now(UTC),
                note=sanitizer.sanitize_text("note", self.note or None),
                changed=sanitizer.sanitize_json("changed", snapshot(changed)) if changed else None,
                resumed_span_id=None if attempt is None else span_id(attempt),
            )
        )


_answers: WeakSideTable[Answered] = WeakSideTable()
_inputs: WeakSideTable[Mapping[str, Any]] = WeakSideTable()


def paused(context: AgnoContext, tool: Any) -> None:
    """Record that Agno pauses the call that ``tool``, a ``ToolExecution``, describes."""
    recorder = get_recorder()
    attempt = context.begin(recorder, tool.tool_args, span_id=derived_span_id(tool, context.run_id) or 0)
    if attempt is None:
        return
    with suppress_faults("record", lost=1):
        paused_span = span_id(attempt)
        arguments = dict(tool.tool_args) if isinstance(tool.tool_args, dict) else None
        pending = PendingReview(
            paused_span,
            attempt.call_id or paused_span,
            kind_of(tool),
            asked_at(tool),
            attempt.number,
            attempt.get_span_context(),
            arguments,
        )
        remember(pending, tool, context.run_id)
        recorder.finish_without_run(attempt, "paused")
        recorder.put(Gate(call_id=pending.call_id, span_id=paused_span, kind=pending.kind, asked_at=pending.at))


def answer_to(tool: Any, run_id: str | None, inputs: Mapping[str, Any] | None = None) -> Answered:
    """Return the answer to the paused ``tool``. ``inputs`` are the values that the person filled in."""
    return Answered(tool, find_pending(tool, run_id), inputs)


def will_run(call: Any, tool: Any, context: AgnoContext) -> None:
    """Store the answer for ``call``, a ``FunctionCall`` made to resume the paused ``tool``."""
    _answers.put(call, answer_to(tool, context.run_id, _inputs.take(tool)))


def answered_by(call: Any) -> Answered | None:
    """Return the answer that ``call`` continues with; None if the call was not paused."""
    return _answers.take(call)


def input_provided(tool: Any) -> None:
    """Store the values that a person filled in for the paused ``tool``, while its arguments are still the model's."""
    arguments = tool.tool_args or {}
    fields = {field.name: field.value for field in tool.user_input_schema or ()}
    _inputs.put(tool, {name: value for name, value in fields.items() if _differs(arguments, name, value)})


def declined(context: AgnoContext, tool: Any) -> Attempt | None:
    """Record that a person declined the paused ``tool``."""
    recorder, answer = get_recorder(), answer_to(tool, context.run_id)
    attempt = context.begin(recorder, tool.tool_args, number=answer.number)
    if attempt is not None:
        answer.declined(recorder, attempt)
        recorder.finish_without_run(attempt, "declined")
    return attempt


def result_provided(context: AgnoContext, tool: Any, answer: Answered, result: Any) -> Attempt | None:
    """Record the ``result`` of the paused ``tool``, provided by a person or an external program."""
    recorder = get_recorder()
    attempt = context.begin(recorder, tool.tool_args, number=answer.number)
    if attempt is not None:
        answer.approved(recorder, attempt, tool.tool_args)
        if tool.tool_call_error:
            result = ToolResponse.error("EXECUTION_ERROR", str(result))
        recorder.returned(attempt, result, duration_ns=UNKNOWN)
    return attempt


def _changes(pending: PendingReview | None, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments that differ from the model's; empty if the model's are not known."""
    if pending is None or pending.arguments is None:
        return {}
    before = pending.arguments
    return {name: value for name, value in (arguments or {}).items() if _differs(before, name, value)}


def _differs(before: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in before or snapshot(before[name]) != snapshot(value)

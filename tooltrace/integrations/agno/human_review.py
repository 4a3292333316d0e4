"""Calls that wait for a person in Agno: the pause, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from tooltrace.core.response import ToolResponse
from tooltrace.faults import suppress_faults
from tooltrace.integrations.agno.call_context import AgnoContext, span_id
from tooltrace.integrations.reviews import PendingReview, changes, differs, pending, record_answer, record_question
from tooltrace.integrations.side_table import WeakSideTable
from tooltrace.recording.attempt import Attempt
from tooltrace.recording.config import get_recorder
from tooltrace.recording.recorder import UNKNOWN, Recorder


def kind_of(tool: Any) -> str:
    """Return the kind of decision that ``tool``, a paused ``ToolExecution``, waits for."""
    if tool.external_execution_required:
        return "external"
    needs_input = tool.user_input_schema is not None or getattr(tool, "user_feedback_schema", None) is not None
    return "input" if tool.requires_user_input or needs_input else "confirmation"


def asked_at(tool: Any) -> datetime:
    """Return the time at which ``tool`` was paused, in whole seconds, as Agno stores it."""
    return datetime.fromtimestamp(tool.created_at, UTC)


def key_of(tool: Any, run_id: str | None) -> str | None:
    """Return the key of the question about ``tool``: the derived span id in hex; None if the model's call has no id."""
    derived = derived_span_id(tool, run_id)
    return None if derived is None else f"{derived:016x}"


def find_pending(tool: Any, run_id: str | None) -> PendingReview | None:
    """Return the question about ``tool``; None if the model's call has no id."""
    span_id = key_of(tool, run_id)
    if span_id is None:
        return None
    return pending.pop(span_id) or PendingReview(span_id, str(tool.tool_call_id), kind_of(tool), asked_at(tool))


def derived_span_id(tool: Any, run_id: str | None) -> int | None:
    """Return the span id of the attempt that paused ``tool``; None if the model's call has no id.

    The id is a hash of data that Agno stores.
    """
    if not tool.tool_call_id:
        return None
    identity = "\0".join(map(str, ("agno", run_id, tool.tool_call_id, tool.tool_name, tool.created_at)))
    return int.from_bytes(sha256(identity.encode("utf-8", "replace")).digest()[:8], "big") or 1


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
            before = None if self.pending is None else self.pending.arguments
            changed = changes(before, arguments) if self._inputs is None else self._inputs
            self._record_gate(recorder, "approved", attempt, dict(changed))

    def declined(self, recorder: Recorder, attempt: Attempt) -> None:
        """Record that the person declined the call; ``attempt`` is the record of the call."""
        with suppress_faults("record", lost=1):
            self._record_gate(recorder, "declined", attempt, {})

    def _record_gate(self, recorder: Recorder, decision: str, attempt: Attempt | None, changed: dict[str, Any]) -> None:
        pending = self.pending
        if pending is None:
            return
        if attempt is not None and pending.span is not None:
            attempt.add_link(pending.span)
        record_answer(recorder, pending, decision, attempt, note=self.note, changed=changed)


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
        recorder.finish_without_run(attempt, "paused")
        record_question(recorder, pending, key_of(tool, context.run_id))


def answer_to(tool: Any, run_id: str | None, inputs: Mapping[str, Any] | None = None) -> Answered:
    """Return the answer to the paused ``tool``. ``inputs`` are the values that the person filled in."""
    return Answered(tool, find_pending(tool, run_id), inputs)


def will_run(call: Any, tool: Any, context: AgnoContext) -> None:
    """Store the answer for ``call``, a ``FunctionCall`` made to resume the paused ``tool``."""
    _answers.put(call, answer_to(tool, context.run_id, _inputs.pop(tool)))


def answered_by(call: Any) -> Answered | None:
    """Return the answer that ``call`` continues with; None if the call was not paused."""
    return _answers.pop(call)


def input_provided(tool: Any) -> None:
    """Store the values that a person filled in for the paused ``tool``, while its arguments are still the model's."""
    arguments = tool.tool_args or {}
    fields = {field.name: field.value for field in tool.user_input_schema or ()}
    _inputs.put(tool, {name: value for name, value in fields.items() if differs(arguments, name, value)})


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

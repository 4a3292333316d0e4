"""A person in between: a call that pauses, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tooltrace.attempt import Attempt
from tooltrace.capture import snapshot
from tooltrace.guard import guarded
from tooltrace.integrations.agno.asked import Asked, asked_at, derived_id, kind_of, recall, remember
from tooltrace.integrations.agno.beside import Beside
from tooltrace.integrations.agno.facts import Facts, span_id
from tooltrace.record import Gate
from tooltrace.recorder import UNKNOWN, Recorder
from tooltrace.response import ToolResponse
from tooltrace.runtime import active
from tooltrace.sieve import Sieve


class Answered:
    """A paused call about which somebody has said something."""

    def __init__(self, tool: Any, asked: Asked | None, inputs: Mapping[str, Any] | None = None) -> None:
        self.note: str | None = tool.confirmation_note
        self.asked = asked
        self._inputs = inputs

    @property
    def number(self) -> int | None:
        """Which attempt of its call goes on: the paused one, for it was not executed yet."""
        return None if self.asked is None else self.asked.number

    def approved(self, recorder: Recorder, attempt: Attempt | None, arguments: Mapping[str, Any] | None) -> None:
        """The call goes on, as ``attempt`` where that is known."""
        with guarded("record", lost=1):
            changed = _changes(self.asked, arguments) if self._inputs is None else self._inputs
            self._keep(recorder, "approved", attempt, dict(changed))

    def declined(self, recorder: Recorder, attempt: Attempt) -> None:
        """The person said no, and ``attempt`` is the record of it."""
        with guarded("record", lost=1):
            self._keep(recorder, "declined", attempt, {})

    def _keep(self, recorder: Recorder, decision: str, attempt: Attempt | None, changed: dict[str, Any]) -> None:
        asked = self.asked
        if asked is None:
            return
        if attempt is not None and asked.span is not None:
            attempt.add_link(asked.span)
        settings = recorder.settings
        sieve = Sieve((settings.redaction,), settings.field_limit)
        if settings.capture != "full":
            changed = dict.fromkeys(changed)
        recorder.keep(
            Gate(
                call_id=asked.call_id,
                span_id=asked.span_id,
                kind=asked.kind,
                asked_at=asked.at,
                decision=decision,
                answered_at=datetime.now(UTC),
                note=sieve.text("note", self.note or None),
                changed=sieve.json("changed", snapshot(changed)) if changed else None,
                resumed_span_id=None if attempt is None else span_id(attempt),
            )
        )


_answers: Beside[Answered] = Beside()
_inputs: Beside[Mapping[str, Any]] = Beside()


def paused(facts: Facts, tool: Any) -> None:
    """Agno pauses the call that ``tool``, a ``ToolExecution``, describes."""
    recorder = active()
    attempt = facts.begin(recorder, tool.tool_args, span_id=derived_id(tool, facts.run_id) or 0)
    if attempt is None:
        return
    with guarded("record", lost=1):
        own = span_id(attempt)
        arguments = dict(tool.tool_args) if isinstance(tool.tool_args, dict) else None
        asked = Asked(
            own,
            attempt.call_id or own,
            kind_of(tool),
            asked_at(tool),
            attempt.number,
            attempt.get_span_context(),
            arguments,
        )
        remember(asked, tool, facts.run_id)
        recorder.stopped(attempt, "paused")
        recorder.keep(Gate(call_id=asked.call_id, span_id=own, kind=asked.kind, asked_at=asked.at))


def answer_to(tool: Any, run_id: str | None, inputs: Mapping[str, Any] | None = None) -> Answered:
    """What somebody says now about the paused ``tool``; ``inputs``: what they filled in."""
    return Answered(tool, recall(tool, run_id), inputs)


def will_run(call: Any, tool: Any, facts: Facts) -> None:
    """``call``, a ``FunctionCall``, was made to go on with the paused ``tool``."""
    _answers.put(call, answer_to(tool, facts.run_id, _inputs.take(tool)))


def answered_by(call: Any) -> Answered | None:
    """The answer that ``call`` goes on with; None where nobody was asked about it."""
    return _answers.take(call)


def given(tool: Any) -> None:
    """A person has filled in the fields of the paused ``tool``, whose arguments are the model's still."""
    arguments = tool.tool_args or {}
    fields = {field.name: field.value for field in tool.user_input_schema or ()}
    _inputs.put(tool, {name: value for name, value in fields.items() if _differs(arguments, name, value)})


def declined(facts: Facts, tool: Any) -> Attempt | None:
    """A person said no to the paused ``tool``."""
    recorder, answer = active(), answer_to(tool, facts.run_id)
    attempt = facts.begin(recorder, tool.tool_args, number=answer.number)
    if attempt is not None:
        answer.declined(recorder, attempt)
        recorder.stopped(attempt, "declined")
    return attempt


def brought(facts: Facts, tool: Any, answer: Answered, result: Any) -> Attempt | None:
    """A person, or a program of theirs, brought the ``result`` of the paused ``tool``."""
    recorder = active()
    attempt = facts.begin(recorder, tool.tool_args, number=answer.number)
    if attempt is not None:
        answer.approved(recorder, attempt, tool.tool_args)
        if tool.tool_call_error:
            result = ToolResponse.error("EXECUTION_ERROR", str(result))
        recorder.returned(attempt, result, duration_ns=UNKNOWN)
    return attempt


def _changes(asked: Asked | None, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that are not what the model gave, where that is known."""
    if asked is None or asked.arguments is None:
        return {}
    before = asked.arguments
    return {name: value for name, value in (arguments or {}).items() if _differs(before, name, value)}


def _differs(before: Mapping[str, Any], name: str, value: Any) -> bool:
    return name not in before or snapshot(before[name]) != snapshot(value)

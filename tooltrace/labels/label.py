"""A single label: validation, redaction and recording."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, get_args

from tooltrace.core.confidence import valid_confidence
from tooltrace.core.record_redaction import redact_record
from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.recording.config import get_recorder
from tooltrace.recording.settings import Settings

LabelerKind = Literal["person", "rule", "agent"]
"""Kind of a labeler: a person, a rule (a program), or an agent (a model)."""
LABELER_KINDS: Final[tuple[str, ...]] = get_args(LabelerKind)
HUMAN: Final = "human"
AGENT_PREFIX: Final = "agent:"
"""Beginning of the name of a labeler whose labels the views ``judged`` and ``conversation_labels`` leave out."""


def make_outcome(
    settings: Settings,
    *,
    call_id: str | None = None,
    span_id: str | None = None,
    conversation_id: str | None = None,
    correct: bool | None = None,
    score: float | None = None,
    labeler: str,
    reason: str | None = None,
    labeled_at: datetime | None = None,
    labeler_kind: str | None = None,
) -> Outcome:
    """Return a checked and redacted outcome; ``labeled_at`` defaults to now.

    ``labeler_kind`` defaults to ``person`` for the labeler ``human``; of other labelers it is unknown.

    Raises LabelError with the cause alone.
    """
    ids = {"call_id": call_id, "span_id": span_id, "conversation_id": conversation_id}
    texts = {**ids, "labeler": labeler, "reason": reason}
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise LabelError(f"{name} must be text; got {text!r}")
    if not labeler:
        raise LabelError("a label needs a labeler: the name of the person or program that labels")
    if not any(ids.values()):
        raise LabelError("a label needs a call_id, a span_id or a conversation_id")
    if conversation_id and (call_id or span_id):
        named = "call_id" if call_id else "span_id"
        raise LabelError(f"a label is of a conversation or of a call: got both conversation_id and {named}; pass one")
    if labeler_kind is not None and labeler_kind not in LABELER_KINDS:
        raise LabelError(f"labeler_kind must be one of {', '.join(LABELER_KINDS)}; got {labeler_kind!r}")
    _check(call_id or span_id or conversation_id, correct, score)
    outcome = Outcome(
        call_id=valid_text(call_id),
        span_id=valid_text(span_id),
        conversation_id=valid_text(conversation_id),
        correct=correct,
        score=None if score is None else valid_confidence(score),
        labeler=labeler,
        reason=reason or None,
        labeled_at=CLOCK.now() if labeled_at is None else labeled_at,
        labeler_kind=labeler_kind or ("person" if labeler == HUMAN else None),
        target_kind="conversation" if conversation_id else "attempt" if span_id else "call",
    )
    return redact_record(outcome, (settings.redaction,), settings.field_limit)


def make_retraction(labeler: str, *, span_id: str | None = None, conversation_id: str | None = None) -> Outcome:
    """Return the outcome by which ``labeler`` takes all earlier labels of an attempt or a conversation back.

    It has neither ``correct`` nor ``score``; the views ``judged`` and ``conversation_labels`` then ignore the labeler's
    earlier labels.
    """
    settings = get_recorder().settings
    outcome = Outcome(
        span_id=valid_text(span_id),
        conversation_id=valid_text(conversation_id),
        labeler=labeler,
        labeled_at=CLOCK.now(),
        labeler_kind="person" if labeler == HUMAN else None,
        target_kind="conversation" if conversation_id else "attempt",
    )
    return redact_record(outcome, (settings.redaction,), settings.field_limit)


_MICROSECOND: Final = timedelta(microseconds=1)


class _Clock:
    """The time, later at each call, so that the latest of two labels is known."""

    def __init__(self) -> None:
        self._previous = datetime.min.replace(tzinfo=UTC)

    def now(self) -> datetime:
        now = datetime.now(UTC)
        # Only ties and small steps back are corrected: after a clock was set back, following it is better than labels
        # in the future.
        if -1000 * _MICROSECOND < now - self._previous <= timedelta(0):
            now = self._previous + _MICROSECOND
        self._previous = now
        return now


CLOCK: Final = _Clock()


def valid_text(text: str | None) -> str | None:
    """Return ``text`` as valid Unicode, which is how a journal stores ids, so that the label matches its call."""
    return text.encode("utf-8", "replace").decode() if text else None


def _check(judged: str | None, correct: Any, score: Any) -> None:
    if correct is None and score is None:
        raise LabelError(f"the label of {judged} has neither correct nor score: pass one")
    if correct is not None and not isinstance(correct, bool):
        raise LabelError(f"correct must be True or False; got {correct!r}; pass a score as score=")
    if score is not None and valid_confidence(score) is None:
        raise LabelError(f"the score of {judged} must be from 0 to 1; got {score!r}")


def label(
    *,
    call_id: str | None = None,
    span_id: str | None = None,
    conversation_id: str | None = None,
    correct: bool | None = None,
    score: float | None = None,
    labeler: str = HUMAN,
    reason: str | None = None,
    labeler_kind: LabelerKind | None = None,
) -> None:
    """Label a call, by its ``call_id``, one attempt of it, by its ``span_id``, or a whole conversation.

    The label of a conversation, by its ``conversation_id``, is its outcome: whether it reached its goal. It says nothing
    about the calls in it. Pass ``correct``, or ``score`` in [0, 1], or both. ``labeler`` names who made the judgement, and
    ``labeler_kind`` states whether that is a person, a rule or an agent; of several labels by one labeler the latest counts.
    A label may be recorded before its call. The label is also emitted as the event ``gen_ai.evaluation.result`` if the
    application has a LoggerProvider. Raises LabelError.
    """
    recorder = get_recorder()
    try:
        outcome = make_outcome(
            recorder.settings,
            call_id=call_id,
            span_id=span_id,
            conversation_id=conversation_id,
            correct=correct,
            score=score,
            labeler=labeler,
            reason=reason,
            labeler_kind=labeler_kind,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None
    recorder.put(outcome)

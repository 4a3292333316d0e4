"""Say later whether a result was right."""

from __future__ import annotations

from datetime import UTC, datetime

from tooltrace.attempt import usable_confidence
from tooltrace.errors import LabelError
from tooltrace.record import Outcome
from tooltrace.runtime import active


def label(
    *,
    call_id: str | None = None,
    span_id: str | None = None,
    correct: bool | None = None,
    score: float | None = None,
    source: str = "human",
    reason: str | None = None,
) -> None:
    """Judge a call, by its ``call_id``, or one attempt of it, by its ``span_id``.

    ``correct``, or ``score`` in [0, 1], or both. ``source``: who says so; of several labels by one source
    the latest counts. May come before the call. Raises LabelError.
    """
    if call_id is None and span_id is None:
        raise LabelError("a label needs a call_id or a span_id; nothing was recorded")
    if correct is None and score is None:
        raise LabelError(f"the label of {call_id or span_id} says neither correct nor score; nothing was recorded")
    texts = {"call_id": call_id, "span_id": span_id, "source": source, "reason": reason}
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise LabelError(f"{name} takes text, got {text!r}; nothing was recorded")
    if correct is not None and not isinstance(correct, bool):
        raise LabelError(f"correct takes True or False, got {correct!r}; a score goes in score=; nothing was recorded")
    if score is not None and usable_confidence(score) is None:
        raise LabelError(f"score must lie in [0, 1], got {score!r}; nothing was recorded for {call_id or span_id}")
    recorder = active()
    recorder.keep(
        Outcome(
            call_id=call_id,
            span_id=span_id,
            correct=correct,
            score=None if score is None else float(score),
            labeler=source,
            reason=None if reason is None else recorder.settings.redaction.text(reason),
            labeled_at=datetime.now(UTC),
        )
    )

"""One label, by whoever knows."""

from __future__ import annotations

from tooltrace.errors import LabelError
from tooltrace.outcomes.judgement import judgement
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
    the latest counts. May come before the call. Goes out as the event ``gen_ai.evaluation.result`` too, where the
    application has a LoggerProvider. Raises LabelError.
    """
    recorder = active()
    try:
        outcome = judgement(
            recorder.settings,
            call_id=call_id,
            span_id=span_id,
            correct=correct,
            score=score,
            labeler=source,
            reason=reason,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None
    recorder.keep(outcome)

"""A correction of a recorded reading: validation, redaction and recording."""

from __future__ import annotations

from typing import Final, Literal, get_args

from tooltrace.core.record_redaction import redact_record
from tooltrace.core.records import Correction
from tooltrace.errors import LabelError
from tooltrace.labels.label import CLOCK, HUMAN, valid_text
from tooltrace.recording.config import get_recorder
from tooltrace.recording.settings import Settings

CorrectedStatus = Literal["success", "partial", "error", "recorded"]
"""Status of a correction; ``recorded`` restores the reading as it was recorded."""
STATUSES: Final[tuple[str, ...]] = get_args(CorrectedStatus)


def make_correction(
    settings: Settings,
    *,
    call_id: str | None = None,
    span_id: str | None = None,
    status: str,
    code: str | None = None,
    reason: str | None = None,
    labeler: str | None = None,
) -> Correction:
    """Return a checked and redacted correction by a person. Raises LabelError with the cause alone."""
    texts = {"call_id": call_id, "span_id": span_id, "code": code, "reason": reason, "labeler": labeler}
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise LabelError(f"{name} must be text; got {text!r}")
    if not call_id and not span_id:
        raise LabelError("a correction needs a call_id or a span_id")
    if status not in STATUSES:
        raise LabelError(f"status must be one of {', '.join(STATUSES)}; got {status!r}")
    if code and status in ("success", "recorded"):
        raise LabelError(f"code belongs to an error or a partial result; got {code!r} with the status {status}")
    correction = Correction(
        call_id=valid_text(call_id),
        span_id=valid_text(span_id),
        status=None if status == "recorded" else status,
        code=code or None,
        labeler=labeler or HUMAN,
        labeler_kind="person",
        reason=reason or None,
        corrected_at=CLOCK.now(),
    )
    return redact_record(correction, (settings.redaction,), settings.field_limit)


def correct(
    *,
    call_id: str | None = None,
    span_id: str | None = None,
    status: CorrectedStatus,
    code: str | None = None,
    reason: str | None = None,
    labeler: str | None = None,
) -> None:
    """Correct how a result was read: the attempt has ``status`` from now on, in every query.

    ``call_id`` names the last attempt of a call that reported a status, ``span_id`` one attempt. ``status`` is
    ``success``, ``partial`` or ``error`` (with a ``code``), or ``recorded``, which restores the recorded reading.
    ``labeler`` names the person. A correction is not a label: it states what happened, not whether the result was
    right. The recorded status stays in ``status_recorded``. Raises LabelError.
    """
    recorder = get_recorder()
    try:
        correction = make_correction(
            recorder.settings,
            call_id=call_id,
            span_id=span_id,
            status=status,
            code=code,
            reason=reason,
            labeler=labeler,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None
    recorder.put(correction)

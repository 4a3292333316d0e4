"""The fields of the forms that label an attempt or a conversation, and the outcomes that they mean."""

from __future__ import annotations

from typing import Any, Final

from anyio import to_thread
from starlette.requests import Request

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import HUMAN, make_outcome, make_retraction
from tooltrace.labels.writer import write_label
from tooltrace.recording.settings import Settings
from tooltrace.server.label_state import restored_by_undo
from tooltrace.server.request import app_state

MAX_BODY_BYTES: Final = 64 * 1024
_VERDICTS: Final = {"correct": True, "wrong": False, "": None}


def form_text(form: dict[str, str], name: str) -> str:
    """Return a field of a form without blanks around it; empty where it is missing."""
    return form.get(name, "").strip()


def labeler_of(form: dict[str, str]) -> str:
    """Return the labeler that a form names, else the name for a person."""
    return form_text(form, "labeler") or HUMAN


def outcome_of(form: dict[str, str], *, span_id: str | None = None, conversation_id: str | None = None) -> Outcome:
    """Return the label that a form gives an attempt or a conversation. Raises LabelError."""
    correct, score = _verdict_of(form)
    try:
        return make_outcome(
            Settings(store=None),
            span_id=span_id,
            conversation_id=conversation_id,
            correct=correct,
            score=score,
            labeler=labeler_of(form),
            reason=form_text(form, "reason") or None,
        )
    except LabelError as error:
        raise LabelError(f"{error}; nothing was recorded") from None


def outcome_of_undo(
    labels: list[dict[str, Any]], labeler: str, *, span_id: str | None = None, conversation_id: str | None = None
) -> Outcome:
    """Return the outcome that takes back the latest of ``labels`` by ``labeler``: the one before counts again, else none.

    ``labels``: all of the attempt or the conversation, in order of time. Raises LabelError.
    """
    try:
        before = restored_by_undo(labels, span_id, labeler)
    except LookupError:
        raise LabelError(f"found no label by {labeler!r} to take back; nothing was recorded") from None
    if before is None:
        return make_retraction(labeler, span_id=span_id, conversation_id=conversation_id)
    return make_outcome(
        Settings(store=None),
        span_id=span_id,
        conversation_id=conversation_id,
        correct=before["correct"],
        score=before["score"],
        labeler=labeler,
        reason=before["reason"],
    )


async def store_label(request: Request, outcome: Outcome) -> None:
    """Write ``outcome`` to the store, after which pages query it again. Raises StoreError."""
    state = app_state(request)
    await to_thread.run_sync(write_label, outcome, state.site.store)
    state.cache.invalidate()


def _verdict_of(form: dict[str, str]) -> tuple[bool | None, float | None]:
    verdict = form_text(form, "verdict")
    if verdict not in _VERDICTS:
        raise LabelError(f"the verdict must be 'correct', 'wrong' or empty. Got {verdict!r}; nothing was recorded")
    try:
        return _VERDICTS[verdict], float(form_text(form, "score")) if form_text(form, "score") else None
    except ValueError:
        raise LabelError("the score must be a number from 0 to 1; nothing was recorded") from None

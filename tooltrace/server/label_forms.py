"""Labels on the pages: their state, the fields of the forms, and the outcomes that these mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from anyio import to_thread
from starlette.requests import Request

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import AGENT_PREFIX, HUMAN, make_outcome, make_retraction
from tooltrace.labels.writer import write_label
from tooltrace.recording.settings import Settings
from tooltrace.server.request import app_state

Row = dict[str, Any]
"""A row of the query ``labels``."""


@dataclass(frozen=True, slots=True)
class LabelState:
    """The labels of one attempt that count now."""

    current: tuple[Row, ...]
    """The latest label of each labeler, the latest first; without those taken back, and without those by ``agent:`` and a name."""
    correct: bool | None
    """Whether the result was right, as in the view ``judged``: by the majority, else the latest; None without a label."""

    @property
    def right(self) -> list[str]:
        """The labelers who say right."""
        return [row["labeler"] for row in self.current if is_right(row)]

    @property
    def wrong(self) -> list[str]:
        """The labelers who say wrong."""
        return [row["labeler"] for row in self.current if not is_right(row)]

    @property
    def disagree(self) -> bool:
        """Whether some labelers say right and others wrong."""
        return bool(self.right and self.wrong)


def label_state(labels: list[Row], span_id: str) -> LabelState:
    """Return the state of the attempt ``span_id`` by its labels and those of its call, in order of time."""
    latest: dict[str, Row] = {}
    for row in labels:
        if row["span_id"] in (None, span_id) and not row["labeler"].startswith(AGENT_PREFIX):
            # Removed and added again, so that the order of the dict is that of the latest labels.
            latest.pop(row["labeler"], None)
            if not is_retraction(row):
                latest[row["labeler"]] = row
    current = tuple(reversed(latest.values()))
    votes = [is_right(row) for row in current]
    right = sum(votes)
    correct = None if not votes else votes[0] if 2 * right == len(votes) else 2 * right > len(votes)
    return LabelState(current, correct)


def restored_by_undo(labels: list[Row], span_id: str | None, labeler: str) -> Row | None:
    """Return the label that ``labeler`` gave before the latest; None if that was the first.

    ``span_id``: the labelled attempt; None where ``labels`` are of a conversation.

    Raises LookupError where the labeler has given no label.
    """
    own = [row for row in labels if row["span_id"] == span_id and row["labeler"] == labeler]
    if not own:
        raise LookupError(labeler)
    before = own[-2] if len(own) > 1 else None
    return None if before is None or is_retraction(before) else before


def is_right(row: Row) -> bool:
    """Whether the label says right, as in the view ``judged``."""
    return bool(row["correct"]) if row["correct"] is not None else bool((row["score"] or 0.0) >= 0.5)


def is_retraction(row: Row) -> bool:
    """Whether the row takes the labeler's earlier label back."""
    return row["correct"] is None and row["score"] is None


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

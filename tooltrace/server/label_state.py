"""The state of one attempt's labels: the label of each labeler, whether they disagree, and what undo restores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tooltrace.labels.label import AGENT_PREFIX

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

"""Labels from a SELECT over the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.from_file import COLUMNS, missing, outcome_of
from tooltrace.labels.label import LabelerKind
from tooltrace.labels.writer import LabelWriter
from tooltrace.recording.settings import Settings
from tooltrace.store.base import open_store

SELECTABLE: Final = tuple(name for name in COLUMNS if name not in ("labeler", "labeled_at", "labeler_kind"))
"""The columns that the result of the SELECT may have."""


def label_selected(sql: str, settings: Settings, labeler: str, *, kind: LabelerKind, again: bool) -> int:
    """Label attempts with the rows of a SELECT: see :func:`tooltrace.outcome_from`."""
    assert settings.store is not None
    rows = open_store(settings.store).labels_of_select(sql, SELECTABLE, labeler, again=again, check=_check)
    outcomes = _judgements(rows, settings, labeler, kind)
    with LabelWriter(settings) as writer:
        for outcome, trace_id, span_id in outcomes:
            writer.add(outcome, trace_id=trace_id, span_id=span_id)
    return writer.count


def _check(names: list[str]) -> None:
    fault = missing(names)
    unknown = [name for name in names if name not in SELECTABLE]
    duplicates = sorted({name for name in names if names.count(name) > 1})
    if unknown:
        fault = f"unknown columns {', '.join(unknown)}; the columns of a label are {', '.join(SELECTABLE)}"
    if duplicates:
        fault = f"column {', '.join(duplicates)} occurs twice"
    if fault:
        raise LabelError(f"the result of the SELECT is not a table of labels: {fault}; nothing was recorded")


def _judgements(
    rows: Iterable[Sequence[Any]], settings: Settings, labeler: str, kind: LabelerKind
) -> list[tuple[Outcome, str | None, str | None]]:
    """Return an outcome with its trace id and span id for each call, attempt or conversation that ``rows`` judge.

    Rows with neither correct nor score are left out. Raises LabelError for an invalid row, and for two rows that judge
    the same differently.
    """
    outcomes: dict[tuple[str | None, str | None, str | None], tuple[Outcome, str | None, str | None]] = {}
    for row in rows:
        values = {**dict(zip(SELECTABLE, row, strict=False)), "labeler_kind": kind}
        if values["correct"] is None and values["score"] is None:
            continue
        try:
            outcome = outcome_of(values, settings, labeler)
        except LabelError as error:
            raise LabelError(f"{error}; nothing was recorded") from None
        judged = (outcome.call_id, outcome.span_id, outcome.conversation_id)
        earlier = outcomes.setdefault(judged, (outcome, row[-2], row[-1]))[0]
        if (earlier.correct, earlier.score) != (outcome.correct, outcome.score):
            named = outcome.span_id or outcome.call_id or outcome.conversation_id
            raise LabelError(
                f"the SELECT has two different judgements of {named}: use span_id to label one attempt; nothing was recorded"
            )
    return list(outcomes.values())

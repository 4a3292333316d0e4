"""Labels from a function that is called with each attempt."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from tooltrace.core.plural import format_count
from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.api import Judge
from tooltrace.labels.label import LabelerKind, make_outcome
from tooltrace.labels.writer import LabelWriter
from tooltrace.recording.settings import Settings
from tooltrace.store.base import StoreBackend, open_store
from tooltrace.store.database.views import BY_LABELER
from tooltrace.store.result import Statement

PAGE = 1000
"""Attempts read at once: no lease on the store is held while the function runs."""

_UNJUDGED = f"""
WITH {BY_LABELER}
SELECT span_id, started_at
FROM tool_calls
WHERE status IS NOT NULL AND ending IN ('returned', 'raised')
  AND ($again OR span_id NOT IN (SELECT span_id FROM mine))
ORDER BY started_at, span_id
"""
_ROWS = """
SELECT *
FROM tool_calls
WHERE started_at BETWEEN $first AND $last AND span_id IN (SELECT unnest($ids))
ORDER BY started_at, span_id
"""
"""SQL for the attempts of one page; the time bounds limit what DuckDB scans."""
_MEMBERS = ("correct", "score", "reason")


def label_by(judge: Judge, settings: Settings, labeler: str, *, kind: LabelerKind, again: bool) -> int:
    """Label attempts with the judgements of ``judge``: see :func:`tooltrace.outcome_from`."""
    assert settings.store is not None
    with LabelWriter(settings) as writer:
        for row in _attempts(open_store(settings.store), labeler, again=again):
            judgement = judge(dict(row))
            try:
                outcome = _outcome(judgement, row, settings, labeler, kind)
            except LabelError as error:
                recorded = (
                    f"{format_count(writer.count, 'label')} before it {'was' if writer.count == 1 else 'were'} recorded"
                    if writer.count
                    else "nothing was recorded"
                )
                raise LabelError(f"{error} (attempt {row['span_id']} of {row['call_id']}); {recorded}") from None
            if outcome is not None:
                writer.add(outcome, trace_id=row["trace_id"], span_id=row["span_id"])
    return writer.count


def _attempts(store: StoreBackend, labeler: str, *, again: bool) -> Iterator[dict[str, Any]]:
    params = {"labeler": labeler, "again": again}
    unjudged = store.query(Statement(name="unjudged_attempts", sql=_UNJUDGED, params=params)).rows
    for first in range(0, len(unjudged), PAGE):
        yield from _page(store, unjudged[first : first + PAGE])


def _page(store: StoreBackend, unjudged: list[tuple[str, datetime]]) -> list[dict[str, Any]]:
    params = {"first": unjudged[0][1], "last": unjudged[-1][1], "ids": [span_id for span_id, _ in unjudged]}
    return store.query(Statement(name="attempts_to_judge", sql=_ROWS, params=params)).dicts()


def _outcome(
    judgement: Any, row: dict[str, Any], settings: Settings, labeler: str, kind: LabelerKind
) -> Outcome | None:
    correct, score, reason = _read(judgement)
    if correct is None and score is None:
        return None
    return make_outcome(
        settings,
        call_id=row["call_id"],
        span_id=row["span_id"],
        correct=correct,
        score=score,
        labeler=labeler,
        reason=reason,
        labeler_kind=kind,
    )


def _read(judgement: Any) -> tuple[Any, Any, Any]:
    """Return correct, score and reason of a judgement. Raises LabelError."""
    judgement = _to_python(judgement)
    if judgement is None or isinstance(judgement, bool):
        return judgement, None, None
    if isinstance(judgement, int | float):
        return None, judgement, None
    if isinstance(judgement, Mapping):
        unknown = [str(name) for name in judgement if name not in _MEMBERS]
        if unknown:
            raise LabelError(f"a judgement may have {', '.join(_MEMBERS)}; got {', '.join(unknown)}")
        return _to_python(judgement.get("correct")), _to_python(judgement.get("score")), judgement.get("reason")
    if hasattr(judgement, "correct") or hasattr(judgement, "score"):
        correct, score, reason = (getattr(judgement, name, None) for name in _MEMBERS)
        return _to_python(correct), _to_python(score), reason
    if inspect.iscoroutine(judgement):
        judgement.close()
    raise LabelError(f"the function must return True, False, a score, a dict or None; got {judgement!r:.80}")


def _to_python(value: Any) -> Any:
    """Return a NumPy scalar as a Python value; any other value unchanged."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value

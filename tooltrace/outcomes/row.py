"""A row that somebody wrote by hand or by program, read as a judgement."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tooltrace.errors import LabelError
from tooltrace.outcomes.judgement import judgement
from tooltrace.record import Outcome
from tooltrace.settings import Settings

IDS = ("call_id", "span_id")
VERDICTS = ("correct", "score")
COLUMNS = (*IDS, *VERDICTS, "labeler", "reason", "labeled_at")
"""What a row may say."""

_RIGHT = frozenset({"true", "t", "yes", "y", "right", "correct", "1", "1.0"})
_WRONG = frozenset({"false", "f", "no", "n", "wrong", "incorrect", "0", "0.0"})


def outcome_of(row: Mapping[str, Any], settings: Settings, labeler: str) -> Outcome:
    """What ``row`` says; ``labeler`` where it does not say who. Empty text is unknown. Raises LabelError."""
    known = {name: _stripped(row.get(name)) for name in COLUMNS}
    return judgement(
        settings,
        call_id=_identity("call_id", known["call_id"]),
        span_id=_identity("span_id", known["span_id"]),
        correct=_truth(known["correct"]),
        score=_number(known["score"]),
        labeler=known["labeler"] or labeler,
        reason=known["reason"],
        labeled_at=_moment(known["labeled_at"]),
    )


def missing(names: Mapping[str, Any] | tuple[str, ...] | list[str]) -> str | None:
    """What a table with the columns ``names`` lacks to hold labels; None where it lacks nothing."""
    for needed in (IDS, VERDICTS):
        if not any(name in names for name in needed):
            return f"it has neither a column {needed[0]} nor {needed[1]}"
    return None


def _stripped(value: Any) -> Any:
    return (value.strip() or None) if isinstance(value, str) else value


def _identity(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise LabelError(f"{name} takes text, got {value!r}")


def _truth(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _RIGHT or word in _WRONG:
        return word in _RIGHT
    raise LabelError(f"correct takes true or false, yes or no, right or wrong, 1 or 0, got {str(value)[:80]!r}")


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise LabelError(f"score takes a number from 0 to 1, got {value[:80]!r}") from None


def _moment(value: Any) -> datetime | None:
    """A time without a zone is taken as UTC."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise LabelError(f"labeled_at takes a date or time in ISO form, got {str(value)[:80]!r}") from None

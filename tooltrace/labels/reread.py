"""Stored results read again, by today's rules or without heuristics; each changed reading is a correction by a rule."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

import orjson

from tooltrace.core.records import Correction
from tooltrace.normalize import NONE, PLAIN, RULES, Rule, normalize
from tooltrace.redact.texts import MASK
from tooltrace.store.base import Store, open_store
from tooltrace.store.database.corrections import RULE as BY_PERSON

Mode = Literal["certain", "current"]
"""``certain``: undo the readings of heuristic rules. ``current``: read the results by today's rules."""
LABELER: Final = "reread"
BATCH: Final = 10_000
"""Corrections written at once, at least."""

_COLUMNS: Final = (
    "span_id", "call_id", "status", "code", '"rule"', "rule_grade", "status_recorded", "reading_recorded", "result",
    '"text"', "first_item_ms", "truncated", "full_sizes", "redacted",
)  # fmt: skip
_CANDIDATES: Final = f"""status IS NOT NULL AND ending = 'returned' AND "rule" <> '{BY_PERSON}'
  AND ("rule" IN ('{PLAIN}', '{NONE}') OR rule_grade IN ('heuristic', 'unread') OR status_recorded IS NOT NULL)
  AND (CAST($since AS TIMESTAMP) IS NULL OR started_at >= $since) AND ($tool IS NULL OR tool = $tool)"""


class Reading(NamedTuple):
    """How the result of an attempt was read."""

    status: str
    code: str | None
    rule: str | None
    grade: str | None


class Change(NamedTuple):
    """A kind of change: the readings before and after, without the names of rules."""

    status: str
    code: str | None
    grade: str | None
    new_status: str
    new_code: str | None
    new_grade: str | None


@dataclass(slots=True)
class RereadReport:
    """Counts of one rereading."""

    read: int = 0
    """Attempts whose readings were examined."""
    changed: int = 0
    left: Counter[str] = field(default_factory=Counter)
    """Attempts that stay as they are because their result is not stored whole, by cause: cut, redacted, not stored."""
    changes: Counter[Change] = field(default_factory=Counter)
    examples: dict[Change, str] = field(default_factory=dict)
    """The id of the first call of each kind of change."""


@dataclass(frozen=True, slots=True)
class _StoredReading:
    """A row of the store, with the reading in force and the recorded one."""

    row: dict[str, Any]
    now: Reading
    recorded: Reading

    @classmethod
    def of(cls, values: Sequence[Any]) -> _StoredReading:
        row = dict(zip((name.strip('"') for name in _COLUMNS), values, strict=True))
        now = Reading(row["status"], row["code"], row["rule"], row["rule_grade"])
        if row["status_recorded"] is None:
            return cls(row, now, now)
        before = orjson.loads(row["reading_recorded"] or "{}")
        return cls(
            row, now, Reading(row["status_recorded"], before.get("code"), before.get("rule"), before.get("rule_grade"))
        )

    @property
    def has_raw_result(self) -> bool:
        """Whether ``result`` is what the tool returned: a protocol's rule stores only the data of the protocol."""
        rule = self.recorded.rule or ""
        return rule in (PLAIN, NONE) or (self.recorded.grade == "heuristic" and "/" not in rule)

    def incomplete(self) -> str | None:
        """Return why the stored result is not whole; None if it is."""
        row = self.row
        sizes = orjson.loads(row["full_sizes"]) if row["full_sizes"] else {}
        if row["truncated"] and (not sizes or sizes.keys() & {"result", "text"}):
            return "cut"
        content = f"{row['result'] or ''}{row['text'] or ''}"
        if row["redacted"] and (MASK in content or not content):
            return "redacted"
        return "not stored" if not content and self.recorded.rule != NONE else None

    def value(self) -> Any:
        """Return the stored result: the text of a stream, else the JSON value."""
        row = self.row
        is_stream = row["first_item_ms"] is not None and row["text"] is not None
        return row["text"] if is_stream or row["result"] is None else orjson.loads(row["result"])


def reread(
    store: Store,
    mode: Mode,
    *,
    since: datetime | None = None,
    tool: str | None = None,
    rules: tuple[Rule, ...] = RULES,
    dry_run: bool = False,
    advance: Callable[[int, int], object] = max,
) -> RereadReport:
    """Read the results in a store again, and write a correction for each reading that changes.

    ``since``: an aware time. ``dry_run``: count the changes only. ``advance`` receives the number of attempts that were
    read, and the number of all. A person's correction stays in force. Raises StoreError, UnsupportedByStore.
    """
    backend = open_store(store)
    params = {"since": None if since is None else since.astimezone(UTC).replace(tzinfo=None), "tool": tool}
    report = RereadReport()
    at = datetime.now(UTC)
    changed: list[Correction] = []
    for rows, total in backend.scan_attempts(_COLUMNS, _CANDIDATES, params):
        for attempt in map(_StoredReading.of, rows):
            report.read += 1
            reading = _read_again(attempt, mode, rules, report)
            if reading is not None and not _is_same(attempt.now, reading):
                _count(report, attempt, reading)
                changed.append(_correction(attempt, reading, mode, at))
        # The list is emptied in any case, so that memory does not grow with the store.
        if dry_run:
            changed.clear()
        elif len(changed) >= BATCH:
            backend.write(changed)
            changed.clear()
        advance(report.read, total)
    if changed:
        backend.write(changed)
    return report


def _read_again(attempt: _StoredReading, mode: Mode, rules: tuple[Rule, ...], report: RereadReport) -> Reading | None:
    """Return today's reading of ``attempt``; None if it stays as it is."""
    if mode == "certain":
        return Reading("success", None, PLAIN, "unread") if attempt.now.grade == "heuristic" else None
    if not attempt.has_raw_result:
        return attempt.recorded
    cause = attempt.incomplete()
    # A reading that cannot be checked again must not keep a correction of an earlier run.
    if cause is not None and attempt.now != attempt.recorded:
        return attempt.recorded
    if cause is not None:
        report.left[cause] += 1
        return None
    response = normalize(attempt.value(), rules=rules)
    reading = Reading(response.status, response.code, response.meta.rule, response.meta.rule_grade)
    return attempt.recorded if _is_same(attempt.recorded, reading) else reading


def _is_same(old: Reading, new: Reading) -> bool:
    """Whether two readings agree. Rows from before the grade ``unread`` existed have ``certain`` in its place."""
    was_unread = old.rule in (PLAIN, NONE) and new.grade == "unread"
    return (old.status, old.code) == (new.status, new.code) and (old.grade == new.grade or was_unread)


def _count(report: RereadReport, attempt: _StoredReading, new: Reading) -> None:
    now = attempt.now
    change = Change(now.status, now.code, now.grade, new.status, new.code, new.grade)
    report.changed += 1
    report.changes[change] += 1
    report.examples.setdefault(change, attempt.row["call_id"])


def _correction(attempt: _StoredReading, reading: Reading, mode: Mode, at: datetime) -> Correction:
    """Return the correction that gives ``attempt`` the ``reading``; the recorded one is restored."""
    known = {"span_id": attempt.row["span_id"], "labeler": LABELER, "labeler_kind": "rule", "corrected_at": at}
    reason = f"tooltrace reread --rules {mode}"
    if reading == attempt.recorded:
        return Correction(**known, reason=reason)
    return Correction(
        **known, reason=reason, status=reading.status, code=reading.code, rule=reading.rule, rule_grade=reading.grade
    )

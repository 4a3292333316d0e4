"""Labels from a CSV, JSON Lines or Parquet file."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tooltrace.core.records import Outcome
from tooltrace.errors import LabelError
from tooltrace.labels.label import make_outcome
from tooltrace.labels.writer import LabelWriter
from tooltrace.recording.settings import Settings
from tooltrace.store.base import Store, open_store
from tooltrace.store.database.schema import quote_identifier, quote_literal
from tooltrace.store.result import Statement

IDS = ("call_id", "span_id", "conversation_id")
VERDICTS = ("correct", "score")
COLUMNS = (*IDS, *VERDICTS, "labeler", "reason", "labeled_at", "labeler_kind")
"""The columns that a row may have."""

_RIGHT = frozenset({"true", "t", "yes", "y", "right", "correct", "1", "1.0"})
_WRONG = frozenset({"false", "f", "no", "n", "wrong", "incorrect", "0", "0.0"})


def outcome_of(row: Mapping[str, Any], settings: Settings, labeler: str) -> Outcome:
    """Return the outcome that ``row`` describes. Raises LabelError.

    ``labeler`` applies when the row names none. Empty text is unknown.
    """
    known = {name: _stripped(row.get(name)) for name in COLUMNS}
    return make_outcome(
        settings,
        call_id=_identity("call_id", known["call_id"]),
        span_id=_identity("span_id", known["span_id"]),
        conversation_id=_identity("conversation_id", known["conversation_id"]),
        correct=_truth(known["correct"]),
        score=_number(known["score"]),
        labeler=known["labeler"] or labeler,
        reason=known["reason"],
        labeled_at=_moment(known["labeled_at"]),
        labeler_kind=known["labeler_kind"],
    )


def missing(names: Mapping[str, Any] | tuple[str, ...] | list[str]) -> str | None:
    """Return why a table with the columns ``names`` cannot hold labels; None when it can."""
    for needed in (IDS, VERDICTS):
        if not any(name in names for name in needed):
            return f"it needs a column {', '.join(needed[:-1])} or {needed[-1]}"
    return None


def _stripped(value: Any) -> Any:
    return (value.strip() or None) if isinstance(value, str) else value


def _identity(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise LabelError(f"{name} must be text; got {value!r}")


def _truth(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _RIGHT or word in _WRONG:
        return word in _RIGHT
    raise LabelError(f"correct must be true or false, yes or no, right or wrong, 1 or 0; got {str(value)[:80]!r}")


def _number(value: Any) -> float | None:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        raise LabelError(f"score must be a number from 0 to 1; got {value[:80]!r}") from None


def _moment(value: Any) -> datetime | None:
    """Parse an ISO date or time; without a zone it is UTC. Raises LabelError."""
    if value is None:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise LabelError(f"labeled_at must be an ISO date or time; got {str(value)[:80]!r}") from None


Advance = Callable[[int], None]
"""Callback that receives the number of bytes read since its last call."""

_BOM = b"\xef\xbb\xbf"
_HEAD = 1024 * 1024
_DELIMITERS = ",;\t|"
_PARQUET = b"PAR1"
_STEP = 64 * 1024
"""Bytes between two reports of progress."""


class Line(NamedTuple):
    """One row, or the reason why it could not be read."""

    number: int
    """Line number, from 1; in a Parquet file the row number."""
    row: dict[str, Any]
    fault: str | None = None


def read_lines(path: Path, unused: Callable[[list[str]], None], advance: Advance) -> Iterator[Line]:
    """Yield the rows of ``path``; its content decides the format.

    ``unused`` receives the columns that are not label columns, as they occur. Raises LabelError when the file cannot
    be read or cannot hold labels.
    """
    try:
        with io.BufferedReader(path.open("rb", buffering=0), _HEAD) as stream:
            head = stream.peek(_HEAD)[:_HEAD].removeprefix(_BOM).lstrip()
            if head.startswith(_PARQUET):
                yield from _parquet(path, unused, advance)
            elif head.startswith(b"["):
                raise LabelError(
                    f"{path}: the file is a JSON array: convert it to JSON Lines, one object per line (jq -c '.[]')"
                )
            elif head.startswith(b"{"):
                yield from _json_lines(_counted(stream, advance), unused)
            elif head:
                yield from _csv(path, _counted(stream, advance), unused)
    except OSError as error:
        raise LabelError(f"{path}: {error.strerror or error}") from error


def _counted(stream: Iterable[bytes], advance: Advance) -> Iterator[bytes]:
    read = 0
    for number, line in enumerate(stream):
        read += len(line)
        if read >= _STEP:
            advance(read)
            read = 0
        yield line.removeprefix(_BOM) if number == 0 else line
    advance(read)


def _json_lines(lines: Iterator[bytes], unused: Callable[[list[str]], None]) -> Iterator[Line]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            yield Line(number, {}, "not a JSON object")
            continue
        row = {_name(key): value for key, value in row.items()}
        if unknown := _unknown(row):
            unused(unknown)
        yield Line(number, row)


def _csv(path: Path, lines: Iterator[bytes], unused: Callable[[list[str]], None]) -> Iterator[Line]:
    # Bytes that are not UTF-8 survive here, so that only their row is refused.
    texts = (line.decode("utf-8", "surrogateescape") for line in lines)
    blank, head = next(((number, text) for number, text in enumerate(texts) if text.strip()), (0, ""))
    delimiter = max(_DELIMITERS, key=lambda sign: len(_known(next(csv.reader([head], delimiter=sign), []))))
    names = [_name(name) for name in next(csv.reader([head], delimiter=delimiter), [])]
    _check(path, names)
    unused(_unknown(names))
    reader = csv.reader(texts, delimiter=delimiter)
    while True:
        number = blank + reader.line_num + 2  # line of the next row; the header is line blank + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield Line(number, {}, str(error))
            continue
        if any(field.strip() for field in fields):
            yield _fitted(number, names, fields)


def _fitted(number: int, names: list[str], fields: list[str]) -> Line:
    if len(fields) > len(names):
        return Line(number, {}, f"{len(fields)} fields, but the header has {len(names)}")
    if any("\udc80" <= sign <= "\udcff" for field in fields for sign in field):
        return Line(number, {}, "not UTF-8")
    return Line(number, dict(zip(names, fields, strict=False)))


def _parquet(path: Path, unused: Callable[[list[str]], None], advance: Advance) -> Iterator[Line]:
    import duckdb

    from tooltrace.store.database.connection import connect

    file = f"read_parquet({quote_literal(str(path))})"
    with connect() as con:
        try:
            description = con.execute(f"SELECT * FROM {file} LIMIT 0").description
            by_name = {_name(column[0]): column[0] for column in description}
            _check(path, list(by_name))
            unused(_unknown(by_name))
            selected = [name for name in by_name if name in COLUMNS]
            columns = ", ".join(f"CAST({quote_identifier(by_name[name])} AS VARCHAR)" for name in selected)
            rows = con.execute(f"SELECT count(*) FROM {file}").fetchall()[0][0]
            con.execute(f"SELECT {columns} FROM {file}")
            size = path.stat().st_size
            for number in range(1, rows + 1):
                row = con.fetchone() or ()
                if number % 1000 == 0 or number == rows:
                    advance(size * (number % 1000 or 1000) // rows)
                yield Line(number, dict(zip(selected, row, strict=True)))
        except duckdb.Error as error:
            raise LabelError(f"{path}: {' '.join(str(error).split())[:300]}") from error


def _name(name: str) -> str:
    return name.strip().lower()


def _known(names: Iterable[str]) -> list[str]:
    return [name for name in names if _name(name) in COLUMNS]


def _unknown(names: Iterable[str]) -> list[str]:
    return [name for name in names if name and name not in COLUMNS]


def _check(path: Path, names: list[str]) -> None:
    missing_columns = missing(names)
    duplicates = sorted({name for name in _known(names) if names.count(name) > 1})
    if missing_columns or duplicates:
        cause = missing_columns or f"column {', '.join(duplicates)} occurs twice"
        raise LabelError(f"{path}: {cause}; the columns of a label are {', '.join(COLUMNS)}")


SHOWN = 10
"""Maximum number of skipped rows listed as examples."""


class SkippedRow(NamedTuple):
    """A row that is not a label, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class LabelFileReport:
    """Counts of the labels and the skipped rows of one file."""

    labels: int = 0
    skipped: int = 0
    examples: list[SkippedRow] = field(default_factory=list)
    """The first skipped rows."""
    unused: list[str] = field(default_factory=list)
    """Columns of the file that are not label columns."""
    calls: Counter[str] = field(default_factory=Counter)
    """Number of labels for each call id."""
    attempts: Counter[str] = field(default_factory=Counter)
    """Number of labels for each span id."""
    conversations: Counter[str] = field(default_factory=Counter)
    """Number of labels for each conversation id."""

    def skip(self, line: int, reason: str) -> None:
        """Count a skipped row, and add the first ``SHOWN`` as examples."""
        self.skipped += 1
        if self.skipped <= SHOWN:
            self.examples.append(SkippedRow(line, reason))

    def add_unused(self, names: list[str]) -> None:
        """Add ``names`` to the unused columns while these are fewer than ``SHOWN``."""
        if len(self.unused) < SHOWN:
            self.unused += [name for name in names if name not in self.unused]

    def count(self, outcome: Outcome) -> None:
        """Count the label for its conversation or its attempt, or else for its call."""
        self.labels += 1
        if outcome.conversation_id is not None:
            self.conversations[outcome.conversation_id] += 1
        elif outcome.span_id is not None:
            self.attempts[outcome.span_id] += 1
        elif outcome.call_id is not None:
            self.calls[outcome.call_id] += 1


def label_file(path: Path, settings: Settings, labeler: str, advance: Advance = lambda _: None) -> LabelFileReport:
    """Record the labels of the file at ``path`` in the store of ``settings``.

    ``labeler`` applies to rows that name none. A row that is not a label is skipped and counted. ``advance`` receives
    the number of bytes read. Raises LabelError when the file cannot be read, StoreError when the journal cannot be
    written.
    """
    report = LabelFileReport()
    with LabelWriter(settings) as writer:
        for line in read_lines(path, report.add_unused, advance):
            outcome = _outcome(line, settings, labeler, report)
            if outcome is not None:
                writer.add(outcome)
                report.count(outcome)
    return report


def unmatched(labelled: LabelFileReport, store: Store) -> int:
    """Return the number of labels of a call, an attempt or a conversation that ``store`` does not have. Raises StoreError."""
    found = 0
    for column, counted in zip(IDS, (labelled.calls, labelled.attempts, labelled.conversations), strict=True):
        if not counted:
            continue
        sql = f"SELECT DISTINCT {column} FROM attempts WHERE {column} IN (SELECT unnest($ids))"
        rows = open_store(store).query(Statement(name="known_ids", sql=sql, params={"ids": list(counted)})).rows
        found += sum(counted[name] for (name,) in rows)
    return labelled.labels - found


def _outcome(line: Line, settings: Settings, labeler: str, report: LabelFileReport) -> Outcome | None:
    """Return the label of the row; None if the row is not a label, after counting it as skipped."""
    if line.fault is not None:
        report.skip(line.number, line.fault)
        return None
    try:
        return outcome_of(line.row, settings, labeler)
    except LabelError as error:
        report.skip(line.number, str(error))
        return None

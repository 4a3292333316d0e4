"""Calls in a CSV file of another program, whose columns a person names.

The file may be of any usual dialect: separated by commas, semicolons, tabs or bars, with a byte order mark, with line breaks
in quoted cells. In a file with semicolons a comma is the decimal separator, as spreadsheets write it. An empty cell is an
unknown value.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.records import ToolCall
from tooltrace.core.response import ResponseMeta, Status, ToolResponse
from tooltrace.errors import BadParameter, near
from tooltrace.ingest.call_builder import NO_RESULT, ExternalCall, build_call, stable_id
from tooltrace.ingest.files.csv import long_fields, rows_of
from tooltrace.ingest.files.reader import TraceFile, parsed
from tooltrace.ingest.moments import ACCEPTED, moment_ns
from tooltrace.normalize.terms import lookup_code, normalize_code
from tooltrace.recording.call_numbers import CallNumbers
from tooltrace.recording.settings import Settings

NAME: Final = "table"
RULE: Final = "imported_status"
"""Rule name for results that a column with the status decides."""
FIELDS: Final = (
    *(
        "tool",
        "at",
        "status",
        "duration_ms",
        "duration_s",
        "result",
        "arguments",
        "error",
        "code",
        "call_id",
        "attempt",
    ),
    *("conversation", "agent", "version"),
)
"""What a column can be; ``tool`` and ``at`` are needed."""
_NEEDED: Final = ("tool", "at")
_DELIMITERS: Final = ",;\t|"
_ENDINGS: Final = {"cancelled": "cancelled", "canceled": "cancelled", "aborted": "cancelled"}
_STATUSES: Final[dict[str, Status]] = {
    **dict.fromkeys(("success", "succeeded", "successful", "ok", "okay", "passed", "completed", "done", "true", "yes", "1"), "success"),
    **dict.fromkeys(("partial", "partially", "partial_success", "warning"), "partial"),
    **dict.fromkeys(("error", "failed", "failure", "fail", "exception", "raised", "timeout", "false", "no", "0"), "error"),
}  # fmt: skip
"""Words of a status, in lower case."""


def parse_columns(text: str) -> dict[str, str]:
    """Parse ``tool=Name,at=Time``: the column of each field. Raises BadParameter."""
    columns: dict[str, str] = {}
    try:
        parts = next(csv.reader([text], strict=True, skipinitialspace=True), [])
    except csv.Error as error:
        raise BadParameter(f"--columns must be FIELD=COLUMN,…; got {text!r}: {error}") from None
    for part in parts:
        field, equals, column = (each.strip() for each in part.partition("="))
        if not equals or not column:
            raise BadParameter(f"--columns must be FIELD=COLUMN,… such as tool=name,at=time; got {part!r}")
        if field not in FIELDS:
            hint = near(field, FIELDS) or f"; the fields are {', '.join(FIELDS)}"
            raise BadParameter(f"--columns has no field {field!r}{hint}")
        if field in columns:
            raise BadParameter(f"--columns has the field {field!r} twice")
        columns[field] = column
    if missing := [field for field in _NEEDED if field not in columns]:
        raise BadParameter(f"--columns needs {' and '.join(missing)}, as tool=COLUMN,at=COLUMN; got {text!r}")
    return columns


def header_of(head: bytes) -> tuple[str, list[str]] | None:
    """Return the delimiter and the names of the columns in the first line of ``head``; None where it is no CSV header."""
    line = head.lstrip(b"\r\n").partition(b"\n")[0].decode("utf-8", "replace").rstrip("\r")
    if line[:1] in ("{", "[") or "\0" in line or (not line.isprintable() and "\t" not in line):
        return None
    delimiter = max(_DELIMITERS, key=line.count)
    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:  # a name that is longer than a field may be
        return None
    return (delimiter, names) if len(names) > 1 else None


@dataclass(slots=True)
class _Row:
    """The cells of one row that the fields name."""

    cells: Mapping[str, str]
    decimal_comma: bool

    def text(self, field: str) -> str | None:
        return self.cells.get(field) or None

    def number(self, field: str) -> float | None:
        given = self.text(field)
        if given is None:
            return None
        text = given.strip().replace("\u00a0", "").replace(" ", "")
        text = text.replace(".", "").replace(",", ".") if self.decimal_comma and "," in text else text.replace(",", "")
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{field} must be a number; got {given[:40]!r}") from None

    def value(self, field: str) -> Any:
        """Return a cell with JSON as its value, and any other text as it is."""
        text = self.text(field)
        if text is None or text.lstrip()[:1] not in ("{", "["):
            return text
        found = parsed(text.encode("utf-8", "replace"))
        return text if found is None else found


def read(source: TraceFile, settings: Settings, columns: Mapping[str, str]) -> Iterator[ToolCall]:
    """Yield the call of each row. Raises BadParameter where the file lacks one of ``columns``; reports unusable rows."""
    delimiter, names = header_of(source.head) or (",", [])
    if unknown := [column for column in columns.values() if column not in names]:
        hint = near(unknown[0], names) or f"; its columns are {', '.join(names) or 'unknown: it is not CSV'}"
        raise BadParameter(f"{source.path} has no column {unknown[0]!r}{hint}")
    texts = (line.decode("utf-8", "surrogateescape") for _, line in source.lines())
    same: Counter[tuple[str, ...]] = Counter()
    numbers = CallNumbers()
    with long_fields():
        rows = rows_of(source, csv.reader(texts, delimiter=delimiter, strict=True))
        next(rows, None)
        for number, row in rows:
            try:
                if len(row) != len(names):
                    raise ValueError(f"{len(row)} fields, where the header has {len(names)}")
                "".join(row).encode()
                cells = dict(zip(names, row, strict=True))
                chosen = _Row({field: cells[column] for field, column in columns.items()}, delimiter == ";")
                # equal rows are different calls
                same[tuple(row)] += 1
                call = _call(chosen, (*row, same[tuple(row)]))
            except UnicodeEncodeError:
                source.skip(number, "not UTF-8: save the file as UTF-8")
            except ValueError as error:
                source.skip(number, str(error))
            else:
                yield build_call(call, settings, numbers)


def _call(row: _Row, identity: tuple[Any, ...]) -> ExternalCall:
    tool, at, call_id, conversation = (row.text(field) for field in ("tool", "at", "call_id", "conversation"))
    if tool is None:
        raise ValueError("no tool")
    started = moment_ns(at)
    if started is None:
        raise ValueError(f"the time must be {ACCEPTED}; got {(at or '')[:40]!r}")
    milliseconds, seconds, attempt = (row.number(field) for field in ("duration_ms", "duration_s", "attempt"))
    if milliseconds is None and seconds is not None:
        milliseconds = seconds * 1000
    ending, result = _outcome(row)
    return ExternalCall(
        tool=tool,
        trace_id=stable_id(16, NAME, *((conversation,) if conversation else identity)),
        span_id=stable_id(8, NAME, *identity),
        started_ns=started,
        duration_ns=None if milliseconds is None else round(milliseconds * 1e6),
        tool_type="function",
        call_id=call_id,
        attempt=int(attempt) if attempt else None,
        conversation_id=conversation,
        agent=row.text("agent"),
        tool_version=row.text("version"),
        arguments=row.value("arguments"),
        result=result,
        ending=ending,
    )


def _outcome(row: _Row) -> tuple[str, Any]:
    """Return the ending and the result: by the status where there is one, else by an error, else by the rules."""
    given, error, code, result = row.text("status"), row.text("error"), row.text("code"), row.value("result")
    word = (given or "").strip().casefold()
    if word in _ENDINGS:
        return _ENDINGS[word], NO_RESULT
    status = _STATUSES.get(word) or _http_status(word)
    if given is not None and status is None:
        raise ValueError(
            f"unknown status {given[:40]!r}: expected one of {', '.join(sorted({*_STATUSES, *_ENDINGS}))}, or an HTTP status"
        )
    if status is None and (error or code):
        status = "error"
    if status is None:
        return "returned", NO_RESULT if result is None else result
    text, data = (result, None) if isinstance(result, str) else ("", result)
    meta = ResponseMeta(rule=RULE, rule_grade="certain")
    if status != "error":
        return "returned", ToolResponse(status=status, text=text, data=data, reason=error, meta=meta)
    known = (
        normalize_code(code)
        or (word and str(normalize_code(word) if _http_status(word) else lookup_code(word) or ""))
        or ToolErrorCode.UNKNOWN
    )
    message = error or text or f"the file states the status {given or code} only"
    return "returned", ToolResponse.error(known, message, text=text, data=data, meta=meta)


def _http_status(word: str) -> Status | None:
    if not (word.isdecimal() and len(word) == 3 and 100 <= int(word) < 600):
        return None
    return "success" if int(word) < 400 else "error"

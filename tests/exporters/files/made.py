"""Records of every kind, file destinations by name, and reading back what they wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from hypothesis import strategies as st

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.exporters.protocol import Target
from tooltrace.exporters.registry import create
from tooltrace.ingest.files import ImportResult, files_of, import_file
from tooltrace.recording.settings import Settings
from tooltrace.redact.snapshot import Json

NAMES = {"jsonl": "calls.jsonl", "csv": "calls.csv", "otlp-json": "calls.json", "parquet": "calls"}
"""Each file destination, and where it may write."""

NASTY = [
    "", " ", "\x00", "a\x00b", "\n", "\r", "\r\n", '"', "'", "''", "'x", ",", ";", "\t", "\\", "\\N", "NULL", "null", "NaN",
    '"quoted"', '"a","b"\r\n', "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "＝1", "é", "\u2028", "\ufeff", "😀", "\x1b[31m",
    "true", "1", "1e5", "{", "[]", "{\"a\":1}", "%2F", "../..", "x/y",
]  # fmt: skip
TEXT = st.sampled_from(NASTY) | st.text(st.characters(exclude_categories=["Cs"]))
SAID = TEXT.filter(bool)
HEX = {32: st.integers(1, 2**128 - 1).map("{:032x}".format), 16: st.integers(1, 2**64 - 1).map("{:016x}".format)}
INT64 = st.integers(-(2**63), 2**63 - 1)
FINITE = st.floats(-1e12, 1e12)
VALUES = st.recursive(
    st.none() | st.booleans() | INT64 | FINITE | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
JSON = VALUES.map(lambda value: Json(orjson.dumps(value).decode()))
MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)).map(
    lambda at: at.replace(fold=0)
)
OF = {"str": TEXT, "int": INT64, "float": FINITE, "bool": st.booleans(), "datetime": MOMENTS, "Json": JSON}
OBJECT = st.dictionaries(st.text("abc.", min_size=1, max_size=4).map("own.{}".format), VALUES, min_size=1, max_size=3)
AS_JSON = OBJECT.map(lambda value: Json(orjson.dumps(value).decode()))
IDS = {name: HEX[32 if name == "trace_id" else 16] for name in ("trace_id", "span_id", "parent_span_id")}
OWN: dict[type[Record], dict[str, st.SearchStrategy[Any]]] = {
    ToolCall: {**IDS, "tool": SAID, "attributes": AS_JSON, "recorder_version": st.just("0.1.0")},
    Outcome: {"span_id": HEX[16], "labeler": SAID},
    Gate: {"span_id": HEX[16], "changed": AS_JSON},
    Message: {"span_id": HEX[16]},
    Loss: {},
    Span: {**IDS, "attributes": AS_JSON},
}


def records_of(kind: type[Record]) -> st.SearchStrategy[Record]:
    """Records of one kind, whatever their fields can hold."""
    values = {}
    for field in fields_of(kind):
        value = OWN[kind].get(field.name, OF[field.type_name])
        values[field.name] = st.none() | value if field.nullable and field.name != "recorder_version" else value
    return st.builds(kind, **values)


RECORDS_OF_ANY_KIND = st.one_of(*map(records_of, OWN))


class RecordList:
    """Replacement of the journal writer that collects the records."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def add(self, record: Record) -> None:
        self.records.append(record)

    def write(self) -> None:
        """Nothing to write."""


class NoRedaction:
    """Nothing is secret."""

    hook = None
    has_own_rules = False

    def may_skip(self, text: str) -> bool:
        return True

    def redact_text(self, text: str) -> str:
        return text

    def redact_value(self, value: Any) -> Any:
        return value


def plain_settings() -> Settings:
    """Settings that change nothing: no secrets are found, and no field is too long."""
    return Settings(store=None, redaction=NoRedaction(), field_limit=10_000_000)  # type: ignore[arg-type]


def export(name: str, folder: Path, *batches: Sequence[Record], path: str | None = None) -> Path:
    """Send ``batches`` to a new destination; where it wrote."""
    at = folder / (path or NAMES[name])
    destination = create(name, Target(path=at))
    try:
        for batch in batches:
            destination.send(batch)
    except BaseException:
        destination.abandon()  # type: ignore[attr-defined]  # what every file destination has besides
        raise
    destination.close()
    return at


def imported(path: Path, settings: Settings | None = None) -> tuple[list[Record], list[ImportResult]]:
    """The records of the files at ``path``, and of those beside it; and what came of each file."""
    kept = RecordList()
    beside = [] if path.is_dir() else sorted(path.parent.glob(f"{path.name.partition('.')[0]}.*.csv*"))
    results = [import_file(file, settings or plain_settings(), kept) for file in [*files_of(path), *beside]]
    return kept.records, results


def in_order(records: Iterable[Record]) -> list[tuple[str, str]]:
    """To compare whatever the order."""
    return sorted((type(record).__name__, repr(record)) for record in records)


def some_calls(count: int) -> list[ToolCall]:
    """``count`` calls of three tools on three days."""
    return [
        ToolCall(
            tool=f"tool_{number % 3}",
            call_id=f"c{number}",
            trace_id=f"{number + 1:032x}",
            span_id=f"{number + 1:016x}",
            started_at=datetime(2026, 11, 19 + number % 3, 12, 0, number % 60, number % 1000, tzinfo=UTC),
            status="success",
            text="x" * 100,
            recorder_version="0.1.0",
        )
        for number in range(count)
    ]

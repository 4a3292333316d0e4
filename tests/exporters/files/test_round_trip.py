"""Any records exported to a file are read back equal."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

import tooltrace as tt
from tests.examples import examples
from tests.exporters.files.made import (
    NAMES,
    NASTY,
    RECORDS_OF_ANY_KIND,
    export,
    imported,
    in_order,
    some_calls,
)
from tooltrace.core.records import Gate, Loss, Message, Outcome, Record, Span, ToolCall
from tooltrace.recording.settings import Settings
from tooltrace.redact.snapshot import Json

EXACT = ["jsonl", "csv", "parquet"]
"""The destinations that keep every record as it is, a span among them that no library would make."""
AT = datetime(2026, 11, 21, 23, 59, 59, 999999, tzinfo=UTC)


@contextmanager
def folder() -> Iterator[Path]:
    """One for each example of a property."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("name", EXACT)
@settings(max_examples=examples(15))
@given(records=st.lists(RECORDS_OF_ANY_KIND, min_size=1, max_size=4))
def test_all_records_come_back_equal(name: str, records: list[Record]) -> None:
    once = list(unique(records))
    with folder() as place:
        found, results = imported(export(name, place, once))
    assert in_order(found) == in_order(once)
    assert not any(result.skipped for result in results), results


@given(records=st.lists(RECORDS_OF_ANY_KIND.filter(lambda record: not isinstance(record, Span)), max_size=4))
def test_otlp_json_round_trips_all_records_but_external_spans(records: list[Record]) -> None:
    once = list(unique(records))
    with folder() as place:
        found, results = imported(export("otlp-json", place, once))
    assert in_order(found) == in_order(once)
    assert not any(result.skipped for result in results), results


def unique(records: list[Record]) -> Iterator[Record]:
    """Each identity once: of two with one span id every reader keeps one."""
    seen = set()
    for record in records:
        key = record.span_id if isinstance(record, ToolCall | Span) else repr(record)
        if key not in seen:
            seen.add(key)
            yield record


@pytest.mark.parametrize("name", NAMES)
def test_a_span_of_another_library_comes_back(name: str, tmp_path: Path) -> None:
    span = Span(
        trace_id="a" * 32, span_id="b" * 16, parent_span_id="c" * 16, name="chat", span_kind="client", started_at=AT,
        duration_ms=12.5, status="error", status_message="no", attributes=Json('{"llm.model":"m","n":[1,2.5,null]}'),
        events=Json('[{"name":"e","at":"2026-11-21T23:59:59.999999+00:00","attributes":{"k":true}}]'),
        links=Json('[{"trace_id":"%s","span_id":"%s","attributes":{}}]' % ("d" * 32, "e" * 16)),
        scope="lib", scope_version="1", service="shop", host="h", pid=7,
    )  # fmt: skip
    assert imported(export(name, tmp_path, [span]))[0] == [span]


@pytest.mark.parametrize("name", NAMES)
def test_every_nasty_text_comes_back(name: str, tmp_path: Path) -> None:
    texts = [*NASTY, "a" * 200_000]
    calls = [
        replace(call, text=text, tool=text[:300] or "t")
        for call, text in zip(some_calls(len(texts)), texts, strict=True)
    ]
    found, _ = imported(export(name, tmp_path, calls))
    assert in_order(found) == in_order(calls)


@pytest.mark.parametrize("name", NAMES)
def test_values_that_json_lacks_change_as_in_the_journal(name: str, tmp_path: Path) -> None:
    """Lone surrogates and NaN have no JSON."""
    (call,) = some_calls(1)
    odd = replace(call, text="a\ud800b", confidence=float("nan"))
    ((found,), _) = imported(export(name, tmp_path, [odd]))
    assert isinstance(found, ToolCall)
    assert found.text in ("a?b", "a\ufffdb")
    if name != "otlp-json":  # whose numbers can be none
        assert found.confidence is None


@pytest.mark.parametrize("name", NAMES)
def test_empty_and_unknown_differ(name: str, tmp_path: Path) -> None:
    calls = [replace(call, text=text) for call, text in zip(some_calls(2), ["", None], strict=True)]
    found, _ = imported(export(name, tmp_path, calls))
    assert {call.span_id: call.text for call in found} == {call.span_id: call.text for call in calls}


@pytest.mark.parametrize("name", NAMES)
def test_no_record_at_all_is_an_empty_export(name: str, tmp_path: Path) -> None:
    path = export(name, tmp_path)
    assert path.exists()
    if name != "parquet":
        assert imported(path)[0] == []


@pytest.mark.parametrize("name", ["jsonl", "csv", "otlp-json"])
def test_a_file_name_selects_compression(name: str, tmp_path: Path) -> None:
    records = [*some_calls(50), Outcome(span_id="1" * 16, correct=True, labeled_at=AT)]
    path = export(name, tmp_path, records, path=f"{NAMES[name]}.gz")
    assert path.read_bytes()[:2] == b"\x1f\x8b"
    assert in_order(imported(path)[0]) == in_order(records)


@pytest.mark.parametrize("name", NAMES)
def test_each_kind_is_counted(name: str, tmp_path: Path) -> None:
    ids = {"call_id": "c", "span_id": "1" * 16}
    others = [
        Outcome(**ids, score=0.5, labeled_at=AT),
        Gate(**ids, kind="confirmation", asked_at=AT),
        Message(**ids, sha256="0" * 64, length=3, error=False, at=AT),
        Loss(reason="queue_full", count=2, at=AT),
        Loss(reason="export_refused", count=2, at=AT, detail="otlp"),
    ]
    found, results = imported(export(name, tmp_path, [*some_calls(3), *others]))
    assert (sum(result.calls for result in results), sum(result.others for result in results)) == (3, 5)
    assert len(found) == 8


@pytest.mark.parametrize("name", NAMES)
def test_a_store_survives_export_and_import(name: str, store: Path, tmp_path: Path) -> None:
    @tt.trace_tool(version="2")
    def search(query: str) -> object:
        if query == "raise":
            raise TimeoutError("no answer")
        return tt.ToolResponse.success(
            "found", {"rows": [1, 2.5]}, confidence=0.9, sources=[{"type": "file", "id": "x"}]
        )

    search("good")
    with pytest.raises(TimeoutError):
        search("raise")
    tt.flush()
    before = records_in(store)
    path = export(name, tmp_path, before)
    found, _ = imported(path, Settings(store=None))
    assert in_order(found) == in_order(before)


def records_in(store: Path) -> list[Record]:
    from tooltrace.store.files.paths import StorePaths
    from tooltrace.store.journal.line_format import decode

    files = StorePaths.of(store).journal.glob("*.jsonl")
    return [decode(line) for file in files for line in file.read_bytes().splitlines()]

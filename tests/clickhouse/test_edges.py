"""Rare histories: empty ones, unknown values, a single class, attempts a microsecond apart, special characters."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.clickhouse.compare import address, both, differences, kind
from tests.clickhouse.conftest import Fill
from tooltrace.analysis import catalogue, find
from tooltrace.clickhouse.query import connect
from tooltrace.core.records import Correction, Gate, Message, Outcome, Record, ToolCall
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.schema import ATTEMPTS
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
WORDS = [
    "", " ", "it's", 'a "quoted" word', "back\\slash \\n", "{name} $tool", "日本語 ÄÖ ✗", "line\nbreak", "tab\t", "/srv/a/b.json 12", "NULL",
    "ok", "error: no answer from http://host:80/x?y=1", "null", "true", "0", "1e400", "-0.0", "'; DROP TABLE attempts; --",
]  # fmt: skip
CODES = [None, "TIMEOUT", "ÄÖ", "it's", "back\\slash"]


def attempts(rng: random.Random, number: int) -> list[Record]:
    """Attempts in which anything may be missing, a microsecond to a second apart."""
    found: list[Record] = []
    moment = START
    for place in range(number):
        moment += timedelta(microseconds=rng.choice([1, 1, 7, 999, 1_000_000]))
        found += one(rng, place, moment)
    return found


def one(rng: random.Random, place: int, moment: datetime) -> list[Record]:
    some = lambda *values: rng.choice([None, *values])  # noqa: E731
    status = some("success", "partial", "error", "error")
    ending = (
        rng.choice(["returned", "raised", "returned"])
        if status
        else rng.choice(["cancelled", "abandoned", "paused", "declined"])
    )
    span = f"{place + 1:016x}"
    # two calls may have an id in common
    call_id = rng.choice([f"call_{place // 3}", span, f"call_{place % 11}"])
    call = ToolCall(
        tool=rng.choice(["search", "fetch", "it's", "日本"]),
        tool_version=some("1", "2"),
        call_id=call_id,
        first_span_id=some(f"{place // 2 + 1:016x}"),
        attempt=rng.choice([1, 2, 3]),
        trace_id=f"{place // 9 + 1:032x}",
        span_id=span,
        parent_span_id=some(f"{place // 9 + 10**6:016x}"),
        conversation_id=some("a", "b", "c'\\"),
        agent=some("planner", ""),
        started_at=moment,
        duration_ms=some(0.0, 0.0005, 0.5, 12.25, 1e-7, 1e15, rng.random() * 100),
        consumer_ms=some(0.0, 3.5),
        first_item_ms=some(0.25),
        status=status,
        ending=ending,
        code=rng.choice(CODES) if status == "error" else None,
        error_type=some("ValueError"),
        error_message=rng.choice(WORDS) if status == "error" else None,
        retryable=some(True, False),
        suggestion=some("wait", ""),
        user_message=some("sorry"),
        confidence=some(0.0, 1.0, 0.5, 0.8, 0.1, 0.30000000000000004, rng.random()),
        signals=some(Json('{"exact":1,"match":"title"}'), Json('{"exact":0,"none":null,"deep":{"a":[1]}}'), Json("{}")),
        next_action=some("retry", "continue", "stop", "ask_user", "human_review"),
        cached=some(True, False),
        text=rng.choice([None, *WORDS]),
        seen_text=some("Done.", ""),
        arguments=some(Json('{"query":"it\'s \\\\ \\"q\\""}')),
        result=some(Json("null"), Json("[1,2]"), Json('"text"'), Json('""')),
        stats=some(Json('{"retry_after_s":2}'), Json('{"retry_after_s":"soon"}'), Json('{"retry_after_s":0.5}')),
        attributes=some(Json('{"region":"eu"}'), Json('{"region":"it\'s","a.b":"c","a/b":"d"}')),
        rule=some("failure_words"),
        rule_grade=some("heuristic", "certain", "unread"),
        sources=some(Json('[{"type":"document","id":"1"},{"id":""},{"url":"u"}]'), Json("[]")),
        host=some("here"),
        pid=some(1, 2),
        recorder_version=some("0.1.0"),
    )
    found: list[Record] = [call]
    if rng.random() < 0.4:
        of_span = rng.random() < 0.5
        correct, score = rng.choice([(True, None), (False, None), (None, 0.25), (None, 0.5), (True, 0.1)])
        found.append(
            Outcome(
                call_id=None if of_span else call_id, span_id=span if of_span else None, correct=correct, score=score,
                labeler=rng.choice(["human", "it's"]), reason=some("why", ""), labeled_at=moment + timedelta(microseconds=place + 1),
            )
        )  # fmt: skip
    if rng.random() < 0.3:
        text = rng.choice(WORDS)
        found.append(
            Message(
                call_id=call_id, span_id=some(span), style=some("openai"), text=some(text), sha256=f"{place:064x}", length=len(text),
                error=rng.random() < 0.5, at=moment + timedelta(microseconds=1),
            )
        )  # fmt: skip
    if ending in ("paused", "declined"):
        answered = rng.random() < 0.7
        found.append(
            Gate(
                call_id=call_id, span_id=span, kind="confirmation", asked_at=moment, note=some("no"),
                decision=rng.choice(["approved", "declined", "expired"]) if answered else None,
                answered_at=moment + timedelta(microseconds=500) if answered else None, changed=some(Json('{"a":1}')),
                resumed_span_id=some(f"{place + 2:016x}"),
            )
        )  # fmt: skip
    return found


def without_errors(rng: random.Random) -> list[Record]:
    """One class only: everything succeeds, and is right."""
    found: list[Record] = []
    for place in range(60):
        span = f"{place + 1:016x}"
        moment = START + timedelta(seconds=place)
        found.append(
            ToolCall(
                tool="search", call_id=span, trace_id="1" * 32, span_id=span, started_at=moment, duration_ms=5.0, status="success",
                confidence=0.9, signals=Json('{"exact":1}'), sources=Json('[{"type":"api","id":"1"}]'), next_action="continue",
            )
        )  # fmt: skip
        found.append(Outcome(span_id=span, correct=True, labeled_at=moment + timedelta(minutes=1)))
    return found


def corrections() -> list[Record]:
    """Corrections of attempts that were not recorded."""
    return [
        Correction(span_id="f" * 16, status="success", reason="it's a log", corrected_at=START),
        Correction(call_id="none", labeler="reread", labeler_kind="rule", corrected_at=START + timedelta(seconds=1)),
        Correction(
            call_id="none", status="error", code="TIMEOUT", rule="flags", rule_grade="certain", labeler_kind="agent",
            corrected_at=START + timedelta(seconds=2),
        ),
    ]  # fmt: skip


CASES: dict[str, Callable[[], list[Record]]] = {
    "nothing": list,
    "one": lambda: attempts(random.Random(4), 1),
    "one_class": lambda: without_errors(random.Random(1)),
    "anything": lambda: [*attempts(random.Random(1), 400), *corrections()],
    "else_": lambda: attempts(random.Random(2), 150),
}


@contextmanager
def duck(path: Path, records: list[Record]) -> Iterator[duckdb.DuckDBPyConnection]:
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(encode(record) for record in records))
    journal.close()
    with open_reader(path, missing_ok=True) as con:
        yield con


@pytest.fixture(scope="module", params=[*CASES, "nothing_json", "anything_json"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, fill: Fill) -> Iterator[Any]:
    """A store of each case; of some, one whose attributes are JSON too."""
    name, as_json, _ = request.param.partition("_json")
    records = CASES[name]()
    fill(f"edge_{request.param}", records, "json" if as_json else "map")
    with duck(tmp_path_factory.mktemp("edge") / "edge.duckdb", records) as con:
        yield f"edge_{request.param}", con


NEEDED: dict[str, dict[str, Any]] = {
    "call": {"id": "call_1"},
    "ids": {"id": "call_1"},
    "labels": {"call_id": "call_1"},
    "call_gates": {"call_id": "call_1"},
    "around": {"span_id": f"{5:016x}"},
    "steps": {"trace_id": f"{5:032x}", "conversation": "a"},
    "span": {"span_id": f"{5:016x}"},
    "labelling": {"spans": ",".join(f"{number:016x}" for number in (5, 3, 99, 1))},
    "compare": {
        "before": f"..{START + timedelta(seconds=40):%FT%TZ}",
        "after": f"{START + timedelta(seconds=40):%FT%TZ}..",
    },
    "overview": {"since": START + timedelta(seconds=40), "before": START},
    "burn_rate": {"until": START + timedelta(hours=1)},
    "laundering": {"limit": 10_000},
    "attempts": {"text": "it's \\"},
    "find": {"text": "it's \\"},
    "conversation_calls": {"conversation": "a"},
    "version_pairs": {"before_version": "1.0", "version": "1.1"},
}
READ_ATTRIBUTES = frozenset({"call", "failure_rate", "footprint", "span", "steps"})
"""Queries that read attributes, and one that groups by them, which all do in the same way."""


@pytest.mark.parametrize("name", catalogue())
def test_both_engines_agree(case: Any, engine: Any, name: str) -> None:
    database, con = case
    if database.endswith("_json") and name not in READ_ATTRIBUTES:
        pytest.skip("the tables of this store are compared below; test_every_query runs each query over JSON")
    given = NEEDED.get(name, {})
    found, house = both(con, engine, database, name, **{key: naive(value) for key, value in given.items()})
    assert not differences(found, house)[:5]
    if database.startswith("edge_anything") and "attributes" in find(name).header.by:
        several = ",".join(one for one in find(name).header.by[:3] if one != "attributes")
        for by in ("attributes.a.b", "attributes.a/b", "attributes.it's \\", several):
            found, house = both(
                con, engine, database, name, by=by, **{key: naive(value) for key, value in given.items()}
            )
            assert not differences(found, house)[:5], by


def test_both_engines_list_the_calls_of_a_trace_without_a_conversation(case: Any, engine: Any) -> None:
    database, con = case
    listed = "SELECT DISTINCT trace_id FROM attempts WHERE conversation_id IS NULL ORDER BY ALL LIMIT 3"
    for (trace,) in con.execute(listed).fetchall():
        found, house = both(con, engine, database, "conversation_calls", conversation=trace)
        assert found
        assert not differences(found, house)[:5]


def naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@pytest.mark.parametrize(
    "table",
    [
        "attempts",
        "tool_calls",
        "calls",
        "outcomes",
        "corrections",
        "gates",
        "messages",
        "sources",
        "judged",
        "spans",
        "losses",
    ],
)
def test_tables_are_the_same(case: Any, engine: Any, table: str) -> None:
    """Every column of every table, row by row, but the numbers that only a local store keeps."""
    database, con = case
    local_only = f"EXCLUDE ({', '.join(column.name for column in ATTEMPTS.hashes)})" if table == "attempts" else ""
    with connect(address(engine, database)) as lease:
        mine = con.sql(f"SELECT * {local_only} FROM {table} ORDER BY ALL")
        other = lease.sql(f"SELECT * FROM {table} ORDER BY ALL")
    assert mine.columns == other.columns
    assert [kind(one) for one in mine.types] == [kind(one) for one in other.types]
    key = [
        mine.columns.index(name)
        for name in ("span_id", "last_span_id", "call_id", "id", "labeled_at", "corrected_at", "at")
        if name in mine.columns
    ]
    order = lambda row: [str(row[at]) for at in key]  # noqa: E731
    assert not differences(sorted(mine.fetchall(), key=order), sorted(other.fetchall(), key=order))[:5]

"""Queries over pruned histories: the same figures as over the rows, or a refusal."""

from __future__ import annotations

import itertools
import math
import random
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tooltrace.analysis import find, query_store
from tooltrace.core.records import Outcome, Record, ToolCall
from tooltrace.errors import QueryError
from tooltrace.store.horizon import within_horizon
from tooltrace.store.journal import Journal
from tooltrace.store.journal_format import encode
from tooltrace.store.paths import StorePaths
from tooltrace.store.prune import PrunePolicy, prune
from tooltrace.store.reader import open_reader

FIRST = datetime(2026, 3, 1, tzinfo=UTC)
DAYS = 4


def day(number: int) -> datetime:
    return FIRST + timedelta(days=number)


Pick = Callable[[Sequence[Any]], Any]
CASES = [
    ("success", "returned"), ("error", "raised"), ("error", "returned"), ("partial", "returned"), (None, "cancelled"),
    (None, "paused"), ("success", "returned"),
]  # fmt: skip


def make_history(pick: Pick, attempts: int) -> list[Record]:
    """Attempts of a few days, with conversations, traces and calls that lie on several of them; ``pick`` decides."""
    records: list[Record] = []
    for number in range(attempts):
        conversation = pick([None, None, "v", "w"])
        status, ending = pick(CASES)
        call = ToolCall(
            tool=pick(["read", "search"]),
            tool_version=pick([None, "2"]),
            call_id=pick(["a", "b", f"call_{number}", f"call_{number}"]),
            attempt=pick([1, 2, 3]),
            trace_id=f"{pick([1, 2, 100 + number, 100 + number]):032x}",
            span_id=f"{number + 1:016x}",
            conversation_id=conversation,
            started_at=FIRST + timedelta(hours=pick(range(24 * DAYS))),
            duration_ms=pick([None, 0.0, 1.0, 3.5, 250.0, 60_000.0]),
            first_item_ms=pick([None, None, 2.0]),
            status=status,
            ending=ending,
            code="TIMEOUT" if status == "error" and pick([False, True]) else None,
            rule_grade=pick([None, "certain", "heuristic", "unread"]),
            cached=pick([None, False, True]),
            confidence=pick([None, 0.25, 0.9]),
        )
        records.append(call)
        if pick(range(4)) == 0:
            records.append(
                Outcome(
                    call_id=call.call_id, span_id=call.span_id, correct=pick([False, True]), labeler="ann",
                    labeled_at=day(DAYS + 10),
                )
            )  # fmt: skip
    return records


RETRIED: list[Record] = [
    ToolCall(
        tool="read", call_id=f"again_{number // 3}", attempt=number % 3 + 1, trace_id=f"{number // 3:032x}",
        span_id=f"{500 + number:016x}", conversation_id="v", started_at=FIRST + timedelta(hours=5 * (number // 3), minutes=number),
        duration_ms=2.0, status="success" if number % 3 == 2 else "error", ending="returned",
    )
    for number in range(9)
]  # fmt: skip
"""Calls of three attempts, each on one day: they become counts as a whole."""


@st.composite
def histories(draw: st.DrawFn) -> list[Record]:
    records = make_history(lambda options: draw(st.sampled_from(options)), draw(st.integers(1, 24)))
    return records + draw(st.sampled_from([[], RETRIED]))


def write(path: Path, records: Sequence[Record]) -> None:
    journal = Journal(StorePaths.of(path).journal)
    journal.write(b"".join(map(encode, records)))
    journal.close()


Rows = list[dict[str, Any]]
WINDOWS = [{}, {"since": day(1)}, {"until": day(2)}, {"since": day(1), "until": day(3)}, {"tool": "read"}]


def answers(
    path: Path, name: str, groupings: Sequence[Sequence[str] | None], windows: Sequence[dict[str, Any]] = WINDOWS
) -> list[Rows]:
    """Return the rows of the query for each window and each grouping, as a store returns them, all in one lease."""
    found = []
    pairs = zip(itertools.cycle(windows), itertools.cycle(groupings), range(max(len(windows), len(groupings))))
    with open_reader(path) as con:
        con.execute("SET threads = 1")  # a few rows: more threads would only wait for each other
        for window, by, _ in pairs:
            statement, _ = within_horizon(con, find(name).statement(by, **window))
            result = con.execute(statement.sql, statement.params)
            columns = [column[0] for column in result.description or ()]
            found.append([dict(zip(columns, row, strict=True)) for row in result.fetchall()])
    return found


def assert_same(found: Any, wanted: Any, precision: float) -> None:
    """Compare two answers; rows of equal rank may come in another order."""
    assert len(found) == len(wanted)
    for some, others in zip(found, wanted, strict=True):
        assert len(some) == len(others)
        for row, other in zip(ordered(some), ordered(others), strict=True):
            for column, value in other.items():
                if isinstance(value, float):
                    assert row[column] is not None, column
                    near = precision if column in DURATIONS else 1e-9
                    assert math.isclose(row[column], value, rel_tol=near, abs_tol=1e-5), (column, row, other)
                else:
                    assert row[column] == value, (column, row, other)


DURATIONS = frozenset("p50 p90 p95 p99 max time_to_first_item time_to_first_item_p95".split())


def ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: [str(value) for value in row.values() if not isinstance(value, float)])


GROUPINGS = [[], ["tool"], ["version", "code"], ["day"], ["status", "agent"], ["rule_grade"]]


BY_TOOL: list[Sequence[str] | None] = [[], ["tool"]]
OVERVIEW = (
    "calls failed_calls call_rate call_low call_high attempts failures rate low high retried retried_share left_out"
    " retried_low retried_high clusters design_effect too_few unread period"
).split()
LATENCY = "n p50 p95 max streams time_to_first_item left_out cached untimed clusters tool".split()
BOOTSTRAP = ("ece_low", "ece_high")
"""Limits that a bootstrap draws from the clusters in their order."""


def failure_rates(path: Path, windows: Sequence[dict[str, Any]] = WINDOWS) -> list[Rows]:
    return answers(path, "failure_rate", GROUPINGS, windows)


def calibrations(path: Path, windows: Sequence[dict[str, Any]] = WINDOWS) -> list[Rows]:
    found = [
        rows for name in ("reliability", "confidence_bands", "thresholds") for rows in answers(path, name, BY_TOOL, windows)
    ]  # fmt: skip
    found += answers(path, "gap", [None], [{"since": day(2), "before": day(1)}, {}])
    (calibration,) = answers(path, "calibration", [[]], [{}])
    return [*found, [{name: row[name] for name in row if name not in BOOTSTRAP} for row in calibration]]


def overviews(path: Path, windows: Sequence[dict[str, Any]] = WINDOWS) -> list[Rows]:
    found = answers(path, "overview", [None], [{"since": day(2), "before": day(1)}, *windows[:2]])
    return [[{name: row[name] for name in OVERVIEW} for row in rows] for rows in found]


def latencies(path: Path, windows: Sequence[dict[str, Any]] = WINDOWS) -> list[Rows]:
    found = answers(path, "latency", [["tool"], ["tool", "day"]], windows)
    return [[{name: row[name] for name in LATENCY} for row in rows] for rows in found]


FIGURES = [failure_rates, calibrations, overviews, latencies]
DURATION_PRECISION = 0.0102


def call_in_one_trace(record: Record) -> Record:
    """A call in several traces without a conversation counts as one cluster in rollups."""
    if isinstance(record, ToolCall) and record.conversation_id is None and record.call_id in "ab":
        return ToolCall(**{**{name: getattr(record, name) for name in record.__struct_fields__}, "trace_id": "f" * 32})
    return record


def test_a_history_of_every_case_has_the_same_figures_over_rows_and_over_rollups(tmp_path: Path) -> None:
    records = list(map(call_in_one_trace, [*make_history(random.Random(5).choice, 60), *RETRIED]))
    assert {record.ending for record in records if isinstance(record, ToolCall)} == {ending for _, ending in CASES}
    write(tmp_path / "t.duckdb", records)
    windows = [{}, {"since": day(1), "until": day(3), "tool": "read"}]
    wanted = [figures(tmp_path / "t.duckdb", windows) for figures in FIGURES]
    prune(tmp_path / "t.duckdb", PrunePolicy(before=day(2)))
    for figures, before in zip(FIGURES, wanted, strict=True):
        assert_same(figures(tmp_path / "t.duckdb", windows), before, DURATION_PRECISION)


def test_neighbouring_conversations_have_the_same_order_over_rollups(tmp_path: Path) -> None:
    """Conversations of one day begin one after another, and the first half of each day fails: neighbours are alike."""
    draw, records = random.Random(7), list[Record]()
    for number in range(48):
        for call in range(draw.randint(2, 5)):
            at = FIRST + timedelta(hours=2 * number, seconds=97 * call + draw.randrange(90))
            made = ToolCall(
                tool="read", call_id=f"c{number}_{call}", trace_id=f"{number:032x}", span_id=f"{10 * number + call + 1:016x}",
                conversation_id=f"talk {number}", started_at=at, duration_ms=100.0 if number % 12 < 6 else 1.0, ending="returned",
                status="error" if number % 12 < 6 and draw.random() < 0.9 else "success",
                confidence=draw.choice([None, 0.25, 0.9]),
            )  # fmt: skip
            records.append(made)
            if draw.random() < 0.7:
                records.append(
                    Outcome(call_id=made.call_id, span_id=made.span_id, correct=number % 12 < 6, labeler="ann", labeled_at=day(DAYS + 10))
                )  # fmt: skip
    write(tmp_path / "t.duckdb", records)
    windows = [{}, {"since": day(1), "until": day(3)}]
    wanted = [figures(tmp_path / "t.duckdb", windows) for figures in FIGURES]
    ((whole,), *_) = wanted[0]
    assert whole["design_effect"] > 8, "more than the mean size of a conversation: neighbours are alike"
    prune(tmp_path / "t.duckdb", PrunePolicy(before=day(2)))
    for figures, before in zip(FIGURES, wanted, strict=True):
        assert_same(figures(tmp_path / "t.duckdb", windows), before, DURATION_PRECISION)


@pytest.mark.simulations
@pytest.mark.parametrize("figures", FIGURES)
@settings(max_examples=examples(8))
@given(histories(), st.lists(st.integers(0, DAYS), min_size=1, max_size=2, unique=True))
def test_figures_are_the_same_over_rows_and_over_rollups(
    figures: Callable[[Path], list[Rows]], records: list[Record], cuts: list[int]
) -> None:
    if figures is not failure_rates:
        records = list(map(call_in_one_trace, records))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.duckdb"
        write(path, records)
        wanted = figures(path)
        for cut in sorted(cuts):
            prune(path, PrunePolicy(before=day(cut)))
            assert_same(figures(path), wanted, DURATION_PRECISION)


def test_a_timeline_over_rollups_has_intervals_of_whole_days(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=10, before=day(6))
    rows = query_store(path, "timeline", parts=60).dicts()
    assert [(row["started"].date(), row["attempts"], row["seconds"]) for row in rows] == [
        (day(number).date(), 24, 86_400) for number in range(10)
    ]
    rates = query_store(path, "failure_rate", by=["day"]).dicts()
    assert {row["day"]: row["low"] for row in rates} == {row["started"].date(): row["low"] for row in rows}


def pruned_store(folder: Path, *, days: int, before: datetime) -> Path:
    """A store with a call each hour, pruned."""
    path = folder / "t.duckdb"
    calls = [
        ToolCall(
            tool="search", call_id=f"c{hour}", trace_id=f"{hour:032x}", span_id=f"{hour + 1:016x}",
            started_at=FIRST + timedelta(hours=hour), duration_ms=5.0, status="error" if hour % 7 == 0 else "success",
        )
        for hour in range(24 * days)
    ]  # fmt: skip
    write(path, calls)
    prune(path, PrunePolicy(before=before))
    return path


def test_a_note_says_from_when_on_an_answer_stands_on_rollups(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=4, before=day(2))
    assert query_store(path, "failure_rate", since=day(2)).note == ""
    assert "before 2026-03-03 were pruned: their counts are from daily rollups" in query_store(path, "latency").note


def test_a_window_that_begins_inside_a_pruned_day_begins_with_that_day(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=4, before=day(2))
    result = query_store(path, "failure_rate", since=day(1) + timedelta(hours=5))
    assert result.values("attempts") == [72]
    assert "since was moved to the start of its day, 2026-03-02" in result.note


def test_groups_that_rollups_do_not_have_are_refused_before_the_horizon(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=4, before=day(2))
    for name, by in (("failure_rate", ["hour"]), ("failure_rate", ["attributes.region"]), ("errors", None)):
        with pytest.raises(
            QueryError, match=rf"query {name}.* cannot be answered before 2026-03-03: .*since='2026-03-03'"
        ):
            query_store(path, name, by=by, since=day(1))
        assert query_store(path, name, by=by, since=day(2)).note == ""
    with pytest.raises(QueryError, match="cannot be answered"):
        query_store(path, "errors", until=day(1))


def test_without_a_start_a_query_that_needs_rows_begins_at_the_horizon(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=4, before=day(2))
    result = query_store(path, "failure_rate", by=["hour"])
    assert len(result) == 48
    assert "it begins on that day" in result.note


def test_a_page_may_begin_later_instead_of_failing(tmp_path: Path) -> None:
    path = pruned_store(tmp_path, days=4, before=day(2))
    result = query_store(path, "failure_rate", by=["hour"], since=day(0), may_start_later=True)
    assert len(result) == 48


def test_rows_of_several_prunes_are_one_cluster(tmp_path: Path) -> None:
    path = tmp_path / "t.duckdb"
    calls = [
        ToolCall(
            tool="search", call_id=f"c{hour}", trace_id="a" * 32, span_id=f"{hour + 1:016x}",
            started_at=FIRST + timedelta(hours=hour), status="success",
        )
        for hour in range(0, 96, 12)
    ]  # fmt: skip
    write(path, calls)
    for cut in (1, 3, 4):
        prune(path, PrunePolicy(before=day(cut)))
        assert query_store(path, "failure_rate").values("clusters") == [1]
    with open_reader(path) as db:
        assert db.sql("SELECT count(*) FROM attempts").fetchall() == [(0,)]

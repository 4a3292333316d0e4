"""Pruning: content is removed and rows stay, or are deleted with everything about them, or nothing changes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tooltrace as tt
from tests.stores import write_records
from tooltrace.analysis import query_store
from tooltrace.cli import cli
from tooltrace.core.records import Gate, Message, Outcome, Span
from tooltrace.errors import ConfigError
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.upkeep import retention
from tooltrace.store.upkeep.backup import backup
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.retention import (
    PrunePolicy,
    Retention,
    parse_days,
    parse_size,
    read_retention,
    write_retention,
)

from .conftest import MakeCall, Write, copy_store, make_call

Rows = Callable[[str], list[tuple[Any, ...]]]
FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def at(days: float) -> datetime:
    return FIRST + timedelta(days=days)


def trace(number: int) -> str:
    return f"{number:032x}"


@pytest.fixture(scope="module")
def ten_days_once(tmp_path_factory: pytest.TempPathFactory) -> StorePaths:
    """A call at noon of each of ten days; that of day 2 failed, that of day 3 is labelled."""
    store = StorePaths.of(tmp_path_factory.mktemp("ten") / "t.duckdb")
    write_records(
        store,
        *(
            make_call(n, started_at=at(n + 0.5), trace_id=trace(n), status="error" if n == 2 else "success")
            for n in range(10)
        ),
        Outcome(call_id="c3", span_id=make_call(3).span_id, correct=False, labeler="ann", labeled_at=at(3.6)),
    )
    fold(store)
    return store


@pytest.fixture
def ten_days(ten_days_once: StorePaths, store: StorePaths) -> StorePaths:
    """A copy of ``ten_days_once``."""
    return copy_store(ten_days_once, store)


EMPTY = "SELECT count(*) FROM attempts WHERE arguments IS NULL AND text IS NULL"


@pytest.mark.long
def test_the_content_of_whole_days_is_removed_and_the_rows_stay(ten_days: StorePaths, rows: Rows) -> None:
    before = rows("SELECT span_id, call_id, status, duration_ms FROM attempts ORDER BY 1")
    dry = prune(ten_days, PrunePolicy(before=at(4.9)), dry_run=True)
    assert rows(EMPTY) == [(0,)]
    report = prune(ten_days, PrunePolicy(before=at(4.9)))
    assert (report.content_before, report.rows_before) == (at(4).date(), None)
    assert (report.emptied, report.deleted) == (dry.emptied, dry.deleted) == ({"attempts": 4}, {})
    assert rows(EMPTY) == [(4,)]
    assert rows("SELECT span_id, call_id, status, duration_ms FROM attempts ORDER BY 1") == before
    assert rows("SELECT count(*) FROM judged") == [(1,)]
    assert not prune(ten_days, PrunePolicy(before=at(4.9))).emptied


@pytest.mark.long
def test_messages_go_with_the_content_and_leave_their_tokens(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    for number in (1, 9):
        made = call(number, started_at=at(number), trace_id=trace(number), error_message="no", traceback="a.py")
        about = {"call_id": made.call_id, "span_id": made.span_id}
        write(
            made,
            Message(**about, text="t", sha256="1", length=1, error=False, at=at(number), tokens=7),
            Gate(**about, kind="input", asked_at=at(number), note="because", answered_by="ann"),
            Span(
                trace_id=trace(number), span_id=f"s{number}", name="chat", started_at=at(number), attributes=Json("{}")
            ),
        )
    report = prune(store, PrunePolicy(before=at(5)))
    assert report.emptied == {"attempts": 1, "gate_events": 1, "spans": 1}
    assert report.deleted == {"messages": 1}
    assert rows("SELECT call_id, error_message, traceback, result_tokens FROM tool_calls ORDER BY 1") == [
        ("c1", None, None, 7),
        ("c9", "no", "a.py", 7),
    ]
    assert rows("SELECT note, answered_by FROM gates ORDER BY asked_at") == [(None, "ann"), ("because", "ann")]


def test_rows_are_deleted_by_an_age_of_their_own_with_all_that_is_about_them(
    ten_days: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(
        call(20, call_id="a", started_at=at(0.9)),
        call(21, call_id="a", attempt=2, started_at=at(6)),
        *(Gate(call_id=f"c{n}", span_id=call(n).span_id, kind="input", asked_at=at(n)) for n in (1, 9)),
        *(Span(trace_id=trace(n), span_id=f"s{n}", name="chat", started_at=at(n)) for n in (1, 9)),
        Span(trace_id=trace(100), span_id="alone", name="chat", started_at=at(1)),
        Outcome(call_id="c1", correct=True, labeler="ann", labeled_at=at(8)),
        Outcome(call_id="c9", correct=True, labeler="ann", labeled_at=at(9.7)),
    )
    report = prune(ten_days, PrunePolicy(rows_before=at(5)))
    assert (report.content_before, report.rows_before) == (at(5).date(), at(5).date())
    assert report.deleted == {"attempts": 5, "outcomes": 2, "gate_events": 1, "spans": 2}
    assert rows("SELECT call_id, count(*) FROM attempts GROUP BY 1 ORDER BY 1") == [
        ("a", 2), *((f"c{n}", 1) for n in range(5, 10)),
    ]  # fmt: skip
    assert rows("SELECT call_id FROM outcomes") == [("c9",)]


def test_a_label_that_comes_after_its_row_was_deleted_is_deleted_too(
    ten_days: StorePaths, write: Write, rows: Rows
) -> None:
    prune(ten_days, PrunePolicy(rows_before=at(5)))
    write(Outcome(call_id="c1", correct=True, labeler="ann", labeled_at=at(6)))
    prune(ten_days, PrunePolicy(rows_before=at(7)))
    assert rows("SELECT count(*) FROM outcomes") == [(0,)]


@pytest.mark.long
@pytest.mark.parametrize("megabytes", [3, 1.8])
def test_content_of_the_oldest_days_goes_first_until_the_database_has_the_size(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows, megabytes: float
) -> None:
    write(*(call(n, started_at=at(n), trace_id=trace(n), text=os.urandom(400_000).hex()) for n in range(10)))
    report = prune(store, PrunePolicy(max_bytes=int(megabytes * 1e6)))
    assert report.bytes_after <= megabytes * 1e6 < report.bytes_before
    kept = rows("SELECT call_id FROM attempts WHERE text IS NOT NULL ORDER BY 1")
    assert kept == [(f"c{n}",) for n in range(10 - len(kept), 10)]
    assert rows("SELECT count(*) FROM attempts") == [(10,)]


def test_rows_of_the_oldest_days_go_where_content_is_not_enough(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(*(call(n, started_at=at(n % 10), trace_id=trace(n)) for n in range(3000)))
    report = prune(store, PrunePolicy(max_bytes=100_000), dry_run=True)
    assert report.content_before == at(9).date()
    assert report.rows_before is not None
    assert 0 < report.deleted["attempts"] < 3000


@pytest.mark.processes
@pytest.mark.parametrize("step", ["rewrite._copy_table", "Path.replace", "rewrite.sync_directory"])
def test_a_kill_leaves_the_store_as_it_was_or_pruned(
    ten_days: StorePaths, run: Callable[..., str], rows: Rows, step: str
) -> None:
    run(
        "import os, signal\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from tooltrace.store.database import rewrite\nfrom tooltrace.store.upkeep.prune import PrunePolicy, prune\n"
        f"{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"prune({str(ten_days.database)!r}, PrunePolicy(before=datetime(2026, 1, 6, tzinfo=UTC)))",
        code_expected=-signal.SIGKILL,
    )
    assert rows(EMPTY) in ([(0,)], [(5,)])
    assert rows("SELECT count(*) FROM attempts") == [(10,)]


@pytest.mark.long
def test_the_retention_of_a_store_is_applied_by_a_fold_once_a_day(
    ten_days: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write_retention(ten_days, Retention(days=30))
    fold(ten_days)
    assert rows(EMPTY) == [(10,)], "all are older than 30 days"
    write(call(60, started_at=at(1.5), trace_id=trace(60)))
    fold(ten_days)
    assert rows(EMPTY) == [(10,)], "not again on the same day"
    os.utime(ten_days.journal / retention.MARKER, (0, 0))
    fold(ten_days)
    assert rows(EMPTY) == [(11,)]


def test_configure_writes_the_retention_to_the_store(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    tt.configure(store=path, retention="90d", keep_rows="1y", max_size="2GB")
    wanted = Retention(days=90, row_days=365, max_bytes=2 * 10**9)
    assert read_retention(StorePaths.of(path)) == wanted
    tt.configure(store=path)
    assert read_retention(StorePaths.of(path)) == wanted
    with pytest.raises(ConfigError, match="such as 90d"):
        tt.configure(store=path, retention="90 minutes")


def test_ages_and_sizes_have_units() -> None:
    assert [parse_days(text) for text in ("90d", "2w", "1y")] == [90, 14, 365]
    assert [parse_size(text) for text in ("500MB", "2 GB", "1.5gb", 4096)] == [5 * 10**8, 2 * 10**9, 15 * 10**8, 4096]
    for text in ("", "90", "-1d", "0d"):
        with pytest.raises(ConfigError):
            parse_days(text)


def test_the_command_says_what_it_removes(ten_days: StorePaths, rows: Rows) -> None:
    words = ["prune", "--older-than", "30d", "--store", str(ten_days.database)]
    done = CliRunner().invoke(cli, [*words, "--dry-run"])
    assert "Would remove content before" in done.output
    assert "attempts     10 rows without content" in done.output
    assert "deleted" not in done.output
    done = CliRunner().invoke(cli, [*words, "--keep-rows", "40d"])
    assert "Removed rows before" in done.output
    assert "attempts     10 rows deleted" in done.output
    assert rows("SELECT count(*) FROM attempts") == [(0,)]
    assert CliRunner().invoke(cli, words[:1]).exit_code == 2


@pytest.mark.long
def test_what_was_removed_is_known_after_every_rewriting(
    ten_days: StorePaths, tmp_path: Path, write: Write, call: MakeCall
) -> None:
    prune(ten_days, PrunePolicy(before=at(5)))
    forget(ten_days, Selection(call_id="c9"))
    backup(ten_days, tmp_path / "copy.duckdb")
    merge([ten_days.database], tmp_path / "merged.duckdb")
    for store in (ten_days.database, tmp_path / "copy.duckdb", tmp_path / "merged.duckdb"):
        note = "The content of calls before 2026-01-06 was removed by the retention of the store"
        found = query_store(store, "find", text="x y", since=at(0))
        assert found.note == f"{note}: this query begins on that day."
        assert len(found) == 4
        assert query_store(store, "recent", since=at(0)).note == f"{note}: message is unknown for them."
        assert query_store(store, "recent", since=at(5)).note == query_store(store, "failure_rate").note == ""
        for call_id, said in (("c1", note), ("c8", "")):  # a query without a window tells by the calls that it found
            shown = CliRunner().invoke(cli, ["show", call_id, "--store", str(store)])
            assert shown.exit_code == 0
            assert shown.stderr.startswith(said)
            assert bool(shown.stderr) == bool(said)

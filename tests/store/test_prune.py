"""Pruning: whole calls become rollups, with everything that belongs to them, or nothing changes."""

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
from tooltrace.cli import cli
from tooltrace.core.records import Gate, Message, Outcome, Span
from tooltrace.errors import ConfigError
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.upkeep import retention
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


def test_calls_of_whole_days_are_pruned_and_counted(ten_days: StorePaths, rows: Rows) -> None:
    report = prune(ten_days, PrunePolicy(before=at(4.9)))
    assert report.before == at(4).date()
    assert report.rows == {"attempts": 4, "outcomes": 1}
    assert rows("SELECT min(call_id) FROM attempts") == [("c4",)]
    assert rows("SELECT sum(attempts), sum(calls) FROM rollups") == [(4, 4)]
    assert prune(ten_days, PrunePolicy(before=at(4.9))).rows == {}


def test_a_dry_run_reports_the_same_rows_and_deletes_nothing(ten_days: StorePaths, rows: Rows) -> None:
    report = prune(ten_days, PrunePolicy(before=at(4)), dry_run=True)
    assert rows("SELECT count(*) FROM attempts") == [(10,)]
    assert rows("SELECT count(*) FROM rollups") == [(0,)]
    assert prune(ten_days, PrunePolicy(before=at(4))).rows == report.rows


def test_failed_and_labelled_calls_are_kept_until_their_own_age(ten_days: StorePaths, rows: Rows) -> None:
    prune(ten_days, PrunePolicy(before=at(5), keep_errors=True))
    assert rows("SELECT call_id FROM attempts WHERE started_at < TIMESTAMP '2026-01-06' ORDER BY 1") == [
        ("c2",),
        ("c3",),
    ]
    prune(ten_days, PrunePolicy(before=at(5), keep_errors=True, errors_before=at(3)))
    assert rows("SELECT min(call_id) FROM attempts") == [("c3",)]


def test_a_call_with_a_failed_attempt_is_kept_whole(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(
        call(1, call_id="a", status="error", started_at=at(0.1)),
        call(2, call_id="a", attempt=2, started_at=at(0.2)),
    )
    prune(store, PrunePolicy(before=at(5), keep_errors=True))
    assert rows("SELECT count(*) FROM attempts") == [(2,)]


def test_only_the_calls_of_a_tool_are_pruned(store: StorePaths, write: Write, call: MakeCall, rows: Rows) -> None:
    write(call(1, started_at=at(0)), call(2, tool="read", started_at=at(0)))
    prune(store, PrunePolicy(before=at(5), tool="read"))
    assert rows("SELECT tool FROM attempts") == [("search",)]


def test_a_call_on_two_days_stays_as_rows_without_content(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(call(1, call_id="a", started_at=at(0.9)), call(2, call_id="a", attempt=2, started_at=at(1.1)))
    report = prune(store, PrunePolicy(before=at(5)))
    assert (report.emptied, report.rows) == (2, {})
    assert rows("SELECT attempt, arguments FROM attempts ORDER BY 1") == [(1, None), (2, None)]
    assert prune(store, PrunePolicy(before=at(5))).emptied == 0


def test_messages_gates_and_spans_of_pruned_calls_are_deleted_with_them(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    for number in (1, 9):
        made = call(number, started_at=at(number), trace_id=trace(number))
        write(
            made,
            Message(
                call_id=made.call_id, span_id=made.span_id, text="t", sha256="1", length=1, error=False, at=at(number)
            ),
            Gate(call_id=made.call_id, span_id=made.span_id, kind="input", asked_at=at(number)),
            Span(trace_id=trace(number), span_id=f"s{number}", name="chat", started_at=at(number)),
            Span(trace_id=trace(100 + number), span_id=f"t{number}", name="alone", started_at=at(number)),
        )
    report = prune(store, PrunePolicy(before=at(5)))
    assert report.rows == {"attempts": 1, "messages": 1, "gate_events": 1, "spans": 2}
    assert rows("SELECT span_id FROM spans ORDER BY 1") == [("s9",), ("t9",)]


def test_a_label_that_comes_after_its_call_was_pruned_is_a_loss(ten_days: StorePaths, write: Write, rows: Rows) -> None:
    prune(ten_days, PrunePolicy(before=at(5)))
    write(Outcome(call_id="c1", correct=True, labeler="ann", labeled_at=at(6)))
    prune(ten_days, PrunePolicy(before=at(7)))
    assert rows("SELECT reason, count FROM losses") == [("label_after_prune", 1)]
    assert rows("SELECT count(*) FROM outcomes") == [(0,)]


def test_late_calls_of_a_pruned_day_are_counted_at_once_and_rolled_up_by_the_next_prune(
    ten_days: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    prune(ten_days, PrunePolicy(before=at(5)))
    write(call(50, started_at=at(1.5), trace_id=trace(50)))
    prune(ten_days, PrunePolicy(before=at(5)))
    assert rows("SELECT count(*) FROM attempts") == [(5,)]


def test_the_oldest_days_are_pruned_until_the_database_has_the_size(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write(*(call(n, started_at=at(n), trace_id=trace(n), text=os.urandom(400_000).hex()) for n in range(10)))
    report = prune(store, PrunePolicy(max_bytes=3_000_000))
    assert report.bytes_after <= 3_000_000 < report.bytes_before
    kept = rows("SELECT call_id FROM attempts ORDER BY 1")
    assert kept == [(f"c{n}",) for n in range(10 - len(kept), 10)]
    assert len(kept) >= 2


@pytest.mark.processes
@pytest.mark.parametrize("step", ["rewrite._copy_table", "Path.replace", "rewrite.sync_directory"])
def test_a_kill_leaves_the_rows_or_their_rollups(
    ten_days: StorePaths, run: Callable[..., str], rows: Rows, step: str
) -> None:
    run(
        "import os, signal\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from tooltrace.store.database import rewrite\nfrom tooltrace.store.upkeep.prune import PrunePolicy, prune\n"
        f"{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"prune({str(ten_days.database)!r}, PrunePolicy(before=datetime(2026, 1, 6, tzinfo=UTC)))",
        code_expected=-signal.SIGKILL,
    )
    assert rows("SELECT (SELECT count(*) FROM attempts) + (SELECT coalesce(sum(attempts), 0) FROM rollups)") == [(10,)]


def test_rollups_survive_damage(ten_days: StorePaths, rows: Rows) -> None:
    from tooltrace.store.database import recovery

    prune(ten_days, PrunePolicy(before=at(5)))
    pieces = {table.name for table, _ in recovery.salvage(ten_days.database, ten_days.journal)}
    assert {"rollups", "attempts"} <= pieces


def test_the_retention_of_a_store_is_applied_by_a_fold_once_a_day(
    ten_days: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    write_retention(ten_days, Retention(days=30))
    fold(ten_days)
    assert rows("SELECT count(*) FROM attempts") == [(0,)], "all are older than 30 days"
    write(call(60, started_at=at(1.5), trace_id=trace(60)))
    fold(ten_days)
    assert rows("SELECT count(*) FROM attempts") == [(1,)], "not again on the same day"
    os.utime(ten_days.journal / retention.MARKER, (0, 0))
    fold(ten_days)
    assert rows("SELECT count(*) FROM attempts") == [(0,)]


def test_configure_writes_the_retention_to_the_store(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    tt.configure(store=path, retention="90d", max_size="2GB", keep_errors="1y")
    wanted = Retention(days=90, max_bytes=2 * 10**9, error_days=365)
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


def test_the_command_reports_and_prunes(ten_days: StorePaths, rows: Rows) -> None:
    words = ["prune", "--older-than", "30d", "--store", str(ten_days.database)]
    done = CliRunner().invoke(cli, [*words, "--dry-run", "--keep-errors"])
    assert "Would prune calls before" in done.output
    assert "attempts     8 rows deleted" in done.output
    done = CliRunner().invoke(cli, [*words, "--keep-errors=1d"])
    assert "attempts     10 rows deleted" in done.output
    assert rows("SELECT count(*) FROM attempts") == [(0,)]
    assert CliRunner().invoke(cli, words[:1]).exit_code == 2

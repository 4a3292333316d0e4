"""Folding moves every line into the database exactly once, whatever happens in between."""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tooltrace.core.records import Gate, Loss, Outcome
from tooltrace.errors import StoreBusy, StoreError
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.connection import opened
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold import fold as fold_module
from tooltrace.store.fold import fold_step, insertion
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal import fold_marker, line_scan
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

Rows = Callable[[str], list[tuple[Any, ...]]]


def sealed(body: bytes) -> bytes:
    return b'{"crc":"%08x",%b\n' % (zlib.crc32(body), body)


def journals(store: StorePaths) -> list[Path]:
    return sorted(store.journal.glob("*.jsonl"))


def test_every_kind_of_record_comes_to_its_table(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    at = call(1).started_at
    write(
        call(1, confidence=0.5, retryable=False, pid=7),
        Outcome(call_id="c1", correct=True, labeled_at=at),
        Gate(call_id="c1", span_id="0" * 16, kind="input", asked_at=at, changed=Json('{"a":1}')),
        Loss(reason="queue_full", count=3, at=at),
    )
    report = fold(store)
    assert (report.rows, report.losses, report.removed) == (3, 0, 1)
    naive = at.replace(tzinfo=None)
    assert rows("SELECT call_id, confidence, retryable, pid, started_at, arguments FROM tool_calls") == [
        ("c1", 0.5, False, 7, naive, '{"query":"x y"}')
    ]
    assert rows("SELECT call_id, correct, labeled_at FROM outcomes") == [("c1", True, naive)]
    assert rows("SELECT kind, changed FROM gates") == [("input", '{"a":1}')]
    assert rows('SELECT reason, "count" FROM losses') == [("queue_full", 3)]


def test_a_live_journal_is_folded_and_not_removed(store: StorePaths, call: Any, rows: Rows) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)))
    assert fold(store).rows == 1
    journal.write(encode(call(2)))
    assert fold(store).rows == 1
    assert fold(store).rows == 0
    assert len(journals(store)) == 1
    journal.close()
    assert fold(store).removed == 1
    assert journals(store) == []
    assert rows("SELECT count(*) FROM tool_calls") == [(2,)]


def test_the_database_is_the_owners_alone(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    fold(store)
    assert store.database.stat().st_mode & 0o077 == 0


def test_the_same_lines_twice_are_one_row_each(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    at = call(1).started_at
    path = write(
        call(1),
        call(2),
        call(1),
        Outcome(call_id="c1", score=0.5, labeled_at=at),
        Loss(reason="x", count=2, at=at),
    )
    shutil.copy(path, path.with_name("copy.jsonl"))
    fold(store)
    path.parent.joinpath("again.jsonl").write_bytes(b"".join(map(encode, (call(1), call(3)))))
    fold(store)
    assert rows("SELECT span_id, count(*) FROM tool_calls GROUP BY ALL ORDER BY ALL") == [
        (f"{number:016x}", 1) for number in (1, 2, 3)
    ]
    assert rows("SELECT count(*) FROM outcomes") == [(1,)]
    assert rows("SELECT count(*) FROM losses") == [(1,)]


@pytest.mark.processes
@pytest.mark.parametrize("moment", ["before_commit", "after_commit", "before_unlink", "before_forget", "before_note"])
def test_a_fold_killed_at_any_moment_loses_and_doubles_nothing(
    store: StorePaths, write: Any, call: Any, rows: Rows, run: Callable[..., str], moment: str
) -> None:
    write(*map(call, range(50)), Outcome(call_id="c1", correct=True, labeled_at=call(1).started_at))
    run(
        """
        from tooltrace.store.journal import fold_marker
        from tooltrace.store.fold import fold_step, insertion
        insert = fold_step.insert_lines
        def die(*args): os.kill(os.getpid(), signal.SIGKILL)
        def insert_and_die(*args): insert(*args); die()
        module, name, function = {
            "before_commit": (insertion, "store_offsets", die),
            "after_commit": (fold_step, "insert_lines", insert_and_die),
            "before_unlink": (fold_step, "remove_folded", die),
            "before_forget": (fold_step, "drop_stale_offsets", die),
            "before_note": (fold_marker, "write_marker", die),
        }[sys.argv[2]]
        setattr(module, name, function)
        fold(paths)
        """,
        moment,
        code_expected=-9,
    )
    assert rows("SELECT count(*), count(DISTINCT span_id) FROM tool_calls") == [(50, 50)]
    assert rows("SELECT count(*) FROM outcomes") == [(1,)]
    fold(store)
    assert rows("SELECT count(*), count(DISTINCT span_id) FROM tool_calls") == [(50, 50)]
    assert rows("SELECT count(*) FROM losses") == [(0,)]
    assert journals(store) == []


@pytest.mark.long
def test_batches_are_bounded_and_each_committed_with_its_offset(
    store: StorePaths, write: Any, call: Any, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(*map(call, range(200)))
    monkeypatch.setattr(line_scan.batches, "__kwdefaults__", {"limit": 4096})
    monkeypatch.setattr(fold_module, "MAX_STEP_BYTES", 4096)
    committed: list[int] = []
    insert = fold_step.insert_lines

    def counting(*args: Any) -> Any:
        inserted = insert(*args)
        committed.append(inserted.rows)
        return inserted

    monkeypatch.setattr(fold_step, "insert_lines", counting)
    assert fold(store).rows == 200
    assert len(committed) > 5
    assert rows("SELECT count(DISTINCT span_id) FROM tool_calls") == [(200,)]


@pytest.mark.long
@pytest.mark.parametrize("step_calls", [7, *(pytest.param(n, marks=pytest.mark.simulations) for n in (60, 1000))])
def test_every_row_is_stored_once_however_many_calls_a_transaction_has(
    store: StorePaths, write: Any, call: Any, rows: Rows, monkeypatch: pytest.MonkeyPatch, step_calls: int
) -> None:
    for first in (0, 100):
        write(*map(call, range(first, first + 100)), Loss(reason="queue_full", count=1 + first, at=call().started_at))
    monkeypatch.setattr(line_scan.batches, "__kwdefaults__", {"limit": 2048})
    monkeypatch.setattr(insertion, "STEP_CALLS", step_calls)
    monkeypatch.setattr(insertion, "ROW_GROUP_ROWS", 5)  # no transaction merges row groups
    assert fold(store).rows == 200
    assert rows("SELECT count(*), count(DISTINCT span_id), min(call_id), max(call_id) FROM tool_calls") == [
        (200, 200, "c0", "c99")
    ]
    assert rows("SELECT sum(count) FROM losses") == [(102,)]


@pytest.mark.long
def test_many_small_folds_leave_few_row_groups(store: StorePaths, write: Any, call: Any) -> None:
    for number in range(6):
        write(call(number))
        fold(store)
    with opened(store, read_only=True) as con:
        groups = con.execute(
            "SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('store.attempts')"
        ).fetchone()
    assert groups is not None
    assert groups[0] <= 2, "each fold adds a row group of 0.3 MB unless a checkpoint merges them"


def test_a_sealed_line_with_wrong_values_is_counted_and_harms_no_other(
    store: StorePaths, write: Any, call: Any, rows: Rows
) -> None:
    path = write(*map(call, range(20)))
    bad = [
        b'"kind":"call","tool":"x"}',
        b'"kind":"call","tool":"x","call_id":"c","trace_id":"t","span_id":"s","attempt":"one","ending":"returned","started_at":"2026-01-01T00:00:00Z"}',
        b'"kind":"call","tool":"x","call_id":"c","trace_id":"t","span_id":"s","attempt":1,"ending":"returned","started_at":"yesterday"}',
        b'"kind":"call","tool":"\\ud800","call_id":"c","trace_id":"t","span_id":"s","attempt":1,"ending":"returned","started_at":"2026-01-01T00:00:00Z"}',
        b'"kind":"call"',
        b'"kind":"later"}',
        b'"kind":"loss","reason":"x","count":2,"at":"soon"}',
    ]
    with path.open("ab") as file:
        file.write(b"".join(map(sealed, bad)))
        file.write(encode(call(20)))
    report = fold(store)
    assert (report.rows, report.losses) == (21, len(bad))
    assert rows('SELECT reason, sum("count") FROM losses GROUP BY ALL') == [("unreadable_line", len(bad))]
    assert journals(store) == []


def test_a_field_of_a_newer_version_does_no_harm(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    path = write(call(1))
    path.write_bytes(sealed(encode(call(1))[18:-2] + b',"invented":{"later":[1,null]}}'))
    fold(store)
    assert rows("SELECT call_id FROM tool_calls") == [("c1",)]


@settings(max_examples=examples(8))
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=20))
def test_text_comes_to_the_database_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, call: Any, texts: list[str]
) -> None:
    store = StorePaths.of(tmp_path_factory.mktemp("text") / "t.duckdb")
    journal = Journal(store.journal)
    for number, text in enumerate(texts):
        journal.write(encode(call(number, text=text, tool=text)))
    journal.close()
    fold(store)
    with open_reader(store) as db:
        assert db.sql("SELECT text, tool FROM tool_calls ORDER BY span_id").fetchall() == [(t, t) for t in texts]


def test_a_fold_without_the_lock_raises(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    with open_reader(store), pytest.raises(StoreBusy, match="this process \\(reading\\)") as caught:
        fold(store, wait=0)
    assert (caught.value.pid, caught.value.activity) == (os.getpid(), "reading")
    assert fold(store, wait=0).rows == 0


def test_a_fold_marker_of_another_database_is_ignored(store: StorePaths, call: Any, rows: Rows) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)))
    fold(store)
    assert not fold_marker.has_unfolded(store)
    store.database.unlink()
    assert fold_marker.has_unfolded(store)
    assert rows("SELECT call_id FROM tool_calls") == [("c1",)]
    journal.close()


def test_a_missing_folder_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the folder .*nowhere does not exist"):
        fold(tmp_path / "nowhere" / "t.duckdb")


def test_leftovers_of_killed_folds_are_removed(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1))
    left = store.journal / ".lines-x.tmp"
    left.write_bytes(b"secret")
    fold(store)
    assert not left.exists()

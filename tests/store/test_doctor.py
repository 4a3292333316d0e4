"""The doctor tells the state of any store, however broken, and mends what can be mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tooltrace.core.records import Loss
from tooltrace.store.database import schema
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.upkeep.doctor import examine, mend


def test_a_store_that_is_not_there(store: StorePaths) -> None:
    assert examine(store).exists is False
    assert mend(store).done == ()
    assert list(store.database.parent.iterdir()) == []


def test_a_store_in_use(store: StorePaths, write: Any, call: Any) -> None:
    write(call(1), Loss(reason="queue_full", count=4, at=call(1).started_at))
    fold(store)
    journal = Journal(store.journal)
    journal.write(encode(call(2)) + encode(call(3)))
    write(call(4))
    seen = examine(store)
    assert seen.exists
    assert seen.problems == ()
    assert seen.schema == schema.SCHEMA
    assert seen.rows == {
        "tool_calls": 1,
        "outcomes": 0,
        "corrections": 0,
        "gates": 0,
        "messages": 0,
        "losses": 1,
        "spans": 0,
        "saved_queries": 0,
        "begun": 0,
    }
    assert (seen.live_journals, seen.dead_journals) == (1, 1)
    assert (seen.unfolded_files, seen.unfolded_lines) == (2, 3)
    assert seen.unfolded_bytes == seen.journal_bytes == sum(len(encode(call(n))) for n in (2, 3, 4))
    assert seen.losses == {"queue_full": 4}
    assert seen.database_bytes > 0
    assert examine(store) == seen, "looking changes nothing"
    journal.close()


def test_records_that_wait_for_a_destination_are_counted(store: StorePaths, write: Any, call: Any) -> None:
    files = DestinationFiles.of(store, "otlp-traces")
    cursor = files.create()
    cursor.wait_because("no connection")
    files.save(cursor)
    write(call(1), call(2))
    (lag,) = examine(store).deliveries
    assert (lag.destination, lag.pending, lag.error) == ("otlp-traces", 2, "no connection")
    assert lag.lag_seconds >= 0
    assert lag.pending_bytes == examine(store).journal_bytes
    assert examine(store).problems == (), "the store itself is sound"


def test_damage_is_reported_with_its_position_and_repaired(store: StorePaths, write: Any, call: Any) -> None:
    path = write(call(1), call(2))
    path.write_bytes(path.read_bytes()[:-20])
    (store.journal / ".lines-x.tmp").touch()
    (store.journal / "empty.jsonl").touch()
    seen = examine(store)
    assert seen.damaged == (f"torn_line in {path.name} at byte {len(encode(call(1)))}",)
    assert len(seen.problems) == 2
    mending = mend(store)
    assert mending.after.problems == ()
    assert mending.after.losses == {"torn_line": 1}
    assert mending.after.rows["tool_calls"] == 1
    assert mending.after.dead_journals == 0
    assert len(mending.done) == 4
    assert mend(store).done == ()


def test_a_database_that_is_none(store: StorePaths, write: Any, call: Any) -> None:
    store.database.write_bytes(b"garbage" * 1000)
    write(call(1))
    seen = examine(store)
    assert "--mend" in seen.problems[0]
    assert seen.unfolded_lines == 1
    after = mend(store).after
    assert after.problems == ()
    assert after.rows["tool_calls"] == 1
    assert after.losses == {"database_damaged": 1}
    assert [Path(name).name.startswith("t.duckdb.damaged-") for name in after.asides] == [True]


def test_a_folder_in_place_of_the_database_is_reported(store: StorePaths) -> None:
    store.database.mkdir()
    assert examine(store).problems
    assert mend(store).after.problems
    assert store.database.is_dir()


def test_a_file_in_place_of_the_journal_folder_is_reported(store: StorePaths) -> None:
    store.journal.write_text("a file")
    assert mend(store).after.problems
    assert store.journal.read_text() == "a file"

"""Backup, restoration, merging and compaction of whole stores."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tooltrace.core.records import Correction, Outcome
from tooltrace.errors import StoreError, StoreMissing
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader
from tooltrace.store.upkeep.backup import backup, compact, restore
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge

from .conftest import START, MakeCall, Write, make_call
from .probe import places_of

Rows = Callable[[str], list[tuple[Any, ...]]]


def spans(path: Path | StorePaths) -> list[str]:
    """The span ids of a store, as numbers."""
    with open_reader(path) as db:
        return [int(span_id, 16) for (span_id,) in db.sql("SELECT span_id FROM tool_calls ORDER BY span_id").fetchall()]


def put(path: Path, *numbers: int, **more: Any) -> StorePaths:
    """A store of the calls ``numbers``."""
    paths = StorePaths.of(path)
    journal = Journal(paths.journal)
    journal.write(b"".join(encode(make_call(number, **more)) for number in numbers))
    journal.close()
    return paths


def test_a_compaction_makes_the_file_smaller_and_keeps_the_rows(
    store: StorePaths, write: Write, call: MakeCall
) -> None:
    write(*(call(number, text=os.urandom(4000).hex()) for number in range(200)))
    forgotten = os.urandom(4000).hex()
    write(call(200, text=forgotten))
    fold(store)
    with open_reader(store):
        pass
    import duckdb

    with duckdb.connect(str(store.database)) as db:
        db.execute("DELETE FROM attempts WHERE span_id > ?", [f"{9:016x}"])
    report = compact(store)
    assert report.bytes_after < report.bytes_before
    assert spans(store) == list(range(10))
    assert places_of(forgotten, store.database.parent) == []


def test_a_backup_is_a_store_with_the_records_of_journals_too(
    store: StorePaths, write: Write, call: MakeCall, tmp_path: Path
) -> None:
    write(call(1))
    fold(store)
    journal = Journal(store.journal)
    journal.write(encode(call(2)))
    file = tmp_path / "backups" / "monday.duckdb"
    with pytest.raises(StoreError, match="does not exist"):
        backup(store, file)
    file.parent.mkdir()
    backup(store, file)
    journal.write(encode(call(3)))
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert file.stat().st_mode & 0o777 == 0o600
    assert spans(file) == [1, 2]
    assert spans(store) == [1, 2, 3]
    with pytest.raises(StoreError, match="exists"):
        backup(store, file)
    with pytest.raises(StoreError, match="the store itself"):
        backup(store, store.database, force=True)
    with pytest.raises(StoreMissing):
        backup(tmp_path / "none.duckdb", file, force=True)
    backup(store, file, force=True)
    assert spans(file) == [1, 2, 3]
    journal.close()


@pytest.mark.processes
def test_a_backup_is_consistent_while_processes_write(
    store: StorePaths, child: Callable[..., Any], write: Write, call: MakeCall, tmp_path: Path
) -> None:
    write(call(1_000_000))
    writer = child(
        "journal = Journal(paths.journal)\n"
        "for n in range(100000):\n"
        "    journal.write(encode(call(n)))\n"
        "    if n == 50: print('begun', flush=True)\n"
        "    if n >= 50: time.sleep(0.001)\n"
    )
    assert writer.stdout.readline() == "begun\n"
    for number in range(3):
        backup(store, tmp_path / f"{number}.duckdb")
    writer.kill()
    writer.wait()
    sizes = []
    for number in range(3):
        *found, other = spans(tmp_path / f"{number}.duckdb")
        assert other == 1_000_000
        assert found == list(range(len(found))), "a backup has every record up to one moment"
        sizes.append(len(found))
    assert 51 <= sizes[0] <= sizes[1] <= sizes[2]


@pytest.mark.long
def test_a_restoration_replaces_the_store_and_keeps_the_old_file(tmp_path: Path, store: StorePaths) -> None:
    put(store.database, 1, 2)
    file = tmp_path / "b.duckdb"
    backup(store, file)
    put(store.database, 3)
    fold(store)
    with pytest.raises(StoreError, match="--force"):
        restore(file, store)
    _, aside = restore(file, store, force=True)
    assert spans(store) == [1, 2]
    assert aside is not None
    assert spans(aside) == [1, 2, 3]
    restore(file, tmp_path / "new.duckdb")
    assert spans(tmp_path / "new.duckdb") == [1, 2]


def test_a_restoration_refuses_other_files(tmp_path: Path, store: StorePaths) -> None:
    put(store.database, 1)
    wrong = tmp_path / "wrong.duckdb"
    wrong.write_bytes(b"no database" * 100)
    with pytest.raises(StoreError):
        restore(wrong, store, force=True)
    with pytest.raises(StoreMissing):
        restore(tmp_path / "none.duckdb", store, force=True)
    assert spans(store) == [1]


@pytest.mark.long
def test_records_forgotten_since_the_backup_stay_forgotten(tmp_path: Path, store: StorePaths) -> None:
    secret = "a-secret-text " * 10
    put(store.database, 1)
    put(store.database, 2, conversation_id="secret", text=secret)
    file = tmp_path / "elsewhere" / "b.duckdb"
    file.parent.mkdir()
    backup(store, file)
    forget(store, Selection(conversation_id="secret"))
    restore(file, store, force=True)
    assert spans(store) == [1]
    file.unlink()
    assert places_of(secret, tmp_path) == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "step",
    [
        *("backup.rewrite", "Path.replace"),
        pytest.param("backup._keep_aside", marks=pytest.mark.simulations),
    ],
)
def test_a_killed_restoration_leaves_the_old_or_the_new_store(
    tmp_path: Path, store: StorePaths, run: Callable[..., str], step: str
) -> None:
    put(store.database, 1)
    file = tmp_path / "b.duckdb"
    backup(store, file)
    put(store.database, 2)
    fold(store)
    run(
        "from pathlib import Path\nfrom tooltrace.store.upkeep import backup\n"
        f"{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"backup.restore({str(file)!r}, paths, force=True)",
        code_expected=-signal.SIGKILL,
    )
    assert spans(store) == [1, 2]
    restore(file, store, force=True)
    assert spans(store) == [1]


@pytest.mark.processes
def test_a_restoration_killed_before_its_fold_brings_no_forgotten_record_back(
    tmp_path: Path, store: StorePaths, run: Callable[..., str]
) -> None:
    secret = "a-secret-text " * 10
    put(store.database, 1)
    put(store.database, 2, conversation_id="secret", text=secret)
    file = tmp_path / "b.duckdb"
    backup(store, file)
    forget(store, Selection(conversation_id="secret"))
    run(
        "from tooltrace.store.upkeep import backup\n"
        "backup.fold_locked = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"backup.restore({str(file)!r}, paths, force=True)",
        code_expected=-signal.SIGKILL,
    )
    file.unlink()
    assert places_of(secret, tmp_path) == []
    assert spans(store) == [1]


@pytest.mark.long
def test_a_merge_has_each_record_once(tmp_path: Path) -> None:
    one, two = put(tmp_path / "1.duckdb", 1, 2, 3), put(tmp_path / "2.duckdb", 3, 4)
    label = Outcome(call_id="c3", span_id=f"{3:016x}", correct=True, labeled_at=START)
    fix = Correction(span_id=f"{3:016x}", status="error", labeler="human", corrected_at=START)
    for paths in (one, two):
        with_label = Journal(paths.journal)
        with_label.write(encode(label) + encode(fix) * (paths is two))
        with_label.close()
    out = tmp_path / "all.duckdb"
    assert merge([one.database, two.database], out) == 6
    assert spans(out) == [1, 2, 3, 4]
    with open_reader(out) as db:
        assert db.sql("SELECT count(*) FROM outcomes").fetchall() == [(1,)]
        assert db.sql("SELECT call_id, status_recorded FROM tool_calls WHERE status = 'error'").fetchall() == [
            ("c3", "success")
        ]
    assert merge([one.database, two.database], out) == 0
    assert spans(one) == [1, 2, 3]
    with pytest.raises(StoreError, match="to merge into"):
        merge([out], out)
    with pytest.raises(StoreMissing):
        merge([tmp_path / "none.duckdb"], out)


@pytest.mark.long
def test_a_merge_forgets_the_forgotten_records_of_each_store(tmp_path: Path) -> None:
    secret = "a-secret-text " * 10
    one = put(tmp_path / "1" / "s.duckdb", 1, conversation_id="secret", text=secret)
    two = put(tmp_path / "2" / "s.duckdb", 1, conversation_id="secret", text=secret)
    put(two.database, 2)
    forget(one, Selection(conversation_id="secret"))
    merge([one.database], two)
    assert spans(two) == [2]
    assert places_of(secret, tmp_path) == []
    put(two.database, 1, conversation_id="secret", text=secret)
    forget(two, Selection(call_id="c2"))
    assert spans(two) == []


@pytest.mark.processes
def test_a_killed_merge_is_completed_by_the_next_one(
    tmp_path: Path, store: StorePaths, run: Callable[..., str]
) -> None:
    one = put(tmp_path / "1.duckdb", 1, 2)
    shutil.copytree(one.journal, tmp_path / "2.duckdb.journal")
    put(tmp_path / "2.duckdb", 3)
    sources = [str(tmp_path / "1.duckdb"), str(tmp_path / "2.duckdb")]
    run(
        "from tooltrace.store.upkeep import merge\nbefore = merge._merge_one\n"
        "def second(source, *rest):\n"
        "    if source.database.name.startswith('2'): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return before(source, *rest)\n"
        "merge._merge_one = second\n"
        f"merge.merge({sources!r}, paths)",
        code_expected=-signal.SIGKILL,
    )
    assert spans(store) == [1, 2]
    assert merge(sources, store) == 1
    assert spans(store) == [1, 2, 3]

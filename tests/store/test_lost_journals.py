"""A journal that is removed, replaced, moved or truncated while it is written: new lines are found, lost ones counted."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.grids import covering
from tests.store.conftest import make_call
from tooltrace.faults import faults
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(autouse=True)
def no_counts() -> Iterator[None]:
    faults.reset_after_fork()
    yield
    faults.reset_after_fork()


def calls_of(store: StorePaths) -> list[str]:
    with open_reader(store) as db:
        return sorted(str(row[0]) for row in db.sql("SELECT call_id FROM tool_calls").fetchall())


def losses_of(store: StorePaths) -> Counter[str]:
    with open_reader(store) as db:
        return Counter(dict(db.sql('SELECT reason, sum("count") FROM losses GROUP BY reason').fetchall()))


def write_calls(journal: Journal, *numbers: int) -> None:
    for number in numbers:
        journal.write(encode(make_call(number)))


def file_of(journal: Journal) -> Path:
    assert journal.path is not None
    return journal.path


def remove_file(journal: Journal) -> None:
    file_of(journal).unlink()


def remove_folder(journal: Journal) -> None:
    shutil.rmtree(journal.directory)


def move_folder(journal: Journal) -> None:
    journal.directory.rename(journal.directory.with_name("elsewhere"))


def rename_file(journal: Journal) -> None:
    file_of(journal).rename(file_of(journal).with_suffix(".jsonl.1"))


def replace_file(journal: Journal) -> None:
    path = file_of(journal)
    other = path.with_suffix(".new")
    other.write_bytes(b"x" * path.stat().st_size)
    other.replace(path)
    path.write_bytes(b"")


def truncate(journal: Journal) -> None:
    os.truncate(file_of(journal), 0)


def copy_and_truncate(journal: Journal) -> None:
    shutil.copy(file_of(journal), file_of(journal).with_suffix(".jsonl.1"))
    truncate(journal)


REMOVALS = [remove_file, remove_folder, move_folder, rename_file, replace_file]
TRUNCATIONS = [truncate, copy_and_truncate]


@pytest.mark.parametrize(("attack", "sync"), covering([*REMOVALS, *TRUNCATIONS], [False, True]))
def test_the_next_line_is_found_and_the_lost_ones_are_counted(
    store: StorePaths, attack: Callable[[Journal], None], *, sync: bool
) -> None:
    journal = Journal(store.journal, sync=sync)
    write_calls(journal, 1, 2, 3)
    attack(journal)
    write_calls(journal, 4)
    assert calls_of(store) == ["c4"]
    assert faults.drain() == {"journal_removed" if attack in REMOVALS else "journal_truncated": 3}
    write_calls(journal, 5)
    assert calls_of(store) == ["c4", "c5"]
    assert not faults.pending
    journal.close()


@pytest.mark.parametrize("attack", [remove_file, remove_folder, truncate])
def test_lines_that_were_folded_are_not_lost(
    store: StorePaths, attack: Callable[[Journal], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fold_marker, "REFRESH_SECONDS", 0.0)
    journal = Journal(store.journal)
    write_calls(journal, 1, 2)
    fold(store)
    write_calls(journal, 3, 4, 5)
    attack(journal)
    write_calls(journal, 6)
    assert calls_of(store) == ["c1", "c2", "c6"]
    assert sum(faults.drain().values()) == 3
    journal.close()


@pytest.mark.long
@settings(max_examples=examples(12))
@given(data=st.data())
def test_a_truncation_at_any_byte_keeps_whole_lines_and_counts_the_others(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    faults.reset_after_fork()
    store = StorePaths.of(tmp_path_factory.mktemp("cut") / "t.duckdb")
    journal = Journal(store.journal)
    write_calls(journal, 1, 2)
    folded = data.draw(st.booleans(), label="folded")
    if folded:
        fold(store)
    journal.write(b"".join(encode(make_call(number)) for number in (3, 4)))
    size = file_of(journal).stat().st_size
    os.truncate(file_of(journal), data.draw(st.integers(0, size - 1), label="size"))
    write_calls(journal, 5, 6)
    lost = sum(faults.drain().values())
    journal.close()
    found = calls_of(store)
    assert found[-2:] == ["c5", "c6"]
    assert len(found) + lost == 6
    assert not folded or found[:2] == ["c1", "c2"]
    assert losses_of(store) == {}, "a cut line is counted once, by the writer"


def test_a_check_counts_what_was_lost_without_another_write(store: StorePaths) -> None:
    journal = Journal(store.journal)
    write_calls(journal, 1, 2)
    journal.check()
    assert not faults.pending
    remove_folder(journal)
    journal.check()
    assert faults.drain() == {"journal_removed": 2}
    assert journal.path is None
    journal.close()


def test_a_check_does_not_create_a_removed_directory(tmp_path: Path) -> None:
    place = tmp_path / "gone"
    journal = Journal(StorePaths.of(place / "t.duckdb").journal)
    write_calls(journal, 1)
    shutil.rmtree(place)
    journal.check()
    assert not faults.pending
    assert not place.exists()
    write_calls(journal, 2)
    assert faults.drain() == {"journal_removed": 1}
    journal.close()


@pytest.mark.parametrize("same_length", [True, False])
def test_a_fold_reads_a_journal_that_was_replaced_from_its_beginning(
    store: StorePaths, write: Any, call: Any, *, same_length: bool
) -> None:
    path = write(call(1), call(2))
    kept = path.with_name("kept")
    shutil.copy(path, kept)
    fold(store)
    assert not path.exists()
    journal = Journal(store.journal)
    write_calls(journal, 3, 4)
    fold(store)
    live = file_of(journal)
    live.write_bytes(b"".join(encode(call(n, text=None if same_length else "x" * n)) for n in (5, 6, 7)))
    assert calls_of(store) == ["c1", "c2", "c3", "c4", "c5", "c6", "c7"]
    fold(store)
    assert losses_of(store) == {}
    journal.close()


@pytest.mark.parametrize("length", [0, 1, 2])
def test_a_fold_reads_lines_that_were_appended_after_a_truncation(store: StorePaths, call: Any, length: int) -> None:
    """A writer of an earlier version continues in the truncated file."""
    journal = Journal(store.journal)
    write_calls(journal, 1, 2)
    fold(store)
    path = file_of(journal)
    os.truncate(path, 0)
    with path.open("ab") as file:
        file.write(b"".join(encode(call(3 + number)) for number in range(length + 1)))
    assert calls_of(store) == ["c1", "c2", *(f"c{3 + number}" for number in range(length + 1))]
    fold(store)
    assert not fold_marker.has_unfolded(store)
    journal.close()


def test_a_truncated_journal_of_an_idle_writer_does_not_make_each_reader_fold(store: StorePaths) -> None:
    journal = Journal(store.journal)
    write_calls(journal, 1, 2)
    fold(store)
    os.truncate(file_of(journal), 0)
    assert not fold_marker.has_unfolded(store)
    journal.close()

"""Forgetting: the chosen records leave every file of the store, and do not come back."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores import write_records
from tooltrace.core.records import Correction, Gate, Message, Outcome, Record, Span
from tooltrace.errors import ConfigError, QueryError, StoreError, StoreMissing
from tooltrace.redact.snapshot import Json
from tooltrace.store.database.connection import connect
from tooltrace.store.erase import blanking, tombstones
from tooltrace.store.erase.blanking import change_lines
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.delivery_cursors import DestinationFiles
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.undelivered import JournalReader
from tooltrace.store.upkeep.doctor import examine, mend
from tooltrace.store.upkeep.forget import ForgetReport, Selection, forget

from .conftest import START, MakeCall, Write, copy_store, make_call
from .probe import places_of

Rows = Callable[[str], list[tuple[Any, ...]]]
RANDOM = os.urandom(2048).hex()
"""A secret that DuckDB cannot compress."""
PLAIN = "the-secret-of-the-user "
"""A secret that repeats, and that DuckDB compresses."""


def secret_records(number: int = 100) -> list[Record]:
    """Records of each kind about one call, each with both secrets."""
    text = RANDOM + PLAIN * 50
    attempt = make_call(
        number, conversation_id="secret", call_id="s1", trace_id="b" * 32, text=text, attributes=Json('{"user":"u1"}')
    )
    about = {"call_id": "s1", "span_id": attempt.span_id}
    return [
        attempt,
        Message(**about, text=text, sha256="0" * 64, length=len(text), error=False, at=START + timedelta(seconds=1)),
        Outcome(**about, correct=True, reason=text, labeled_at=START + timedelta(seconds=2)),
        Outcome(call_id="s1", correct=True, reason=text, labeled_at=START + timedelta(seconds=3)),
        Correction(**about, status="error", reason=text, corrected_at=START + timedelta(seconds=2)),
        Gate(**about, kind="confirmation", note=text, asked_at=START),
        Span(
            trace_id="b" * 32,
            span_id="e" * 16,
            name="chat",
            started_at=START,
            attributes=Json(json.dumps({"prompt": text})),
        ),
    ]


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> StorePaths:
    """A store with ten other calls, and the secret in the database."""
    store = StorePaths.of(tmp_path_factory.mktemp("filled") / "t.duckdb")
    write_records(store, *(make_call(number, conversation_id=f"conversation {number % 2}") for number in range(10)))
    write_records(store, *secret_records())
    fold(store)
    return store


@pytest.fixture
def filled(filled_once: StorePaths, store: StorePaths) -> StorePaths:
    """A copy of ``filled_once``."""
    return copy_store(filled_once, store)


def probe(paths: StorePaths) -> list[str]:
    return sorted({*places_of(RANDOM[:1000], paths.database.parent), *places_of(PLAIN * 2, paths.database.parent)})


@pytest.mark.parametrize(
    "selection",
    [
        Selection(conversation_id="secret"),
        pytest.param(Selection(call_id="s1"), marks=pytest.mark.long),
        pytest.param(Selection(where="attributes->>'user' = 'u1'"), marks=pytest.mark.long),
        pytest.param(Selection(call_id="s1", where="tool = 'search'"), marks=pytest.mark.simulations),
    ],
)
def test_every_record_of_the_selection_leaves_every_file(filled: StorePaths, rows: Rows, selection: Selection) -> None:
    assert {f"{filled.database.name}:{name}" for name in ("attempts", "messages", "outcomes", "spans")} <= set(
        probe(filled)
    ), "the probe must find the secrets before"
    others = rows("SELECT * FROM tool_calls WHERE conversation_id <> 'secret' ORDER BY span_id")
    report = forget(filled, selection)
    assert probe(filled) == []
    assert (report.attempts, report.calls, report.spans_left) == (1, 1, 0)
    assert report.erased.rows == {
        "attempts": 1, "messages": 1, "outcomes": 2, "corrections": 1, "gate_events": 1, "spans": 1,
    }  # fmt: skip
    assert rows("SELECT * FROM tool_calls ORDER BY span_id") == others
    assert examine(filled).problems == ()


def test_a_preview_counts_and_changes_nothing(filled: StorePaths) -> None:
    before = probe(filled)
    assert forget(filled, Selection(call_id="s1"), dry_run=True) == ForgetReport(attempts=1, calls=1)
    assert probe(filled) == before
    assert not tombstones.load(filled)


@pytest.mark.long
def test_tombstones_hold_no_id_and_only_the_owner_may_read_them(filled: StorePaths) -> None:
    forget(filled, Selection(conversation_id="secret"))
    forget(filled, Selection(call_id="c1"))
    data = tombstones.file_of(filled).read_text()
    assert tombstones.file_of(filled).stat().st_mode & 0o777 == 0o600
    for name in ('"secret"', '"s1"', '"c1"', "b" * 32, f"{100:016x}"):
        assert name not in data


def test_the_same_records_that_arrive_later_are_not_stored(filled: StorePaths, write: Write, rows: Rows) -> None:
    forget(filled, Selection(conversation_id="secret"))
    write(*secret_records())
    write(*secret_records(number=101))  # an attempt that was not stored when its conversation was forgotten
    before = rows("SELECT count(*) FROM tool_calls")
    report = fold(filled)
    assert before == rows("SELECT count(*) FROM tool_calls") == [(10,)]
    assert probe(filled) == []
    assert report.rows == 0


@pytest.mark.processes
def test_a_reader_that_cannot_fold_does_not_show_forgotten_records(
    filled: StorePaths, write: Write, rows: Rows, child: Callable[..., Any]
) -> None:
    forget(filled, Selection(conversation_id="secret"))
    reader = child("with reading(paths): print('open', flush=True); sys.stdin.readline()")
    assert reader.stdout.readline() == "open\n"
    write(*secret_records())
    assert rows("SELECT count(*) FROM tool_calls") == [(10,)]


def test_a_call_that_begins_after_the_forgetting_is_recorded(
    filled: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    forget(filled, Selection(conversation_id="secret"))
    at = next(iter(tombstones.load(filled).entries.values())).at
    write(call(200, conversation_id="secret", started_at=at + timedelta(seconds=1)))
    assert rows("SELECT span_id FROM tool_calls WHERE conversation_id = 'secret'") == [(f"{200:016x}",)]


@pytest.mark.long
def test_the_journal_of_a_running_process_is_cleaned_while_it_writes(
    filled: StorePaths, call: MakeCall, rows: Rows
) -> None:
    journal = Journal(filled.journal)
    journal.write(encode(call(30)) + b"".join(map(encode, secret_records(110))))
    assert journal.path is not None
    fold(filled)
    assert journal.path.name in probe(filled)
    assert forget(filled, Selection(conversation_id="secret")).erased.remaining == []
    journal.write(encode(call(31)))
    assert fold(filled).bytes == len(encode(call(31))), "the changed journal is not read again"
    assert probe(filled) == []
    assert rows("SELECT count(*) FROM tool_calls") == [(12,)]
    assert change_lines(journal.path, lambda _: None, dry_run=True) == 2
    assert examine(filled).damaged == ()
    journal.close()


@pytest.mark.long
def test_a_line_that_a_running_process_writes_later_is_removed_by_the_next_fold(
    filled: StorePaths, call: MakeCall
) -> None:
    journal = Journal(filled.journal)
    journal.write(encode(call(30)))
    forget(filled, Selection(conversation_id="secret"))
    journal.write(b"".join(map(encode, secret_records(111))))
    assert probe(filled) != []
    assert fold(filled).forgotten == len(secret_records())
    assert probe(filled) == []
    assert fold(filled).bytes == 0, "the changed journal is not read again"
    journal.close()


@pytest.mark.long
def test_a_damaged_copy_is_cleaned_or_removed(filled: StorePaths) -> None:
    readable = filled.database.with_name(f"{filled.database.name}.damaged-20260102T030405.000006Z")
    shutil.copy(filled.database, readable)
    broken = filled.database.with_name(f"{filled.database.name}.damaged-20260103T030405.000006Z")
    broken.write_bytes(b"x" * 8 + b"DUCK" + RANDOM.encode())
    assert {f"{readable.name}:attempts", broken.name} <= set(probe(filled))
    report = forget(filled, Selection(conversation_id="secret"))
    assert probe(filled) == []
    assert (report.erased.rewritten, report.erased.removed) == ([readable.name], [broken.name])


@pytest.mark.long
def test_a_recovery_does_not_bring_records_back(filled: StorePaths, tmp_path: Path, rows: Rows) -> None:
    copy = tmp_path / "copy"
    shutil.copy(filled.database, copy)
    forget(filled, Selection(conversation_id="secret"))
    with copy.open("r+b") as file:  # as where an old file system snapshot is put back, and is damaged
        file.seek(-100, os.SEEK_END)
        file.write(b"\xff" * 100)
    copy.replace(filled.database)
    mend(filled)
    assert rows("SELECT count(*) FROM tool_calls WHERE conversation_id = 'secret'") == [(0,)]


@pytest.mark.long
def test_the_files_of_destinations_lose_the_records(filled: StorePaths, call: MakeCall) -> None:
    files = DestinationFiles.of(filled, "otlp")
    cursor = files.create()
    cursor.early = [f"{100:016x}", f"{1:016x}"]
    files.save(cursor)
    files.refused.write_bytes(b"".join(map(encode, [*secret_records(), call(1)])))
    assert files.refused.name in probe(filled)
    forget(filled, Selection(conversation_id="secret"))
    assert probe(filled) == []
    assert change_lines(files.refused, lambda _: None, dry_run=True) == 1
    again = files.load()
    assert again is not None
    assert again.early == [f"{1:016x}"]


def test_a_delivery_leaves_forgotten_records_out(filled: StorePaths, write: Write, call: MakeCall) -> None:
    DestinationFiles.of(filled, "otlp").create()
    reader = JournalReader(filled)
    forget(filled, Selection(conversation_id="secret"))
    write(*secret_records(), call(40))
    assert [getattr(record, "call_id", None) for record in reader.next({}).records] == ["c40"]


@pytest.mark.long
def test_a_label_of_a_call_id_that_another_conversation_uses_stays_with_the_other(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    first = call(1, call_id="call_1", conversation_id="a")
    second = call(2, call_id="call_1", conversation_id="b", started_at=START + timedelta(hours=1))
    for_first = Outcome(call_id="call_1", correct=True, labeled_at=START + timedelta(minutes=1))
    for_second = Outcome(call_id="call_1", correct=False, labeled_at=START + timedelta(hours=2))
    write(first, second, for_first, for_second)
    forget(store, Selection(conversation_id="a"))
    assert rows("SELECT correct FROM outcomes") == [(False,)]
    write(for_first, for_second)
    assert rows("SELECT correct FROM outcomes") == [(False,)]


@pytest.mark.long
def test_spans_of_a_trace_with_other_calls_stay_unless_they_are_below_a_forgotten_call(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    span = {"trace_id": "a" * 32, "started_at": START}
    chat = Span(span_id="1" * 16, name="chat", **span)
    inner = Span(span_id="2" * 16, parent_span_id=f"{1:016x}", name="http", **span)
    deeper = Span(span_id="3" * 16, parent_span_id="2" * 16, name="dns", **span)
    write(call(1, conversation_id="a"), call(2, conversation_id="b"), chat, inner, deeper)
    assert forget(store, Selection(conversation_id="a")).spans_left == 1
    assert rows("SELECT name FROM spans") == [("chat",)]
    assert forget(store, Selection(conversation_id="b")).spans_left == 0
    assert rows("SELECT name FROM spans") == []


def test_whole_traces_are_forgotten_as_an_option(store: StorePaths, write: Write, call: MakeCall, rows: Rows) -> None:
    write(
        call(1, conversation_id="a"), call(2), Span(span_id="1" * 16, name="chat", trace_id="a" * 32, started_at=START)
    )
    forget(store, Selection(conversation_id="a", whole_traces=True))
    assert rows("SELECT name FROM spans") == []
    assert rows("SELECT call_id FROM tool_calls") == [("c2",)]


@pytest.mark.long
def test_nothing_is_forgotten_where_the_selection_is_wrong(filled: StorePaths, tmp_path: Path) -> None:
    before = probe(filled)
    with pytest.raises(ConfigError, match="nothing to forget"):
        Selection()
    for wrong in ("no_such_column = 1", "tool =", "true); DROP TABLE attempts; SELECT (1"):
        with pytest.raises(QueryError):
            forget(filled, Selection(where=wrong))
    assert forget(filled, Selection(where="tool = 'none'")).attempts == 0
    with pytest.raises(StoreMissing):
        forget(tmp_path / "none.duckdb", Selection(call_id="x"))
    assert probe(filled) == before
    assert not tombstones.load(filled)


@pytest.mark.long
def test_nothing_is_forgotten_where_the_disk_takes_only_a_part_of_the_tombstone(
    filled: StorePaths, rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = tombstones.add

    def add_on_a_full_disk(paths: StorePaths, *found: tombstones.Tombstone) -> None:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            add(paths, *found)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    monkeypatch.setattr(tombstones, "add", add_on_a_full_disk)
    with pytest.raises(StoreError, match="nothing was forgotten"):
        forget(filled, Selection(call_id="s1"))
    assert len(rows("SELECT 1 FROM tool_calls")) == 11
    monkeypatch.undo()
    assert forget(filled, Selection(call_id="s1")).attempts == 1
    assert probe(filled) == []


@pytest.mark.processes
@pytest.mark.parametrize(
    "step",
    [
        "tombstones._append",
        "rewrite._copy_table",
        pytest.param("rewrite.sync_directory", marks=pytest.mark.simulations),
        pytest.param("rewrite.ReplayPositions.write", marks=pytest.mark.simulations),
        pytest.param("erasure.blank_journals", marks=pytest.mark.simulations),
        "blanking._overwrite",
        pytest.param("recovery.quarantined_files", marks=pytest.mark.simulations),
        pytest.param("tombstones.mark_done", marks=pytest.mark.simulations),
    ],
)
def test_a_kill_at_any_step_leaves_a_store_that_the_next_fold_or_command_completes(
    filled: StorePaths, call: MakeCall, run: Callable[..., str], rows: Rows, step: str
) -> None:
    journal = Journal(filled.journal)
    journal.write(encode(call(30)) + b"".join(map(encode, secret_records(110))))
    run(
        "import os, signal\n"
        "from tooltrace.store.database import recovery, rewrite\n"
        "from tooltrace.store.erase import blanking, erasure, tombstones\nfrom tooltrace.store.upkeep import forget\n"
        f"{step} = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "forget.forget(paths, forget.Selection(conversation_id='secret'))",
        code_expected=-signal.SIGKILL,
    )
    assert rows("SELECT count(*) FROM tool_calls WHERE conversation_id <> 'secret'") == [(10,)]
    if step == "tombstones._append":
        forget(filled, Selection(conversation_id="secret"))
    else:
        fold(filled)
    assert probe(filled) == []
    assert not tombstones.load(filled).pending
    assert rows("SELECT count(*) FROM tool_calls") == [(11,)]
    journal.close()


@pytest.mark.long
def test_a_journal_that_cannot_be_changed_is_named_and_cleaned_later(
    filled: StorePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(filled.journal)
    journal.write(b"".join(map(encode, secret_records(110))))
    assert journal.path is not None

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(blanking, "_overwrite", refuse)
        (sentence,) = forget(filled, Selection(conversation_id="secret")).erased.remaining
        assert f"(a journal of process {os.getpid()})" in sentence
        assert probe(filled) == [journal.path.name]
        inode = filled.database.stat().st_ino
        fold(filled)
        assert filled.database.stat().st_ino == inode, "the database is not rewritten again"
        assert tombstones.load(filled).pending
    fold(filled)
    assert probe(filled) == []
    assert not tombstones.load(filled).pending
    journal.close()


def test_a_partly_overwritten_line_is_overwritten_by_the_next_run(store: StorePaths, call: MakeCall) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)) + encode(call(2, text=RANDOM)) + encode(call(3)))
    assert journal.path is not None
    with journal.path.open("r+b") as file:
        file.seek(len(encode(call(1))))
        file.write(b"\n" * 50)
    assert change_lines(journal.path, lambda record: record) == 1
    assert places_of(RANDOM[:1000], store.journal) == []
    assert change_lines(journal.path, lambda _: None, dry_run=True) == 2
    journal.close()


@pytest.mark.long
def test_a_torn_tombstone_is_skipped_and_the_next_one_is_read(filled: StorePaths) -> None:
    forget(filled, Selection(call_id="c1"))
    with tombstones.file_of(filled).open("ab") as file:
        file.write(b'{"forget":{"id":"x"')
    forget(filled, Selection(call_id="c2"))
    found = tombstones.load(filled)
    assert len(found.entries) == 2
    assert len({one.key for one in found.entries.values()}) == 1


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_sql_and_python_hash_an_id_alike(value: str) -> None:
    key = "0f" * 32
    con = connect()
    found = con.execute(f"SELECT {tombstones._hash_sql(key, 'span', 'id')} FROM (SELECT ? AS id)", [value]).fetchone()
    con.close()
    assert found == (tombstones.digest(key, "span", value),)

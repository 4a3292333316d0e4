"""The stored numbers of calls and clusters, and the table of the calls that have several attempts."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.examples import examples
from tests.stores import write_records
from tooltrace.core.records import Correction, ToolCall
from tooltrace.redact.redaction import Redaction
from tooltrace.store.database.connection import opened
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold import insertion
from tooltrace.store.fold.fold import fold
from tooltrace.store.read.reader import open_reader
from tooltrace.store.upkeep.backup import backup, compact, restore
from tooltrace.store.upkeep.doctor import mend
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge
from tooltrace.store.upkeep.prune import prune
from tooltrace.store.upkeep.redact_stored import redact_stored
from tooltrace.store.upkeep.retention import PrunePolicy

from .conftest import START, MakeCall, Write, make_call

Rows = Callable[[str], list[tuple[Any, ...]]]
NUMBERS = """
SELECT count(*) FROM attempts
WHERE call_hash IS DISTINCT FROM text_key(call_key(tool, call_id, first_span_id, conversation_id, host, pid))
   OR cluster_hash IS DISTINCT FROM text_key(draw_key(conversation_id, trace_id))
"""
SEVERAL = "SELECT text_key(call_key(tool, call_id, first_span_id, conversation_id, host, pid)) FROM attempts GROUP BY ALL HAVING count(*) > 1"


def require_exact(store: StorePaths) -> None:
    """The stored numbers are those of the macros, and the table has the calls with several attempts, each once."""
    with opened(store, read_only=True) as con:
        con.execute("USE store")
        assert con.execute(NUMBERS).fetchall() == [(0,)]
        found = sorted(con.execute("SELECT call_hash FROM repeated_calls").fetchall())
        assert found == sorted(con.execute(SEVERAL).fetchall())


def require_bound(store: StorePaths) -> None:
    """A reader sees the numbers of all attempts, also of those in journals, and no repeated call is missing."""
    with open_reader(store) as con:
        assert con.execute(NUMBERS).fetchall() == [(0,)]
        assert con.execute(
            f"SELECT count(*) FROM ({SEVERAL} EXCEPT SELECT call_hash FROM repeated_calls)"
        ).fetchall() == [(0,)]


@st.composite
def histories(draw: DrawFn) -> list[list[ToolCall]]:
    """Attempts of few calls, without and with a conversation, in pieces that are folded one after the other."""
    count = draw(st.integers(2, 25))
    made = [
        make_call(
            number,
            tool=draw(st.sampled_from(["search", "a tool with a long name"])),
            call_id=draw(st.sampled_from(["c1", "c2", "a call id of more than 12 bytes", "c4", "c5", "c6"])),
            conversation_id=draw(st.sampled_from([None, None, "v", "a long name of a conversation"])),
            trace_id=draw(st.sampled_from(["a" * 32, "b" * 32, "t"])),
            host=draw(st.sampled_from([None, "h1", "h2"])),
            pid=draw(st.sampled_from([None, 1, -1])),
            attempt=draw(st.integers(1, 3)),
            started_at=START + timedelta(hours=draw(st.integers(0, 72))),
        )
        for number in range(count)
    ]
    ends = sorted(draw(st.lists(st.integers(0, count), max_size=4)))
    return [made[first:last] for first, last in zip([0, *ends], [*ends, count], strict=True)]


def forget_a_conversation(store: StorePaths, _other: StorePaths) -> None:
    forget(store, Selection(conversation_id="v"))


def forget_a_call(store: StorePaths, _other: StorePaths) -> None:
    forget(store, Selection(call_id="c1"))


def prune_two_days(store: StorePaths, _other: StorePaths) -> None:
    prune(store, PrunePolicy(rows_before=datetime(2026, 1, 4, tzinfo=UTC)))


def merge_another(store: StorePaths, other: StorePaths) -> None:
    late = [
        make_call(100 + n, call_id=f"c{n % 4}", conversation_id=[None, "v"][n % 2], host="h1", pid=1) for n in range(6)
    ]
    write_records(other, *late[:3])
    fold(other)
    write_records(other, *late[3:])
    merge([other.database], store)


def compact_it(store: StorePaths, _other: StorePaths) -> None:
    compact(store)


def restore_a_backup(store: StorePaths, other: StorePaths) -> None:
    copy = other.database.with_name(f"{other.database.stem}_copy.duckdb")  # two backups may be in one example
    backup(store, copy)
    restore(copy, store, force=True)


CHANGES = [forget_a_conversation, forget_a_call, prune_two_days, merge_another, compact_it, restore_a_backup]


@pytest.mark.long
@settings(max_examples=examples(5), deadline=None)
@given(histories(), st.lists(st.sampled_from(CHANGES), max_size=2), st.booleans())
def test_numbers_and_repeated_calls_are_those_of_the_expressions(
    pieces: list[list[ToolCall]], changes: list[Callable[[StorePaths, StorePaths], None]], staged: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, staging(staged):
        store = StorePaths.of(Path(folder) / "t.duckdb")
        for number, piece in enumerate(pieces):
            if piece:
                # an attempt that comes again is stored once
                write_records(store, *piece, *(pieces[number - 1][:2] if number else []))
            fold(store)
            require_exact(store)
            require_bound(store)
        for number, change in enumerate(changes):
            change(store, StorePaths.of(Path(folder) / f"other_{number}.duckdb"))
            require_exact(store)
        write_records(store, make_call(200, call_id="c2"), make_call(201, call_id="c2", attempt=2))
        fold(store)
        require_exact(store)


@contextmanager
def staging(always: bool) -> Iterator[None]:
    """Let each fold stage its lines, as where a record was forgotten."""
    with pytest.MonkeyPatch.context() as patch:
        if always:
            patch.setattr(insertion, "_insert_directly", lambda *_arguments: False)
        yield


def test_attempts_in_journals_have_numbers_and_bound_the_calls(store: StorePaths, write: Write, call: MakeCall) -> None:
    write(call(1), call(2))
    fold(store)
    with open_reader(store):  # keeps others from folding
        write(call(3, call_id="c1", attempt=2), Correction(span_id=call(2).span_id, status="error", corrected_at=START))
        require_bound(store)
        with open_reader(store) as con:
            assert con.execute("SELECT count(*), count(DISTINCT call_hash) FROM attempts").fetchall() == [(3, 2)]
            assert con.execute("SELECT status FROM attempts WHERE call_id = 'c2'").fetchall() == [("error",)]


def test_a_later_attempt_changes_no_stored_row(store: StorePaths, write: Write, call: MakeCall, rows: Rows) -> None:
    write(*map(call, range(50)))
    fold(store)
    before = rows("SELECT rowid, * FROM store.attempts ORDER BY rowid")
    assert rows("SELECT count(*) FROM repeated_calls") == [(0,)]
    write(call(60, call_id="c7", attempt=2))
    fold(store)
    assert rows("SELECT rowid, * FROM store.attempts ORDER BY rowid")[:50] == before
    assert rows("SELECT call_hash FROM repeated_calls") == rows(
        "SELECT call_hash FROM attempts WHERE call_id = 'c7' LIMIT 1"
    )


def test_the_numbers_are_not_in_the_view_for_users(store: StorePaths, write: Write, call: MakeCall) -> None:
    write(call(1))
    with open_reader(store) as con:
        names = [name for name, *_ in con.execute("DESCRIBE tool_calls").fetchall()]
    assert not {"call_hash", "cluster_hash"} & set(names)


def test_a_forgotten_call_leaves_no_number(store: StorePaths, write: Write, call: MakeCall, rows: Rows) -> None:
    write(call(1, call_id="s", conversation_id="v"), call(2, call_id="s", conversation_id="v", attempt=2), call(3))
    fold(store)
    assert rows("SELECT count(*) FROM repeated_calls") == [(1,)]
    forget(store, Selection(conversation_id="v"))
    assert rows("SELECT count(*) FROM repeated_calls") == [(0,)]
    assert rows("SELECT count(*), count(call_hash) FROM attempts") == [(1, 1)]


@pytest.mark.long
def test_numbers_follow_a_name_that_is_redacted(store: StorePaths, write: Write, call: MakeCall) -> None:
    write(call(1, host="customer-4711"), call(2, call_id="c1", host="customer-4711"))
    fold(store)
    report = redact_stored(store, Redaction(patterns=["customer-[0-9]+"]))
    assert report.values == {"attempts.host": 2}
    require_exact(store)


def test_a_damaged_store_is_rebuilt_with_its_numbers(store: StorePaths, write: Write, call: MakeCall) -> None:
    write(call(1), call(2, call_id="c1", attempt=2))
    fold(store)
    with store.database.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    mend(store)
    write(call(3), call(4, call_id="c3", attempt=2))
    fold(store)
    require_exact(store)


def test_the_numbers_of_another_hash_are_computed_again(
    store: StorePaths, write: Write, call: MakeCall, rows: Rows
) -> None:
    """As if a version of DuckDB with another hash had written the store."""
    write(call(1, conversation_id="v"), call(2, call_id="c1", conversation_id="v", attempt=2), call(3))
    fold(store)
    with opened(store, read_only=False) as con:
        con.execute("UPDATE store.attempts SET call_hash = rowid, cluster_hash = rowid")
        con.execute("DELETE FROM store.repeated_calls")
        con.execute("UPDATE store.meta SET value = concat(value, '-') WHERE key = 'hashes'")
    with open_reader(store, cursors=False) as con:
        assert con.execute(NUMBERS).fetchall() == [(0,)]
        assert con.execute(f"{SEVERAL} EXCEPT SELECT call_hash FROM repeated_calls").fetchall() == []
    write(call(4, call_id="c3", attempt=2))
    fold(store)
    require_exact(store)
    assert rows("SELECT count(*) FROM repeated_calls") == [(2,)]

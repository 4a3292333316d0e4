"""A call that runs is one row: begun, then its end, or lost once its process is gone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores import write_records
from tooltrace.core.records import Begun, Record
from tooltrace.redact.redaction import Redaction
from tooltrace.redact.snapshot import Json
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal import fold_marker
from tooltrace.store.journal.line_format import encode
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader
from tooltrace.store.read.undelivered import JournalReader
from tooltrace.store.upkeep.forget import Selection, forget
from tooltrace.store.upkeep.merge import merge
from tooltrace.store.upkeep.redact_stored import redact_stored

from .conftest import make_call

Rows = Callable[[str], list[tuple[Any, ...]]]
HOST = socket.gethostname()
GONE = 2**22 + 1
"""A process id that Linux gives to no process."""
SECRET = "correct horse battery staple"


def begun(number: int, *, pid: int = GONE, host: str = HOST, **more: Any) -> Begun:
    """The call of ``make_call(number)`` while it runs; one of this process begins now."""
    call = make_call(number)
    same: dict[str, Any] = {
        name: getattr(call, name) for name in ("tool", "call_id", "trace_id", "span_id", "started_at")
    }
    if pid == os.getpid():
        same["started_at"] = datetime.now(UTC)
    return Begun(**same | {"arguments": call.arguments, "pid": pid, "host": host} | more)


def endings(paths: StorePaths) -> dict[str, list[str]]:
    """Return the endings of the attempts by span id, and ``begun`` for a call that runs."""
    found: dict[str, list[str]] = {}
    with open_reader(paths, cursors=False) as con:
        rows = con.sql("SELECT span_id, ending FROM attempts UNION ALL SELECT span_id, 'begun' FROM begun").fetchall()
    for span_id, ending in rows:
        found.setdefault(span_id, []).append(ending)
    return found


CALLS = 4
LINES = st.lists(
    st.tuples(st.integers(0, CALLS - 1), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=12
)
"""Lines in the order in which they arrive: the call, whether it is the end, whether a journal begins after it, and a fold."""


@pytest.mark.long
@given(lines=LINES)
def test_begun_and_end_are_one_row_in_any_order_over_any_journals(tmp_path_factory: Any, lines: Any) -> None:
    store = StorePaths.of(tmp_path_factory.mktemp("begun") / "t.duckdb")
    waiting: list[Record] = []
    ended: set[str] = set()
    seen: set[str] = set()
    for place, (number, is_end, ends_journal, folds) in enumerate(lines):
        waiting.append(make_call(number) if is_end else begun(number))
        if not ends_journal and place < len(lines) - 1:
            continue
        write_records(store, *waiting)
        seen |= {record.span_id for record in waiting}  # type: ignore[union-attr]
        ended |= {record.span_id for record in waiting if not isinstance(record, Begun)}  # type: ignore[union-attr]
        waiting = []
        if folds:
            fold(store)
        assert endings(store) == {span: ["returned" if span in ended else "lost"] for span in seen}
        with open_reader(store, journals_only=True, cursors=False) as con:  # without a fold, as where none is possible
            assert con.execute("SELECT * FROM begun SEMI JOIN attempts USING (span_id)").fetchall() == []


def test_a_call_runs_for_as_long_as_its_process_has_a_journal_open(store: StorePaths, rows: Rows) -> None:
    journal = Journal(store.journal, segment_bytes=200)  # each line fills a file: the lock passes to the next one
    journal.write(encode(begun(1, pid=os.getpid())))
    assert endings(store) == {f"{1:016x}": ["begun"]}
    assert not fold_marker.has_unfolded(store)
    journal.write(encode(make_call(2)))
    assert endings(store) == {f"{1:016x}": ["begun"], f"{2:016x}": ["returned"]}
    journal.close()
    assert fold_marker.has_unfolded(store), "the next question folds, although no line was added"
    assert endings(store) == {f"{1:016x}": ["lost"], f"{2:016x}": ["returned"]}
    assert rows("SELECT status, duration_ms, cut_off, finished, arguments FROM facts WHERE call_id = 'c1'") == [
        (None, None, True, False, '{"query":"x y"}')
    ]


def test_a_restarted_container_has_the_host_and_process_id_of_the_killed_one(store: StorePaths) -> None:
    journal = Journal(store.journal)
    killed = make_call(1).started_at  # before this process began
    journal.write(encode(begun(1, pid=os.getpid(), started_at=killed)))
    journal.write(encode(begun(2, pid=os.getpid())))
    assert endings(store) == {f"{1:016x}": ["lost"], f"{2:016x}": ["begun"]}
    assert not fold_marker.has_unfolded(store)
    journal.close()


def test_an_end_that_is_not_folded_yet_stands_in_place_of_the_lost_attempt(store: StorePaths, rows: Rows) -> None:
    write_records(store, begun(1), begun(2, host="elsewhere"))
    fold(store)
    assert rows("SELECT call_id, ending FROM attempts") == [("c1", "lost")]
    with open_reader(store, cursors=False):  # no fold can run meanwhile
        write_records(store, make_call(1), make_call(2), begun(1))
        assert endings(store) == {f"{number:016x}": ["returned"] for number in (1, 2)}
    assert rows("SELECT count(*) FROM begun") == [(0,)]


def test_a_call_of_another_machine_stays_unknown(store: StorePaths) -> None:
    write_records(store, begun(1, host="elsewhere"), begun(2, host="elsewhere"))
    fold(store)
    assert endings(store) == {f"{number:016x}": ["begun"] for number in (1, 2)}
    write_records(store, make_call(2))
    assert endings(store) == {f"{1:016x}": ["begun"], f"{2:016x}": ["returned"]}


@pytest.mark.long
@pytest.mark.parametrize("folded", [True, False])
def test_forgetting_and_redaction_reach_calls_that_run(store: StorePaths, folded: bool) -> None:
    journal = Journal(store.journal)
    secret = Json(f'{{"a":"{SECRET * 20}"}}')
    journal.write(encode(begun(1, pid=os.getpid(), conversation_id="x", arguments=secret)))
    journal.write(encode(begun(2, pid=os.getpid(), conversation_id="y", arguments=Json('{"a":"another word"}'))))
    if folded:
        fold(store)
    redact_stored(store, Redaction(patterns=("another word",)))
    forget(store, Selection(conversation_id="x"))
    left = b"".join(path.read_bytes() for path in _files(store))
    assert SECRET.encode() not in left
    assert b"another word" not in left
    journal.write(encode(begun(1, pid=os.getpid(), conversation_id="x", arguments=secret)))
    assert endings(store) == {f"{2:016x}": ["begun"]}, "a line that comes late is forgotten too"


def _files(store: StorePaths) -> list[Path]:
    return [path for path in store.database.parent.rglob("*") if path.is_file()]


@pytest.mark.long
def test_a_merge_takes_lost_calls_and_ends_and_leaves_out_those_that_run(store: StorePaths, tmp_path: Path) -> None:
    source = StorePaths.of(tmp_path / "source.duckdb")
    write_records(store, begun(1), begun(2), make_call(3))
    write_records(source, make_call(1), begun(3), begun(4), begun(5, host="elsewhere"))
    merge([source.database], store)
    assert endings(store) == {
        f"{1:016x}": ["returned"], f"{2:016x}": ["lost"], f"{3:016x}": ["returned"], f"{4:016x}": ["lost"]
    }  # fmt: skip


def test_no_destination_gets_a_call_that_runs(store: StorePaths) -> None:
    write_records(store, begun(1), make_call(2))
    assert JournalReader(store).next({}).records == [make_call(2)]


@pytest.mark.processes
@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_a_fold_killed_while_it_finds_lost_calls_loses_and_doubles_none(
    store: StorePaths, run: Callable[..., str], moment: str
) -> None:
    write_records(store, *map(begun, range(20)), *map(make_call, range(10)))
    run(
        """
        from tooltrace.store.fold import fold_step, insertion
        def die(*args, **more): os.kill(os.getpid(), signal.SIGKILL)
        settle = fold_step.settle_begun
        def settle_and_die(*args):
            if sys.argv[2] == "within":
                insertion.store_offsets = die  # just before the commit
            if sys.argv[2] != "before":
                settle(*args)
            die()
        fold_step.settle_begun = settle_and_die
        fold(paths)
        """,
        moment,
        code_expected=-9,
    )
    assert endings(store) == {f"{n:016x}": ["returned" if n < 10 else "lost"] for n in range(20)}

"""Whatever bytes are in the journals or the database: what is whole is kept, the rest is counted, nothing is invented."""

from __future__ import annotations

import contextlib
import logging
import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tooltrace.errors import StoreDamaged, StoreError
from tooltrace.store.database.schema import ATTEMPTS
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.line_format import decode, encode
from tooltrace.store.journal.line_scan import IMPORTED, batches
from tooltrace.store.journal.writer import Journal
from tooltrace.store.read.reader import open_reader
from tooltrace.store.upkeep.doctor import examine, mend

Rows = Callable[[str], list[tuple[Any, ...]]]
HEADER_BYTES = 12_288
BLOCK_BYTES = 262_144


def scanned(store: StorePaths) -> tuple[list[str], int, list[str]]:
    """Call ids that were found, how many lines were lost, and why."""
    found, lost, reasons = [], 0, []
    for batch in batches(store, {}):
        found += [getattr(decode(line), "call_id") for line in batch.lines.get("call", [])]  # noqa: B009
        lost += sum(loss.count for loss in batch.losses)
        reasons += [loss.reason for loss in batch.losses]
    return sorted(str(call_id) for call_id in found), lost, reasons


@pytest.fixture
def small(store: StorePaths, write: Any, call: Any) -> tuple[Path, bytes, list[str]]:
    path = write(*(call(number, arguments=None, duration_ms=None) for number in range(4)))
    return path, path.read_bytes(), [f"c{number}" for number in range(4)]


def test_a_journal_cut_at_any_byte_keeps_all_complete_lines(
    store: StorePaths, small: tuple[Path, bytes, list[str]]
) -> None:
    path, data, ids = small
    for end in range(1, len(data)):
        path.write_bytes(data[:end])
        whole = data[: end + 1].count(b"\n")  # a line that lacks nothing but its newline is whole
        torn = data[end - 1 : end] != b"\n" and data[end : end + 1] != b"\n"
        found, lost, reasons = scanned(store)
        assert found == ids[:whole], end
        assert lost == torn, end
        assert reasons == ["torn_line"] * torn, end


def test_a_line_that_a_killed_import_cut_is_no_loss(store: StorePaths, small: tuple[Path, bytes, list[str]]) -> None:
    path, data, ids = small
    path.rename(path.with_name(f"{IMPORTED}{path.name}")).write_bytes(data[:-20])
    assert scanned(store) == (ids[:-1], 0, [])


@pytest.mark.long
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.simulations)])
def test_any_flipped_byte_costs_one_line_at_most_and_is_counted(
    store: StorePaths, small: tuple[Path, bytes, list[str]], every: bool
) -> None:
    """With every mask for each byte, or one of them in turn."""
    path, data, ids = small
    for at in range(len(data)):
        masks = 0x01, 0x80, data[at] ^ ord("\n") or 0xFF
        for mask in masks if every else (masks[at % 3],):
            path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
            hit = data[:at].count(b"\n")
            found, lost, _ = scanned(store)
            if data[at] == ord("\n"):
                assert (found, lost) in ((ids, 0), (ids[:hit] + ids[hit + 1 :], 1)), (at, mask)
            else:
                assert found == ids[:hit] + ids[hit + 1 :], (at, mask)
                assert lost == 1, (at, mask)


def test_damage_is_counted_in_the_store_with_its_place(store: StorePaths, write: Any, call: Any, rows: Rows) -> None:
    path = write(call(1), call(2), call(3))
    data = bytearray(path.read_bytes())
    data[len(encode(call(1))) + 40] ^= 1
    path.write_bytes(data + b'{"crc":"torn')
    expected = [("damaged_line", 1), ("torn_line", 1)]
    with open_reader(store):  # keeps the next reader from folding
        pass
    assert rows('SELECT reason, sum("count") FROM losses GROUP BY ALL ORDER BY ALL') == expected
    (place,) = rows("SELECT detail FROM losses WHERE reason = 'damaged_line'")
    assert place == (f"{path.name} at byte {len(encode(call(1)))}",)
    assert rows("SELECT call_id FROM tool_calls ORDER BY ALL") == [("c1",), ("c3",)]
    fold(store)
    assert rows('SELECT reason, sum("count") FROM losses GROUP BY ALL ORDER BY ALL') == expected


def test_garbage_longer_than_a_chunk_does_not_stop_a_fold(store: StorePaths, write: Any, call: Any) -> None:
    path = write(call(1))
    path.write_bytes(os.urandom(40_000).replace(b"\n", b"x") + b"\n" + encode(call(2)) + bytes(9000))
    batch_ids = [
        decode(line).call_id  # type: ignore[union-attr]
        for batch in batches(store, {}, limit=4096)
        for line in batch.lines.get("call", [])
    ]
    assert batch_ids == ["c2"]
    assert fold(store).rows == 1


def test_a_torn_line_of_a_living_writer_is_waited_for(store: StorePaths, call: Any, rows: Rows) -> None:
    journal = Journal(store.journal)
    journal.write(encode(call(1)))
    line = encode(call(2))
    assert journal.path is not None
    with journal.path.open("ab") as file:
        file.write(line[:50])
        file.flush()
        assert fold(store).losses == 0
        file.write(line[50:])
    assert rows("SELECT call_id FROM tool_calls ORDER BY ALL") == [("c1",), ("c2",)]
    journal.close()


@pytest.mark.parametrize("damage", ["garbage", "empty", "cut", "header", "directory of zeros"])
def test_a_damaged_database_is_put_aside_and_rebuilt(
    store: StorePaths, write: Any, call: Any, rows: Rows, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    write(call(1))
    fold(store)
    data = store.database.read_bytes()
    store.database.write_bytes(
        {
            "garbage": b"this is no database" * 1000,
            "empty": b"",
            "cut": data[: len(data) // 2],
            "header": bytes(4096) + data[4096:],
            "directory of zeros": bytes(len(data)),
        }[damage]
    )
    write(call(2))
    with caplog.at_level(logging.WARNING, "tooltrace"):
        assert ("c2",) in rows("SELECT call_id FROM tool_calls")
    assert "was moved to" in caplog.text
    assert rows("SELECT reason FROM losses") == [("database_damaged",)]
    assert len(examine(store).asides) == 1
    assert fold(store).rows == 0


def test_a_damaged_database_is_rebuilt_even_when_nothing_is_to_be_folded(
    store: StorePaths, write: Any, call: Any, rows: Rows
) -> None:
    write(call(1))
    fold(store)
    store.database.write_bytes(b"garbage" * 1000)
    assert rows("SELECT call_id FROM tool_calls") == []
    assert rows("SELECT reason FROM losses") == [("database_damaged",)]


def _has_unreadable_records(database: Path) -> bool:
    """Whether a value cannot be read that is not computed from others: the numbers of calls and clusters are made anew."""
    derived = ", ".join(column.name for column in ATTEMPTS.hashes)
    records = f"(SELECT * EXCLUDE ({derived}) FROM damaged.attempts) AS record"
    with duckdb.connect() as con:
        try:
            con.execute(f"ATTACH '{database}' AS damaged (READ_ONLY)")
        except duckdb.Error:  # a block of the catalogue, without which no row is found
            return False
        try:
            con.execute(f"SELECT max(hash(record)) FROM {records}").fetchall()
        except duckdb.Error:
            return True
    return False


@pytest.mark.long
@pytest.mark.parametrize("count", [30_000, pytest.param(100_000, marks=pytest.mark.simulations)])
def test_readable_rows_of_a_damaged_database_are_recovered(
    store: StorePaths, write: Any, call: Any, rows: Rows, count: int
) -> None:
    for first in (0, count):
        write(*(call(number, arguments=None) for number in range(first, first + count)))
        fold(store)
    data, block = store.database.read_bytes(), BLOCK_BYTES
    blocks = (len(data) - HEADER_BYTES) // block
    for number in range(blocks // 2, blocks):  # from the middle on, the first block that has values of records
        middle = HEADER_BYTES + number * block + 1000
        flipped = bytes(byte ^ 0xFF for byte in data[middle : middle + 64])
        store.database.write_bytes(data[:middle] + flipped + data[middle + 64 :])
        if _has_unreadable_records(store.database):
            break
    else:
        raise AssertionError("no block has values of records")
    assert examine(store).problems
    mending = mend(store)
    assert mending.after.problems == ()
    assert mending.fold is not None
    assert count // 2 <= mending.fold.salvaged < 2 * count
    assert rows("SELECT count(*), count(DISTINCT span_id) FROM tool_calls") == [(mending.fold.salvaged,) * 2]


@pytest.mark.long
def test_a_query_of_a_connection_says_that_the_database_was_cut(store: StorePaths, write: Any, call: Any) -> None:
    """The database opens, because its header, its catalogue and the table ``meta`` are whole; a block of rows is missing."""
    write(call(-1))
    fold(store)  # writes the table ``meta`` before the rows that are cut
    write(*(call(number, text=random.Random(number).randbytes(2_000).hex()) for number in range(500)))
    fold(store)
    data, found = store.database.read_bytes(), []
    for blocks in range(1, len(data) // BLOCK_BYTES + 1):
        store.database.write_bytes(data[: HEADER_BYTES + blocks * BLOCK_BYTES])
        try:
            with open_reader(store.database) as con:
                con.execute('SELECT sum(length("text")) FROM attempts').fetchall()
        except StoreDamaged as error:
            found.append(str(error).startswith("part of the store cannot be read"))
        store.database.write_bytes(data)
        for aside in store.database.parent.glob("*.damaged*"):
            aside.unlink()
    assert any(found), "some cut leaves a database that opens"


@pytest.mark.processes
@pytest.mark.parametrize("place", [None, 0, 0.5, 0.95])
def test_a_write_ahead_log_of_another_program_loses_nothing(
    store: StorePaths, write: Any, call: Any, rows: Rows, run: Callable[..., str], place: float | None
) -> None:
    write(*map(call, range(100)))
    fold(store)
    write(*map(call, range(100, 200)))
    run(
        """
        import duckdb
        con = duckdb.connect(str(paths.database))
        con.execute("SET checkpoint_threshold = '1 GB'")
        con.execute("CREATE TABLE notes AS SELECT range FROM range(1000)")
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        code_expected=-9,
    )
    wal = bytearray(store.wal.read_bytes())
    if place is not None:
        at = int(len(wal) * place)
        wal[at : at + 16] = b"\xff" * 16
        store.wal.write_bytes(wal)
    assert rows("SELECT count(*), count(DISTINCT span_id) FROM tool_calls") == [(200, 200)]
    fold(store)
    assert rows("SELECT count(*), count(DISTINCT span_id) FROM tool_calls") == [(200, 200)]


def test_a_store_with_another_schema_is_refused_with_the_way_out_and_not_changed(
    store: StorePaths, write: Any, call: Any
) -> None:
    write(call(1))
    fold(store)
    with duckdb.connect(str(store.database)) as con:
        con.execute("UPDATE meta SET value = 'other' WHERE key = 'schema'")
    before = store.database.read_bytes()
    path = write(call(2))
    with pytest.raises(StoreError, match=r"another schema \(other\).* export jsonl .* import ") as refused:
        fold(store)
    with pytest.raises(StoreError, match="another schema"), open_reader(store):
        pass
    assert str(refused.value) in examine(store).problems
    assert not examine(store).asides
    assert path.exists()
    assert store.database.read_bytes() == before


@pytest.mark.processes
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_damages_nothing(tmp_path: Path, call: Any) -> None:
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "none", tmp_path], check=False, capture_output=True
    ).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        store = StorePaths.of(tmp_path / "t.duckdb")
        journal = Journal(store.journal)
        written = 0
        with contextlib.suppress(OSError):
            while True:
                journal.write(encode(call(written, text=os.urandom(4000).hex())))
                written += 1
                if written == 100:
                    fold(store)
        journal.close()
        with contextlib.suppress(StoreError):  # what matters is that it harms nothing
            fold(store)
        assert examine(store).asides == ()
        with contextlib.suppress(OSError), (tmp_path / "rest").open("wb", buffering=0) as rest:
            while rest.write(b"x" * 512):
                pass
        with pytest.raises(StoreError, match="No space left on device"), open_reader(store):
            pass
        subprocess.run(["mount", "-o", "remount,size=64m", tmp_path], check=True)
        fold(store)
        with open_reader(store) as db:
            assert db.sql("SELECT count(*), count(DISTINCT span_id) FROM tool_calls").fetchall() == [(written, written)]
            assert db.sql("SELECT count(*) FROM losses").fetchall() == [(0,)]
        assert examine(store).problems == ()
    finally:
        subprocess.run(["umount", "--lazy", tmp_path], check=True)  # this process has a folder there until it ends

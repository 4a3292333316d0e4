"""The records of a store in the order in which they were folded, readable from any position on."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tooltrace.core.records import Record
from tooltrace.errors import StoreError
from tooltrace.store.database.schema import ATTEMPTS, RECORDS, SPANS, STORE, Table, quote_identifier, row_fingerprint
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.fold.fold import fold
from tooltrace.store.journal.fold_marker import unfolded_bytes
from tooltrace.store.journal.line_format import KINDS
from tooltrace.store.read.reader import open_reader

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH: Final = 512
MAX_ROWS_PER_LEASE: Final = 4096
"""Rows that one lease reads: more would need more memory, fewer more leases, which cost 20 ms each."""
FOLD_SECONDS: Final = 10.0
_ORDER: Final = ("call", "span", "outcome", "correction", "gate", "message", "loss")
"""Order of the record kinds. Calls come first, because other records refer to them."""


@dataclass(frozen=True, slots=True)
class RowPosition:
    """The last row of a table that was read: its row id, and a fingerprint to find it if row ids have changed."""

    row: int
    mark: str


@dataclass(slots=True, kw_only=True)
class HistoryBatch:
    """Some records of one kind, and the positions after which the history continues."""

    records: list[Record]
    kind: str
    places: dict[str, RowPosition] = field(default_factory=dict)
    """The last row read, by kind of record."""


class History:
    """The records of a store, oldest fold first, calls before the other kinds.

    ``since``, ``until``: aware limits for each record's time, which is the ``time`` column of its table. ``tool``: only
    the calls of one tool and the outcomes, gates and messages about them. ``without``: span ids of calls and spans to
    leave out. Records that arrive during the reading are not included. Raises the errors of ``open_reader``.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | StorePaths,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        tool: str | None = None,
        without: Collection[str] = (),
        batch: int = BATCH,
    ) -> None:
        self._paths = StorePaths.of(store)
        self._since, self._until, self._tool = _naive(since), _naive(until), tool
        self._without = list(without)
        self._batch = batch
        # raises StoreMissing and other errors before the fold would create a store
        with open_reader(self._paths, cursors=False):
            pass
        if os.access(self._paths.database.parent, os.W_OK) or unfolded_bytes(self._paths):
            fold(self._paths, wait=FOLD_SECONDS)
        # rows that are folded later have greater ids: the reading ends where the store ends now
        with open_reader(self._paths, cursors=False) as con:
            self._ends = {kind: _last_row(con, RECORDS[kind]) for kind in _ORDER}

    def count(self, places: dict[str, RowPosition] | None = None) -> int:
        """Return the number of records beyond ``places``."""
        with open_reader(self._paths, cursors=False) as con:
            found = {kind: self._current_position(con, kind, (places or {}).get(kind)) for kind in self._kinds()}
            return sum(self._count(con, kind, place) for kind, place in found.items())

    def batches(self, places: dict[str, RowPosition] | None = None, *, first: int = 0) -> Iterator[HistoryBatch]:
        """Yield the batches beyond ``places``, each of one kind.

        ``first``: number of records in the first batch; 0 for the default size. Raises StoreError where the row of a
        position no longer exists.
        """
        places = dict(places or {})
        for kind in self._kinds():
            place = places.get(kind)
            while rows := self._read(kind, place):
                while rows:
                    batch, rows = rows[: first or self._batch], rows[first or self._batch :]
                    first = 0
                    place = places[kind] = RowPosition(batch[-1][0], batch[-1][1])
                    yield HistoryBatch(records=[record for _, _, record in batch], kind=kind, places=dict(places))

    def _kinds(self) -> Sequence[str]:
        return _ORDER if self._tool is None else ("call", "outcome", "correction", "gate", "message")

    def _read(self, kind: str, place: RowPosition | None) -> list[tuple[int, str, Record]]:
        table = RECORDS[kind]
        columns = ", ".join(quote_identifier(name) for name in table.names)
        with open_reader(self._paths, cursors=False) as con:
            where, values = self._where(kind, self._current_position(con, kind, place))
            rows = con.execute(
                f"SELECT rowid, {row_fingerprint(table)}, {columns} FROM {STORE}.{table.name} "
                f"WHERE {where} ORDER BY rowid LIMIT {MAX_ROWS_PER_LEASE}",
                values,
            ).fetchall()
        return [(row[0], row[1], _record(kind, table, row[2:])) for row in rows]

    def _count(self, con: DuckDBPyConnection, kind: str, place: RowPosition | None) -> int:
        where, values = self._where(kind, place)
        row = con.execute(f"SELECT count(*) FROM {STORE}.{RECORDS[kind].name} WHERE {where}", values).fetchone()
        return int(row[0]) if row else 0

    def _where(self, kind: str, place: RowPosition | None) -> tuple[str, list[Any]]:
        table, first = RECORDS[kind], -1 if place is None else place.row
        parts = ["rowid > ?", "rowid <= ?"]
        values: list[Any] = [first, max(first, self._ends[kind])]
        for sign, limit in ((">=", self._since), ("<", self._until)):
            if limit is not None:
                parts.append(f"{quote_identifier(table.time)} {sign} ?")
                values.append(limit)
        if self._without and table in (ATTEMPTS, SPANS):
            parts.append("NOT list_contains(CAST(? AS VARCHAR[]), span_id)")
            values.append(self._without)
        if self._tool is not None and table is ATTEMPTS:
            parts.append("tool = ?")
            values.append(self._tool)
        elif self._tool is not None:
            parts.append(
                f"coalesce(span_id IN (SELECT span_id FROM {STORE}.attempts WHERE tool = ?), "
                f"call_id IN (SELECT call_id FROM {STORE}.attempts WHERE tool = ?))"
            )
            values += [self._tool, self._tool]
        return " AND ".join(parts), values

    def _current_position(self, con: DuckDBPyConnection, kind: str, place: RowPosition | None) -> RowPosition | None:
        """Return the current position of ``place``: row ids differ in a database that was rebuilt after damage.

        Raises StoreError where the row no longer exists.
        """
        if place is None:
            return None
        table = RECORDS[kind]
        sql = f"SELECT rowid FROM {STORE}.{table.name} WHERE {row_fingerprint(table)} = ?"
        unmoved = con.execute(f"{sql} AND rowid = ?", [place.mark, place.row]).fetchone()
        row = unmoved or con.execute(f"{sql} ORDER BY rowid DESC LIMIT 1", [place.mark]).fetchone()
        if row is None:
            raise StoreError(
                f"the store {self._paths.database} was rebuilt, and no longer has the {kind} at which the export stopped: "
                "start the export again"
            )
        # a rebuild after the ends were read may have given the row a greater id
        self._ends[kind] = max(self._ends[kind], row[0])
        return RowPosition(row[0], place.mark)


def _last_row(con: DuckDBPyConnection, table: Table) -> int:
    row = con.execute(f"SELECT coalesce(max(rowid), -1) FROM {STORE}.{table.name}").fetchone()
    return int(row[0]) if row else -1


def _record(kind: str, table: Table, row: Sequence[Any]) -> Record:
    values: dict[str, Any] = {
        name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
        for name, value in zip(table.names, row, strict=True)
    }
    return KINDS[kind](**values)


def _naive(limit: datetime | None) -> datetime | None:
    return None if limit is None else limit.astimezone(UTC).replace(tzinfo=None)

"""The positions at which exports of the history stopped, carried over to a database whose rows were removed or changed.

An export names its last row of each kind by row id and fingerprint, in ``<store>.export/<name>.history-….json``. After
a rewrite both may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from tooltrace.redact.plain_data import json_of
from tooltrace.store.database.connection import opened
from tooltrace.store.database.schema import RECORDS, STORE, row_fingerprint
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import replace_file
from tooltrace.store.journal.delivery_cursors import folder_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(slots=True)
class _Position:
    file: Path
    kind: str
    rows: int
    """Number of remaining rows up to the position."""


class ReplayPositions:
    """The positions of all exports of one store."""

    def __init__(self, paths: StorePaths) -> None:
        self._paths = paths
        self._positions: list[_Position] = []

    def read(self, con: DuckDBPyConnection, keep: Mapping[str, str], source: str) -> None:
        """Find the positions in the database attached as ``source``, of which the rows of ``keep`` will remain."""
        for file in sorted(folder_of(self._paths).glob("*.history-*.json")):
            for kind, place in _load(file).get("places", {}).items():
                table = RECORDS[kind]
                row = con.execute(
                    f"SELECT rowid FROM {source}.{table.name} WHERE {row_fingerprint(table)} = ? "
                    "ORDER BY rowid = ? DESC, rowid DESC LIMIT 1",
                    [place["mark"], place["row"]],
                ).fetchone()
                if row is None:
                    continue
                kept = f"({keep[table.name]}) IS TRUE" if table.name in keep else "true"
                count = con.execute(
                    f"SELECT count(*) FROM {source}.{table.name} WHERE rowid <= ? AND {kept}", [row[0]]
                ).fetchone()
                self._positions.append(_Position(file, kind, count[0] if count else 0))

    def write(self) -> None:
        """Write the positions that the same rows have now; a position without a remaining row is removed."""
        if not self._positions:
            return
        with opened(self._paths, read_only=True) as con:
            for position in self._positions:
                _move(con, position)


def _move(con: DuckDBPyConnection, position: _Position) -> None:
    table = RECORDS[position.kind]
    row = None
    if position.rows:
        row = con.execute(
            f"SELECT rowid, {row_fingerprint(table)} FROM {STORE}.{table.name} ORDER BY rowid LIMIT 1 OFFSET ?",
            [position.rows - 1],
        ).fetchone()
    values = _load(position.file)
    if row is None:
        values["places"].pop(position.kind, None)
    else:
        values["places"][position.kind] = {"row": row[0], "mark": row[1]}
    replace_file(position.file, json_of(values))


def _load(file: Path) -> dict[str, Any]:
    try:
        values = orjson.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}

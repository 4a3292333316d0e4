"""Temporary files of journal lines, from which DuckDB inserts rows, and what its errors say about the lines."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import duckdb

from tooltrace.store.database.hashes import with_hashes
from tooltrace.store.database.schema import Table, TableColumn, quote_identifier, quote_literal
from tooltrace.store.journal.line_format import WIRE_NAMES
from tooltrace.store.journal.line_scan import Lines

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_OBJECT_BYTES: Final = 1024 * 1024
"""Minimum of DuckDB's limit for one line, which is also the size of its buffers."""


class LineFile:
    """A temporary file of lines of one kind in ``directory``, until ``close``.

    After an insertion it is overwritten, which costs less than a new file.
    """

    def __init__(self, directory: Path) -> None:
        self.bytes = 0
        """Bytes of the lines that were written since the last insertion."""
        self._fd, name = tempfile.mkstemp(prefix="lines-", dir=directory)
        self._path = Path(name)
        self._longest = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the file."""
        with suppress(FileNotFoundError):
            self._path.unlink()
        os.close(self._fd)

    def write(self, lines: Lines) -> None:
        """Append ``lines``. Raises OSError."""
        data = memoryview(lines.parts[0] if len(lines.parts) == 1 else b"".join(lines.parts))
        written = 0
        while written < len(data):
            written += os.pwrite(self._fd, data[written:], self.bytes + written)
        self.bytes += written
        self._longest = max(self._longest, lines.longest)

    def insert(self, con: DuckDBPyConnection, table: Table, space: str) -> int:
        """Insert the lines as rows into ``table`` of the schema or database ``space``; return their number.

        The file has no lines then. Raises duckdb.Error; see ``is_about_values``.
        """
        # the file is overwritten: the rest of longer earlier lines would be inserted again
        os.ftruncate(self._fd, self.bytes)
        types = ", ".join(f"{_wire(column)}: {quote_literal(column.type)}" for column in table.columns)
        values = ", ".join(f"{_wire(column)} AS {quote_identifier(column.name)}" for column in table.columns)
        size = max(_OBJECT_BYTES, 2 * self._longest)
        self.bytes = self._longest = 0
        lines = (
            f"(SELECT {values} FROM read_json({quote_literal(str(self._path))}, "
            f"format = 'newline_delimited', columns = {{{types}}}, maximum_object_size = {size}))"
        )
        row = con.execute(f"INSERT INTO {space}.{table.name} BY NAME {with_hashes(table, lines)}").fetchone()
        return int(row[0]) if row else 0


def is_about_values(error: duckdb.Error) -> bool:
    """Whether ``error`` reports values that cannot be stored, and not a lack of memory or disk space."""
    value_errors = (
        duckdb.InvalidInputException, duckdb.ConversionException, duckdb.ConstraintException,
        duckdb.OutOfRangeException, duckdb.DataError, duckdb.IntegrityError,
    )  # fmt: skip
    return isinstance(error, value_errors)


def _wire(column: TableColumn) -> str:
    return quote_identifier(WIRE_NAMES.get(column.name, column.name))

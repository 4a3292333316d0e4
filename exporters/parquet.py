"""Parquet, as one file or as a folder.

A path that ends in ``.parquet``, and is not a folder already, is a file with the tool calls; other records are in files
beside it, named after their tables: ``calls.parquet``, ``calls.outcomes.parquet``. An export replaces the files.

Any other path is a folder, with a folder for each kind of record: ``tool_calls/day=2026-11-21/tool_name=search/data.parquet``.
Calls are partitioned by the UTC day of their start and by tool, all other records by day; zstd. The columns are those
of the store's tables, ``tool`` among them. ``tool_name`` is the tool's name in a form that is safe in a file system: a
name with other characters than letters, digits, ``_``, ``-`` and ``.``, or a long one, is shortened and ends in a hash.

Each part is one file, written beside its final name and renamed: it is complete or missing. Existing rows in the folder
are kept, and a record that is already there is not written again, so a second export adds only new records.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from tooltrace.core.fields import fields_of
from tooltrace.core.records import Record, ToolCall
from tooltrace.exporters.atomic_file import require_path
from tooltrace.exporters.protocol import Refused, Target
from tooltrace.redact.plain_data import json_of
from tooltrace.store.database.schema import ATTEMPTS, JSON, RECORDS, TEXT, Table, quote_identifier, quote_literal
from tooltrace.store.files.flock import LOCK_EX, flock
from tooltrace.store.files.scratch import PrivateFolder, sweep_file
from tooltrace.store.journal.line_format import KINDS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE: Final = "data.parquet"
SUFFIX: Final = ".parquet"
_KIND: Final = {record: kind for kind, record in KINDS.items()}
_OPTIONS: Final = "FORMAT parquet, COMPRESSION zstd"
_TOOL_NAME: Final = (
    "CASE WHEN regexp_full_match(tool, '[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}') THEN tool "
    "ELSE left(regexp_replace(tool, '[^A-Za-z0-9_-]', '_', 'g'), 60) || '-' || left(md5(tool), 12) END"
)


class Parquet:
    """A file or a folder at ``path``. Records wait in a hidden folder beside it until ``close``."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, IO[bytes]] = {}
        self._longest = 0
        with self._converted_errors():
            self._prepare()
            sweep_file(path)
            self._folder = PrivateFolder(path.absolute().parent, path.name)
            self._waiting = self._folder.path

    def send(self, records: Sequence[Record]) -> None:
        """Append ``records`` to the waiting files. Raises Refused."""
        with self._converted_errors():
            for record in records:
                row = _row(record)
                self._longest = max(self._longest, len(row))
                self._file_of(_KIND[type(record)]).write(row)

    def close(self) -> None:
        """Write the parts. Raises Refused; parts published before that are complete."""
        if self._waiting.exists():
            with self._converted_errors():
                self._publish()
            self.abandon()

    def abandon(self) -> None:
        """Discard the records that were not written yet."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._folder.close()

    def _file_of(self, kind: str) -> IO[bytes]:
        if kind not in self._files:
            self._files[kind] = (self._waiting / f"{kind}.jsonl").open("wb")
        return self._files[kind]

    def _prepare(self) -> None:
        """Check the path, and create the folders above it."""
        raise NotImplementedError

    def _publish(self) -> None:
        """Write the waiting records to their final place."""
        raise NotImplementedError

    @contextmanager
    def _converted_errors(self) -> Iterator[None]:
        """Convert errors of the disk and DuckDB into Refused, and remove the waiting records."""
        import duckdb

        try:
            yield
        except (OSError, duckdb.Error) as error:
            if hasattr(self, "_folder"):
                self.abandon()
            cause = " ".join(str(error).split())[:300]
            raise Refused(f"{self._path} cannot be written: {cause}", whole=True) from error


class ParquetFolder(Parquet):
    """The folder at ``path``, to which an export adds its records."""

    def _prepare(self) -> None:
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _publish(self) -> None:
        from tooltrace.store.database.connection import connect

        with _locked(self._path), connect() as con:
            for kind, file in self._files.items():
                file.close()
                table = RECORDS[kind]
                parts = self._waiting / kind
                _split(con, table, self._waiting / f"{kind}.jsonl", parts, self._longest)
                for part in sorted({found.parent for found in parts.rglob("*.parquet")}):
                    _merge(con, table, part, self._path / table.public / part.relative_to(parts))


class ParquetFile(Parquet):
    """The file at ``path``, and the files beside it."""

    beside: Sequence[Path] = ()
    """The files beside ``path`` that ``close`` has written."""

    def _prepare(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def _publish(self) -> None:
        """Replace the files, the calls last. A file beside ``path`` for which there are no rows becomes an empty table."""
        others = {kind: _sibling(self._path, table) for kind, table in RECORDS.items() if table is not ATTEMPTS}
        files = {kind: path for kind, path in others.items() if kind in self._files or path.exists()}
        files[_KIND[ToolCall]] = self._path
        self._replace(files)
        self.beside = [path for path in files.values() if path != self._path]

    def _replace(self, files: Mapping[str, Path]) -> None:
        """Replace the file of each kind by the waiting records, in this order."""
        from tooltrace.store.database.connection import connect

        with connect() as con:
            for kind in files:
                self._file_of(kind).close()
                source = _source(RECORDS[kind], self._waiting / f"{kind}.jsonl", self._longest)
                order = quote_identifier(RECORDS[kind].time)
                con.execute(
                    f"COPY (SELECT {', '.join(_values(RECORDS[kind]))} FROM {source} ORDER BY {order}) "
                    f"TO {quote_literal(str(self._waiting / kind))} ({_OPTIONS})"
                )
        for kind, path in files.items():
            written = self._waiting / kind
            written.chmod(0o600)
            written.replace(path)


class ParquetTable(ParquetFile):
    """The file at ``path`` with the records of one type."""

    def __init__(self, path: Path, kind: type[Record]) -> None:
        self._kind = _KIND[kind]
        super().__init__(path)

    def _publish(self) -> None:
        self._replace({self._kind: self._path})


def files_of(path: Path) -> list[Path]:
    """Return the files of the export to ``path`` that exist, whether it is a file or a folder."""
    if path.is_dir():
        return sorted(file for table in RECORDS.values() for file in (path / table.public).rglob(FILE))
    others = (_sibling(path, table) for table in RECORDS.values() if table is not ATTEMPTS)
    return [file for file in (path, *others) if file.is_file()]


def _sibling(path: Path, table: Table) -> Path:
    """Return the path for the rows of ``table``: ``calls.parquet`` has ``calls.outcomes.parquet`` beside it."""
    return path.with_name(f"{path.stem}.{table.public}{path.suffix}")


def create(target: Target) -> Parquet:
    """Create the destination; see :mod:`tooltrace.exporters.registry`."""
    path = require_path(target.path, "parquet")
    is_file = path.suffix.lower() == SUFFIX and not path.is_dir()
    return ParquetFile(path) if is_file else ParquetFolder(path)


def _row(record: Record) -> bytes:
    """Return the record's columns as a line of JSON; JSON values stay text, so that DuckDB does not reformat them."""
    values = {field.name: getattr(record, field.name) for field in fields_of(type(record))}
    for name, value in values.items():
        if isinstance(value, datetime):
            values[name] = value.astimezone(UTC).replace(tzinfo=None)
        elif isinstance(value, str):
            values[name] = value.encode("utf-8", "replace").decode()
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            values[name] = None
    return json_of(values) + b"\n"


def _split(con: DuckDBPyConnection, table: Table, lines: Path, parts: Path, longest: int) -> None:
    """Convert the lines into Parquet files, in folders by partition."""
    values = _values(table)
    keys = {"day": f"strftime({quote_identifier(table.time)}, '%Y-%m-%d')"}
    if table is ATTEMPTS:
        keys["tool_name"] = _TOOL_NAME
    values += [f"{value} AS {name}" for name, value in keys.items()]
    con.execute(
        f"COPY (SELECT {', '.join(values)} FROM {_source(table, lines, longest)}) "
        f"TO {quote_literal(str(parts))} ({_OPTIONS}, PARTITION_BY ({', '.join(keys)}))"
    )


def _source(table: Table, lines: Path, longest: int) -> str:
    """Return the table function that reads ``lines``."""
    types = ", ".join(
        f"{quote_identifier(column.name)}: {quote_literal(TEXT if column.type == JSON else column.type)}"
        for column in table.columns
    )
    return (
        f"read_json({quote_literal(str(lines))}, format = 'newline_delimited', columns = {{{types}}}, "
        f"maximum_object_size = {max(16 * 1024 * 1024, 2 * longest)})"
    )


def _values(table: Table) -> list[str]:
    """Return the SELECT list that gives the columns their types."""
    names = [(quote_identifier(column.name), column.type) for column in table.columns]
    return [f"CAST({name} AS {kind}) AS {name}" for name, kind in names]


def _merge(con: DuckDBPyConnection, table: Table, part: Path, folder: Path) -> None:
    """Merge the rows of ``part`` into the file of ``folder``, without duplicates, ordered by time."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    final = folder / FILE
    files = [str(final)] * final.exists() + [str(file) for file in sorted(part.glob("*.parquet"))]
    names = ", ".join(quote_identifier(name) for name in table.names)
    # attempts are identified by their span; all other records are compared by all columns
    key = "span_id" if table is ATTEMPTS else names
    new = part / FILE
    listed = ", ".join(map(quote_literal, files))
    con.execute(
        f"COPY (SELECT {names} FROM (SELECT DISTINCT ON ({key}) * FROM read_parquet([{listed}], "
        f"union_by_name = true, hive_partitioning = false)) ORDER BY {quote_identifier(table.time)}) "
        f"TO {quote_literal(str(new))} ({_OPTIONS})"
    )
    new.chmod(0o600)
    new.replace(final)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock ``folder`` against other exports."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # the file system may not support locks
            flock(fd, LOCK_EX)
        yield
    finally:
        os.close(fd)

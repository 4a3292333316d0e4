"""Tombstones: what was forgotten, so that a later fold, import, recovery or merge does not store it again.

The file ``<store>.journal/.tombstones`` has one JSON object per line and is only appended to. A tombstone names spans,
traces, conversations and calls by HMAC-SHA256 with a random key, never by the id itself. It applies to records made
before the time of the forgetting; a call that begins afterwards is recorded.
"""

from __future__ import annotations

import hmac
import logging
import os
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson
from msgspec import Struct

from tooltrace.core.records import Outcome, Record, Span
from tooltrace.store.database.schema import OUTCOMES, RECORDS, SPANS, Table, quote_identifier
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.syncing import make_synced, sync_directory
from tooltrace.store.journal.line_format import KINDS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FILE: Final = ".tombstones"
KEY_BYTES: Final = 32
HASH_DIGITS: Final = 32
"""Hexadecimal digits of a hash that are kept: 128 bits."""
CONVERSATION_ATTRIBUTES: Final = ("gen_ai.conversation.id", "session.id")
"""Attributes with which a span names its conversation."""

_SPACE: Final = "memory.tombstones"
_log = logging.getLogger("tooltrace")


class CallPeriod(Struct, frozen=True, kw_only=True):
    """A forgotten call, and the period in which records with its id are about this call.

    Some models number their calls anew in each conversation, so an id alone may name several calls.
    """

    id: str
    """Hash of the call id."""
    since: datetime | None = None
    until: datetime
    all: bool = False
    """Whether every record with the id is forgotten, attempts too; else only those that name no attempt."""


class Tombstone(Struct, frozen=True, kw_only=True):
    """The ids of one forgetting, each as a hash."""

    id: str
    """Random id of the forgetting."""
    at: datetime
    """Time of the forgetting, UTC: records made before it are meant."""
    key: str
    """Key of the hashes, hex."""
    spans: list[str] = []
    traces: list[str] = []
    """Traces of which every attempt was forgotten."""
    conversations: list[str] = []
    labelled: list[str] = []
    """Conversations of which every attempt was forgotten: their labels are meant, and nothing else."""
    calls: list[CallPeriod] = []


class _TombstoneLine(Struct, frozen=True, omit_defaults=True):
    """One line of the file."""

    forget: Tombstone | None = None
    erased: str | None = None
    """Id of a forgetting whose records were removed from the database."""
    done: str | None = None
    """Id of a forgetting whose records were removed from every file."""


_TIMES: Final = {KINDS[kind]: table.time for kind, table in RECORDS.items()}
_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(_TombstoneLine)


def new_key() -> str:
    """Return a random key for the hashes of a store."""
    return secrets.token_hex(KEY_BYTES)


def digest(key: str, kind: str, value: str) -> str:
    """Return the hash of the id ``value``; ``kind`` is span, trace, conversation or call."""
    return hmac.digest(bytes.fromhex(key), f"{kind}:{value}".encode(), "sha256").hex()[:HASH_DIGITS]


@dataclass(slots=True)
class Tombstones:
    """The tombstones of one store."""

    entries: dict[str, Tombstone] = field(default_factory=dict)
    """Tombstones by id, in the order of the file."""
    pending: set[str] = field(default_factory=set)
    """Ids of those whose records may still be in a file."""
    stored: set[str] = field(default_factory=set)
    """Ids of those whose records may still be in the database."""

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def key(self) -> str:
        """The key of the store's latest tombstone; a new one where there is none."""
        return next(reversed(self.entries.values())).key if self.entries else new_key()

    def with_spans(self, span_ids: Iterable[str]) -> Tombstones:
        """Return these tombstones, and one more for those of ``span_ids`` that none of them names."""
        known = {hashed for one in self.entries.values() for hashed in one.spans}
        key = self.key
        hashes = {digest(key, "span", span_id) for span_id in span_ids} - known
        if not hashes:
            return self
        at = max(one.at for one in self.entries.values())
        new = Tombstone(id=secrets.token_hex(8), at=at, key=key, spans=sorted(hashes))
        return Tombstones({**self.entries, new.id: new}, self.pending, self.stored)

    def matcher(self) -> Callable[[Record], bool]:
        """Return a function that tells whether a record is forgotten."""
        return _Matcher(self.entries.values())

    def prepare(self, con: DuckDBPyConnection) -> None:
        """Create the tables in memory that the conditions of ``condition`` read."""
        entries = list(self.entries.values())
        con.execute(f"CREATE SCHEMA IF NOT EXISTS {_SPACE}")
        _create(con, "spans", {}, [(hashed,) for one in entries for hashed in one.spans])
        for name in ("traces", "conversations", "labelled"):
            hashes = [(hashed, _naive(one.at)) for one in entries for hashed in getattr(one, name)]
            _create(con, name, {"forgotten_at": "TIMESTAMP"}, hashes)
        periods = [
            (period.id, _naive(period.since), _naive(period.until), period.all)
            for one in entries
            for period in one.calls
        ]
        types = {"period_start": "TIMESTAMP", "period_end": "TIMESTAMP", "of_all": "BOOLEAN"}
        _create(con, "calls", types, periods)

    def condition(self, table: Table) -> str | None:
        """Return the SQL condition of the forgotten rows of ``table``; None where no row can be forgotten."""
        keys = sorted({one.key for one in self.entries.values()})
        parts = [part for key in keys for part in _conditions(table, key)]
        return " OR ".join(f"coalesce({part}, false)" for part in parts) or None


class _Matcher:
    """The same conditions for a record in Python."""

    def __init__(self, tombstones: Iterable[Tombstone]) -> None:
        self._keys: dict[str, _Hashes] = {}
        for one in tombstones:
            self._keys.setdefault(one.key, _Hashes()).add(one)

    def __call__(self, record: Record) -> bool:
        return any(_is_forgotten(record, key, hashes) for key, hashes in self._keys.items())


class _Hashes:
    """The hashes with one key, and the times of their forgetting."""

    def __init__(self) -> None:
        self.spans: set[str] = set()
        self.traces: dict[str, datetime] = {}
        self.conversations: dict[str, datetime] = {}
        self.labelled: dict[str, datetime] = {}
        self.calls: dict[str, list[CallPeriod]] = {}

    def add(self, one: Tombstone) -> None:
        self.spans.update(one.spans)
        for known, hashes in (
            (self.traces, one.traces),
            (self.conversations, one.conversations),
            (self.labelled, one.labelled),
        ):
            for hashed in hashes:
                known[hashed] = max(one.at, known.get(hashed, one.at))
        for period in one.calls:
            self.calls.setdefault(period.id, []).append(period)


def _is_forgotten(record: Record, key: str, hashes: _Hashes) -> bool:
    at: datetime = getattr(record, _TIMES[type(record)])
    span_id, call_id = getattr(record, "span_id", None), getattr(record, "call_id", None)
    spans: list[str | None] = [span_id]
    traces: list[str] = []
    conversations = [getattr(record, "conversation_id", None)]
    if isinstance(record, Span):
        spans.append(record.parent_span_id)
        traces, conversations = [record.trace_id], list(_conversations(record))
    periods = hashes.calls.get(digest(key, "call", call_id), []) if call_id and hashes.calls else []
    return (
        any(one is not None and digest(key, "span", one) in hashes.spans for one in spans)
        or _is_before(at, key, "trace", traces, hashes.traces)
        or _is_before(at, key, "conversation", conversations, hashes.conversations)
        or (isinstance(record, Outcome) and _is_before(at, key, "conversation", conversations, hashes.labelled))
        or any(
            (period.all or span_id is None) and (period.since is None or at >= period.since) and at < period.until
            for period in periods
        )
    )


def _is_before(
    at: datetime, key: str, kind: str, ids: list[str | None] | list[str], known: dict[str, datetime]
) -> bool:
    if not known:
        return False
    times = [known.get(digest(key, kind, one)) for one in ids if one is not None]
    return any(time is not None and at <= time for time in times)


def _conversations(span: Span) -> list[str]:
    if span.attributes is None:
        return []
    attributes = orjson.loads(span.attributes)
    found = [attributes.get(name) for name in CONVERSATION_ATTRIBUTES] if isinstance(attributes, dict) else []
    return [one for one in found if isinstance(one, str)]


def _conditions(table: Table, key: str) -> list[str]:
    time = quote_identifier(table.time)

    def is_hashed(kind: str, column: str) -> str:
        return f"{_hash_sql(key, kind, column)} IN (SELECT hashed FROM {_SPACE}.{kind}s)"

    def before(kind: str, column: str, of: str = "") -> str:
        return (
            f"{column} IS NOT NULL AND EXISTS (FROM {_SPACE}.{of or f'{kind}s'} "
            f"WHERE hashed = {_hash_sql(key, kind, column)} AND {time} <= forgotten_at)"
        )

    call = (
        f"call_id IS NOT NULL AND EXISTS (FROM {_SPACE}.calls WHERE hashed = {_hash_sql(key, 'call', 'call_id')} "
        f"AND (of_all OR span_id IS NULL) AND (period_start IS NULL OR {time} >= period_start) AND {time} < period_end)"
    )
    if table is SPANS:
        named = [
            before("conversation", f"json_extract_string(attributes, '$.\"{name}\"')")
            for name in CONVERSATION_ATTRIBUTES
        ]
        return [is_hashed("span", "span_id"), is_hashed("span", "parent_span_id"), before("trace", "trace_id"), *named]
    found = [is_hashed("span", "span_id")] if "span_id" in table.names else []
    if {"span_id", "call_id"} <= set(table.names):
        found.append(call)
    if "conversation_id" in table.names:
        found.append(before("conversation", "conversation_id"))
    if table is OUTCOMES:
        found.append(before("conversation", "conversation_id", "labelled"))
    return found


def _hash_sql(key: str, kind: str, column: str) -> str:
    """Return ``digest`` of a column as SQL: DuckDB has SHA-256 and no HMAC."""
    # RFC 2104: the key, padded to the block of SHA-256, is combined with 0x36 inside and with 0x5C outside
    padded = bytes.fromhex(key).ljust(64, b"\0")
    inner, outer = (_blob(bytes(byte ^ pad for byte in padded)) for pad in (0x36, 0x5C))
    hashed = f"sha256({outer} || unhex(sha256({inner} || encode('{kind}:' || {column}))))"
    return f"left({hashed}, {HASH_DIGITS})"


def _blob(data: bytes) -> str:
    return "'" + "".join(f"\\x{byte:02X}" for byte in data) + "'::BLOB"


def _create(con: DuckDBPyConnection, name: str, types: dict[str, str], rows: list[tuple[Any, ...]]) -> None:
    columns = {"hashed": "VARCHAR", **types}
    lists = [list(values) for values in zip(*rows, strict=True)] if rows else [[] for _ in columns]
    values = ", ".join(f"unnest(CAST(? AS {kind}[])) AS {column}" for column, kind in columns.items())
    con.execute(f"CREATE OR REPLACE TABLE {_SPACE}.{name} AS SELECT {values}", lists)


def _naive(time: datetime | None) -> datetime | None:
    return None if time is None else time.replace(tzinfo=None)


def load(paths: StorePaths) -> Tombstones:
    """Return the tombstones of a store; empty where nothing was forgotten. A torn or damaged line is skipped."""
    found = Tombstones()
    try:
        data = file_of(paths).read_bytes()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return found
    for line in data.splitlines():
        try:
            read = _DECODER.decode(line)
        except msgspec.MsgspecError:
            if line:  # a kill tore the line before its forgetting removed anything
                _log.debug("a line of %s cannot be read", file_of(paths))
            continue
        if read.forget is not None and read.forget.id not in found.entries:
            found.entries[read.forget.id] = read.forget
            found.pending.add(read.forget.id)
            found.stored.add(read.forget.id)
        if read.erased is not None:
            found.stored.discard(read.erased)
        if read.done is not None:
            found.pending.discard(read.done)
            found.stored.discard(read.done)
    return found


def file_of(paths: StorePaths) -> Path:
    """Return the path of the tombstones of a store."""
    return paths.journal / FILE


def add(paths: StorePaths, *tombstones: Tombstone) -> None:
    """Append ``tombstones``, on the disk when this returns. The caller holds the lock exclusively. Raises OSError."""
    _append(paths, [_TombstoneLine(forget=one) for one in tombstones])


def add_late(paths: StorePaths, before: Tombstones, after: Tombstones) -> None:
    """Append the tombstones of ``after`` that ``before`` lacks: they name records that were never stored."""
    new = [one for name, one in after.entries.items() if name not in before.entries]
    _append(paths, [line for one in new for line in (_TombstoneLine(forget=one), _TombstoneLine(done=one.id))])


def mark_erased(paths: StorePaths, ids: Iterable[str]) -> None:
    """Note that the records of the tombstones ``ids`` are not in the database any more. Raises OSError."""
    _append(paths, [_TombstoneLine(erased=one) for one in sorted(ids)])


def mark_done(paths: StorePaths, ids: Iterable[str]) -> None:
    """Note that the records of the tombstones ``ids`` are removed. Raises OSError."""
    _append(paths, [_TombstoneLine(done=one) for one in sorted(ids)])


def _append(paths: StorePaths, lines: list[_TombstoneLine]) -> None:
    if not lines:
        return
    path = file_of(paths)
    # the entry of a new file in its directory needs a sync of its own
    is_new = not path.exists()
    if is_new:
        make_synced(paths.journal)
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(fd, "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        is_torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"
        data = b"\n" * is_torn + b"".join(_ENCODER.encode(line) + b"\n" for line in lines)
        while data:  # a disk that is nearly full takes a part without an error
            data = data[file.write(data) or 0 :]
        os.fsync(fd)
    if is_new:
        sync_directory(paths.journal)

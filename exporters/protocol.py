"""Protocols of destinations, and the errors with which they reject records.

::

    ExportError              the base; a TooltraceError
    ├── Unavailable          not now: the same records can be sent again later
    ├── Refused              never: the same records would be refused again
    ├── PartlyRefused        accepted, except for some records
    ├── UnknownExporter      no destination has that name
    └── MissingExtra         a package that the destination needs is not installed
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tooltrace.core.records import Record
from tooltrace.errors import TooltraceError


@runtime_checkable
class Destination(Protocol):
    """A destination of records beyond the store. Only one thread at a time uses it."""

    def send(self, records: Sequence[Record]) -> None:
        """Send ``records``; on return all of them are accepted. Raises ExportError."""

    def close(self) -> None:
        """Release all resources. Interrupts a ``send`` that runs in another thread, if possible."""


@runtime_checkable
class MultiPartDestination(Destination, Protocol):
    """A destination that sends a batch in several requests, each of which can fail alone."""

    parts: Sequence[str]
    """Names of the requests, in order. Acknowledged requests of a batch are stored under these names."""
    memory: MutableMapping[str, Any]
    """State for the next time, in this process or another: JSON values, stored with the progress."""

    def send_part(self, part: str, records: Sequence[Record]) -> None:
        """Send ``part`` of ``records``. Raises ExportError."""


@runtime_checkable
class AtomicDestination(Destination, Protocol):
    """A destination that is written completely or not at all, such as a file; ``close`` publishes it."""

    def abandon(self) -> None:
        """Discard everything; replaces ``close``."""


InParts = MultiPartDestination
"""Earlier name of :class:`MultiPartDestination`."""
Whole = AtomicDestination
"""Earlier name of :class:`AtomicDestination`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The user's options for a destination. Each factory uses those that it knows; None is its default."""

    path: Path | None = None
    """The file or folder to write."""
    endpoint: str | None = None
    """The base URL of the receiver."""
    protocol: str | None = None
    """``http/protobuf``, ``http/json`` or ``grpc``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] | None = None
    """The parts to send, if not all."""
    service: str | None = None
    """The service of this process."""
    host: str | None = None
    """The machine of this process."""


class ExportError(TooltraceError):
    """Base of the errors of destinations: records were not accepted."""


class Unavailable(ExportError):
    """The destination does not accept records now; the same records can be sent later.

    ``retry_after``: seconds that the receiver requested to wait, if any. ``doubtful``: the data may be the cause, so
    that the records count as refused after some attempts.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.doubtful = doubtful


class Refused(ExportError):
    """The destination refuses the records, and would refuse them again.

    ``whole``: independent of the records, so that fewer of them would fail too. ``count``: number of refused records,
    if not all.
    """

    def __init__(self, message: str, *, whole: bool = False, count: int | None = None) -> None:
        super().__init__(message)
        self.whole = whole
        self.count = count


class PartlyRefused(ExportError):
    """The destination accepted all records except ``count`` of them; it is not known which ones."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class UnknownExporter(ExportError, LookupError):
    """No destination has that name."""


class MissingExtra(ExportError, ImportError):
    """A package that the destination needs is not installed."""

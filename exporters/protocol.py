"""What a destination of records is, and how it says that it cannot take some.

::

    ExportError              the base; a TooltraceError
    ├── Unavailable          not now: the same records again later
    ├── Refused              never: the same records again would be refused again
    ├── PartlyRefused        taken, but for some of them
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
    """Where records go beyond the store. One thread at a time uses it."""

    def send(self, records: Sequence[Record]) -> None:
        """Take ``records``, all of them; when it returns they are taken. Raises ExportError."""

    def close(self) -> None:
        """Nothing more comes. Interrupts a ``send`` under way in another thread, where it can."""


@runtime_checkable
class MultiPartDestination(Destination, Protocol):
    """A destination that takes a batch in several requests, each of which can fail alone."""

    parts: Sequence[str]
    """Names of the requests, in their order. What was taken of a batch is remembered under these."""
    memory: MutableMapping[str, Any]
    """What it has to know the next time, in this process or another: JSON values, kept with its progress."""

    def send_part(self, part: str, records: Sequence[Record]) -> None:
        """Take ``part`` of ``records``. Raises ExportError."""


@runtime_checkable
class AtomicDestination(Destination, Protocol):
    """A destination that is there whole or not at all, such as a file: ``close`` makes it be there."""

    def abandon(self) -> None:
        """Instead of ``close``: as if it had never been begun."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a factory makes a destination of: what the user said. Each uses what it knows, and None is its default."""

    path: Path | None = None
    """The file or folder to write."""
    endpoint: str | None = None
    """The base URL to send to."""
    protocol: str | None = None
    """``grpc`` or ``http/protobuf``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] | None = None
    """Only these of what it can send."""
    service: str | None = None
    """The service of this process."""
    host: str | None = None
    """The machine of this process."""


class ExportError(TooltraceError):
    """A destination did not take what it was given."""


class Unavailable(ExportError):
    """Not now. ``retry_after``: seconds that the other side asked to wait, where it did. ``doubtful``: it may be for
    what was sent, so that after some tries it counts as refused."""

    def __init__(self, message: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.doubtful = doubtful


class Refused(ExportError):
    """Never. ``whole``: whatever the records are, so that to try fewer of them is no use. ``count``: how many it was,
    where that is not all that were given."""

    def __init__(self, message: str, *, whole: bool = False, count: int | None = None) -> None:
        super().__init__(message)
        self.whole = whole
        self.count = count


class PartlyRefused(ExportError):
    """Taken, but for ``count`` of the records; which ones is not known."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class UnknownExporter(ExportError, LookupError):
    """No destination has that name."""


class MissingExtra(ExportError, ImportError):
    """A package that the destination needs is not installed."""

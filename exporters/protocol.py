"""Protocols of destinations. ``tooltrace.errors`` has the errors with which they reject records."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tooltrace.core.records import Record
from tooltrace.errors import (
    ExportError,
    MissingExtra,
    PartlyRefused,
    Refused,
    Unavailable,
    UnknownExporter,
)

__all__ = [
    "AtomicDestination",
    "Destination",
    "ExportError",
    "InParts",
    "MissingExtra",
    "MultiPartDestination",
    "PartlyRefused",
    "Refused",
    "Target",
    "Unavailable",
    "UnknownExporter",
    "Whole",
]


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


@runtime_checkable
class SeveralFiles(Protocol):
    """A destination that may write other files beside the one that its target names."""

    @property
    def beside(self) -> Sequence[Path]:
        """The other files that ``close`` has written."""


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
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Further attributes of the resource of this process."""

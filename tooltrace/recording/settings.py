"""Settings of the recorder: read once, then immutable."""

from __future__ import annotations

import math
import os
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from opentelemetry.sdk.resources import OTELResourceDetector
from opentelemetry.trace import TracerProvider

from tooltrace.errors import ConfigError
from tooltrace.normalize import RULES, Rule
from tooltrace.otel import attributes as names
from tooltrace.recording.inheritance import inherited
from tooltrace.recording.tool_spec import Capture
from tooltrace.redact.redaction import Redaction, redact_name
from tooltrace.store.url import Address, address_of
from tooltrace.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tooltrace.exporters.protocol import Destination

Durability = Literal["batch", "call", "fsync"]
"""Time at which a call is written to the journal.

``batch``: within 100 ms. ``call``: before the tool's caller gets the result. ``fsync``: as ``call``, and synced to the
disk.
"""

Overflow = Literal["block", "drop"]
"""Behaviour when calls arrive faster than they can be written.

``block``: the tool's caller waits for up to ``block_seconds``; after that the newest call is dropped and counted.
``drop``: the newest call is dropped and counted at once.
"""

Fold = Literal["on_query", "background"]
"""Who moves the records from the journals into the database.

``on_query``: the processes that query. ``background``: also a process that runs while others record, one for each store.
"""

CountTokens: TypeAlias = "Callable[[str], int]"
"""A function that returns the number of tokens of a text."""

DEFAULT_STORE = "tooltrace.duckdb"
FIELD_LIMIT: Final = 64 * 1024
QUEUE_SIZE: Final = 10_000
QUEUE_BYTES: Final = 64 * 1024 * 1024
BLOCK_SECONDS: Final = 1.0
BEGUN_SECONDS: Final = 5.0

Export: TypeAlias = "str | Destination | Iterable[str | Destination] | None"
"""Destinations of records beyond the store: names, such as ``"otlp"``, or objects with ``send`` and ``close``."""


def default_store() -> Path:
    """Return the path where this process records: ``$TOOLTRACE_STORE``, else ``./tooltrace.duckdb``.

    In a child of multiprocessing or concurrent.futures it is the store of the parent process, where that has one.

    An address in ``$TOOLTRACE_STORE`` is only queried: records reach it by OTLP, and wait in the journal beside the
    default store until then.
    """
    parent = inherited()
    if parent is not None and parent.store is not None:
        return Path(parent.store)
    named = os.environ.get("TOOLTRACE_STORE") or DEFAULT_STORE
    return Path(DEFAULT_STORE if default_address() else named).absolute()


def default_address() -> Address | None:
    """Return ``$TOOLTRACE_STORE`` as an address of a remote store, or None where it is not one."""
    return address_of(os.environ.get("TOOLTRACE_STORE", ""))


def default_service() -> str | None:
    """Return the service of the environment, else the name of the program, else None.

    ``$OTEL_SERVICE_NAME`` comes before ``service.name`` of ``$OTEL_RESOURCE_ATTRIBUTES``.
    """
    name = _resource_text(names.SERVICE_NAME)
    program = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
    return name or (program if program not in ("", "-c", "-m") else None)


def default_release() -> str | None:
    """Return ``service.version`` of ``$OTEL_RESOURCE_ATTRIBUTES``."""
    return _resource_text(names.SERVICE_VERSION)


def default_environment() -> str | None:
    """Return ``deployment.environment.name`` of ``$OTEL_RESOURCE_ATTRIBUTES``."""
    return _resource_text(names.ENVIRONMENT_NAME)


def _resource_text(key: str) -> str | None:
    return str(OTELResourceDetector().detect().attributes.get(key, "")) or None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings that ``configure`` sets."""

    store: Path | None = field(default_factory=default_store)
    """Path of the store; None: no journal and no store, only spans and log lines."""
    address: Address | None = field(default_factory=default_address)
    """Address of the remote store that answers queries; None where the local store does."""
    durability: Durability | None = None
    """None: ``call`` in a worker of Ray or a child of multiprocessing, which may be killed without warning, else ``batch``."""
    capture: Capture = "full"
    redaction: Redaction = field(default_factory=Redaction)
    service_name: str | None = field(default_factory=default_service)
    release: str | None = field(default_factory=default_release)
    environment: str | None = field(default_factory=default_environment)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Attributes of every call, redacted; those of ``context`` and of the tool come before them."""
    tracer_provider: TracerProvider | None = None
    """None: the application's global provider, even one that is set later."""
    field_limit: int = FIELD_LIMIT
    """Maximum size of one field: bytes of JSON, or characters of text."""
    queue_size: int = QUEUE_SIZE
    """Maximum number of calls that wait to be written."""
    queue_bytes: int = QUEUE_BYTES
    """Maximum memory in bytes, about, of the calls that wait to be written."""
    overflow: Overflow = "block"
    block_seconds: float = BLOCK_SECONDS
    """Seconds for which a full queue may block one caller before calls are dropped."""
    begun_after: float | None = BEGUN_SECONDS
    """Seconds after which a call that runs is written as begun; 0: before its tool runs; None: never."""
    fold: Fold = "on_query"
    wait: float | None = None
    """Seconds that queries wait for a lock on the store. None: ``$TOOLTRACE_WAIT``, else 10."""
    tokens: CountTokens | None = None
    """Counts the tokens of a text for the model; None: the queries estimate them."""
    rules: tuple[Rule, ...] = RULES
    """The rules that read the tools' results, in order."""
    export: Export = "auto"
    """Destinations of records beyond the store.

    ``auto`` is OTLP for each signal that has an endpoint in the environment and no provider of the application;
    None means without a destination; otherwise a name, a destination, or several of these.
    """
    host: str = field(default_factory=socket.gethostname)
    origin: dict[str, str | None] = field(init=False)
    """The fields of every record that say where it was recorded."""

    def __post_init__(self) -> None:
        _one_of("durability", self.durability, (*get_args(Durability), None))
        _one_of("capture", self.capture, get_args(Capture))
        _one_of("overflow", self.overflow, get_args(Overflow))
        _one_of("fold", self.fold, get_args(Fold))
        for name in ("field_limit", "queue_size", "queue_bytes"):
            number = getattr(self, name)
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise ConfigError(f"{name} must be a whole number of at least 1, got {number!r}; nothing was changed")
        check_seconds("block_seconds", self.block_seconds)
        for name in ("wait", "begun_after"):
            if getattr(self, name) is not None:
                check_seconds(name, getattr(self, name))
        if self.tracer_provider is not None and not callable(getattr(self.tracer_provider, "get_tracer", None)):
            raise ConfigError(
                f"tracer_provider must be a TracerProvider of OpenTelemetry, or None, got {self.tracer_provider!r}; nothing was "
                "changed"
            )
        if not isinstance(self.service_name, str | None):
            raise ConfigError(f"service must be a text, or None, got {self.service_name!r}; nothing was changed")
        if self.tokens is not None and not callable(self.tokens):
            raise ConfigError(f"tokens must be a function of a text, or None, got {self.tokens!r}; nothing was changed")
        for name in ("service_name", "release", "environment", "host"):
            object.__setattr__(self, name, redact_name(getattr(self, name), self.redaction))
        origin = {
            "service": self.service_name,
            "release": self.release,
            "environment": self.environment,
            "host": self.host,
            "recorder_version": __version__,
        }
        object.__setattr__(self, "origin", origin)


def check_seconds(name: str, value: object, *, hint: str = "; nothing was changed") -> None:
    """Raise ConfigError where ``value`` is not a number of seconds. ``hint``: what follows in the message."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
        raise ConfigError(f"{name} must be a number of seconds of at least 0, got {value!r}{hint}")


def _one_of(name: str, value: object, known: tuple[str | None, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}; nothing was changed")

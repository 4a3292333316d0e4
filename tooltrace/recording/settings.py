"""How the recorder records: read once, then fixed."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from opentelemetry.trace import TracerProvider

from tooltrace.errors import ConfigError
from tooltrace.normalize import RULES, Rule
from tooltrace.recording.tool_spec import Capture
from tooltrace.redact.redaction import Redaction
from tooltrace.store.url import Address, address_of
from tooltrace.version import __version__

Durability = Literal["batch", "call", "fsync"]
"""When a call counts as kept: written within 100 ms; written before the tool's caller gets the result;
as ``call`` and synced to the disk."""

Overflow = Literal["block", "drop"]
"""What happens when calls come faster than they can be written: the tool's caller waits, up to a bound,
and the newest is dropped and counted only then; or it is dropped and counted at once."""

DEFAULT_STORE = "tooltrace.duckdb"
FIELD_LIMIT = 64 * 1024


def default_store() -> Path:
    """Where this process records: ``$TOOLTRACE_STORE``, else ``./tooltrace.duckdb``. An address is only read from: what is
    recorded goes there by OTLP, and waits in the journal beside the default store."""
    named = os.environ.get("TOOLTRACE_STORE") or DEFAULT_STORE
    return Path(DEFAULT_STORE if default_address() else named).absolute()


def default_address() -> Address | None:
    """What ``$TOOLTRACE_STORE`` says, where that is the address of a store elsewhere."""
    return address_of(os.environ.get("TOOLTRACE_STORE", ""))


def default_service() -> str | None:
    """``$OTEL_SERVICE_NAME``, else the name of the program."""
    name = os.environ.get("OTEL_SERVICE_NAME")
    program = Path(sys.argv[0]).name if getattr(sys, "argv", None) else ""
    return name or (program if program not in ("", "-c", "-m") else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What ``configure`` sets."""

    store: Path | None = field(default_factory=default_store)
    """None: no journal and no store, spans and log lines only."""
    address: Address | None = field(default_factory=default_address)
    """The store that is asked, where that is elsewhere."""
    durability: Durability | None = None
    """None: ``call`` in a child process of multiprocessing, which may be ended without warning, else ``batch``."""
    capture: Capture = "full"
    redaction: Redaction = field(default_factory=Redaction)
    service_name: str | None = field(default_factory=default_service)
    tracer_provider: TracerProvider | None = None
    """None: the application's global provider, whenever it is set."""
    field_limit: int = FIELD_LIMIT
    """Bytes of JSON, or characters of text, that are kept of one field."""
    queue_size: int = 10_000
    """Calls that may wait to be written."""
    overflow: Overflow = "block"
    block_seconds: float = 1.0
    """How long a full queue may hold one caller up before calls are dropped."""
    rules: tuple[Rule, ...] = RULES
    """What reads the tools' results, in this order."""
    export: Any = "auto"
    """Where records go beyond the store: ``auto`` is OTLP for each signal that the environment gives an endpoint and
    the application has no provider for; None; or names, destinations, or several of these."""
    host: str = field(default_factory=socket.gethostname)
    origin: dict[str, str | None] = field(init=False)
    """What every record says of where it was made."""

    def __post_init__(self) -> None:
        _one_of("durability", self.durability, (*get_args(Durability), None))
        _one_of("capture", self.capture, get_args(Capture))
        _one_of("overflow", self.overflow, get_args(Overflow))
        if not all(isinstance(number, int) for number in (self.field_limit, self.queue_size)):
            raise ConfigError("field_limit and queue_size take whole numbers; nothing was changed")
        if self.field_limit < 1 or self.queue_size < 1 or self.block_seconds < 0:
            raise ConfigError("field_limit and queue_size take 1 or more, block_seconds 0 or more; nothing was changed")
        origin = {"service": self.service_name, "host": self.host, "recorder_version": __version__}
        object.__setattr__(self, "origin", origin)


def _one_of(name: str, value: object, known: tuple[str | None, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{name} takes {', '.join(map(repr, known))}, got {value!r}; nothing was changed")

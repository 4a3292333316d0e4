"""The recorder of this process: configured, found, flushed, and made anew in forked children."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from threading import Lock
from typing import Any

from opentelemetry.trace import TracerProvider

from tooltrace import message
from tooltrace.errors import ConfigError
from tooltrace.guard import fault, faults
from tooltrace.normalize import RULES, Rule, checked_rules
from tooltrace.recorder import Recorder
from tooltrace.redaction import Redact, Redaction, as_redaction
from tooltrace.response import ToolResponse
from tooltrace.settings import Durability, Overflow, Settings, default_store
from tooltrace.spec import Capture
from tooltrace.worker import EXIT_SECONDS

_DEFAULT: Any = object()
_lock = Lock()
_recorder: Recorder | None = None


def configure(
    *,
    store: str | os.PathLike[str] | None = _DEFAULT,
    durability: Durability = "batch",
    capture: Capture = "full",
    redact: Redaction | Redact | Iterable[str] | None = None,
    service_name: str | None = None,
    tracer_provider: TracerProvider | None = None,
    overflow: Overflow = "block",
    rules: Iterable[Rule] = RULES,
    **limits: Any,
) -> None:
    """Set how this process records; what is left out takes its default. Without it the defaults hold.

    ``store``: path of the DuckDB file; None records no history; default ``$TOOLTRACE_STORE``, else
    ``./tooltrace.duckdb``. ``redact``: a ``Redaction``, a callable ``(field, value) -> value``, or further
    key names. ``rules``: what reads the tools' results, see :func:`tooltrace.normalize`. ``limits``: ``field_limit`` (bytes), ``queue_size`` (calls), ``block_seconds``.
    Raises ConfigError, and then changes nothing.
    """
    unknown = set(limits) - {"field_limit", "queue_size", "block_seconds"}
    if unknown:
        raise ConfigError(f"configure() does not take {', '.join(sorted(unknown))}; nothing was changed")
    if service_name is not None:
        limits["service_name"] = service_name
    settings = Settings(
        store=default_store() if store is _DEFAULT else _path(store),
        durability=durability,
        capture=capture,
        redaction=as_redaction(redact),
        tracer_provider=tracer_provider,
        overflow=overflow,
        rules=checked_rules(rules, "nothing was changed"),
        **limits,
    )
    _replace(Recorder(settings))


def active() -> Recorder:
    """The recorder in use, made with the defaults where nobody configured one."""
    return _recorder or _first()


def configured_store() -> Path | None:
    """Where this process records; None where it was not configured, or keeps no history."""
    return None if _recorder is None else _recorder.settings.store


def flush(timeout: float | None = 10.0) -> bool:
    """Wait until every call that has ended is in the journal. False where ``timeout`` seconds did not do."""
    return True if _recorder is None else _recorder.worker.flush(timeout)


def shutdown(timeout: float | None = EXIT_SECONDS) -> None:
    """Write what is queued and close the journal. A later call is still recorded, by its own thread."""
    if _recorder is not None:
        _recorder.worker.close(timeout)


def _path(store: str | os.PathLike[str] | None) -> Path | None:
    if store is None:
        return None
    if not isinstance(store, str | os.PathLike) or not isinstance(text := os.fspath(store), str) or not text:
        raise ConfigError(f"store takes the path of a DuckDB file, or None, got {store!r}; nothing was changed")
    if Path(text).is_dir():
        raise ConfigError(f"store {text!r} is a directory; give the path of a DuckDB file; nothing was changed")
    if "://" in text:
        raise ConfigError(f"store {text!r} cannot be written by this process; give the path of a DuckDB file")
    return Path(text).absolute()


def _first() -> Recorder:
    with _lock:
        if _recorder is not None:
            return _recorder
    try:
        settings = Settings()
    except Exception:
        fault("place the store of", lost=0)
        settings = Settings(store=None)
    _replace(Recorder(settings), only_first=True)
    assert _recorder is not None
    return _recorder


def _replace(new: Recorder, *, only_first: bool = False) -> None:
    global _recorder  # noqa: PLW0603 - one recorder a process, replaced whole
    with _lock:
        old = _recorder
        if only_first and old is not None:
            return
        _recorder = new
    if old is not None:
        old.worker.close(EXIT_SECONDS)


def _told(response: ToolResponse, call_id: str, text: str, style: str) -> None:
    """The model is given ``text``; recorded where anything is."""
    if _recorder is not None:
        tells = True if response.error is not None else None  # it stands first; else the text may say so
        _recorder.told(call_id, text, style=style, error=tells, span_id=response.meta.span_id)


message.listeners.append(_told)


def _after_fork() -> None:
    global _lock  # noqa: PLW0603 - the parent may have held it
    _lock = Lock()
    faults.begin_anew()
    if _recorder is not None:
        _recorder.after_fork()


os.register_at_fork(after_in_child=_after_fork)

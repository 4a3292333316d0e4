"""The recorder of this process: configuration, access, flushing, and reset in forked children."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.trace import TracerProvider, get_tracer_provider
from opentelemetry.util.types import AttributeValue

from tooltrace.core import message
from tooltrace.core.forking import ForkSafeLock
from tooltrace.core.keywords import UNSET
from tooltrace.core.plural import format_count
from tooltrace.core.response import ToolResponse
from tooltrace.errors import ConfigError, StoreError, StoreLocked, UnwrittenCalls
from tooltrace.faults import faults, report_fault
from tooltrace.normalize import RULES, Rule, checked_rules
from tooltrace.otel import attributes as names
from tooltrace.recording import inheritance
from tooltrace.recording.health import Health, health_of
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.settings import (
    BEGUN_SECONDS,
    BLOCK_SECONDS,
    DEFAULT_STORE,
    FIELD_LIMIT,
    QUEUE_BYTES,
    QUEUE_SIZE,
    CountTokens,
    Durability,
    Export,
    Fold,
    Overflow,
    Settings,
    check_seconds,
    default_address,
    default_environment,
    default_release,
    default_service,
    default_store,
)
from tooltrace.recording.sinks import evaluation, otel_metric
from tooltrace.recording.tool_spec import Capture
from tooltrace.recording.worker import EXIT_SECONDS, Worker
from tooltrace.redact.redaction import Redact, Redaction, as_redaction
from tooltrace.redact.sanitizer import Sanitizer
from tooltrace.redact.snapshot import snapshot
from tooltrace.store.base import Store
from tooltrace.store.database.first_use import check_database
from tooltrace.store.files.file_lock import set_wait
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.files.prices import check_prices, write_prices
from tooltrace.store.files.store_file import check_location
from tooltrace.store.fold.background import BackgroundFold
from tooltrace.store.upkeep.retention import Retention, parse_days, parse_size, write_retention
from tooltrace.store.url import Address, address_of

F = TypeVar("F", bound=Callable[..., Any])

REPLACE_SECONDS = 30.0
"""Seconds for which ``configure`` waits for the queue of the previous recorder; the rest is counted as lost."""
STALL_SECONDS = 10.0
"""Seconds for which a query waits for a queue that no record leaves."""
_lock = ForkSafeLock()  # reentrant: a signal handler may make a first call while this thread is making one
_given: dict[str, Any] = {}
"""The options of all calls of ``configure``, of each the last value."""
active_recorder: Recorder | None = None
"""The recorder in use; None until the first call or the first ``configure``."""
_background: BackgroundFold | None = None


def _keeping_left_out(func: F) -> F:
    """Let an option that is left out keep the value of the last call, so that the order of calls does not matter."""

    @functools.wraps(func)
    def call(**options: Any) -> None:
        global _given  # noqa: PLW0603 - replaced as a whole
        options = {**_given, **options}
        func(**options)
        _given = options

    return cast("F", call)


@_keeping_left_out
def configure(
    *,
    store: str | os.PathLike[str] | None = UNSET,
    durability: Durability | None = None,
    capture: Capture = "full",
    redact: Redaction | Redact | Iterable[str] | None = None,
    service: str | None = None,
    release: str | None = None,
    environment: str | None = None,
    attributes: Mapping[str, AttributeValue] | None = None,
    tracer_provider: TracerProvider | None = None,
    overflow: Overflow = "block",
    fold: Fold = "on_query",
    wait: float | None = None,
    tokens: CountTokens | None = None,
    rules: Iterable[Rule] = RULES,
    export: Export = "auto",
    retention: str | None = None,
    keep_rows: str | None = None,
    max_size: str | int | None = None,
    prices: Mapping[str, tuple[float, float]] | None = None,
    field_limit: int = FIELD_LIMIT,
    queue_size: int = QUEUE_SIZE,
    queue_bytes: int = QUEUE_BYTES,
    block_seconds: float = BLOCK_SECONDS,
    begun_after: float | None = BEGUN_SECONDS,
) -> None:
    """Set how this process records.

    An option that is left out keeps the value of an earlier call; without one it has its default.

    A process that never calls ``configure`` records with the defaults. Raises ConfigError for an option that cannot be
    used; the configuration then stays unchanged.

    ``store``: path of the DuckDB file; default ``$TOOLTRACE_STORE``, else ``./tooltrace.duckdb``. None records no
    history. With ``clickhouse://host/database``, queries run there, and records are written to the journal beside the
    default path until a collector has them.
    ``durability``: when a call is written. None is ``"call"`` in a worker of Ray and in a child process of multiprocessing or
    concurrent.futures, whose pools kill their workers without warning, and ``"batch"`` elsewhere.
    ``capture``: ``"metadata"`` records neither arguments nor results.
    ``service``: name of this program in every record; default ``$OTEL_SERVICE_NAME``, else the name of the script.
    ``release``: its release; default ``service.version`` of ``$OTEL_RESOURCE_ATTRIBUTES``.
    ``environment``: where it runs, such as ``"staging"``; default ``deployment.environment.name`` of
    ``$OTEL_RESOURCE_ATTRIBUTES``.
    ``attributes``: texts, numbers, booleans or lists of these by name, recorded with every call, and part of the resource of
    what is exported. Attributes of ``context`` and of the tool come before them.
    ``tracer_provider``: provider of the spans; default: the application's global one, even if it is set later.
    ``redact``: a ``Redaction``, a callable ``(field, value) -> value``, or further key names.
    ``overflow``: whether a full queue blocks the tool's caller or drops the call.
    ``fold``: who moves the records from the journals into the database. ``"on_query"``: the processes that query;
    ``"background"``: also a separate process, one for each store, which ends after the last process that records.
    ``wait``: seconds that a query waits for a lock on the store before it raises StoreBusy; None is
    ``$TOOLTRACE_WAIT``, else 10.
    ``tokens``: a function that returns the number of tokens of a text, such as ``len`` of what ``tiktoken`` encodes. The
    recorder's thread calls it with each result; None leaves it to the queries to estimate tokens.
    ``rules``: the rules that read the tools' results, see :func:`tooltrace.normalize`.
    ``export``: destinations beyond the store: ``"otlp"`` or another name, a destination (``send``, ``close``), several
    of these in a list, or None. ``"auto"`` is OTLP where ``$OTEL_EXPORTER_OTLP_ENDPOINT`` or the variable of a signal
    (``…_TRACES_ENDPOINT``) is set, except for a signal for which the application has its own SDK provider.
    ``retention``: age, such as ``"90d"``, after which the store removes the content of calls: arguments, results, texts,
    messages, tracebacks. Their rows stay, and so does what queries count.
    ``keep_rows``: age, such as ``"3y"``, after which the rows are deleted too; by default they are kept.
    ``max_size``: size of the database file, such as ``"2GB"``, above which the content of the oldest days is removed, and
    then their rows. These three are written to the store together, and apply at its first fold of each day; without any
    of them, those of the store stay.
    ``prices``: by the name of a model, the price of a million input and of a million output tokens, such as
    ``{"gpt-5-mini": (0.25, 2.0)}``; the store keeps them, and findings state money.
    ``field_limit``: bytes of one field; what is longer is truncated.
    ``queue_size``: calls that wait to be written; further calls wait, or are dropped, see ``overflow``.
    ``queue_bytes``: memory of the calls that wait to be written.
    ``block_seconds``: longest wait of a caller for a full queue.
    ``begun_after``: seconds after which a call that runs is written too, so that it is seen, and remains as ``lost`` where its
    process is killed. 0 writes each call before its tool runs, which costs as much as the call itself; None writes none.
    """
    kept = Retention(
        days=None if retention is None else parse_days(retention),
        row_days=None if keep_rows is None else parse_days(keep_rows),
        max_bytes=None if max_size is None else parse_size(max_size),
    )
    priced = None if prices is None else check_prices(prices)
    redaction = as_redaction(redact)
    settings = Settings(
        store=default_store() if store is UNSET else _path(store),
        address=default_address() if store is UNSET else address_of(store) if isinstance(store, str) else None,
        durability=durability,
        capture=capture,
        redaction=redaction,
        tracer_provider=tracer_provider,
        overflow=overflow,
        fold=fold,
        wait=wait,
        tokens=tokens,
        rules=checked_rules(rules, "nothing was changed"),
        export=export,
        service_name=default_service() if service is None else service,
        release=default_release() if release is None else str(release),
        environment=default_environment() if environment is None else str(environment),
        attributes=_checked_attributes(attributes, redaction),
        field_limit=field_limit,
        queue_size=queue_size,
        queue_bytes=queue_bytes,
        block_seconds=block_seconds,
        begun_after=begun_after,
    )
    # raises for a destination that cannot be used, before anything has changed
    _replace(recorder_of(settings))
    inheritance.pass_on(settings)
    set_wait(settings.wait)
    _fold_in_background(settings)
    if kept != Retention() and settings.store is not None:
        try:
            check_database(settings.store)
            write_retention(StorePaths.of(settings.store), kept)
        except (OSError, StoreError):
            report_fault("write the retention of", lost=0)
    if priced is not None and settings.store is not None:
        try:
            write_prices(StorePaths.of(settings.store), priced)
        except OSError:
            report_fault("write the prices of", lost=0)


@contextmanager
def configured(attributes: Mapping[str, AttributeValue] | None = None, **options: Any) -> Iterator[None]:
    """Configure for a block with ``options``, arguments of ``configure``; restore the former configuration after it.

    Options that are left out have the values from before the block, and ``attributes`` are recorded beside those from
    before. Where nothing was configured, the next call after the block makes a recorder with the defaults.
    """
    global _given, active_recorder  # noqa: PLW0603 - replaced as a whole
    before, is_first = _given, active_recorder is None
    if attributes is not None:
        options["attributes"] = {**(before.get("attributes") or {}), **attributes}
    configure(**options)
    try:
        yield
    finally:
        _given = {}
        if not is_first:
            configure(**before)
        else:
            configure(store=None)  # ends what the block configured
            active_recorder, _given = None, {}
            os.environ.pop(inheritance.VARIABLE, None)


def get_recorder() -> Recorder:
    """Return the recorder in use; make one with the defaults where none is configured."""
    return active_recorder or _first_recorder()


def configured_store() -> Path | None:
    """Return the path where this process records; None where it has no recorder yet or records no history."""
    return None if active_recorder is None else active_recorder.settings.store


def configured_address() -> Address | None:
    """Return the address of the remote store that answers queries, or None where the local store does."""
    return default_address() if active_recorder is None else active_recorder.settings.address


def queried_store(store: Store | None = None) -> Store:
    """Return the store to query: ``store``, else the one that is configured, else the default one."""
    return store or configured_address() or configured_store() or default_store()


def flush(timeout: float | None = 10.0) -> bool:
    """Wait until every call that has ended is in the journal.

    Returns False where ``timeout`` seconds did not suffice, where calls still wait because the disk refuses writes, and
    where calls were lost since the last flush: ``tt.health().last_flush`` says why. The table ``losses`` has the counts
    as soon as the disk accepts writes. None waits without limit. Raises ConfigError for another value.
    """
    _check_timeout(timeout)
    return True if active_recorder is None else active_recorder.worker.flush(timeout)


def wait_until_written() -> None:
    """Wait until ended calls are in the journal, for as long as the queue makes progress.

    Warns with UnwrittenCalls and the number of unwritten calls where the queue makes no progress: the disk refuses
    writes, or a redaction does not return.
    """
    if active_recorder is None or active_recorder.worker.wait_until_written(STALL_SECONDS):
        return
    message = (
        f"{format_count(active_recorder.worker.unwritten, 'call')} not written yet, and missing from this result: the recorder made no "
        f"progress (a full disk, or a redact= that does not return); repeat the query after tt.flush() returned True"
    )
    warnings.warn(message, UnwrittenCalls, stacklevel=3)


def shutdown(timeout: float | None = EXIT_SECONDS) -> bool:
    """Write the queued records within ``timeout`` seconds, and close the journal.

    Returns False where calls were lost since the last flush: those that could not be written are given up.
    ``tt.health().last_flush`` says why. A later call is still recorded, by its own thread. None waits without limit.
    Raises ConfigError for another value.
    """
    _check_timeout(timeout)
    return True if active_recorder is None else active_recorder.worker.close(timeout)


def _check_timeout(timeout: object) -> None:
    if timeout is not None:
        check_seconds("timeout", timeout, hint="; None waits without limit")


def health() -> Health:
    """Return what waits to be written, what was lost and why, and how far deliveries are behind.

    Takes no lock, costs the traced tools nothing, raises nothing of its own, and may be called anywhere: in a signal
    handler, after ``shutdown``, in a forked child. Reads the sizes of the journals and, for each destination, up to 4
    MiB of them.
    """
    recorder = active_recorder
    return health_of(None, None) if recorder is None else health_of(recorder.worker, recorder.settings.store)


def _fold_in_background(settings: Settings) -> None:
    """Start the background process that ``settings`` asks for, and withdraw the wish of the last configuration."""
    global _background  # noqa: PLW0603 - one wish per process
    old, _background = _background, None
    if old is not None:
        old.close()
    if settings.fold == "background" and settings.store is not None and settings.address is None:
        _background = BackgroundFold(StorePaths.of(settings.store))
        _background.start()


def _checked_attributes(attributes: object, redaction: Redaction) -> dict[str, Any]:
    """Return the attributes of ``configure`` without secrets. Raises ConfigError for what is not an attribute."""
    if attributes is None:
        return {}
    if not isinstance(attributes, Mapping):
        raise ConfigError(f"attributes must be a mapping of names to values, got {attributes!r}; nothing was changed")
    for name, value in attributes.items():
        parts = value if isinstance(value, list | tuple) else (value,)
        if not isinstance(name, str) or not all(isinstance(part, str | bool | int | float) for part in parts):
            raise ConfigError(
                f"attributes must map names to texts, numbers, booleans or lists of these, got {name!r}: {value!r}; "
                "nothing was changed"
            )
        if name in names.RESERVED:
            raise ConfigError(
                f"attributes cannot set {name!r}, which tooltrace sets for each call; nothing was changed"
            )
    sanitizer = Sanitizer((redaction,), FIELD_LIMIT)
    safe: dict[str, Any] = orjson.loads(sanitizer.sanitize_json("attributes", snapshot(dict(attributes))) or "{}")
    return safe


def _path(store: str | os.PathLike[str] | None) -> Path | None:
    if store is None:
        return None
    if not isinstance(store, str | os.PathLike) or not isinstance(text := os.fspath(store), str) or not text:
        raise ConfigError(f"store must be the path of a DuckDB file or None, got {store!r}; nothing was changed")
    if address_of(text) is not None:
        return Path(DEFAULT_STORE).absolute()
    if "://" in text:
        raise ConfigError(
            f"store {text!r} cannot be written by this process: pass the path of a DuckDB file; nothing was changed"
        )
    try:
        check_database(text)
    except StoreLocked:  # another program has it open at the moment: calls wait in the journal
        pass
    except StoreError as error:
        raise ConfigError(str(error)) from error
    return Path(text).absolute()


def _first_recorder() -> Recorder:
    # waits for a thread that is replacing the recorder. The lock is not held while one is made, which may import packages
    # and read files: where two threads make one each, ``_replace`` keeps the first
    with _lock.current:
        if active_recorder is not None:
            return active_recorder
    try:
        settings = Settings(**inheritance.inherited_options())
        if settings.store is not None:
            check_location(settings.store)
    except StoreError as error:
        faults.warn_once("store", f"tooltrace stores no calls: {error}", counted=False)
        faults.note_error(f"stores no calls: {error}")
        settings = Settings(store=None)
    except Exception:
        report_fault("place the store of", lost=0)
        settings = Settings(store=None)
    try:
        recorder = recorder_of(settings)
    except Exception:
        report_fault("export", lost=0)
        recorder = Recorder(settings)
    _replace(recorder, only_first=True)
    assert active_recorder is not None
    return active_recorder


def recorder_of(settings: Settings) -> Recorder:
    """Return a recorder with the deliveries that ``settings.export`` names.

    Raises ConfigError for an unusable destination, and for destinations without a store.
    """
    recorder = Recorder(settings)
    exports = settings.export != "auto" or any(os.environ.get(name) for name in _EXPORT_VARIABLES)
    if settings.store is None and settings.export not in ("auto", None):
        raise ConfigError("export needs a store, whose journal is its queue: pass store= too; nothing was changed")
    if settings.store is not None and settings.export is not None and exports:
        from tooltrace.delivery.plan import plan_deliveries

        _path(settings.store)  # the deliveries create their cursors beside the store, so it is checked now
        deliveries = plan_deliveries(
            settings.export,
            settings.store,
            service=settings.service_name,
            host=settings.host,
            attributes=settings.attributes,
            exported=lambda signal: _is_exported(signal, settings.tracer_provider),
        )
        # the first worker has neither a thread nor a file yet
        if deliveries is not None:
            recorder.worker = Worker(settings, deliveries)
    return recorder


_EXPORT_VARIABLES = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


def _is_exported(signal: str, provider: TracerProvider | None) -> bool:
    """Whether the application has its own provider for ``signal``, which then exports our records too."""
    if signal == "traces":
        return isinstance(provider or get_tracer_provider(), SdkTracerProvider)
    return evaluation.is_wanted() if signal == "logs" else otel_metric.is_wanted()


def _replace(new: Recorder, *, only_first: bool = False) -> None:
    global active_recorder  # noqa: PLW0603 - one recorder per process, replaced as a whole
    with _lock.current:
        old = active_recorder
        if only_first and old is not None:
            return
        active_recorder = new
    # outside the lock: closing may take long, and other threads record with the new recorder meanwhile
    if old is not None:
        old.worker.close(REPLACE_SECONDS)
        new.worker.written_before = old.worker.state().written


def _notify_model_message(response: ToolResponse, call_id: str, text: str, style: str) -> None:
    """Record ``text`` as the message for the model, where this process has a recorder."""
    if active_recorder is not None:
        # a message begins with the response's error; without one, None has the text examined for an error
        is_error = True if response.error is not None else None
        active_recorder.record_model_message(call_id, text, style=style, error=is_error, span_id=response.meta.span_id)


message.listeners.append(_notify_model_message)

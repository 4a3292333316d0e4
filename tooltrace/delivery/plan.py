"""Translation of ``configure(export=…)`` into the destinations to which this process delivers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from tooltrace.delivery.threads import DeliveryThreads, DestinationSpec
from tooltrace.errors import ConfigError
from tooltrace.exporters import registry
from tooltrace.exporters.otlp_config import SIGNALS, chosen, with_endpoint
from tooltrace.exporters.protocol import Destination, ExportError, Target
from tooltrace.store.files.paths import StorePaths
from tooltrace.store.journal.delivery_cursors import DestinationFiles

AUTO: Final = "auto"
OTLP: Final = "otlp"
_log = logging.getLogger("tooltrace")


def plan_deliveries(
    export: Any,
    store: Path,
    *,
    service: str | None,
    host: str | None,
    attributes: Mapping[str, Any],
    exported: Callable[[str], bool],
) -> DeliveryThreads | None:
    """Return the threads that deliver the journals of ``store``; None if nothing is exported.

    ``exported``: whether the application has a provider of its own for ``traces``, ``logs`` or ``metrics``; that signal
    is then not sent twice. Raises ConfigError for an invalid ``export``.
    """
    paths = StorePaths.of(store)
    specs = _auto(exported) if export == AUTO else tuple(spec for one in _each(export) for spec in _specs(one))
    names = [spec.name for spec in specs]
    if len(set(names)) < len(names):
        raise ConfigError(
            f"the destinations in export must have different names, got {', '.join(names)}; nothing was changed"
        )
    off = _off(names)
    return (
        DeliveryThreads(paths, specs, Target(service=service, host=host, attributes=attributes), off=off)
        if specs
        else None
    )


def specs_for(name: str, target: Target | None = None) -> tuple[DestinationSpec, ...]:
    """Return the specs for the destination ``name``.

    ``otlp`` has one for each signal that ``target`` and the environment leave on. Raises ConfigError for a signal that
    does not exist.
    """
    if name != OTLP:
        return (DestinationSpec(name, partial(registry.create, name)),)
    return _for_signals(chosen(target or Target()))


def cursors_of(name: str) -> tuple[str, ...]:
    """Return the cursor names that the destination ``name`` may have: one for each signal of ``otlp``."""
    return tuple(map(_cursor_name, SIGNALS)) if name == OTLP else (name,)


def _auto(exported: Callable[[str], bool]) -> tuple[DestinationSpec, ...]:
    """Return the destinations that the environment selects.

    Their errors are logged once, later: the program did not select them.
    """
    return _for_signals(with_endpoint(), exported)


def _for_signals(
    signals: tuple[str, ...], exported: Callable[[str], bool] = lambda _signal: False
) -> tuple[DestinationSpec, ...]:
    return tuple(
        DestinationSpec(
            _cursor_name(signal),
            partial(_create_signal, signal),
            group=OTLP,
            unless=partial(exported, signal),
        )
        for signal in signals
    )


def _create_signal(signal: str, target: Target) -> Destination:
    return registry.create(OTLP, replace(target, parts=(signal,)))


def _cursor_name(signal: str) -> str:
    return f"{OTLP}-{signal}"


def _off(names: list[str]) -> tuple[str, ...]:
    """Return the cursors of the signals that are off in this process while another OTLP signal is on."""
    known = cursors_of(OTLP)
    return tuple(name for name in known if name not in names) if set(known) & set(names) else ()


def _each(export: Any) -> Iterable[Any]:
    return export if isinstance(export, list | tuple | set | frozenset) else (export,)


def _specs(one: Any) -> tuple[DestinationSpec, ...]:
    if isinstance(one, str):
        try:
            registry.load(one)
        except ExportError as error:
            raise ConfigError(f"{error}; nothing was changed") from error
        specs = specs_for(one)
        if not specs:  # the environment turned the signals off, and must not break a program that configures an export
            _log.warning("tooltrace: the environment leaves no signal of %s on; nothing is exported to it", one)
        return specs
    if isinstance(one, type) or not isinstance(one, Destination):
        raise ConfigError(
            f"export must be 'auto', None, the name of a destination or an object with send() and close(), got {one!r}; "
            "nothing was changed"
        )
    name = getattr(one, "name", None) or type(one).__name__
    # raises if the name is not valid in a file name
    DestinationFiles.of("x", str(name))
    return (DestinationSpec(str(name), lambda _target: one, inherited=False),)

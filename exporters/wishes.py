"""What ``configure(export=…)`` asks for, as destinations that this process delivers to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from tooltrace.errors import ConfigError
from tooltrace.exporters import loader
from tooltrace.exporters.delivery_thread import DeliveryThreads, Wish
from tooltrace.exporters.protocol import Destination, ExportError, Target
from tooltrace.store.cursors import DestinationFiles
from tooltrace.store.paths import StorePaths

AUTO: Final = "auto"
OTLP: Final = "otlp"


def threads_for(
    export: Any, store: Path, *, service: str | None, host: str | None, exported: Callable[[str], bool]
) -> DeliveryThreads | None:
    """The threads that deliver the journals of ``store``; None where nothing is to be exported.

    ``exported``: whether the application has a provider of its own for ``traces``, ``logs`` or ``metrics``, which are
    then not sent twice. Raises ConfigError for what cannot be.
    """
    paths = StorePaths.of(store)
    wishes = _auto(exported) if export == AUTO else tuple(map(_wish, _each(export)))
    names = [wish.name for wish in wishes]
    if len(set(names)) < len(names):
        raise ConfigError(f"export has two destinations of one name ({', '.join(names)}); nothing was changed")
    return DeliveryThreads(paths, wishes, Target(service=service, host=host)) if wishes else None


def _auto(exported: Callable[[str], bool]) -> tuple[Wish, ...]:
    """What the environment asks for. It was not asked for in the program: what is wrong with it is said once, later."""
    from tooltrace.exporters.otlp_settings import signals, wanted

    def make(target: Target) -> Destination:
        parts = tuple(signal for signal in signals() if not exported(signal))
        return loader.create(OTLP, replace(target, parts=parts))

    return (Wish(OTLP, make, unless=lambda: exported("traces")),) if wanted() else ()


def _each(export: Any) -> Iterable[Any]:
    return export if isinstance(export, list | tuple | set | frozenset) else (export,)


def _wish(one: Any) -> Wish:
    if isinstance(one, str):
        try:
            loader.factory(one)
        except ExportError as error:
            raise ConfigError(f"{error}; nothing was changed") from error
        return Wish(one, partial(loader.create, one))
    if isinstance(one, type) or not isinstance(one, Destination):
        raise ConfigError(
            f"export takes 'auto', None, names of destinations or destinations (send, close), got {one!r}; "
            "nothing was changed"
        )
    name = getattr(one, "name", None) or type(one).__name__
    DestinationFiles.of("x", str(name))  # a name that can be a file's
    return Wish(str(name), lambda _target: one, inherited=False)

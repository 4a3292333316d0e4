"""Destinations by name: built-in ones, and those that installed packages add.

A package adds one with an entry point in the group ``tooltrace.exporters``: a callable that accepts a
:class:`~tooltrace.exporters.protocol.Target` and returns a ``Destination``. Built-in names take precedence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from tooltrace.errors import near
from tooltrace.exporters.protocol import Destination, MissingExtra, Target, UnknownExporter

Factory = Callable[[Target], Destination]

GROUP: Final = "tooltrace.exporters"
"""Group of the entry points."""

BUILT_IN: Final = {
    "otlp": "tooltrace.exporters.otlp:create",
    "otlp-json": "tooltrace.exporters.otlp_json:create",
    "parquet": "tooltrace.exporters.parquet:create",
    "jsonl": "tooltrace.exporters.jsonl:create",
    "csv": "tooltrace.exporters.csv:create",
}
"""Name of each built-in destination, and its factory."""

_EXTRAS: Final = {"otlp": "otlp", "clickhouse": "clickhouse"}


def available() -> tuple[str, ...]:
    """Return every name that ``load`` knows, the built-in ones first."""
    return (*BUILT_IN, *sorted({point.name for point in _found()} - set(BUILT_IN)))


def load(name: str) -> Factory:
    """Return the factory of the destination ``name``.

    Raises UnknownExporter, or MissingExtra if a package is missing.
    """
    with _explained(name):
        return _load(name)


def create(name: str, target: Target | None = None) -> Destination:
    """Create the destination ``name`` from ``target``. Raises as ``load`` does, and as its factory does."""
    make = load(name)
    with _explained(name):
        return make(target or Target())


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except MissingExtra:
        raise
    except ImportError as error:
        extra = _EXTRAS.get(name)
        hint = f"pip install 'tooltrace-recorder[{extra}]'" if extra else "install it"
        message = f"the destination {name!r} needs a package that is not installed ({error}): {hint}"
        raise MissingExtra(message) from error


def _load(name: str) -> Factory:
    if name in BUILT_IN:
        module, _, attribute = BUILT_IN[name].partition(":")
        found: Any = getattr(import_module(module), attribute)
    else:
        point = next((point for point in _found() if point.name == name), None)
        if point is None:
            hint = near(name, available()) or f"; the destinations are {', '.join(available())}"
            raise UnknownExporter(f"there is no destination {name!r}{hint}")
        found = point.load()
    factory: Factory = found
    return factory


def _found() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))

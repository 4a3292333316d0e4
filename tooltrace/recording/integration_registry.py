"""The integrations with agent frameworks, by name.

An integration is a module with ``install()``, ``remove()`` and ``FRAMEWORK``, the import name of the framework. It is
registered by an entry point in the group ``tooltrace.integrations``, whose name is that of the integration. A package
that adds its own integration declares the same kind of entry point. The module must not import the framework before
``install``.
"""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tooltrace.errors import ConfigError, near
from tooltrace.faults import faults
from tooltrace.recording import import_hook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

__all__ = ["install", "uninstall"]

GROUP: Final = "tooltrace.integrations"
"""Group of the entry points."""

_logger = logging.getLogger("tooltrace")


def install(*names: str) -> list[str]:
    """Record the tools of agent frameworks, without changes to a tool. Return the names of their integrations.

    Without ``names``: those of every framework that is imported, and of the others as soon as they are imported; the names
    are those of the frameworks that this environment has, and the log has them too (INFO). An integration that fails is
    logged and skipped. If there is no framework, a warning says so once. With ``names``, such as ``"openai_agents"``:
    exactly these, at once; raises ConfigError for an unknown name or an unsupported version, and ImportError if a framework
    is missing. A repeated call has no effect on what is installed.
    """
    if names:
        for point in [_find(name) for name in names]:
            point.load().install()
        return sorted(set(names))
    return _install_present_and_later()


def uninstall(*names: str) -> None:
    """Stop recording what ``install`` started. Without ``names``: of every integration.

    Raises ConfigError for an unknown name.
    """
    for point in [_find(name) for name in names] if names else _points().values():
        if point.module in sys.modules:
            integration = point.load()
            import_hook.forget(point.name)
            integration.remove()


def _install_present_and_later() -> list[str]:
    """Install the integrations of imported frameworks, and let the others wait for the import of theirs."""
    installed, awaited = [], []
    for point in _points().values():
        with _logged(point):
            integration: Any = point.load()
            framework = integration.FRAMEWORK
            if import_hook.is_imported(framework):
                integration.install()
                installed.append(point.name)
            else:
                import_hook.when_imported(framework, point.name, partial(_install, point))
                awaited += [point.name] if import_hook.can_be_imported(framework) else []
    if installed or awaited:
        parts = [f"records {', '.join(installed)}"] if installed else []
        parts += [f"will record {', '.join(awaited)} as soon as it is imported"] if awaited else []
        _logger.info("tooltrace %s", "; ".join(parts))
    else:
        faults.warn_once(
            "install",
            f"tt.install() found no agent framework in this environment: it knows {', '.join(_points())}; decorate "
            "functions with tt.trace_tool",
            counted=False,
        )
    return sorted((*installed, *awaited))


def _install(point: EntryPoint) -> None:
    with _logged(point):
        point.load().install()
        _logger.info("tooltrace records %s, which was imported now", point.name)


@contextmanager
def _logged(point: EntryPoint) -> Iterator[None]:
    """Log an error of the integration in place of raising it: an import of the application must not fail."""
    try:
        yield
    except Exception:
        _logger.warning("the integration %r cannot be installed; it records nothing", point.name, exc_info=True)


def _find(name: str) -> EntryPoint:
    known = _points()
    if not isinstance(name, str):
        raise ConfigError(f"an integration is named by a text, such as {next(iter(known))!r}, got {name!r}")
    if name not in known:
        raise ConfigError(f"no integration is called {name!r}; known are {', '.join(known)}{near(name, known)}")
    return known[name]


def _points() -> dict[str, EntryPoint]:
    from tooltrace.core.entry_points import installed

    return installed(GROUP)

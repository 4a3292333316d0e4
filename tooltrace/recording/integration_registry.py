"""The integrations with agent frameworks, by name.

An integration is a module with ``install()``, ``remove()`` and ``FRAMEWORK``, the import name of the framework. It is
registered by an entry point in the group ``tooltrace.integrations``, whose name is that of the integration. A package
that adds its own integration declares the same kind of entry point. The module must not import the framework before
``install``.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, Final

from tooltrace.errors import ConfigError, near

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["install", "uninstall"]

GROUP: Final = "tooltrace.integrations"
"""Group of the entry points."""

_logger = logging.getLogger("tooltrace")


def install(*names: str) -> list[str]:
    """Record the tools of agent frameworks, without changes to a tool. Return the names of the installed integrations.

    Without ``names``: those of every framework that is already imported; one that fails is logged and skipped. With
    ``names``, such as ``"openai_agents"``: exactly these; raises ConfigError for an unknown name or an unsupported
    version, and ImportError if a framework is missing. A repeated call has no effect on what is installed.
    """
    if names:
        for point in [_find(name) for name in names]:
            point.load().install()
        return sorted(set(names))
    return sorted(point.name for point in _points().values() if _install_if_imported(point))


def uninstall(*names: str) -> None:
    """Stop recording what ``install`` started. Without ``names``: of every integration.

    Raises ConfigError for an unknown name.
    """
    for point in [_find(name) for name in names] if names else _points().values():
        if point.module in sys.modules:
            point.load().remove()


def _install_if_imported(point: EntryPoint) -> bool:
    try:
        integration: Any = point.load()
        if integration.FRAMEWORK not in sys.modules:
            return False
        integration.install()
    except Exception:
        _logger.warning("the integration %r cannot be installed; it records nothing", point.name, exc_info=True)
        return False
    return True


def _find(name: str) -> EntryPoint:
    known = _points()
    if name not in known:
        raise ConfigError(f"no integration is called {name!r}; known are {', '.join(known)}{near(name, known)}")
    return known[name]


def _points() -> dict[str, EntryPoint]:
    from tooltrace.core.entry_points import installed

    return installed(GROUP)

"""Agno's agents and teams, recorded without changing an agent or a tool.

::

    from tooltrace.integrations import agno

    agno.install()
    ...
    agno.remove()

From then on every tool call of every ``Agent`` and ``Team``, made before or after, is recorded with the model's
call id, the agent's name and the session as conversation: what a tool returned or raised, what hooks or a cache
answered instead, calls that Agno refused, and calls that waited for a person and what became of them.
"""

from __future__ import annotations

from importlib import import_module

from tooltrace.errors import ConfigError
from tooltrace.integrations.agno.patch_points import hook, patches

__all__ = ["install", "remove"]


def install() -> None:
    """Record from now on. Once is enough, twice does no harm. Raises ImportError where Agno is not installed, and
    ConfigError where its version is not known."""
    try:
        import_module("agno")
    except ImportError as error:
        raise ImportError("agno is not installed: pip install 'tooltrace[agno]'") from error
    try:
        patches.make(hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of agno is not known ({error}); nothing is recorded") from error


def remove() -> None:
    """Record no more; Agno's own functions are back in their places."""
    patches.undo()

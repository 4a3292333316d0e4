"""Recording of Agno's agents and teams, without changing an agent or a tool.

::

    from tooltrace.integrations import agno

    agno.install()
    ...
    agno.remove()

After ``install``, every tool call of every ``Agent`` and ``Team``, created before or after, is recorded with the
model's call id, the agent's name and the session as conversation. Recorded are the tool's results and exceptions,
responses of hooks or a cache, calls that Agno rejected, and calls that waited for a person with their outcome.
"""

from __future__ import annotations

from importlib import import_module

from tooltrace.errors import ConfigError
from tooltrace.integrations.agno.patch_points import hook, patches

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK = "agno"


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if Agno is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("agno")
    except ImportError as error:
        raise ImportError("agno is not installed: pip install 'tooltrace-recorder[agno]'") from error
    try:
        patches.make(hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of agno is not supported ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore Agno's own functions."""
    patches.undo()

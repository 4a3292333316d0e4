"""Recording of the tools of Google's Agent Development Kit, without changes to an agent or a tool.

::

    from tooltrace.integrations import google_adk

    google_adk.install()
    ...
    google_adk.remove()

After ``install``, every tool call of every runner, created before or after, is recorded with the model's id, the agent's
name and the session as conversation. A call that waits for a confirmation, for credentials or for the result of a
long-running tool is paused. For a single runner there is the plugin: ``Runner(…, plugins=[ToolTracePlugin()])``.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from tooltrace.errors import ConfigError
from tooltrace.faults import suppress_faults
from tooltrace.integrations.monkeypatch import MonkeyPatcher

__all__ = ["FRAMEWORK", "ToolTracePlugin", "install", "remove"]

FRAMEWORK: Final = "google.adk"
"""Import name of the framework."""

_patches = MonkeyPatcher()
_extended: weakref.WeakSet[Any] = weakref.WeakSet()
"""Plugin managers that have the plugin of :func:`install`."""


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if google-adk is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("google.adk")
    except ImportError as error:
        raise ImportError("google-adk is not installed: pip install 'tooltrace-recorder[google-adk]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of google-adk is not supported ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording, and take the plugin out of all runners."""
    _patches.undo()
    for manager in list(_extended):
        manager.plugins[:] = [plugin for plugin in manager.plugins if not getattr(plugin, "installed", False)]
    _extended.clear()


def _hook() -> None:
    manager: Any = import_module("google.adk.plugins.plugin_manager").PluginManager
    plugin = import_module("tooltrace.integrations.google_adk.plugin").ToolTracePlugin

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        async def run_callback(self: Any, **event: Any) -> Any:
            with suppress_faults("begin"):
                if not any(isinstance(known, plugin) for known in self.plugins):
                    # First: the manager stops at the first plugin that answers, and the call must have begun before.
                    self.plugins.insert(0, plugin(installed=True))
                    _extended.add(self)
            return await original(self, **event)

        return run_callback

    # a runner begins with a message, which may be the result of a tool, and agents as tools begin with their first call
    for name in ("run_on_user_message_callback", "run_before_tool_callback"):
        if name not in vars(manager):
            raise AttributeError(f"PluginManager has no {name}")
        _patches.wrap(manager, name, make)


def __getattr__(name: str) -> Any:
    """Import the plugin, and with it google-adk, on first access."""
    if name == "ToolTracePlugin":
        return import_module("tooltrace.integrations.google_adk.plugin").ToolTracePlugin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

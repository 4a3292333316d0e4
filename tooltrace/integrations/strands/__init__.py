"""Recording of the tools of Strands agents, without changes to an agent or a tool.

::

    from tooltrace.integrations import strands

    strands.install()
    ...
    strands.remove()

After ``install``, every tool call of every agent, created before or after, is recorded with the model's id, the agent's
name and its session as conversation. An interrupt is a pause, a call that a hook cancels was declined, and the results
that the model reads are recorded beside what happened.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from tooltrace.errors import ConfigError
from tooltrace.integrations.monkeypatch import MonkeyPatcher
from tooltrace.integrations.strands.execution import traced_run_tool
from tooltrace.integrations.strands.hooks import traced_callbacks

__all__ = ["FRAMEWORK", "install", "remove"]

FRAMEWORK: Final = "strands"
"""Import name of the framework."""

_patches = MonkeyPatcher()


def install() -> None:
    """Start recording; a second call has no effect.

    Raises ImportError if strands-agents is not installed, and ConfigError if its version is not supported.
    """
    try:
        import_module("strands")
    except ImportError as error:
        raise ImportError("strands-agents is not installed: pip install 'tooltrace-recorder[strands]'") from error
    try:
        _patches.make(_hook)
    except (ImportError, AttributeError, KeyError) as error:
        raise ConfigError(f"this version of strands-agents is not supported ({error}); nothing is recorded") from error


def remove() -> None:
    """Stop recording and restore the functions of Strands."""
    _patches.undo()


def _hook() -> None:
    executor: Any = import_module("strands.tools.executors._executor")
    registry: Any = import_module("strands.hooks").HookRegistry
    original = executor._run_tool  # noqa: SLF001 - no public hook runs inside the span of the tool
    if "invoke_callbacks_async" not in vars(registry):
        raise AttributeError("HookRegistry has no invoke_callbacks_async")
    _patches.put(executor, "_run_tool", lambda: traced_run_tool(original, _patches))
    _patches.wrap(registry, "invoke_callbacks_async", traced_callbacks)

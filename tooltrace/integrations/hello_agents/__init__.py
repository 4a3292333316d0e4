"""Recording of every tool call of HelloAgents' agents and registries.

::

    from tooltrace.integrations import hello_agents

    hello_agents.install()
    ...                      # agents, registries and tools as before
    hello_agents.remove()

A call is recorded once, wherever it enters: ``ToolRegistry.execute_tool``, ``Tool.run``, ``Tool.run_with_timing``,
``Tool.arun_with_timing`` (overridden ones too), or an agent's loop. The loop provides the model's own arguments and
call id, the agent's name and the session. Calls of an unknown tool, and of one whose circuit is open, are recorded as
well, and so are ``Thought`` and ``Finish``, which the model of a ReActAgent calls like any tool. A call whose arguments
are not JSON never reaches a tool: it is recorded in asynchronous runs only, where the loop reports it.

Tools receive and return the same objects. In the threads that ``arun`` uses, the call's span and ``tooltrace.context``
are current, as everywhere else.

``ToolResponse``, ``ToolErrorCode``, ``ToolRegistry`` and ``ToolStatus`` are tooltrace's own classes under the names of
the package, for code that is moved from it.
"""

from __future__ import annotations

from tooltrace.core.codes import ToolErrorCode
from tooltrace.core.response import ToolResponse, ToolStatus
from tooltrace.integrations.hello_agents.patch_points import hook
from tooltrace.integrations.monkeypatch import MonkeyPatcher
from tooltrace.tools import ToolRegistry

__all__ = ["FRAMEWORK", "ToolErrorCode", "ToolRegistry", "ToolResponse", "ToolStatus", "install", "remove"]

FRAMEWORK = "hello_agents"

_patches = MonkeyPatcher()


def install() -> None:
    """Record the calls of HelloAgents in this process; a second call has no effect.

    Raises ImportError if the package is not installed.
    """
    _patches.make(lambda: hook(_patches))


def remove() -> None:
    """Restore the package's own functions; no effect without ``install``."""
    _patches.undo()

"""HelloAgents: every tool call of its agents and registries is recorded.

::

    from tooltrace.integrations import hello_agents

    hello_agents.install()
    ...                      # agents, registries and tools as before
    hello_agents.remove()

A call is recorded once, wherever it enters: ``ToolRegistry.execute_tool``, ``Tool.run_with_timing``,
``Tool.arun_with_timing`` (overridden ones too), or an agent's loop. From the loop come the model's own
arguments and call id, the agent's name and the session. A tool that the registry does not have, and one whose
circuit is open, are on record as well, and so are ``Thought`` and ``Finish``, which the model of a ReActAgent
calls like any tool. A call whose arguments are not JSON never reaches a tool: it is seen in asynchronous
runs only, where the loop reports it.

Tools get and return the same objects. In the threads that ``arun`` uses, the call's span and
``tooltrace.context`` are current, as they are everywhere else.
"""

from __future__ import annotations

from tooltrace.integrations.hello_agents.patch_points import hook
from tooltrace.integrations.monkeypatch import MonkeyPatcher

__all__ = ["install", "remove"]

_patches = MonkeyPatcher()


def install() -> None:
    """Record the calls of HelloAgents in this process; a second time changes nothing.

    Raises ImportError where the package is not there.
    """
    _patches.make(lambda: hook(_patches))


def remove() -> None:
    """Put the package's own functions back; without ``install`` before, nothing happens."""
    _patches.undo()

"""The patches of the SDK, which the integrations of mcp and fastmcp have in common."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import RLock
from typing import Any

from tooltrace.integrations.mcp import client, server
from tooltrace.integrations.monkeypatch import MonkeyPatcher


class SharedPatches:
    """Patches that stay in place as long as one integration needs them."""

    def __init__(self, hook: Callable[[MonkeyPatcher], None]) -> None:
        self._hook = hook
        self._patcher = MonkeyPatcher()
        self._users: set[str] = set()
        self._lock = RLock()

    def acquire(self, user: str) -> None:
        """Put the patches in place for the integration ``user``."""
        with self._lock:
            self._patcher.make(lambda: self._hook(self._patcher))
            self._users.add(user)

    def release(self, user: str) -> None:
        """Restore the originals if no integration but ``user`` needs the patches."""
        with self._lock:
            self._users.discard(user)
            if not self._users:
                self._patcher.undo()


def _owner(module: str, name: str, *methods: str) -> type:
    """Return the class ``name`` of ``module``. Raises AttributeError if it does not define ``methods`` itself."""
    owner: Any = getattr(import_module(module), name)
    for method in methods:
        if method not in vars(owner):
            raise AttributeError(f"{name} has no {method}")
    return owner  # type: ignore[no-any-return]


def _hook(patcher: MonkeyPatcher) -> None:
    session = _owner("mcp.client.session", "ClientSession", "call_tool")
    runner = _owner("mcp.server.runner", "ServerRunner", "_compose_server_middleware")
    high_level = _owner("mcp.server.mcpserver", "MCPServer", "call_tool")
    patcher.wrap(session, "call_tool", client.traced_call_tool)
    patcher.wrap(runner, "_compose_server_middleware", server.traced_chain)
    patcher.wrap(high_level, "call_tool", server.traced_call_tool)


patches = SharedPatches(_hook)

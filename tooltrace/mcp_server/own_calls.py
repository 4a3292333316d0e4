"""Records of the server's own calls, so that an agent that asks about itself is visible in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from tooltrace.core.response import ToolResponse
from tooltrace.errors import UnsupportedByStore
from tooltrace.faults import suppress_faults
from tooltrace.recording.context import context
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.settings import Settings
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.store.base import StoreBackend
from tooltrace.version import __version__

SERVICE: Final = "tooltrace-mcp"
"""Name of the service in the records."""
PREFIX: Final = "tooltrace."
"""Beginning of the names of the tools in the records."""


class OwnCalls:
    """The recorder of the server's calls, in the journal of a local store that exists.

    A remote store gets its records from a collector; there is no journal here that one could read, so nothing is recorded.
    """

    def __init__(self, store: StoreBackend) -> None:
        self._store = store
        self._recorder: Recorder | None = None

    @contextmanager
    def recorded(self, tool: str, arguments: dict[str, Any], client: str) -> Iterator[dict[str, Any]]:
        """Record the call of ``tool`` in the block; the caller puts figures about the answer into the yielded dict.

        The answer itself is not recorded: it is a copy of the history.
        """
        stats: dict[str, Any] = {}
        recorder = self._opened()
        if recorder is None:
            yield stats
            return
        with context(agent=client):
            attempt = recorder.begin(_spec(tool), arguments)
        try:
            yield stats
        except BaseException as error:
            if attempt is not None:
                recorder.raised(attempt, error)
            raise
        if attempt is not None:
            recorder.returned(attempt, ToolResponse.success(stats=stats))

    def close(self) -> None:
        """Write what waits, and close the journal."""
        if self._recorder is not None:
            self._recorder.worker.close(5.0)

    def _opened(self) -> Recorder | None:
        if self._recorder is None:
            with suppress_faults("begin"):
                try:
                    path = self._store.path
                except UnsupportedByStore:
                    return None
                if self._store.exists():
                    self._recorder = Recorder(Settings(store=path, address=None, service_name=SERVICE, export=None))
        return self._recorder


@cache
def _spec(tool: str) -> ToolSpec:
    return named_spec(f"{PREFIX}{tool}", version=__version__, tool_type="extension")

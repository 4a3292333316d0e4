"""Records of the server's own calls, so that an agent that asks about itself is visible in the history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

from tooltrace.core.response import ToolResponse
from tooltrace.errors import TooltraceError
from tooltrace.faults import faults, suppress_faults
from tooltrace.recording.config import recorder_of
from tooltrace.recording.context import context
from tooltrace.recording.recorder import Recorder
from tooltrace.recording.settings import Settings
from tooltrace.recording.tool_spec import ToolSpec, named_spec
from tooltrace.store.base import StoreBackend
from tooltrace.store.files.scratch import PrivateFolder, outside_folder
from tooltrace.version import __version__

SERVICE: Final = "tooltrace-mcp"
"""Name of the service in the records."""
PREFIX: Final = "tooltrace."
"""Beginning of the names of the tools in the records."""


class OwnCalls:
    """The recorder of the server's calls: into the journal of a local store that exists, or to a store on another machine.

    Such a store gets them as from any application: the journal is their queue, here in a temporary folder, and a thread
    delivers them to the collector, or to the store where the environment names no collector. A store that refuses them
    delays no answer; what it has not accepted when the server ends is lost.
    """

    def __init__(self, store: StoreBackend) -> None:
        self._store = store
        self._recorder: Recorder | None = None
        self._queue: PrivateFolder | None = None
        self._is_refused = False

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
            # Without data: the size of the answer is known, and its content is in the store already.
            recorder.returned(attempt, ToolResponse.success(stats=stats))

    def close(self) -> None:
        """Write what waits, deliver it, and close the journal."""
        if self._recorder is not None:
            self._recorder.worker.close(5.0)
        if self._queue is not None:
            self._queue.close()

    def _opened(self) -> Recorder | None:
        if self._recorder is None and not self._is_refused:
            with suppress_faults("begin"):
                try:
                    self._recorder = self._remote() if self._store.files is None else self._local()
                except TooltraceError as error:
                    self._is_refused = True
                    message = f"tooltrace mcp does not record its own calls: {error}"
                    faults.warn_once("own_calls", message, counted=False)
        return self._recorder

    def _local(self) -> Recorder | None:
        if not self._store.exists():
            return None
        return Recorder(Settings(store=self._store.path, address=None, service_name=SERVICE, export=None))

    def _remote(self) -> Recorder:
        destination = self._store.destination()
        self._queue = outside_folder("mcp")
        path = self._queue.path / "own_calls.duckdb"
        return recorder_of(Settings(store=path, address=None, service_name=SERVICE, export=destination))


@cache
def _spec(tool: str) -> ToolSpec:
    return named_spec(f"{PREFIX}{tool}", version=__version__, tool_type="extension")

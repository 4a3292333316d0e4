"""A lease on the store that the queries of a page share, so that the store is opened once for all of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from tooltrace.store.base import QuerySession, StoreBackend

LINGER_SECONDS = 0.1
"""Seconds that a lease without queries stays open: a browser requests the panels of a page one after the other."""
UNCHANGED_LINGER_SECONDS = 1.0
"""The same while nothing is recorded, so that nothing waits to be folded: a reader scrolls to the next panel."""
LONGEST_SECONDS = 5.0
"""Seconds after which a lease accepts no further query, so that commands such as prune get their turn."""


class _Lease:
    """One open session, and the number of queries that use it."""

    def __init__(self, store: StoreBackend, state: str, threads: int, memory_mib: int) -> None:
        self.state = state
        self.users = 0
        self.retired = False
        self.is_watched = False
        """Whether a timer will close it."""
        self.idle_since = 0.0
        self._manager: AbstractContextManager[QuerySession] = store.session(threads=threads, memory_mib=memory_mib)
        self._session: QuerySession | None = None
        self._failure: BaseException | None = None
        self._opening = threading.Lock()
        self._since = time.monotonic()

    def session(self) -> QuerySession:
        """Return the session; the first caller opens it. Where that fails, the callers that waited for it get its error.

        Raises StoreError.
        """
        with self._opening:
            if self._failure is not None:
                raise self._failure
            if self._session is None:
                try:
                    self._session = self._manager.__enter__()
                except BaseException as error:
                    self._failure = error
                    raise
            return self._session

    def accepts(self, state: str, fresh_seconds: float) -> bool:
        """Whether a query on the store in this state may use the lease."""
        age = time.monotonic() - self._since
        return not self.retired and age < (LONGEST_SECONDS if state == self.state else fresh_seconds)

    def may_linger(self, state: str | None) -> bool:
        """Whether the lease, which no query uses, stays open: ``state`` is the present version of the store."""
        now = time.monotonic()
        is_young = now - self._since < LONGEST_SECONDS and now - self.idle_since < UNCHANGED_LINGER_SECONDS
        return is_young and not self.retired and state == self.state

    def close(self) -> None:
        """End the lease on the store."""
        with self._opening:
            if self._session is not None:
                self._session = None
                self._manager.__exit__(None, None, None)


class SharedLease:
    """Opens a lease where none is open, and closes it when no query has used it for a moment."""

    def __init__(self, store: StoreBackend, *, threads: int, memory_mib: int) -> None:
        self._store = store
        self._threads = threads
        self._memory_mib = memory_mib
        self._lock = threading.Lock()
        self._current: _Lease | None = None

    @contextmanager
    def session(self, state: str, fresh_seconds: float) -> Iterator[tuple[QuerySession, str]]:
        """Yield a session, and the version of the store that it reads.

        ``state``: the present version. ``fresh_seconds``: how long a lease on another version is good enough.
        """
        with self._lock:
            lease = self._current
            if lease is None or not lease.accepts(state, fresh_seconds):
                lease = self._replace(_Lease(self._store, state, self._threads, self._memory_mib))
            lease.users += 1
        try:
            yield self._opened(lease), lease.state
        finally:
            self._leave(lease)

    def retire(self) -> None:
        """Let the next query open a new lease, because something was recorded."""
        with self._lock:
            self._replace(None)

    def _replace(self, lease: _Lease | None) -> _Lease:
        """Make ``lease`` the current one. The caller holds the lock."""
        old, self._current = self._current, lease
        if old is not None:
            old.retired = True
            if not old.users:
                old.close()
        return lease  # type: ignore[return-value]  # None only for retire, which ignores it

    def _opened(self, lease: _Lease) -> QuerySession:
        try:
            return lease.session()
        except BaseException:
            with self._lock:  # the next query tries again
                lease.retired = True
            raise

    def _leave(self, lease: _Lease) -> None:
        with self._lock:
            lease.users -= 1
            if lease.users:
                return
            if lease.retired:
                lease.close()
                return
            lease.idle_since = time.monotonic()
            self._watch(lease)

    def _watch(self, lease: _Lease) -> None:
        """Let a timer close ``lease`` when it has been idle for long enough. The caller holds the lock."""
        if not lease.is_watched:
            lease.is_watched = True
            # not a daemon: the process would abort if it ended while DuckDB closes the store
            threading.Timer(LINGER_SECONDS, self._close_idle, [lease]).start()

    def _close_idle(self, lease: _Lease) -> None:
        # Outside the lock: it reads the file system, and queries must not wait for that.
        state = self._store.version()
        with self._lock:
            lease.is_watched = False
            if lease.users:
                return
            if lease.may_linger(state):
                self._watch(lease)
                return
            lease.retired = True
            lease.close()

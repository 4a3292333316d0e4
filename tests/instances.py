"""Instances of DuckDB that are used again: a connection to a new one takes five times the CPU time, 30 ms instead of 6.

``tooltrace.store.database.connection.connect`` is given a connection to an instance that nobody is connected to any more. It finds
what a new one has: an empty database in memory, nothing attached, and the settings of a new one. ``Instances.end`` compares
these. An instance is not used again after a function in Python was registered in it, or where it cannot be restored.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import duckdb
import pytest
from duckdb import DuckDBPyConnection

GLOBAL_SETTINGS = ("max_vacuum_tasks", "memory_limit", "threads", "wal_autocheckpoint", "checkpoint_on_detach")
"""Settings of a whole instance that the code sets; those of a connection end with it. ``connect`` sets the time zone."""
RESTORE = (
    "SET GLOBAL temp_directory = ''; ATTACH ':memory:' AS between; USE between; DETACH memory; ATTACH ':memory:' AS memory; USE memory; DETACH between; "
    + "; ".join(f"RESET GLOBAL {name}" for name in GLOBAL_SETTINGS)
)
SETTINGS = (
    "SELECT name, value FROM duckdb_settings() WHERE name NOT IN ('TimeZone', 'max_temp_directory_size') ORDER BY name"
)
"""The settings to compare: ``connect`` sets the time zone; the default limit of temporary files is text until the first one."""
DATABASES = "SELECT database_name, path, type, readonly FROM duckdb_databases() WHERE NOT internal"
FUNCTIONS = "SELECT count(*) FROM duckdb_functions()"


class Instance(NamedTuple):
    """An instance, and the connection of its own that keeps it open."""

    root: DuckDBPyConnection
    config: dict[str, Any]


class Instances:
    """Instances that are in use, and those that nobody is connected to."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._new: Callable[..., DuckDBPyConnection] = duckdb.connect
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._used: list[Instance] = []
        self._idle: list[Instance] = []
        os.register_at_fork(before=self.drop_idle)  # a process that forks has the threads that it would have otherwise
        patch.setattr(duckdb, "connect", self.connect)
        self._follow(patch, "close", self._sort)
        self._follow(patch, "__exit__", self._sort)
        self._follow(patch, "create_function", self._forget_used)

    def connect(self, database: Any = ":memory:", *given: Any, **options: Any) -> DuckDBPyConnection:
        """Return a connection to a new instance, or to one that is as new."""
        config = options.get("config") or {}
        if "autoload_known_extensions" not in config or database != ":memory:" or os.getpid() != self._pid:
            return self._new(database, *given, **options)
        with self._lock:
            self._sort()
            instance = next((one for one in self._idle if one.config == config), None)
            if instance is None:
                instance = Instance(self._new(database, **options), config)
            else:
                self._idle.remove(instance)
            self._used.append(instance)
            return instance.root.cursor()

    def drop_idle(self) -> None:
        """Close the instances that nobody is connected to."""
        if os.getpid() != self._pid:  # the lock may be held for ever in a process that was forked
            return
        with self._lock:
            idle, self._idle = self._idle, []
            for instance in idle:
                instance.root.close()

    def end(self) -> None:
        """Close all that nobody is connected to. Fails where one differs from a new one."""
        with self._lock:
            self._sort()
            for root, config in self._idle:
                with self._new(":memory:", config=config) as new:
                    for question in (SETTINGS, DATABASES, FUNCTIONS):
                        found = set(root.cursor().execute(question).fetchall())
                        assert not (
                            differing := found.symmetric_difference(new.cursor().execute(question).fetchall())
                        ), differing
            self.drop_idle()

    def _sort(self) -> None:
        """Restore the instances that nobody is connected to any more."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            used, self._used = self._used, []
            for instance in used:
                if instance.root.execute("FROM duckdb_connection_count()").fetchall() != [(1,)]:
                    self._used.append(instance)
                elif _restored(instance.root):
                    self._idle.append(instance)
                else:
                    instance.root.close()

    def _forget_used(self) -> None:
        if os.getpid() != self._pid:
            return
        with self._lock:
            self._used = []

    def _follow(self, patch: pytest.MonkeyPatch, name: str, step: Callable[[], None]) -> None:
        method = getattr(DuckDBPyConnection, name)

        def followed(connection: DuckDBPyConnection, *given: Any, **options: Any) -> Any:
            try:
                return method(connection, *given, **options)
            finally:
                step()

        patch.setattr(DuckDBPyConnection, name, followed)


def _restored(root: DuckDBPyConnection) -> bool:
    try:
        for (name,) in root.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall():
            if name != "memory":
                root.execute(f'DETACH "{name}"')
        root.execute(RESTORE)
    except duckdb.Error:
        return False
    return True

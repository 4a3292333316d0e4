"""The lease that the panels of a page share: how long it stays open."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.waiting import until
from tooltrace.errors import StoreMissing
from tooltrace.server import shared_lease as module
from tooltrace.server.shared_lease import SharedLease
from tooltrace.store.base import open_store
from tooltrace.store.files.file_lock import Lock
from tooltrace.store.files.paths import StorePaths

from .conftest import call, write


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "d.duckdb"
    write(path, call())
    with open_store(path).session(threads=1):  # folds: the version is stable afterwards
        pass
    yield path


def use(lease: SharedLease, store: Path) -> object:
    with lease.session(open_store(store).version() or "", 1.0) as (session, _):
        return session


def is_free(store: Path) -> bool:
    """Whether nobody holds the lock of the store."""
    lock = Lock(StorePaths.of(store))
    try:
        return lock.exclusive(0)
    finally:
        lock.release()


def test_a_lease_stays_open_between_two_panels_while_nothing_is_recorded(store, monkeypatch):
    monkeypatch.setattr(module, "UNCHANGED_LINGER_SECONDS", 1000.0)
    monkeypatch.setattr(module, "LONGEST_SECONDS", 1000.0)
    lease = SharedLease(open_store(store), threads=1, memory_mib=256)
    first = use(lease, store)
    time.sleep(3 * module.LINGER_SECONDS)
    assert use(lease, store) is first
    lease.retire()
    until(lambda: is_free(store))


def test_an_idle_lease_is_closed_when_a_call_is_recorded_so_that_it_can_be_folded(store, monkeypatch):
    monkeypatch.setattr(module, "UNCHANGED_LINGER_SECONDS", 1000.0)
    monkeypatch.setattr(module, "LONGEST_SECONDS", 1000.0)
    lease = SharedLease(open_store(store), threads=1, memory_mib=256)
    use(lease, store)
    assert not is_free(store)
    write(store, call())
    until(lambda: is_free(store))


@pytest.mark.parametrize("limit", ["UNCHANGED_LINGER_SECONDS", "LONGEST_SECONDS"])
def test_an_idle_lease_is_closed_after_a_while_although_nothing_is_recorded(store, monkeypatch, limit):
    monkeypatch.setattr(module, "UNCHANGED_LINGER_SECONDS", 1000.0)
    monkeypatch.setattr(module, "LONGEST_SECONDS", 1000.0)
    monkeypatch.setattr(module, limit, 0.0)
    lease = SharedLease(open_store(store), threads=1, memory_mib=256)
    use(lease, store)
    until(lambda: is_free(store))


def test_panels_that_wait_for_a_store_that_cannot_be_opened_all_get_its_error(tmp_path):
    missing = tmp_path / "missing.duckdb"
    lease = SharedLease(open_store(missing), threads=1, memory_mib=256)
    together = threading.Barrier(16)

    def panel(_: int) -> None:
        together.wait()
        with pytest.raises(StoreMissing):
            use(lease, missing)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(panel, range(16)))

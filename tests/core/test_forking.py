"""The registry of objects that a forked child resets."""

from __future__ import annotations

import gc
import os
import threading
from weakref import ref

import pytest

from tooltrace.core import forking


class Counter:
    def __init__(self) -> None:
        self.resets = 0

    def reset_after_fork(self) -> None:
        self.resets += 1


@pytest.mark.processes
def test_a_forked_child_resets_a_registered_object_once() -> None:
    counter = forking.register(forking.register(Counter()))
    pid = os.fork()
    if pid == 0:
        os._exit(counter.resets)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 1
    assert counter.resets == 0


def test_a_registered_object_can_be_freed() -> None:
    weak = ref(forking.register(Counter()))
    gc.collect()
    assert weak() is None


@pytest.mark.processes
def test_a_lock_that_another_thread_had_is_free_in_a_forked_child() -> None:
    lock, locked, release = forking.ForkSafeLock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock.current:
            locked.set()
            release.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    locked.wait()
    pid = os.fork()
    if pid == 0:
        os._exit(0 if lock.current.acquire(blocking=False) else 1)
    release.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0

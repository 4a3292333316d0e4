"""Functions called at the end of the process, to write queued records.

``atexit`` covers the ends that run Python: return, ``sys.exit``, an unhandled exception. A forked
multiprocessing child skips ``atexit`` and runs multiprocessing's own finalizers. A kill runs neither.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from weakref import WeakMethod

_closers: dict[int, list[WeakMethod[Callable[[], object]]]] = {}
"""Functions to call, by process id, because a forked child must not call those of its parent."""


def on_exit(close: Callable[[], object]) -> None:
    """Call the bound method ``close`` when this process ends, if its object is still alive."""
    closers = _closers.get(os.getpid())
    # a forked child has no entry for its own id: it forgets those of the parent, and registers for itself
    if closers is None:
        _closers.clear()
        closers = _closers[os.getpid()] = []
        atexit.register(_close_all)
        util = sys.modules.get("multiprocessing.util")
        if util is not None:
            # a negative priority runs last, after the finalizers of pools and queues, which may still call tools
            util.Finalize(None, _close_all, exitpriority=-100)
    # weak, so that a worker that was replaced by ``configure`` can be freed
    closers.append(WeakMethod(close))


def _close_all() -> None:
    for reference in _closers.pop(os.getpid(), []):
        close = reference()
        if close is not None:
            close()

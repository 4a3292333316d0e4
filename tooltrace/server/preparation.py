"""Preparation of the first pages, while the reader's browser starts.

Without it, the first page of each kind waits 0.03 to 0.1 s for its templates, and the first query 0.04 s for DuckDB.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import duckdb

from tooltrace.server.templates import compile_templates

PAUSE_SECONDS: Final = 0.005
"""Pause after each template, so that a page that is requested meanwhile does not wait for all of them."""


@contextmanager
def preparing() -> Iterator[None]:
    """Prepare the first pages in a thread, which ends with the block. A page that is earlier prepares what it needs."""
    stop = threading.Event()
    # not a daemon: the process would abort if it ended within DuckDB
    thread = threading.Thread(target=_prepare, args=(stop,), name="tooltrace-prepare")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _prepare(stop: threading.Event) -> None:
    duckdb.connect().close()  # the first instance of a process initializes what all share
    for _name in compile_templates():
        if stop.wait(PAUSE_SECONDS):
            return

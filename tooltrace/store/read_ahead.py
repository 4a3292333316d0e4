"""Journal lines that a thread reads and checks while the caller inserts earlier ones. Does not load DuckDB."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from queue import SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Final

from tooltrace.store.journal_scan import JournalBatch

AHEAD: Final = 2
"""Maximum batches that wait for the caller: about as many bytes as one statement inserts."""


def read_ahead(batches: Generator[JournalBatch, None, None], calls: int) -> Generator[JournalBatch, None, None]:
    """Yield ``batches``, read ahead by a thread until they have ``calls`` calls; the caller reads further ones itself.

    DuckDB does not hold Python's lock while it inserts, so the thread takes no time from the caller. The first two
    batches are read without a thread: most folds have one. An error of the thread is raised where its batch would follow.
    """
    with closing(batches):
        for number, batch in enumerate(batches):
            yield batch
            calls -= _calls(batch)
            if number == 1:
                yield from _read_in_thread(batches, calls)


def _read_in_thread(batches: Generator[JournalBatch, None, None], calls: int) -> Generator[JournalBatch, None, None]:
    reader = _Reader(batches, calls)
    try:
        reader.start()
    except RuntimeError:  # the interpreter exits, and starts no further thread
        return
    try:
        while isinstance(found := reader.found.get(), JournalBatch):
            reader.room.release()
            yield found
    finally:
        reader.end()
    if found is not None:
        raise found


class _Reader(Thread):
    """The thread that reads ``batches`` until they have ``calls`` calls; it never puts more than AHEAD unread ones."""

    def __init__(self, batches: Generator[JournalBatch, None, None], calls: int) -> None:
        super().__init__(name="tooltrace-read-ahead", daemon=True)
        self.found: SimpleQueue[JournalBatch | BaseException | None] = SimpleQueue()
        """The batches in order; then None, or the error that reading raised."""
        self.room = Semaphore(AHEAD)
        self._batches = batches
        self._calls = calls
        self._ended = Event()

    def run(self) -> None:
        read = 0
        try:
            while read < self._calls:
                # before the next batch is read: two batches wait at most, and one is being read
                self.room.acquire()
                if self._ended.is_set() or (batch := next(self._batches, None)) is None:
                    break
                read += _calls(batch)
                self.found.put(batch)
        except BaseException as error:
            self.found.put(error)
        else:
            self.found.put(None)

    def end(self) -> None:
        """End the thread, after the batch that it reads."""
        self._ended.set()
        # the thread may wait for room; nobody else may use the generator before it has ended
        self.room.release()
        self.join()


def _calls(batch: JournalBatch) -> int:
    return len(batch.lines.get("call", ()))

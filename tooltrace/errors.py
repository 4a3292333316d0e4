"""All exceptions and warnings of tooltrace.

::

    TooltraceError
    ├── ConfigError            a setting that cannot be used
    ├── LabelError             a label, or a source of labels, that cannot be used
    ├── MessageError           a message to the model without a call id, or of an unknown style
    ├── ReviewError            a person's answer that does not fit the waiting call
    ├── QueryError             a query that cannot be run
    │   ├── UnknownQuery       a query name that does not exist
    │   ├── BadParameter       a parameter that the query does not accept
    │   └── QueryCancelled     a query that was cancelled
    └── StoreError             a store that cannot be read or written
        ├── StoreMissing       a store in which nothing was recorded yet
        ├── StoreLocked        a database that another program holds open
        ├── StoreBusy          a store that another process of tooltrace uses for longer than the wait allows
        ├── StoreDamaged       a database that cannot be opened
        └── UnsupportedByStore an operation that this kind of store does not support

    UserWarning
    ├── OverlappingInstallation  another project has its files in the package's folder
    ├── UnwrittenCalls         a query result without calls that are not written yet
    └── UnreadableJournals     a query result without records that another user wrote

None of these reaches the caller of a traced tool: a fault of the recorder is counted and logged once,
not raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TooltraceError(Exception):
    """Base class of every error that tooltrace raises on purpose."""


class ConfigError(TooltraceError, ValueError):
    """A setting that cannot be used."""


class LabelError(TooltraceError, ValueError):
    """A label, or a source of labels, that cannot be used."""


class MessageError(TooltraceError, ValueError):
    """A message to the model without the id of its call, or of an unknown style."""


class ReviewError(TooltraceError, ValueError):
    """A person's answer that does not fit the waiting call, or a second answer to the same call."""


class QueryError(TooltraceError):
    """A query that cannot be run."""


class UnknownQuery(QueryError, LookupError):
    """A query name that does not exist."""


class BadParameter(QueryError, ValueError):
    """A parameter that the query does not accept, or a value that the parameter does not accept."""


class QueryCancelled(QueryError):
    """A query that was cancelled before its result was complete."""


class StoreError(TooltraceError):
    """A store that cannot be read or written."""


class StoreMissing(StoreError, FileNotFoundError):
    """A store in which nothing was recorded yet."""


class StoreLocked(StoreError):
    """A database file that another program holds open; ``pid`` is its process id where known."""

    def __init__(self, message: str, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class StoreBusy(StoreError):
    """A store whose lock another process of tooltrace held for longer than the caller may wait.

    ``pid`` is the id of that process and ``activity`` what it does ("folding journals", "reading", "compacting"); both
    are None where they are unknown.
    """

    def __init__(self, message: str, pid: int | None = None, activity: str | None = None) -> None:
        super().__init__(message)
        self.pid = pid
        self.activity = activity


class StoreDamaged(StoreError):
    """A database file that cannot be opened as a database."""


class UnsupportedByStore(StoreError, NotImplementedError):
    """An operation that this kind of store does not support; another kind may."""


class OverlappingInstallation(UserWarning):
    """Another project, which has the same import name, is installed into the folder of the package."""


class UnwrittenCalls(UserWarning):
    """A query result without some calls of this process that have ended and are not written yet."""


class UnreadableJournals(UserWarning):
    """A query result without the records of journals that this user may not read."""


def near(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'search'?`` with the names similar to ``name``, or an empty text."""
    by_fold = {each.casefold(): each for each in names}
    similar = [by_fold[each] for each in get_close_matches(name[:200].casefold(), by_fold, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""

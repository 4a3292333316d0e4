"""Everything that tooltrace raises.

::

    TooltraceError
    ├── ConfigError            a setting that cannot be used
    ├── LabelError             a label that judges nothing, or says nothing
    ├── MessageError           a message to the model that could not be told from others
    ├── ReviewError            a person's answer that does not fit the call that waits for it
    ├── QueryError             a question that cannot be put
    │   ├── UnknownQuery       no query of that name
    │   ├── BadParameter       a parameter that the query does not take
    │   └── QueryCancelled     a query that nobody waits for any more
    └── StoreError             a store that cannot be read or written
        ├── StoreMissing       nothing was recorded there yet
        ├── StoreLocked        a foreign program holds the database
        ├── StoreDamaged       the database cannot be opened
        └── UnsupportedByStore this kind of store cannot do that

    UserWarning
    └── UnwrittenCalls         an answer without calls that are not written yet

None of these reaches the caller of a traced tool: a fault of the recorder is counted, logged once,
and kept to itself.
"""

from __future__ import annotations

from collections.abc import Iterable


class TooltraceError(Exception):
    """The base of every error that tooltrace raises on purpose."""


class ConfigError(TooltraceError, ValueError):
    """A setting that cannot be used."""


class LabelError(TooltraceError, ValueError):
    """A label that judges nothing, or says nothing."""


class MessageError(TooltraceError, ValueError):
    """A message to the model that could not be told from others."""


class ReviewError(TooltraceError, ValueError):
    """A person's answer that does not fit the call that waits for it, or comes to it twice."""


class QueryError(TooltraceError):
    """A question that cannot be put."""


class UnknownQuery(QueryError, LookupError):
    """No query has that name."""


class BadParameter(QueryError, ValueError):
    """A parameter that the query does not take, or a value that the parameter does not."""


class QueryCancelled(QueryError):
    """A query that was cancelled before its result was complete."""


class StoreError(TooltraceError):
    """A store that cannot be read or written."""


class StoreMissing(StoreError, FileNotFoundError):
    """Nothing was recorded at that place yet."""


class StoreLocked(StoreError):
    """A foreign program holds the database file open."""

    def __init__(self, message: str, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class StoreDamaged(StoreError):
    """The database file cannot be opened as a database."""


class UnsupportedByStore(StoreError, NotImplementedError):
    """This kind of store cannot do what was asked; another kind may."""


class UnwrittenCalls(UserWarning):
    """An answer lacks calls of this process that have ended and are not written yet."""


def near(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'search'?`` for the names that are like ``name``, or an empty text."""
    from difflib import get_close_matches

    by_fold = {each.casefold(): each for each in names}
    found = [by_fold[each] for each in get_close_matches(name[:200].casefold(), by_fold, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, found))}?" if found else ""

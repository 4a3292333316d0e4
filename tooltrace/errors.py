"""All exceptions and warnings of tooltrace, also those of destinations (``tooltrace.exporters``).

::

    TooltraceError
    ├── ConfigError            a setting that cannot be used
    │   └── UnknownOption      an option that a tool does not have
    ├── LabelError             a label, or a source of labels, that cannot be used
    ├── MessageError           a message to the model without a call id, or of an unknown style
    ├── ReviewError            a person's answer that does not fit the waiting call
    ├── CircuitOpen            a call of a tool whose circuit breaker is open
    ├── QueryError             a query that cannot be run
    │   ├── UnknownQuery       a query name that does not exist
    │   ├── BadParameter       a parameter that the query does not accept
    │   └── QueryCancelled     a query that was cancelled
    ├── MissingPackage         a package of another project that a method needs is not installed
    ├── StoreError             a store that cannot be read or written
    │   ├── StoreMissing       a store in which nothing was recorded yet
    │   ├── StoreLocked        a database that another program holds open
    │   ├── StoreBusy          a store that another process of tooltrace uses for longer than the wait allows
    │   ├── StoreDamaged       a database that cannot be opened
    │   └── UnsupportedByStore an operation that this kind of store does not support
    ├── UnreadableFile         a file that cannot be imported
    └── ExportError            a destination that did not accept records
        ├── Unavailable        not now: the same records can be sent again later
        ├── Refused            never: the same records would be refused again
        ├── PartlyRefused      accepted, except for some records
        ├── UnknownExporter    no destination has that name
        └── MissingExtra       a package that the destination needs is not installed

    UserWarning
    ├── OverlappingInstallation  another project has its files in the package's folder
    ├── NetworkStore           a store on a network file system
    ├── UnwrittenCalls         a query result without calls that are not written yet
    └── UnreadableJournals     a query result without records that another user wrote

None of these reaches the caller of a traced tool, except CircuitOpen of a breaker that it has: a fault of the recorder is counted and logged once,
not raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "BadParameter",
    "CircuitOpen",
    "ConfigError",
    "ExportError",
    "LabelError",
    "MessageError",
    "MissingExtra",
    "MissingPackage",
    "NetworkStore",
    "OverlappingInstallation",
    "PartlyRefused",
    "QueryCancelled",
    "QueryError",
    "Refused",
    "ReviewError",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreLocked",
    "StoreMissing",
    "TooltraceError",
    "Unavailable",
    "UnknownExporter",
    "UnknownOption",
    "UnknownQuery",
    "UnreadableFile",
    "UnreadableJournals",
    "UnsupportedByStore",
    "UnwrittenCalls",
]


class TooltraceError(Exception):
    """Base class of every error that tooltrace raises on purpose.

    Raised by: nothing itself. Catch it to handle all errors below.
    """


class ConfigError(TooltraceError, ValueError):
    """A setting that cannot be used. Nothing was changed.

    Raised by: ``configure``, ``trace_tool``, ``TraceLogger``, ``rule``, ``install``, ``ToolRegistry`` and the command
    line, for an invalid value of an option.
    """


class UnknownOption(ConfigError, TypeError):
    """An option that a tool does not have, such as a misspelled one. The message suggests a name.

    Raised by: ``TraceLogger``, ``tool`` and ``ToolRegistry``.
    """


class LabelError(TooltraceError, ValueError):
    """A label or a correction, or a source of labels, that cannot be used. The message states what was recorded.

    Raised by: ``label``, ``correct``, ``outcome_from`` and ``tooltrace label``.
    """


class MessageError(TooltraceError, ValueError):
    """A message to the model without the id of its call, or of an unknown style.

    Raised by: ``ToolResponse.to_message``.
    """


class ReviewError(TooltraceError, ValueError):
    """A person's answer that does not fit the waiting call, or a second answer to the same call. Nothing was run.

    Raised by: ``ToolRegistry.resume`` and ``aresume``.
    """


class CircuitOpen(TooltraceError):
    """A call of a tool whose circuit breaker is open. The tool was not run.

    Raised by: a function of ``trace_tool(breaker=…)``.
    """

    code = "CIRCUIT_OPEN"


class QueryError(TooltraceError):
    """A query that cannot be run, such as SQL with an error or a named query with an invalid heading.

    Raised by: ``query``, ``outcome_from`` with SQL, and the methods of a store.
    """


class UnknownQuery(QueryError, LookupError):
    """A query name that does not exist. The message suggests a name.

    Raised by: ``query`` and ``tooltrace query``.
    """


class BadParameter(QueryError, ValueError):
    """A parameter that the query does not accept, or a value that the parameter does not accept.

    Raised by: ``query`` and ``tooltrace query``.
    """


class QueryCancelled(QueryError):
    """A query that was cancelled before its result was complete.

    Raised by: ``StoreBackend.query``, after its ``cancellation`` was cancelled.
    """


class MissingPackage(TooltraceError, ImportError):
    """A package of another project that a method needs is not installed. The message names it.

    Raised by: ``df()``, ``pl()`` and ``arrow()`` of a query's result.
    """


class StoreError(TooltraceError):
    """A store that cannot be read or written.

    Raised by: ``query``, ``connect``, ``outcome_from`` and every command that reads a store. Recording raises none: a
    call that cannot be written is counted.
    """


class StoreMissing(StoreError, FileNotFoundError):
    """A store in which nothing was recorded yet, or a path that is wrong.

    Raised by: ``query`` and ``connect``, except for the store into which this process records: that one is empty then.
    """


class StoreLocked(StoreError):
    """A database file that another program than tooltrace holds open; ``pid`` is its process id where known.

    Raised by: ``query``, ``connect`` and every command that reads a store. Close the other program and repeat.
    """

    def __init__(self, message: str, pid: int | None = None) -> None:
        super().__init__(message)
        self.pid = pid


class StoreBusy(StoreError):
    """A store whose lock another process of tooltrace held for longer than the caller may wait.

    ``pid`` is the id of that process and ``activity`` what it does ("folding journals", "reading", "compacting"); both
    are None where they are unknown.

    Raised by: ``query`` and ``connect`` after ``configure(wait=…)`` seconds, and commands after ``--wait``.
    ``journals_only=True`` needs no lock.
    """

    def __init__(self, message: str, pid: int | None = None, activity: str | None = None) -> None:
        super().__init__(message)
        self.pid = pid
        self.activity = activity


class StoreDamaged(StoreError):
    """A database file that cannot be opened as a database, or that is a file of another program.

    Raised by: ``query``, ``connect`` and every command that reads a store. ``tooltrace doctor`` explains it.
    """


class UnsupportedByStore(StoreError, NotImplementedError):
    """An operation that this kind of store does not support; another kind may.

    Raised by: the methods of a store, such as ``prune`` with a ClickHouse address.
    """


class UnreadableFile(TooltraceError):
    """A file that is missing, not readable, or of an unknown format.

    Raised by: the import of files; ``tooltrace import`` prints it and goes on with the next file.
    """


class ExportError(TooltraceError):
    """A destination that did not accept records. The records stay in the store.

    Raised by: nothing itself. It is the base of the errors below, with which a destination's ``send`` reports.
    """


class Unavailable(ExportError):
    """The destination does not accept records now; the same records can be sent later.

    ``retry_after``: seconds that the receiver requested to wait, if any. ``doubtful``: the data may be the cause, so
    that the records count as refused after some attempts.

    Raised by: ``Destination.send``. Delivery tries again.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, doubtful: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.doubtful = doubtful


class Refused(ExportError):
    """The destination refuses the records, and would refuse them again.

    ``whole``: independent of the records, so that fewer of them would fail too. ``count``: number of refused records,
    if not all.

    Raised by: ``Destination.send``, and the creation of a file that cannot be written.
    """

    def __init__(self, message: str, *, whole: bool = False, count: int | None = None) -> None:
        super().__init__(message)
        self.whole = whole
        self.count = count


class PartlyRefused(ExportError):
    """The destination accepted all records except ``count`` of them; it is not known which ones.

    Raised by: ``Destination.send``.
    """

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class UnknownExporter(ExportError, LookupError):
    """No destination has that name.

    Raised by: ``configure(export=…)`` and ``tooltrace export``.
    """


class MissingExtra(ExportError, ImportError):
    """A package that the destination needs is not installed. The message has the command that installs it.

    Raised by: ``configure(export=…)`` and ``tooltrace export``.
    """


class OverlappingInstallation(UserWarning):
    """Another project, which has the same import name, is installed into the folder of the package.

    Issued by: ``import tooltrace``. docs/how-to/install.md has the repair.
    """


class UnwrittenCalls(UserWarning):
    """A query result without some calls of this process that have ended and are not written yet.

    Issued by: ``query``, ``connect`` and ``outcome_from``, where the recorder makes no progress. Repeat the query after
    ``flush()`` returned True.
    """


class NetworkStore(UserWarning):
    """A store on a network file system, where the locks of one machine may have no effect on another.

    Issued by: ``query`` and ``connect``, on Linux. ``tooltrace doctor`` names the file system.
    """


class UnreadableJournals(UserWarning):
    """A query result without the records of journals that this user may not read.

    Issued by: ``query`` and ``connect``. ``tooltrace doctor`` names the files.
    """


def near(name: str, names: Iterable[str]) -> str:
    """Return ``; did you mean 'search'?`` with the names similar to ``name``, or an empty text."""
    by_fold = {each.casefold(): each for each in names}
    similar = [by_fold[each] for each in get_close_matches(name[:200].casefold(), by_fold, n=3, cutoff=0.6)]
    return f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def near_or_all(name: str, names: Iterable[str], what: str) -> str:
    """Return ``near`` of ``name``; where nothing is similar, ``; the keys are a, b``, with ``what`` as the word."""
    known = list(names)
    return near(name, known) or f"; the {what} are {', '.join(known)}"

"""Snapshots of results, in a form that rules can read later and in another thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions import reader
from tooltrace.normalize.rule import ResultView
from tooltrace.normalize.transports import completed_process, http_response
from tooltrace.redact.inspection import bases, full_name, module_of
from tooltrace.redact.snapshot import Snapshot, snapshot
from tooltrace.redact.texts import SNAPSHOT_SIZE

PAIR = "tooltrace.pair"
"""Kind of a pair ``(value, error)``.

The second item is an exception, or the first item is None and the second describes the error.
"""
_SAYING = frozenset({"message", "error", "code"})
"""Members of an object that describes an error."""
EXCEPTION = "tooltrace.exception"
"""Kind of an exception that the tool returned."""

_Form = Callable[[Any], dict[str, Any]]
_FORMS: dict[str, _Form] = {
    **dict.fromkeys(http_response.KINDS, http_response.form),
    **dict.fromkeys(completed_process.KINDS, completed_process.form),
}
"""Readers for the classes that declare no fields, by class name."""

ResultSnapshot = tuple[Snapshot, tuple[str, ...]]
"""Snapshot of a result, and the result's kinds."""


def snapshot_result(value: Any, limit: int = SNAPSHOT_SIZE) -> ResultSnapshot:
    """Copy the parts of ``value`` that can still change.

    Runs in the tool's own thread, so it is quick. Never raises. ``limit``: size limit of a field.
    """
    kind = type(value)
    kinds, form = _kinds_and_form(kind)
    # A text is immutable, so that the text itself is its snapshot.
    if issubclass(kind, str):
        return snapshot(str.__str__(value)), kinds
    # Only a plain tuple: a named tuple of two fields is a record.
    if kind is tuple and len(value) == 2:
        pair = _pair(*value)
        if pair is not None:
            return snapshot(pair, limit), (PAIR,)
    if issubclass(kind, BaseException):
        # A summary, because the exception would keep the frames of the tool alive.
        return snapshot(reader.summarize(value).as_data()), (EXCEPTION, *kinds)
    if form is not None:
        return snapshot(_filled(form, value), limit), kinds
    return snapshot(value, limit), kinds


def view_of(snap: Snapshot, kinds: tuple[str, ...] = ()) -> ResultView:
    """Return the view that the rules read, from a ``snapshot_result``."""
    if type(snap) is bytes:
        return ResultView(orjson.loads(snap), kinds)
    if type(snap) is str:
        return ResultView(_parsed(snap), kinds, snap)
    return ResultView(snap, kinds)


_classes: dict[int, tuple[type, tuple[str, ...], _Form | None]] = {}
"""Kinds and reader of each class, by ``id()`` of the class.

The class itself as a key would run the ``__hash__`` of its metaclass. The entry holds the class, so that no other class
can get the same id.
"""
_MOST = 4096


def _kinds_and_form(kind: type) -> tuple[tuple[str, ...], _Form | None]:
    """Return the kinds of a class, and the class's reader if it has one."""
    known = _classes.get(id(kind))
    if known is None:
        kinds = tuple(full_name(base) for base in bases(kind) if module_of(base) != "builtins")
        known = kind, kinds, next((_FORMS[name] for name in kinds if name in _FORMS), None)
        if len(_classes) >= _MOST:
            _classes.clear()
        _classes[id(kind)] = known
    return known[1:]


def _filled(form: _Form, value: Any) -> dict[str, Any] | None:
    try:
        return form(value)
    except BaseException as error:  # foreign attributes may do anything
        pass_on_signal(error)
        return None


def _pair(value: Any, error: Any) -> dict[str, Any] | None:
    """Return a value and its error as data; None if the second item is not an error."""
    kind = type(error)
    if issubclass(kind, BaseException):
        return {"value": value, "exception": reader.summarize(error).as_data()}
    words = error.strip() if kind is str else kind is dict and _has_text(error)
    return {"value": None, "error": error} if value is None and words else None


def _has_text(error: dict[Any, Any]) -> bool:
    """Whether a dict has a member that describes an error."""
    try:
        return any(name in error for name in _SAYING)
    except BaseException as raised:  # a key's own __eq__ may raise
        pass_on_signal(raised)
        return False


def _parsed(text: str) -> Any:
    """Return the data of a text that is a JSON object or array; else the text."""
    if text[:1] in ("{", "[") or text[:64].lstrip()[:1] in ("{", "["):
        try:
            return orjson.loads(text)
        except ValueError:
            return text
    return text

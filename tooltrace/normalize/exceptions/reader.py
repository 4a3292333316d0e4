"""Conversion of exceptions to error codes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tooltrace.core.codes import advice_for
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions.codes import CODES, UNDECIDED, ErrorClassification, wait_words
from tooltrace.normalize.exceptions.custom_readers import READERS, classify_attributes
from tooltrace.redact.inspection import bases, full_name, is_subclass, module_of, qualname
from tooltrace.redact.texts import fix_unicode
from tooltrace.redact.walk import exception_message

_DEEPEST = 6
"""Maximum depth of nested exceptions that are examined."""
_WIDEST = 32
"""Maximum number of a group's exceptions that are examined."""
_NAMELESS = frozenset({"tenacity.RetryError"})
"""Wrappers whose own message does not describe what happened."""


class ExceptionSummary(NamedTuple):
    """Summary of an exception for a record; the exception itself would keep its frames alive."""

    code: str
    type: str
    """Name of the class, with its module unless the class is a builtin."""
    message: str
    retryable: bool | None
    retry_after_s: float | None = None
    """Seconds to wait before the next attempt, if the other side said so."""

    @property
    def suggestion(self) -> str | None:
        """When to try again, in words."""
        return wait_words(self.retry_after_s)

    @property
    def stats(self) -> dict[str, Any] | None:
        """``{"retry_after_s": 30.0}``; None if the wait is unknown."""
        return None if self.retry_after_s is None else {"retry_after_s": self.retry_after_s}


def summarize(exc: BaseException, retryable: tuple[type[BaseException], ...] = ()) -> ExceptionSummary:
    """Summarize ``exc``.

    ``retryable``: classes after which the same call may succeed. Raises only what a signal raises.

    Runs the exception's own code, in the tool's thread: passing the exception to another thread would keep the tool's
    locals alive, and let them be finalized there.
    """
    message = name = class_name(exc)
    try:
        message = exception_message(exc)
        code, again, wait = classify(exc, message)
        message = _with_inner(exc, message)
    except BaseException as error:  # a foreign class may raise anything when its attributes are read
        pass_on_signal(error)
        code, again, wait = UNDECIDED
    if any(is_subclass(kind, type(exc)) for kind in retryable):
        again = True
    return ExceptionSummary(str(code), name, message, advice_for(code).retryable if again is None else again, wait)


def classify(exc: BaseException, message: str, depth: int = 0) -> ErrorClassification:
    """Classify ``exc`` by its nearest base class that a table names.

    For a class that is not a builtin, its own attributes come before the classification of the builtin that it derives
    from.
    """
    kind = type(exc)
    if issubclass(kind, BaseExceptionGroup):
        return _on_group(exc, depth)
    custom = module_of(kind) != "builtins"
    for base in bases(kind):
        module = module_of(base)
        if custom and module == "builtins":
            custom = False
            by_attributes = _by_attributes(exc)
            if by_attributes is not None:
                return _completed(by_attributes, base)
        classified = _of_base(exc, f"{module}.{qualname(base)}", message, depth)
        if classified is not None:
            return classified
    return UNDECIDED


def _of_base(exc: BaseException, name: str, message: str, depth: int) -> ErrorClassification | None:
    """Return the classification for one base class: the reader's, else that of the class."""
    reader = READERS.get(name)
    if reader is None:
        return CODES.get(name)
    try:
        classified = reader(exc, message)
    except BaseException as error:  # attributes of types that the real class never has
        pass_on_signal(error)
        classified = None
    if isinstance(classified, BaseException):
        classified = classify(classified, exception_message(classified), depth + 1) if depth < _DEEPEST else None
        classified = None if classified is UNDECIDED else classified
    return CODES.get(name) if classified is None else classified


def _by_attributes(exc: BaseException) -> ErrorClassification | None:
    try:
        return classify_attributes(exc)
    except BaseException as error:  # the attributes may be of any type
        pass_on_signal(error)
        return None


def _completed(classified: ErrorClassification, base: type) -> ErrorClassification:
    """Return ``classified``, with the code of the builtin under ``base`` if ``classified`` has no specific code.

    Some classes say whether to try again, but not what is wrong.
    """
    known = next((CODES[name] for b in bases(base) if (name := f"builtins.{qualname(b)}") in CODES), None)
    return classified if classified.code != UNDECIDED.code or known is None else classified._replace(code=known.code)


def _on_group(group: BaseException, depth: int) -> ErrorClassification:
    """Return the classification on which all of a group's exceptions agree; else UNDECIDED."""
    kinds = {classify(one, exception_message(one), depth + 1) for one in _leaves(group)} if depth < _DEEPEST else set()
    return kinds.pop() if len(kinds) == 1 else UNDECIDED


def _leaves(group: BaseException) -> list[BaseException]:
    """Return the exceptions of a group and of the groups in it, up to ``_WIDEST``."""
    leaves: list[BaseException] = []
    open_groups = [group]
    for _ in range(_WIDEST):
        if not open_groups:
            break
        for one in BaseExceptionGroup.exceptions.__get__(open_groups.pop())[:_WIDEST]:
            (open_groups if issubclass(type(one), BaseExceptionGroup) else leaves).append(one)
    return leaves[:_WIDEST]


def _with_inner(exc: BaseException, message: str) -> str:
    """Return the message, followed by that of the one inner exception if the wrapper's own says nothing."""
    kind = type(exc)
    inner: BaseException | None = None
    if issubclass(kind, BaseExceptionGroup):
        leaves = _leaves(exc)
        inner = leaves[0] if len(leaves) == 1 else None
    elif full_name(kind) in _NAMELESS:
        reader = READERS["tenacity.RetryError"]
        inner_error = reader(exc, message)
        inner = inner_error if isinstance(inner_error, BaseException) else None
    return message if inner is None else f"{message}: {class_name(inner)}: {exception_message(inner)}"


def class_name(exc: BaseException) -> str:
    """Return the name of the class in the form of OTel's ``error.type``.

    Examples: ``json.decoder.JSONDecodeError``, ``KeyError``.
    """
    kind = type(exc)
    return fix_unicode(qualname(kind) if module_of(kind) == "builtins" else full_name(kind))

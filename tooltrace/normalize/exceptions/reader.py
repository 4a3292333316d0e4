"""Exceptions to codes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tooltrace.core.codes import advice_for
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions.codes import CODES, UNDECIDED, ErrorClassification, wait_words
from tooltrace.normalize.exceptions.custom_readers import READERS, classify_own_attributes
from tooltrace.redact.inspection import bases, full_name, is_subclass, module_of, qualname
from tooltrace.redact.snapshot import exception_message, fix_unicode

_DEEPEST = 6
"""How many exceptions one inside the other are looked into."""
_WIDEST = 32
"""How many of a group's exceptions are looked at."""
_NAMELESS = frozenset({"tenacity.RetryError"})
"""Wrappers whose own message says nothing of what happened."""


class ExceptionSummary(NamedTuple):
    """What a record keeps of an exception; the object itself would keep its frames alive."""

    code: str
    type: str
    """The class, with its module unless it is a builtin."""
    message: str
    retryable: bool | None
    retry_after_s: float | None = None
    """Seconds from now, where the other side said when to come again."""

    @property
    def suggestion(self) -> str | None:
        """When to come again, in words."""
        return wait_words(self.retry_after_s)

    @property
    def stats(self) -> dict[str, Any] | None:
        """``{"retry_after_s": 30.0}``, where that is known."""
        return None if self.retry_after_s is None else {"retry_after_s": self.retry_after_s}


def summarize(exc: BaseException, retryable: tuple[type[BaseException], ...] = ()) -> ExceptionSummary:
    """What ``exc`` says. ``retryable``: classes after which the same call may succeed. Raises nothing but what a
    signal raises.

    It runs the exception's own code, in the thread of the tool: to hold the exception for another thread would keep the
    locals of the tool alive, and let them end there.
    """
    message = name = class_name(exc)
    try:
        message = exception_message(exc)
        code, again, wait = classify(exc, message)
        message = _with_inner(exc, message)
    except BaseException as error:  # what a foreign class does when it is looked at is not ours to answer for
        pass_on_signal(error)
        code, again, wait = UNDECIDED
    if any(is_subclass(kind, type(exc)) for kind in retryable):
        again = True
    return ExceptionSummary(str(code), name, message, advice_for(code).retryable if again is None else again, wait)


def classify(exc: BaseException, message: str, depth: int = 0) -> ErrorClassification:
    """By the nearest base that a table names. A class of the tool's own may say more of itself than the builtin
    that it derives from does."""
    kind = type(exc)
    if issubclass(kind, BaseExceptionGroup):
        return _on_group(exc, depth)
    own = module_of(kind) != "builtins"
    for base in bases(kind):
        module = module_of(base)
        if own and module == "builtins":
            own = False
            said = _own_words(exc)
            if said is not None:
                return _completed(said, base)
        found = _of_base(exc, f"{module}.{qualname(base)}", message, depth)
        if found is not None:
            return found
    return UNDECIDED


def _of_base(exc: BaseException, name: str, message: str, depth: int) -> ErrorClassification | None:
    """What the tables say of one base: the exception itself read first, then its class."""
    reader = READERS.get(name)
    if reader is None:
        return CODES.get(name)
    try:
        found = reader(exc, message)
    except BaseException as error:  # attributes as the real class never has them
        pass_on_signal(error)
        found = None
    if isinstance(found, BaseException):
        found = classify(found, exception_message(found), depth + 1) if depth < _DEEPEST else None
        found = None if found is UNDECIDED else found
    return CODES.get(name) if found is None else found


def _own_words(exc: BaseException) -> ErrorClassification | None:
    try:
        return classify_own_attributes(exc)
    except BaseException as error:  # its attributes may be of any kind
        pass_on_signal(error)
        return None


def _completed(said: ErrorClassification, base: type) -> ErrorClassification:
    """A class that says whether to try again, and not what is wrong, is what the builtin under it is."""
    known = next((CODES[name] for b in bases(base) if (name := f"builtins.{qualname(b)}") in CODES), None)
    return said if said.code != UNDECIDED.code or known is None else said._replace(code=known.code)


def _on_group(group: BaseException, depth: int) -> ErrorClassification:
    """What all of a group's exceptions come to, where they agree."""
    found = {classify(one, exception_message(one), depth + 1) for one in _leaves(group)} if depth < _DEEPEST else set()
    return found.pop() if len(found) == 1 else UNDECIDED


def _leaves(group: BaseException) -> list[BaseException]:
    """The exceptions of a group and of the groups in it, as many as are looked at."""
    leaves: list[BaseException] = []
    open_groups = [group]
    for _ in range(_WIDEST):
        if not open_groups:
            break
        for one in BaseExceptionGroup.exceptions.__get__(open_groups.pop())[:_WIDEST]:
            (open_groups if issubclass(type(one), BaseExceptionGroup) else leaves).append(one)
    return leaves[:_WIDEST]


def _with_inner(exc: BaseException, message: str) -> str:
    """The message, with that of the one exception inside where a wrapper's own says nothing."""
    kind = type(exc)
    inner: BaseException | None = None
    if issubclass(kind, BaseExceptionGroup):
        leaves = _leaves(exc)
        inner = leaves[0] if len(leaves) == 1 else None
    elif full_name(kind) in _NAMELESS:
        reader = READERS["tenacity.RetryError"]
        found = reader(exc, message)
        inner = found if isinstance(found, BaseException) else None
    return message if inner is None else f"{message}: {class_name(inner)}: {exception_message(inner)}"


def class_name(exc: BaseException) -> str:
    """``json.decoder.JSONDecodeError``, ``KeyError``: the form of OTel's ``error.type``."""
    kind = type(exc)
    return fix_unicode(qualname(kind) if module_of(kind) == "builtins" else full_name(kind))

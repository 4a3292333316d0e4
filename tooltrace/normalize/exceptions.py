"""Exceptions to codes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tooltrace.capture import message_of, scrub
from tooltrace.classes import bases, full_name, is_subclass, module_of, qualname
from tooltrace.codes import advice
from tooltrace.interrupts import pass_on_signal
from tooltrace.normalize.attributes import by_own_words
from tooltrace.normalize.exception_codes import CODES
from tooltrace.normalize.exception_readers import READERS
from tooltrace.normalize.verdict import UNDECIDED, Verdict, wait_words

_DEEPEST = 6
"""How many exceptions one inside the other are looked into."""
_WIDEST = 32
"""How many of a group's exceptions are looked at."""
_NAMELESS = frozenset({"tenacity.RetryError"})
"""Wrappers whose own message says nothing of what happened."""


class SeenException(NamedTuple):
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


def read(exc: BaseException, retryable: tuple[type[BaseException], ...] = ()) -> SeenException:
    """What ``exc`` says. ``retryable``: classes after which the same call may succeed. Raises nothing but what a
    signal raises.

    It runs the exception's own code, in the thread of the tool: to hold the exception for another thread would keep the
    locals of the tool alive, and let them end there.
    """
    message = name = class_name(exc)
    try:
        message = message_of(exc)
        code, again, wait = verdict_on(exc, message)
        message = _with_inner(exc, message)
    except BaseException as error:  # what a foreign class does when it is looked at is not ours to answer for
        pass_on_signal(error)
        code, again, wait = UNDECIDED
    if any(is_subclass(kind, type(exc)) for kind in retryable):
        again = True
    return SeenException(str(code), name, message, advice(code).retryable if again is None else again, wait)


def verdict_on(exc: BaseException, message: str, depth: int = 0) -> Verdict:
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


def _of_base(exc: BaseException, name: str, message: str, depth: int) -> Verdict | None:
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
        found = verdict_on(found, message_of(found), depth + 1) if depth < _DEEPEST else None
        found = None if found is UNDECIDED else found
    return CODES.get(name) if found is None else found


def _own_words(exc: BaseException) -> Verdict | None:
    try:
        return by_own_words(exc)
    except BaseException as error:  # its attributes may be of any kind
        pass_on_signal(error)
        return None


def _completed(said: Verdict, base: type) -> Verdict:
    """A class that says whether to try again, and not what is wrong, is what the builtin under it is."""
    known = next((CODES[name] for b in bases(base) if (name := f"builtins.{qualname(b)}") in CODES), None)
    return said if said.code != UNDECIDED.code or known is None else said._replace(code=known.code)


def _on_group(group: BaseException, depth: int) -> Verdict:
    """What all of a group's exceptions come to, where they agree."""
    found = {verdict_on(one, message_of(one), depth + 1) for one in _leaves(group)} if depth < _DEEPEST else set()
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
    return message if inner is None else f"{message}: {class_name(inner)}: {message_of(inner)}"


def class_name(exc: BaseException) -> str:
    """``json.decoder.JSONDecodeError``, ``KeyError``: the form of OTel's ``error.type``."""
    kind = type(exc)
    return scrub(qualname(kind) if module_of(kind) == "builtins" else full_name(kind))

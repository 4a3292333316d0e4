"""Conversion of exceptions to error codes."""

from __future__ import annotations

from typing import Any, NamedTuple

from tooltrace.core.codes import ToolErrorCode
from tooltrace.faults import pass_on_signal
from tooltrace.normalize.exceptions.codes import CODES, UNDECIDED, ErrorClassification, wait_words
from tooltrace.normalize.exceptions.custom_readers import COMMON_ATTRIBUTES, READERS, Reader, classify_attributes
from tooltrace.redact.inspection import (
    ABSENT,
    bases,
    class_attribute,
    full_name,
    instance_attributes,
    module_of,
    qualname,
)
from tooltrace.redact.texts import fix_unicode
from tooltrace.redact.walk import exception_message

_DEEPEST = 6
"""Maximum depth of nested exceptions that are examined."""
_MOST_FRAMES = 200
"""Maximum number of an exception's frames that are examined."""
_WIDEST = 32
"""Maximum number of a group's exceptions that are examined."""
_TIMEOUT = ErrorClassification(ToolErrorCode.TIMEOUT)
_NAMELESS = frozenset({"tenacity.RetryError"})
"""Wrappers whose own message does not describe what happened."""


class ExceptionSummary(NamedTuple):
    """Summary of an exception for a record; the exception itself would keep its frames alive."""

    code: str
    type: str
    """Name of the class, with its module unless the class is a builtin."""
    message: str
    retryable: bool | None
    """Whether the same call may succeed later, where the exception or the tool's author states it."""
    retry_after_s: float | None = None
    """Seconds to wait before the next attempt, if the other side said so."""
    message_size: int | None = None
    """Bytes of the whole message, where it was cut."""

    def as_data(self) -> dict[str, Any]:
        """Return the summary as the data of a result."""
        return dict(zip(self._fields[:-1], self, strict=False))

    @property
    def suggestion(self) -> str | None:
        """When to try again, in words."""
        return wait_words(self.retry_after_s)

    @property
    def stats(self) -> dict[str, Any] | None:
        """``{"retry_after_s": 30.0}``; None if the wait is unknown."""
        return None if self.retry_after_s is None else {"retry_after_s": self.retry_after_s}


def summarize(exc: BaseException) -> ExceptionSummary:
    """Summarize ``exc``. Raises only what a signal raises.

    Runs the exception's own code, in the tool's thread: passing the exception to another thread would keep the tool's
    locals alive, and let them be finalized there.
    """
    plan = plan_of(type(exc))
    message = name = plan.name
    size = None
    try:
        message, size = exception_message(exc)
        code, again, wait = _or_timeout(classify(exc, message), exc)
        if plan.is_group or plan.is_nameless:
            message = _with_inner(exc, plan, message)
    except BaseException as error:  # a foreign class may raise anything when its attributes are read
        pass_on_signal(error)
        code, again, wait = UNDECIDED
    if again is None and wait is not None:
        again = True  # the other side said when to come back
    # half the time of the class's own
    return tuple.__new__(ExceptionSummary, (str(code), name, message, again, wait, size))


def classify(exc: BaseException, message: str, depth: int = 0) -> ErrorClassification:
    """Classify ``exc`` by its nearest base class that a table names.

    For a class that is not a builtin, its own attributes come before the classification of the builtin that it derives
    from.
    """
    plan = plan_of(type(exc))
    if plan.is_group:
        return _on_group(exc, depth)
    for step in plan.steps:
        if step.is_builtin:
            # most exceptions have no attributes but their arguments: then the common ones are not looked up one by one
            by_attributes = _by_attributes(exc) if plan.has_attributes or instance_attributes(exc) else None
            classified = None if by_attributes is None else _completed(by_attributes, step.base)
        else:
            classified = _of_step(exc, step, message, depth)
        if classified is not None:
            return classified
    return UNDECIDED


class _BaseReading(NamedTuple):
    """The reading of an exception by one of its base classes."""

    base: type
    is_builtin: bool = False
    """Whether this is the nearest builtin of a class that is not builtin: attributes of the exception come first."""
    reader: Reader | None = None
    known: ErrorClassification | None = None


class ClassPlan(NamedTuple):
    """How the exceptions of a class are read. The class stays referenced, so that no other class can get its id."""

    kind: type
    name: str
    """Name in the form of OTel's ``error.type``."""
    is_group: bool
    is_nameless: bool
    has_attributes: bool
    """Whether the class itself may provide an attribute in common use."""
    has_own_links: bool
    """Whether the class itself may provide the traceback, the cause or the context of its exceptions."""
    steps: tuple[_BaseReading, ...]


_plans: dict[int, ClassPlan] = {}
"""Plans by the ``id`` of the class: a lookup by the class itself would run the ``__hash__`` of its metaclass."""
_MAX_PLANS = 4096
_get_attribute = class_attribute(BaseException, "__getattribute__")
_LINKS = {name: class_attribute(BaseException, name) for name in ("__traceback__", "__cause__", "__context__", "__suppress_context__")}  # fmt: skip
"""The attributes by which an exception refers to others, and to its frames."""
_cause_of: Any = BaseException.__dict__["__cause__"].__get__
_context_of: Any = BaseException.__dict__["__context__"].__get__
_traceback_of: Any = BaseException.__dict__["__traceback__"].__get__


def plan_of(kind: type) -> ClassPlan:
    """Return the plan of a class, which is made once."""
    known = _plans.get(id(kind))
    if known is None:
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        known = _plans[id(kind)] = _make_plan(kind)
    return known


def _make_plan(kind: type) -> ClassPlan:
    custom = module_of(kind) != "builtins"
    steps = []
    # From the class itself to its bases: the nearest class in a table is the most specific.
    for base in bases(kind):
        module = module_of(base)
        if custom and module == "builtins":
            custom = False
            steps.append(_BaseReading(base, is_builtin=True))
        name = f"{module}.{qualname(base)}"
        reader, code = READERS.get(name), CODES.get(name)
        if reader is not None or code is not None:
            steps.append(_BaseReading(base, reader=reader, known=code))
    computes_attributes = (
        class_attribute(kind, "__getattr__") is not ABSENT
        or class_attribute(kind, "__getattribute__") is not _get_attribute
    )
    return ClassPlan(
        kind,
        fix_unicode(qualname(kind) if module_of(kind) == "builtins" else full_name(kind)),
        is_group=issubclass(kind, BaseExceptionGroup),
        is_nameless=full_name(kind) in _NAMELESS,
        has_attributes=computes_attributes
        or any(class_attribute(kind, name) is not ABSENT for name in COMMON_ATTRIBUTES),
        has_own_links=class_attribute(kind, "__getattribute__") is not _get_attribute
        or any(class_attribute(kind, name) is not known for name, known in _LINKS.items()),
        steps=tuple(steps),
    )


def _of_step(exc: BaseException, step: _BaseReading, message: str, depth: int) -> ErrorClassification | None:
    """Return the classification for one base class: the reader's, else that of the class."""
    if step.reader is None:
        return step.known
    try:
        classified = step.reader(exc, message)
    except BaseException as error:  # attributes of types that the real class never has
        pass_on_signal(error)
        classified = None
    if isinstance(classified, BaseException):
        classified = classify(classified, exception_message(classified).text, depth + 1) if depth < _DEEPEST else None
        # A cause that gives no indication must not hide what the class of the wrapper says.
        classified = None if classified is UNDECIDED else classified
    return step.known if classified is None else classified


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
    kinds = (
        {_or_timeout(classify(one, exception_message(one).text, depth + 1), one) for one in _leaves(group)}
        if depth < _DEEPEST
        else set()
    ) - {UNDECIDED}
    return kinds.pop() if len(kinds) == 1 else UNDECIDED


def _or_timeout(classified: ErrorClassification, exc: BaseException) -> ErrorClassification:
    """Return TIMEOUT where an exception that led to ``exc`` is a timeout, whatever the class of ``exc``."""
    if classified is UNDECIDED and _names_timeout(plan_of(type(exc)).name):
        return _TIMEOUT
    following: BaseException | None = exc
    for _ in range(_DEEPEST):
        assert following is not None
        before, following = following, _cause_of(following) or _context_of(following)
        if following is None or (_cause_of(before) is None and not _was_handled_in(before, following)):
            break
        if _on_chain(following).code == ToolErrorCode.TIMEOUT:
            return classified if classified.code == ToolErrorCode.TIMEOUT else _TIMEOUT
    return classified


def _names_timeout(name: str) -> bool:
    last = name.rpartition(".")[2].lower()
    return "timeout" in last or "timedout" in last


def _on_chain(exc: BaseException) -> ErrorClassification:
    """Return the classification of ``exc``, without that of exceptions which it wraps."""
    return _on_group(exc, _DEEPEST - 1) if plan_of(type(exc)).is_group else classify(exc, "", _DEEPEST)


def _was_handled_in(exc: BaseException, context: BaseException) -> bool:
    """Whether a frame that ``exc`` left was handling ``context``.

    An agent may call a tool while it handles the exception of another call: that one is the context of what the tool
    raises too, but no cause of it.
    """
    handler = _traceback_of(context)
    trace = _traceback_of(exc)
    for _ in range(_MOST_FRAMES):
        if handler is None or trace is None:
            return False
        if trace.tb_frame is handler.tb_frame:
            return True
        trace = trace.tb_next
    return False


def _leaves(group: BaseException) -> list[BaseException]:
    """Return the exceptions of a group and of the groups in it, up to ``_WIDEST``."""
    leaves: list[BaseException] = []
    open_groups = [group]
    # A bound instead of recursion, because a group can be nested as deep as the tool likes.
    for _ in range(_WIDEST):
        if not open_groups:
            break
        for one in BaseExceptionGroup.exceptions.__get__(open_groups.pop())[:_WIDEST]:
            (open_groups if issubclass(type(one), BaseExceptionGroup) else leaves).append(one)
    return leaves[:_WIDEST]


def _with_inner(exc: BaseException, plan: ClassPlan, message: str) -> str:
    """Return the message, followed by that of the one inner exception if the wrapper's own says nothing."""
    inner: BaseException | None = None
    if plan.is_group:
        leaves = _leaves(exc)
        inner = leaves[0] if len(leaves) == 1 else None
    else:
        reader = READERS["tenacity.RetryError"]
        inner_error = reader(exc, message)
        inner = inner_error if isinstance(inner_error, BaseException) else None
    return message if inner is None else f"{message}: {class_name(inner)}: {exception_message(inner).text}"


def class_name(exc: BaseException) -> str:
    """Return the name of the class in the form of OTel's ``error.type``.

    Examples: ``json.decoder.JSONDecodeError``, ``KeyError``.
    """
    return plan_of(type(exc)).name

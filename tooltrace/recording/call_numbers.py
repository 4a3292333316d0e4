"""The call that an attempt belongs to, and its number: decided here for attempts of this process and for imported ones.

An id does not name one call for ever: some models number their calls anew in each response, and some programs take the
address of an object. An attempt that is stated to be one of a call (by ``context``, a retry library, an answer to a pause)
always is. Otherwise the same id is a further attempt only where a retry is plausible: the arguments are equal, and the
attempt before failed, was cut off or did not run; or it was paused, because an answer may change the arguments.
Everything else is a new call, which has the span id of its first attempt beside the id.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import ref

from msgspec import Struct

from tooltrace.core.lru import LruMap
from tooltrace.faults import pass_on_signal
from tooltrace.recording.model_messages import has_failed
from tooltrace.recording.reading import ResponseSnapshot, read_response
from tooltrace.redact.snapshot import CUT, Snapshot, snapshot

if TYPE_CHECKING:
    from tooltrace.core.records import ToolCall
    from tooltrace.recording.attempt import Attempt

REUSED_ID: Final = "reused_id"
"""The flag of attempts whose call id had named another call before."""
_FAILED: Final = frozenset({"raised", "cancelled", "abandoned", "lost", "refused"})
"""Endings after which the same call with the same arguments is a retry."""


class KnownCall(NamedTuple):
    """A call that the caller knows: the number of the attempt that begins, and the call's ``first_span_id``."""

    number: int
    first_span_id: str | None = None


class CallUse(Struct, eq=False, gc=False):  # without cycles: it refers to the attempt weakly
    """The call that an id names now, and the state of its last attempt."""

    arguments: int | None
    """Digest of the arguments of its first attempt; None where they are unknown."""
    first_span_id: str | None = None
    """Span id of its first attempt, where the id had named another call before."""
    number: int = 0
    """Number of its last attempt."""
    latest: int = 0
    """Span id of the attempt that began last."""
    paused: bool = False
    failed: bool | None = False
    """Whether the last attempt failed; None where its result has not been read yet. False while it runs."""
    unread: ref[Attempt] | None = None
    """The last attempt, where its result has not been read yet."""

    def is_retried_by(self, arguments: int | None) -> bool:
        """Whether the same id with these ``arguments`` is a further attempt of this call."""
        return self.paused or (self._agrees_with(arguments) and self._has_failed())

    def ended(self, attempt: Attempt) -> None:
        """Note how ``attempt`` of this process ended; its result is read only where another attempt asks for it."""
        if attempt.span_id != self.latest:
            return
        found, returned = attempt.result, attempt.ending == "returned" and attempt.error is None
        if returned and (attempt.stream is not None or not isinstance(found, ResponseSnapshot)):
            self.failed, self.unread = None, ref(attempt)
        else:
            status = found.status if returned and isinstance(found, ResponseSnapshot) else None
            self._settle(attempt.ending, attempt.number, status)

    def recorded(self, call: ToolCall) -> None:
        """Note how the attempt of the record ``call`` ended."""
        if int(call.span_id, 16) == self.latest:
            self._settle(call.ending, call.attempt, call.status)

    def _settle(self, ending: str | None, number: int, status: str | None) -> None:
        if ending in ("paused", "refused"):
            self.number = number - 1  # the execution that follows has the same number
        self.paused, self.unread = ending == "paused", None
        self.failed = ending in _FAILED or status == "error"

    def _agrees_with(self, arguments: int | None) -> bool:
        return self.arguments == arguments or self.arguments is None or arguments is None

    def _has_failed(self) -> bool:
        if self.failed is None and self.unread is not None:
            attempt = self.unread()
            # its record was made, where it is gone
            self.failed = has_failed(f"{self.latest:016x}") if attempt is None else reads_as_failure(attempt)
            self.unread = None
        return bool(self.failed)


class CallNumbers(LruMap[CallUse]):
    """The calls that ids name now, by keys that contain the id.

    An id that is used again after ``capacity`` or more others begins at 1 again.
    """

    def begin(
        self,
        key: Hashable,
        span_id: int,
        arguments: int | None,
        *,
        stated: bool = False,
        known: KnownCall | None = None,
        number: int | None = None,
    ) -> tuple[CallUse, int]:
        """Return the call of the attempt ``span_id``, which begins now, and the attempt's number.

        It is the call that the id names now, or a new one. ``arguments``: see :func:`digest`. ``stated``: whether it is known to
        be the call that the id names now. ``known``: the call, where the caller knows it. ``number``: number of the attempt;
        default: counted.
        """
        before, first_span_id = self._items.get(key), None
        if known is not None:
            number, first_span_id = known
            if before is not None and before.first_span_id != first_span_id:
                before = None
        # without the lock, because a rule of a user may read the result
        elif before is not None and not _is_again(before, arguments, stated=stated, number=number):
            before, first_span_id = None, f"{span_id:016x}"
        with self._lock:
            if before is None and stated:
                before = self._items.get(key)  # another thread may have begun the call meanwhile
            if before is None:
                use = CallUse(arguments, first_span_id, number or 1, span_id)
                self.put(key, use)
                return use, use.number
            before.number = number = before.number + 1 if number is None else number
            before.latest, before.paused, before.failed, before.unread = span_id, False, False, None
            self.put(key, before)
        return before, number


def _is_again(before: CallUse, arguments: int | None, *, stated: bool, number: int | None) -> bool:
    """Whether an attempt is of the call ``before``: two attempts with one stated ``number`` are of two calls."""
    if number is not None and not stated:
        return number != before.number
    return stated or before.is_retried_by(arguments)


def digest(arguments: Mapping[str, Any] | None, taken: Snapshot = None) -> int | None:
    """Return a number to compare arguments by; None where they are unknown.

    ``taken``: their snapshot, if there is one. Python's hash of bytes is keyed with a secret of the process, and the number
    is never written.
    """
    if arguments is None:
        return None
    if type(taken) is not bytes or taken.endswith(CUT):  # not captured, or cut at a limit that the user chose
        taken = snapshot(arguments)
    return hash(taken)


def reads_as_failure(attempt: Attempt) -> bool:
    """Whether the rules read the result of the ended ``attempt`` as an error."""
    try:
        response = read_response(attempt)
    except BaseException as error:  # a rule of a user
        pass_on_signal(error)
        return False
    return response is not None and response.status == "error"

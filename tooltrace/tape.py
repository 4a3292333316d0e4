"""What a stream gave: its items as far as there is room, and whose time it took."""

from __future__ import annotations

from typing import Any

import orjson
from opentelemetry.context.context import Context

from tooltrace.attempt import Attempt
from tooltrace.capture import CUT, scrub, snapshot
from tooltrace.guard import fault, guarded
from tooltrace.interrupts import pass_on_signal
from tooltrace.otel.internals import current_context
from tooltrace.recorder import Recorder, span_context
from tooltrace.response import is_response


class Tape:
    """What a stream gave, and how long it took, and how long its consumer held it."""

    __slots__ = (
        "attempt",
        "closing",
        "count",
        "first_ns",
        "held_ns",
        "last",
        "parts",
        "recorder",
        "room",
        "tool_ns",
    )

    def __init__(self, recorder: Recorder, attempt: Attempt) -> None:
        self.recorder = recorder
        self.attempt = attempt
        self.parts: list[Any] = []
        self.count = 0
        self.room = attempt.settings.field_limit if attempt.full else 0
        """How much more is kept; below zero by what the stream gave beyond."""
        self.last: Any = None
        self.first_ns: int | None = None
        self.tool_ns = 0
        self.held_ns = 0
        self.closing = False
        """True once the consumer has closed the stream."""

    def context(self) -> Context:
        """The context that the tool's code starts in."""
        return span_context(self.attempt)

    def take(self, item: Any) -> None:
        """The tool gave ``item``."""
        if not self.count:
            self.first_ns = self.tool_ns
        self.count += 1
        if type(item) is str:
            if self.room > 0:
                self.parts.append(item)
            self.room -= len(item)
            self.last = None
        else:
            self.room = self.other(item, self.room)

    def other(self, item: Any, room: int) -> int:
        """The tool gave ``item``, which is no text. Keep it where there is ``room``; how much is left then."""
        self.last = item if is_response(item) else None
        if room <= 0:
            return room
        try:
            part = snapshot(item, self.attempt.settings.field_limit)
        except BaseException as error:
            pass_on_signal(error)
            fault("record", lost=0)
            return room
        self.parts.append(part)
        return room - (len(part) if type(part) is bytes else 8)

    def returned(self, value: Any) -> None:
        """The tool's code came to its end, with ``value``."""
        if self.closing:
            self.raised(GeneratorExit())
            return
        self._times()
        answer = next((x for x in (value, self.last) if is_response(x)), None)
        if answer is None and self.count:
            self._keep_items()
            self.recorder.streamed(self.attempt)
        else:
            self.recorder.returned(self.attempt, value if answer is None else answer, duration_ns=self.tool_ns)

    def raised(self, error: BaseException) -> None:
        """``error`` left the tool, or the consumer dropped the stream."""
        self._times()
        if self.count:
            self._keep_items()
        self.recorder.raised(self.attempt, error, duration_ns=self.tool_ns)

    def _times(self) -> None:
        attempt = self.attempt
        attempt.first_item_ns = self.first_ns
        attempt.consumer_ns = self.held_ns
        attempt.duration_ns = self.tool_ns
        attempt.items = self.count

    def _keep_items(self) -> None:
        if not self.attempt.full:
            return
        with guarded("record"):
            parts = self.parts
            if all(type(part) is str for part in parts):
                self.attempt.text = "".join(parts)
            self.attempt.value = _array(parts)
            self.attempt.stream_size = self.attempt.settings.field_limit - self.room


class BlankTape(Tape):
    """For a stream that cannot be recorded: it runs all the same."""

    __slots__ = ()

    def __init__(self) -> None:
        self.parts = []
        self.count = self.room = self.tool_ns = self.held_ns = 0

    def context(self) -> Context:
        return current_context()

    def take(self, item: Any) -> None:
        """Keep nothing."""

    def other(self, item: Any, room: int) -> int:  # noqa: ARG002
        """Keep nothing."""
        return room

    def returned(self, value: Any) -> None:
        """Record nothing."""

    def raised(self, error: BaseException) -> None:
        """Record nothing."""


def _array(parts: list[Any]) -> bytes:
    """Snapshots as one JSON array."""
    items = [orjson.Fragment(part) if type(part) is bytes else part for part in parts]
    cut = CUT if any(type(part) is bytes and part.endswith(CUT) for part in parts) else b""
    try:
        return orjson.dumps(items) + cut
    except TypeError:  # lone surrogates
        return orjson.dumps([scrub(item) if type(item) is str else item for item in items]) + cut

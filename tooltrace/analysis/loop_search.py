"""Loops in the calls of one agent in one conversation: what repeats without progress.

A *lane* is a sequence of rounds that may be a loop: calls of a tool with equal arguments and equal results, calls with equal
errors, or the rounds of an alternation. Its rounds that follow each other, ``k`` within the window of time, are a loop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tooltrace.analysis.normal_forms import is_address, number_members, numberless_form, only_waits

Key = Any
"""What is compared for equality; None is equal to nothing."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call, over its attempts; what is compared is that of the last one."""

    tool: str
    call_id: str
    span_id: str
    started_us: int
    ended_us: int
    ms: float
    tokens: float | None
    arguments: str | None
    result: tuple[str, ...]
    """The answer as recorded."""
    asked: Key
    answered: Key
    error: Key
    says_only_done: bool = False
    place: int = 0
    """Position among the calls of the agent in the conversation, from 1."""
    requested: Key = field(init=False)
    shape: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.shape = numberless_form(self.arguments)
        self.requested = self.asked

    @property
    def request(self) -> Key:
        """The tool and the arguments."""
        return self.tool, self.requested

    @property
    def step(self) -> Key:
        """What is compared in an alternation; a call without a known answer is only itself."""
        return self.span_id if self.answered is None else (self.tool, self.requested, self.answered)


@dataclass(frozen=True, slots=True)
class Loop:
    """Rounds that follow each other within the window: each has one call, or as many as take turns."""

    kind: str
    rounds: tuple[tuple[Call, ...], ...]

    @property
    def calls(self) -> list[Call]:
        """The calls of all rounds."""
        return [call for calls in self.rounds for call in calls]

    @property
    def length(self) -> int:
        """Calls of one round."""
        return len(self.rounds[0])

    @property
    def first_place(self) -> int:
        """Place of the first call."""
        return self.rounds[0][0].place

    @property
    def last(self) -> Call:
        """The last call."""
        return self.rounds[-1][-1]

    @property
    def tools(self) -> str:
        """The tools of a round, in order."""
        return ", ".join(call.tool for call in self.rounds[0])


def find_loops(calls: list[Call], k: int, window_s: int) -> list[Loop]:
    """Return the loops of ``calls``, of one agent in one conversation, in the order of their starts.

    Left out are those inside of an alternation, or of a loop of errors of the same tool, that began no later.
    """
    calls.sort(key=lambda call: (call.started_us, call.span_id))
    for place, call in enumerate(calls, 1):
        call.place = place
    _leave_counters_out(calls, k)
    found = [
        loop
        for kind, lane in (*_alternations(calls, k), *_errors(calls), *_repeats(calls))
        for loop in _loops_of(kind, lane, k, window_s * 1_000_000)
        if kind != "error" or len({call.requested for call in loop.calls} - {None}) != 1
    ]
    return [loop for loop in found if not any(_is_inside(loop, other) for other in found)]


def _is_inside(loop: Loop, other: Loop) -> bool:
    """Return whether ``other``, an alternation or a loop of errors, began no later than ``loop`` and ended no earlier."""
    if other.first_place > loop.first_place:
        return False
    if other.kind == "alternation":
        return loop.kind != "alternation" and other.last.place + other.length - 1 >= loop.last.place
    return (
        other.kind == "error"
        and loop.kind in ("repeat", "poll")
        and other.tools == loop.tools
        and other.last.place >= loop.last.place
    )


def _runs(calls: Iterable[Call], key: str) -> Iterator[list[Call]]:
    """Yield the runs of successive calls with equal, known values of the attribute ``key``."""
    for value, run in groupby(calls, key=lambda call: getattr(call, key)):
        if value is not None:
            yield list(run)


def _errors(calls: list[Call]) -> Iterator[tuple[str, list[tuple[Call, ...]]]]:
    """Yield the runs of calls of a tool that had no other result than one kind of error."""
    of_tool: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        of_tool[call.tool].append(call)
    for lane in of_tool.values():
        for run in _runs(lane, "error"):
            yield "error", [(call,) for call in run]


def _repeats(calls: list[Call]) -> Iterator[tuple[str, list[tuple[Call, ...]]]]:
    """Yield the runs of calls with equal arguments and results; before a later, other result the agent was polling."""
    of_request: dict[Key, list[Call]] = defaultdict(list)
    for call in calls:
        if call.answered is not None and not only_waits(call.tool):
            of_request[call.request].append(call)
    for lane in of_request.values():
        runs = list(_runs(lane, "answered"))
        for run in runs:
            yield "repeat" if run is runs[-1] else "poll", [(call,) for call in run]


def _alternations(calls: list[Call], k: int) -> Iterator[tuple[str, list[tuple[Call, ...]]]]:
    """Yield the rounds of two or three calls that take turns, each with equal arguments and results, ``k`` times."""

    def period(at: int) -> int:
        call, before = calls[at], calls[max(at - 3, 0) : at][::-1]
        if len(before) >= 2 and call.step == before[1].step and call.request != before[0].request:
            return 2
        is_third = len(before) == 3 and call.step == before[2].step
        return 3 if is_third and call.request not in (before[0].request, before[1].request) else 0

    for size, run in groupby(range(len(calls)), key=period):
        places = list(run)
        if size and len(places) >= size * (k - 1):
            turns = calls[places[0] - size : places[-1] + 1]
            yield "alternation", [tuple(turns[at : at + size]) for at in range(0, len(turns) - size + 1, size)]


def _loops_of(kind: str, lane: list[tuple[Call, ...]], k: int, window_us: int) -> Iterator[Loop]:
    """Yield the loops of one lane. Of calls that ran at the same time one counts."""
    rounds, ended_us = [], -1
    for calls in lane:
        if kind == "alternation" or ended_us < 0 or calls[0].started_us >= ended_us:
            rounds.append(calls)
        ended_us = max(ended_us, *(call.ended_us for call in calls))
    starts = [min(call.started_us for call in calls) for calls in rounds]
    inside = [False] * len(rounds)
    for at in range(k - 1, len(rounds)):
        if starts[at] - starts[at - k + 1] <= window_us:
            inside[at - k + 1 : at + 1] = [True] * k
    for is_loop, part in groupby(zip(inside, rounds, strict=True), key=lambda pair: pair[0]):
        if is_loop:
            yield Loop(kind, tuple(calls for _, calls in part))


def _leave_counters_out(calls: list[Call], k: int) -> None:
    """Set what each call requested: its arguments without counters.

    A counter is a whole number that counts up by 1, from 0 or 1, over ``k`` or more successive calls of the tool whose other
    arguments and results are equal, unless its name addresses something.
    """
    numbers: dict[Key, list[tuple[int, Call]]] = defaultdict(list)
    for call in calls:
        for name, number in _counting_members(call):
            numbers[call.tool, call.shape, name].append((number, call))
    counters: dict[str, set[str]] = defaultdict(set)
    for (_, _, name), counted in numbers.items():
        for run in _counted_up(counted):
            if len(run) >= k and run[0][0] <= 1:
                for _, call in run:
                    counters[call.span_id].add(name)
    for call in calls:
        if names := counters.get(call.span_id):
            rest = sorted(member for member in number_members(call.arguments or "") if member[0] not in names)
            call.requested = (call.shape, *rest)


def _counting_members(call: Call) -> list[tuple[str, int]]:
    """Return the numbers of the arguments that may be counters."""
    if call.shape is None or call.answered is None or call.says_only_done:
        return []
    members = number_members(call.arguments or "")
    times = Counter(name for name, _ in members)
    return [(name, number) for name, number in members if times[name] == 1 and not is_address(name)]


def _counted_up(numbers: list[tuple[int, Call]]) -> Iterator[list[tuple[int, Call]]]:
    """Yield the runs of successive calls whose number counts up by 1 while the answer is equal."""
    run: list[tuple[int, Call]] = []
    for number, call in numbers:
        if run and (number != run[-1][0] + 1 or call.answered != run[-1][1].answered):
            yield run
            run = []
        run.append((number, call))
    if run:
        yield run

"""Layout of the steps of a trace or a conversation: a tree by parent on one time axis, with the retries of a call as a group.

A step is an attempt of a tool or a span of another library: a row of the query ``steps``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final

from tooltrace.server.waterfall import MAX_DURATION_MS

PAUSE = timedelta(minutes=5)
"""A longer pause between two calls without a surrounding span begins another turn."""
MAX_DEPTH = 30
"""Maximum depth that is shown; deeper steps are shown at this depth."""
NARROWEST = 0.3
"""Width of the bar of a step that took no time, in percent of the axis."""

Row = dict[str, Any]
Key = tuple[str, str]
"""Trace id and span id of a step."""


@dataclass(slots=True, eq=False)
class StepNode:
    """A step, or a call with several attempts, which are its children."""

    row: Row
    """The step; of a group, its last attempt."""
    started: datetime
    ended: datetime
    attempts: list[StepNode] = field(default_factory=list)
    """The attempts of a call that was retried; empty for a step."""
    children: list[StepNode] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepBar:
    """One step or attempt on the axis, in percent."""

    left: float
    width: float
    status: str | None


@dataclass(frozen=True, slots=True)
class StepLine:
    """One line of the tree as it is shown."""

    row: Row
    depth: int
    """Depth in the tree, from 0."""
    place: int
    """Position among its siblings, from 1."""
    siblings: int
    inside: int
    """Number of lines below it that belong to it."""
    attempts: int
    """Number of attempts if the line is a call that was retried, else 0."""
    hidden: bool
    """Whether the line is an attempt of a retried call, or lies below one: shown when the call is unfolded."""
    offset_ms: float
    """Milliseconds from the start of its turn."""
    lasted_ms: float | None
    """Milliseconds from its start to its end; None if the duration is unknown."""
    bars: tuple[StepBar, ...]

    @property
    def failed(self) -> bool:
        """Whether the step reported an error."""
        return bool(self.row["status"] == "error")


@dataclass(frozen=True, slots=True)
class ConversationTurn:
    """A part of a conversation: the steps of one trace, or successive calls without a surrounding span."""

    number: int
    """Position among the turns, from 1."""
    started_at: datetime
    lasted_ms: float
    pause_ms: float | None
    """Milliseconds since the end of the turn before; None for the first, 0 where they overlap."""
    roots: tuple[StepNode, ...]
    calls: int
    failed: int
    """Number of calls whose last attempt failed."""
    left: float
    """Start on the axis in percent."""
    width: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The turns of a trace or a conversation on one axis, without the pauses between them."""

    turns: tuple[ConversationTurn, ...]
    total_ms: float
    """Length of the axis."""

    def lines(self, turn: ConversationTurn) -> Iterator[StepLine]:
        """Return the lines of ``turn``, each before those inside it."""
        yield from _lines(turn, self.total_ms or 1.0)


def layout(rows: list[Row], *, turns: bool) -> Layout:
    """Lay out ``rows`` of the query ``steps``. ``turns``: divide them into turns, as of a conversation."""
    roots = _tree(rows)
    parts = _turns(roots) if turns else [roots] if roots else []
    lengths = [_ms(_end(part) - part[0].started) for part in parts]
    total, left, ended = sum(lengths), 0.0, None
    placed: list[ConversationTurn] = []
    for part, length in zip(parts, lengths, strict=True):
        pause = None if ended is None else max(0.0, _ms(part[0].started - ended))
        calls = [node for node in _every(part) if node.row["kind"] == "tool"]
        failed = sum(node.row["status"] == "error" for node in calls)
        share = 100 * length / (total or 1.0)
        placed.append(
            ConversationTurn(
                len(placed) + 1, part[0].started, length, pause, tuple(part), len(calls), failed, left, share
            )
        )
        left, ended = left + share, _end(part)
    return Layout(tuple(placed), total)


def _tree(rows: list[Row]) -> list[StepNode]:
    """Return the roots of ``rows``, with their children in order of time.

    A step is a root if it has no parent among the rows. Of a circle of parents, its first step is one.
    """
    nodes: dict[Key, StepNode] = {}
    for row in rows:
        nodes.setdefault((row["trace_id"], row["span_id"]), _node(row))
    below: dict[Key, list[Key]] = defaultdict(list)
    for key, node in nodes.items():
        parent = (key[0], node.row["parent_span_id"])
        if parent in nodes:
            below[parent].append(key)
    orphans = [key for key, node in nodes.items() if (key[0], node.row["parent_span_id"]) not in nodes]
    roots: list[StepNode] = []
    reached: set[Key] = set()
    # After the orphans all nodes: those of a circle are reached from none of them.
    for root in (*orphans, *nodes):
        if root in reached:
            continue
        roots.append(nodes[root])
        reached.add(root)
        waiting = [root]
        while waiting:
            key = waiting.pop()
            children = [child for child in below[key] if child not in reached]
            reached.update(children)
            waiting += children
            nodes[key].children = _with_groups([nodes[child] for child in children])
    return _with_groups(roots)


def _node(row: Row) -> StepNode:
    started = row["started_at"]
    try:
        return StepNode(row, started, started + timedelta(milliseconds=_elapsed(row)))
    except OverflowError:  # an imported time near the last one that a datetime can have
        return StepNode(row, started, started)


def _elapsed(row: Row) -> float:
    """Return the milliseconds of a step in the tool and its consumer, 0 for an unreasonable number."""
    elapsed: float = (row["duration_ms"] or 0.0) + (row["consumer_ms"] or 0.0)
    return elapsed if 0 <= elapsed <= MAX_DURATION_MS else 0.0


def _lasted(node: StepNode) -> float | None:
    if node.attempts:
        return _ms(node.ended - node.started)
    # not of the times, which are whole microseconds: the page of the call shows the recorded duration
    return None if node.row["duration_ms"] is None else _elapsed(node.row)


def _with_groups(siblings: list[StepNode]) -> list[StepNode]:
    """Return ``siblings`` in order of time, with the attempts of each retried call in a node of the call."""
    siblings = sorted(siblings, key=lambda node: (node.started, node.row["span_id"]))
    calls: dict[tuple[Any, ...], list[StepNode]] = {}
    for node in siblings:
        row = node.row
        is_tool = row["kind"] == "tool"
        call = (row["tool"], row["first_span_id"] or row["call_id"], row["conversation"])
        calls.setdefault(call if is_tool else (id(node),), []).append(node)
    return [attempts[0] if len(attempts) == 1 else _group(attempts) for attempts in calls.values()]


def _group(attempts: list[StepNode]) -> StepNode:
    last = max(attempts, key=lambda node: (node.row["attempt"] or 0, node.started))
    return StepNode(last.row, attempts[0].started, max(node.ended for node in attempts), attempts=attempts)


def _turns(roots: list[StepNode]) -> list[list[StepNode]]:
    """Divide ``roots`` into turns: those of one trace with a surrounding span, or successive calls without one."""
    parts: list[list[StepNode]] = []
    loose_until: datetime | None = None  # end of the last part, if its steps are calls without a surrounding span
    for node in roots:
        alone = node.row["kind"] == "tool" and not node.children
        same_trace = bool(parts) and parts[-1][-1].row["trace_id"] == node.row["trace_id"]
        if same_trace or (alone and loose_until is not None and node.started - loose_until <= PAUSE):
            parts[-1].append(node)
        else:
            parts.append([node])
            loose_until = node.ended if alone else None
        if loose_until is not None:
            loose_until = max(loose_until, node.ended)
    return parts


def _every(roots: list[StepNode]) -> Iterator[StepNode]:
    """Return all nodes of ``roots``; the attempts of a retried call are not returned, but the steps inside them are."""
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children
        for attempt in node.attempts:
            waiting += attempt.children


def _end(roots: list[StepNode]) -> datetime:
    return max(node.ended for node in _every(roots))


def _lines(turn: ConversationTurn, total: float) -> Iterator[StepLine]:
    found: list[tuple[StepNode, int, int, int, bool]] = []
    waiting = [(node, 0, place, len(turn.roots), False) for place, node in enumerate(turn.roots, 1)][::-1]
    while waiting:
        at = waiting.pop()
        found.append(at)
        node, depth, _, _, hidden = at
        inner = node.attempts or node.children
        hidden = hidden or bool(node.attempts)
        waiting += [(child, depth + 1, place, len(inner), hidden) for place, child in enumerate(inner, 1)][::-1]
    for at, inside in zip(found, _inside([depth for _, depth, *_ in found]), strict=True):
        node, depth, place, siblings, hidden = at
        yield StepLine(
            row=node.row,
            depth=min(depth, MAX_DEPTH),
            place=place,
            siblings=siblings,
            inside=inside,
            attempts=len(node.attempts),
            hidden=hidden,
            offset_ms=_ms(node.started - turn.started_at),
            lasted_ms=_lasted(node),
            bars=tuple(_bar(one, turn, total) for one in node.attempts or [node]),
        )


def _inside(depths: list[int]) -> list[int]:
    """Return for each line the number of lines that follow it at a greater depth."""
    counts = [0] * len(depths)
    open_lines: list[int] = []
    # The -1 behind the last line closes all lines that are still open.
    for place, depth in enumerate([*depths, -1]):
        while open_lines and depths[open_lines[-1]] >= depth:
            start = open_lines.pop()
            counts[start] = place - start - 1
        open_lines.append(place)
        if place == len(depths):
            break
    return counts


def _bar(node: StepNode, turn: ConversationTurn, total: float) -> StepBar:
    left = turn.left + 100 * _ms(node.started - turn.started_at) / total
    width = 100 * _ms(node.ended - node.started) / total
    return StepBar(max(0.0, min(left, 100 - NARROWEST)), max(width, NARROWEST), node.row["status"])


def _ms(length: timedelta) -> float:
    return length / timedelta(milliseconds=1)


LEAST: Final = 30
"""Steps from which a strip is drawn: fewer fit on a screen."""
HEIGHT: Final = 10


@dataclass(frozen=True, slots=True)
class Minimap:
    """The marks of the steps, one unit wide each."""

    steps: int
    marks: dict[str, str]
    """SVG path of all marks of one class: error, retried, tool, or other."""


def minimap(lines: Sequence[StepLine]) -> Minimap | None:
    """Return the strip of ``lines`` without the single attempts of retried calls; None where there are few."""
    shown = [line for line in lines if not line.hidden]
    if len(shown) < LEAST:
        return None
    marks: dict[str, list[str]] = defaultdict(list)
    for place, line in enumerate(shown):
        name = _class(line)
        top = 0 if name == "error" else 3 if name == "other" else 1
        marks[name].append(f"M{place} {top}h.85V{HEIGHT}h-.85z")
    return Minimap(len(shown), {name: "".join(paths) for name, paths in sorted(marks.items(), reverse=True)})


def _class(line: StepLine) -> str:
    if line.failed:
        return "error"
    if line.attempts:
        return "retried"
    return "tool" if line.row["kind"] == "tool" else "other"


def matching(lines: Sequence[StepLine], text: str) -> tuple[list[StepLine], int]:
    """Return the lines that have ``text`` and those around them, and the number of steps that have it, ignoring case.

    Searched is what the line shows, the message and what the model received, as in ``scripts/steps.js``.
    """
    wanted = text.casefold()
    matches = [wanted in _words(line) for line in lines]
    kept_after = [0] * (len(lines) + 1)  # number of kept lines from this place on
    kept: list[StepLine] = []
    for place in reversed(range(len(lines))):
        line = lines[place]
        inside = kept_after[place + 1] - kept_after[place + 1 + line.inside]
        keeps = matches[place] or inside > 0
        kept_after[place] = kept_after[place + 1] + keeps
        if keeps:
            kept.append(replace(line, inside=inside))
    found = sum(matched and not line.attempts for line, matched in zip(lines, matches, strict=True))
    return kept[::-1], found


def _words(line: StepLine) -> str:
    row = line.row
    status = (row["code"] or row["status"] or row["ending"]) if row["status"] != "success" else None
    return " ".join(
        filter(None, (row["tool"] or row["span"], row["model"], status, row["message"], row["seen"]))
    ).casefold()

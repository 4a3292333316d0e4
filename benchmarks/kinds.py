"""Measure what a call costs by the kind of its arguments and result: in the caller, in the background thread, in the fold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import process_time_ns
from typing import Final, NamedTuple

import tooltrace as tt
from benchmarks import rivals
from benchmarks.bare_span import in_bare_span, in_span_with_content, provider
from benchmarks.payloads import Payload, payloads
from benchmarks.rounds import BURST, Burst, Figure, burst, digits, figure, frozen_heap, geometric_mean

FEW: Final = 10
"""Calls in a burst of a payload that is larger than 6 KB."""
FOLDED: Final = 5_000
"""Rows that one fold moves; a hundredth of that for payloads larger than 6 KB."""

Costs = dict[str, Figure]
"""Microseconds and ratio for each kind of call."""


class Stages(NamedTuple):
    """Cost of each kind of call."""

    caller: Costs
    worker: Costs
    content: Costs
    """The calling thread with a span that has the same content, written by hand."""


class AllCosts(NamedTuple):
    """Cost of each kind of call until it is a row, with the journal alone and with everything on."""

    alone: Stages
    full: Stages
    folded: Costs

    def whole(self, stages: Stages) -> Costs:
        """Return the sum of the calling thread, the background thread and the fold."""
        return {
            kind: Figure(*map(sum, zip(stages.caller[kind], stages.worker[kind], self.folded[kind], strict=True)))
            for kind in self.folded
        }


class Setup(NamedTuple):
    """A configuration that is measured."""

    bare: Callable[[], object]
    """The SDK's span around the tool with the plain dictionary."""
    calls: Mapping[str, Callable[[], object]]
    """The traced tool of each kind."""
    untraced: Mapping[str, Callable[[], object]]
    by_hand: Mapping[str, Callable[[], object]]
    flush: Callable[[], object]


def stages(folder: Path, rounds: int, *, everything_on: bool) -> Stages:
    """Return what each kind of call costs in the calling thread, and in the background thread until it is in the journal."""
    kinds = payloads(rivals.tool_response())
    setup = _setup(folder, kinds, everything_on=everything_on)
    caller: dict[str, list[tuple[float, float]]] = defaultdict(list)
    worker: dict[str, list[tuple[float, float]]] = defaultdict(list)
    content: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with frozen_heap():
        for _ in range(rounds):
            for kind, payload in kinds.items():
                calls = BURST if payload.in_mean else FEW
                bare = burst(setup.bare, BURST, setup.flush).caller
                untraced = burst(setup.untraced[kind], calls, _nothing).caller
                idle = burst(_nothing, calls, setup.flush).others
                found: Burst = burst(setup.calls[kind], calls, setup.flush)
                content[kind].append((burst(setup.by_hand[kind], calls, setup.flush).caller - untraced, bare))
                caller[kind].append((found.caller - untraced, bare))
                worker[kind].append((found.others - idle, bare))
    return Stages(_figures(caller), _figures(worker), _figures(content))


def _setup(folder: Path, kinds: Mapping[str, Payload], *, everything_on: bool) -> Setup:
    store = folder / "kinds.duckdb"
    spans = rivals.everything_on(store) if everything_on else provider()
    if not everything_on:
        tt.configure(store=store, durability="batch")

    def flush() -> None:
        tt.flush()
        spans.force_flush()

    plain = kinds["plain dict"]
    setup = Setup(
        plain.caller(in_bare_span(spans, plain.tool())),
        {kind: payload.caller(tt.trace_tool(payload.tool())) for kind, payload in kinds.items()},
        {kind: payload.caller(payload.tool()) for kind, payload in kinds.items()},
        {kind: payload.caller(in_span_with_content(spans, payload.tool())) for kind, payload in kinds.items()},
        flush,
    )
    for call in (setup.bare, *setup.calls.values()):
        call()
    flush()
    return setup


def folds(folder: Path, rounds: int) -> Costs:
    """Return the CPU time of all threads to fold a row of each kind; opening and closing the store is left out.

    Each kind has a store of its own, because a fold also writes some of the earlier rows again.
    """
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with frozen_heap():
        for number, (kind, payload) in enumerate(payloads(rivals.tool_response()).items()):
            store = folder / f"{number}"
            store.mkdir()
            setup = _setup(store, {"plain dict": payloads()["plain dict"], kind: payload}, everything_on=False)
            call, rows = setup.calls[kind], FOLDED if payload.in_mean else FOLDED // 100
            _fold_cpu(call, 1, setup)
            for _ in range(rounds):
                bare = burst(setup.bare, BURST, setup.flush).caller
                one = min(_fold_cpu(call, 1, setup) for _ in range(2))
                many = _fold_cpu(call, rows, setup)
                found[kind].append(((many - one) / (rows - 1) / 1e3, bare))
    return _figures(found)


def _fold_cpu(call: Callable[[], object], rows: int, setup: Setup) -> int:
    for _ in range(rows):
        call()
    setup.flush()
    before = process_time_ns()
    with tt.connect():
        pass
    return process_time_ns() - before


def _figures(pairs: Mapping[str, Iterable[tuple[float, float]]]) -> Costs:
    return {kind: figure(seen) for kind, seen in pairs.items()}


def _nothing() -> None:
    pass


def table(costs: AllCosts) -> list[str]:
    """Return the Markdown table: microseconds, and in brackets the ratio to the bare span."""
    columns = {
        "caller, a span with the content by hand": costs.alone.content,
        "caller, journal alone": costs.alone.caller,
        "caller, everything on": costs.full.caller,
        "background, journal alone": costs.alone.worker,
        "background, everything on": costs.full.worker,
        "fold": costs.folded,
        "until the row, journal alone": costs.whole(costs.alone),
        "until the row, everything on": costs.whole(costs.full),
    }
    kinds = payloads(rivals.tool_response())
    lines = [f"| call | arguments → result | {' | '.join(columns)} |", f"|---|---|{'---:|' * len(columns)}"]
    for kind, payload in kinds.items():
        lines.append(f"| {kind} | {payload.sizes} | {' | '.join(str(found[kind]) for found in columns.values())} |")
    means = (f"**{digits(mean(found))}**" for found in columns.values())
    worst = (f"{digits(found[kind].ratio)} ({kind})" for found in columns.values() for kind in [worst_kind(found)])
    return [
        *lines,
        f"| **geometric mean up to 6 KB, × bare span** | | {' | '.join(means)} |",
        f"| worst up to 6 KB, × bare span | | {' | '.join(worst)} |",
    ]


def mean(costs: Costs) -> float:
    """Return the geometric mean of the ratios of the kinds up to 6 KB."""
    return geometric_mean(costs[kind].ratio for kind in _in_mean())


def worst_kind(costs: Costs) -> str:
    """Return the kind up to 6 KB with the highest ratio."""
    return max(_in_mean(), key=lambda kind: costs[kind].ratio)


def _in_mean() -> list[str]:
    return [kind for kind, payload in payloads().items() if payload.in_mean]

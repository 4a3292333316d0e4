"""The aims: every figure with its payload, what is measured, and what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from benchmarks import calls, kinds, store
from benchmarks.apart import apart
from benchmarks.rounds import Figure, digits

PLAIN: Final = "plain dict: 58 B → 69 B"
MEAN: Final = "geometric mean of the kinds up to 6 KB"
STORED: Final = "12 tools, 40 B → 44 B"
"""The made-up history of :mod:`benchmarks.store`."""


class Row(NamedTuple):
    """A figure. ``kept``: whether it reaches its aim; None without an aim."""

    what: str
    payload: str
    measured: str
    aim: str = ""
    kept: bool | None = None

    def __str__(self) -> str:
        verdict = "" if self.kept is None else "met" if self.kept else "**not yet**"
        return f"| {self.what} | {self.payload} | {self.measured} | {self.aim} | {verdict} |"


def table(costs: kinds.AllCosts, *, quick: bool) -> list[str]:
    """Return the Markdown table. ``costs``: of the kinds of calls, as measured before."""
    rounds = 20 if quick else 100
    rows = [
        *_kinds(costs),
        *_calls(rounds),
        *_process(20_000 if quick else 100_000),
        *_import(3 if quick else 15),
        *_through(30_000 if quick else 300_000, 50_000 if quick else 1_000_000),
        *_store(50_000 if quick else 1_000_000),
    ]
    return ["| figure | arguments → result | measured | aim | |", "|---|---|---:|---:|---|", *map(str, rows)]


def _kinds(costs: kinds.AllCosts) -> Iterator[Row]:
    for what, measured, aim in (
        ("caller's thread, everything on", costs.full.caller, 0.35),
        ("caller's thread, journal alone", costs.alone.caller, 0.35),
        ("CPU of all threads until the row, journal alone", costs.whole(costs.alone), 0.7),
        ("CPU of all threads until the row, everything on", costs.whole(costs.full), 1.5),
    ):
        found = kinds.mean(measured)
        yield Row(what, MEAN, f"{digits(found)} ×", f"≤ {aim:g} ×", found <= aim)
    text = costs.alone.worker["text, 50 B"].microseconds
    yield Row(
        "background thread, all its work for a text that no rule claims",
        "text: 58 B → 50 B",
        f"{text:.1f} µs",
        "≤ 8 µs",
        text <= 8,
    )
    messages = costs.alone.caller["200 pydantic messages as argument"].microseconds / 1e3
    yield Row("caller's thread, 200 pydantic messages", "35.8 KB → 69 B", f"{messages:.2f} ms", "≤ 0.3 ms", messages <= 0.3)  # fmt: skip


def _calls(rounds: int) -> Iterator[Row]:
    extras = apart(calls.everything, rounds)
    yield _relative("a nested pair of calls, everything on", extras.nested)
    yield _relative("a coroutine, everything on", extras.coroutine)
    yield _relative('`durability="call"`', apart(calls.durable, rounds, "call"), 0.65)
    yield _relative('`durability="fsync"`, time on the clock', apart(calls.durable, rounds, "fsync"))
    held = f"{extras.held / 1024:.1f} KiB, {digits(extras.held / extras.held_by_bare)} ×"
    yield Row("memory that a call holds until it is written", PLAIN, held)
    item = apart(calls.items, max(5, rounds // 5))
    yield Row("item of a generator", f"{calls.ITEMS:,} texts of 7 B in a stream", f"{item:.2f} µs", "≤ 0.4 µs", item <= 0.4)  # fmt: skip
    written = apart(calls.batches, rounds)
    times = ", ".join(f"{time:.1f} µs" for time in written.values())
    yield Row(f"background thread, a call written alone, and with {', '.join(f'{count - 1:,}' for count in calls.BATCHES[1:])} others, journal alone", PLAIN, times)  # fmt: skip
    for what, with_ids in (("200 messages", False), ("200 messages, call id, conversation and agent", True)):
        found = apart(calls.contexts, rounds, with_ids=with_ids)
        what = f"an injected run context of {what}, × a call without one"
        aim, kept = ("", None) if with_ids else ("≤ 1.5 ×", found <= 1.5)
        yield Row(what, "58 B → 69 B", f"{found:.2f} ×", aim, kept)


def _relative(what: str, found: Figure, aim: float | None = None) -> Row:
    measured = f"{digits(found.microseconds)} µs, {digits(found.ratio)} ×"
    return Row(what, PLAIN, measured) if aim is None else Row(what, PLAIN, measured, f"≤ {aim:g} ×", found.ratio <= aim)


def _process(count: int) -> Iterator[Row]:
    for name, full in (("journal alone", False), ("everything on", True)):
        yield _relative(f"CPU of all threads, {count:,} calls without pauses until they are rows, {name}", apart(calls.process_costs, count, everything_on=full))  # fmt: skip


def _import(rounds: int) -> Iterator[Row]:
    base, own = apart(store.import_ratio, rounds)
    yield Row("CPU of `import tooltrace`, × the import of the OTel SDK, structlog and pydantic", "compiled modules", f"{own:.0f} ms, {own / base:.2f} ×", "≤ 1 ×", own <= base)  # fmt: skip


def _through(flat_out: int, many: int) -> Iterator[Row]:
    rate, rows, lost = apart(store.calls_to_rows, flat_out)
    yield Row("calls to rows, one process, without pauses, on the clock", f"{PLAIN}, {flat_out:,} calls", f"{rate:,.0f} /s", "≥ 60,000 /s", rate >= 60_000)  # fmt: skip
    yield Row("… rows stored, records lost", "the same", f"{rows:,}, {lost:,}", "none lost", lost == 0 and rows == flat_out)  # fmt: skip
    sooner, later = apart(store.memory, many)
    yield Row(f"peak memory after {many // 10:,} and {many:,} calls", PLAIN, f"{sooner:.0f}, {later:.0f} MiB", "flat", later < sooner * 1.1)  # fmt: skip
    first, last = apart(store.large_results, 120, 10_000_000)
    yield Row("peak memory after 1 and 120 results", "text: 10 MB", f"{first:.0f}, {last:.0f} MiB", "< 128 MiB more", last - first < 128)  # fmt: skip


def _store(rows: int) -> Iterator[Row]:
    folded = apart(store.folding, rows)
    yield Row(f"fold of {rows:,} rows, on the clock", STORED, f"{folded:,.0f} rows/s", "≥ 160,000 rows/s", folded >= 160_000)  # fmt: skip
    wall, cpu, peak = apart(store.backlog, rows)
    yield Row(f"first question (`failure_rate`) over {rows:,} calls that are not folded: time, CPU, peak memory", STORED, f"{wall:.1f} s, {cpu:.1f} s, {peak:.0f} MiB", "≤ 6 s, ≤ 256 MiB", wall <= 6 and peak <= 256)  # fmt: skip
    wall, cpu, peak = apart(store.backlog, rows, in_background=True)
    yield Row('… which the process of `fold="background"` has folded before', "the same", f"{wall:.2f} s, {cpu:.2f} s, {peak:.0f} MiB", "≤ 0.5 s", wall <= 0.5)  # fmt: skip

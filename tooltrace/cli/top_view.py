"""View of ``tooltrace top``: the calls that run, and a row for each tool, from the results of three queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tooltrace.analysis import query_store
from tooltrace.analysis.running_calls import RunningCall, elapsed, running_calls
from tooltrace.cli.sanitize import clean
from tooltrace.cli.table import format_value
from tooltrace.core.plural import format_count
from tooltrace.errors import StoreBusy, StoreLocked, StoreMissing
from tooltrace.store.base import Store, open_store

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

Row = dict[str, Any]

PARTS = 24
"""Maximum number of bars."""
_BARS = "▁▂▃▄▅▆▇█"
_TITLES = ("tool", "calls", "failed", "rate of calls", "tries", "p95 ms", "over time", "last error")
_OTHER_LINES = 6
"""Number of lines that do not belong to a tool or to a call that runs."""
_RUNNING = 5
"""Maximum number of calls that run to show."""
_FIGURES = 6
"""Number of columns that are shown in any width, without one that only the order needs."""
_NAME, _ERROR = 24, 20
"""Maximum characters of a name, and minimum characters of an error."""

_SORTED_TITLES = {
    "calls": "calls",
    "failed": "failed",
    "rate": "rate of calls",
    "retries": "tries",
    "p95": "p95 ms",
    "tool": "tool",
}
"""Title of the column by which each order sorts."""
_EXTRA = {"failing": "at least", "hurt": "lost ms"}
"""Title of the column that is shown only if the tools are sorted by it."""

_SORTS: dict[str, Callable[[Row], Any]] = {
    "failing": lambda _: 0,  # the query's own order: failed and cut-off attempts that are certain
    "hurt": lambda row: -(row["hurt_ms"] or 0),
    "calls": lambda row: -row["calls"],
    "failed": lambda row: -row["failed_calls"],
    "rate": lambda row: -(row["rate"] or 0),
    "retries": lambda row: -(row["amplification"] or 0),
    "p95": lambda row: -(row["p95"] or 0),
    "tool": lambda row: row["tool"],
}


@dataclass(frozen=True, slots=True)
class TopView:
    """State of the tools at one moment."""

    at: datetime
    since: str
    tools: list[Row]
    """Rows of the query ``ranking``."""
    parts: dict[str, list[Row]]
    """Map from a tool to its rows of the query ``timeline``."""
    errors: dict[str, Row]
    """Map from a tool to its most recent row of the query ``errors``."""
    note: str = ""
    sort: str = "failing"
    """Name of the order of ``tools``."""
    running: Sequence[RunningCall] = ()
    """Calls that run, the oldest first."""

    def table(self, width: int, height: int | None, limit: int | None = None) -> Group:
        """Return the table of at most ``limit`` tools in at most ``height`` lines; a narrow one leaves out bars and errors."""
        from rich.console import Group
        from rich.text import Text

        running = self._running()
        room = len(self.tools) if height is None else max(height - _OTHER_LINES - len(running), 1)
        room = room if limit is None else min(room, limit)
        lines: list[Text | Table] = [self._head(), *running]
        if self.tools:
            lines.append(self._rows(self.tools[:room], width))
        if len(self.tools) > room:
            lines.append(Text(f"and {len(self.tools) - room} more", "dim"))
        return Group(*lines)

    def _head(self) -> Text:
        from rich.text import Text

        calls, failed = (sum(row[name] for row in self.tools) for name in ("calls", "failed_calls"))
        summary = self.note or f"{format_count(calls, 'call')}, {failed:,} failed"
        return Text(f"tooltrace top  {self.at.astimezone():%H:%M:%S}  since {self.since}  {clean(summary)}", "bold")

    def _running(self) -> list[Text]:
        """Return a line for each of the calls that run for longest."""
        from rich.text import Text

        lines = []
        for call in self.running[:_RUNNING]:
            line = Text(f"{call.state} {elapsed(call.seconds)}  ", "cyan", no_wrap=True, overflow="ellipsis")
            line.append(clean(call.tool), "bold").append(f"  {clean(call.call_id)}")
            lines.append(line.append(f"  {clean(call.arguments)}", "dim") if call.arguments else line)
        if len(self.running) > _RUNNING:
            lines.append(Text(f"and {len(self.running) - _RUNNING} more calls run", "dim"))
        return lines

    def _rows(self, tools: list[Row], width: int) -> Table:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        titles = self._titles()
        figures = len(titles) - len(_TITLES) + _FIGURES
        cells = [self._cells(row) for row in tools]
        columns = _fitting(titles, figures, cells, width)
        for at, head in enumerate(titles[:columns]):
            table.add_column(
                Text(head, no_wrap=True),
                justify="right" if 0 < at < figures else "left",
                no_wrap=0 < at < len(titles) - 1,  # names and errors are shortened in a narrow terminal, figures never
                overflow="ellipsis",
                max_width=_NAME if at == 0 else None,
            )
        for row in cells:
            table.add_row(*row[:columns])
        return table

    def _titles(self) -> list[str]:
        """Return the titles, with an arrow at the column that the tools are sorted by."""
        if self.sort in _EXTRA:
            return [_TITLES[0], f"{_EXTRA[self.sort]} ▼", *_TITLES[1:]]
        arrow = "▲" if self.sort == "tool" else "▼"
        return [f"{title} {arrow}" if title == _SORTED_TITLES[self.sort] else title for title in _TITLES]

    def _cells(self, row: Row) -> list[Text]:
        from rich.text import Text

        bad = "bold red" if row["rate"] and row["low"] > 0.1 else "yellow" if row["failed_calls"] else ""
        extra = {"failing": f"{row['at_least']:,.0f}", "hurt": format_value(row["hurt_ms"] or 0, "ms")}
        return [
            Text(clean(row["tool"]), "bold", no_wrap=True, overflow="ellipsis"),
            *([Text(extra[self.sort])] if self.sort in extra else []),
            Text(f"{row['calls']:,}"),
            Text(f"{row['failed_calls']:,}", bad),
            Text(f"{format_value(row['rate'], 'share')} [{100 * row['low']:.0f}, {100 * row['high']:.0f}]", bad),
            Text(format_value(row["amplification"], "ratio")),
            Text(format_value(row["p95"], "ms")),
            self._bars(row["tool"]),
            self._error(row["tool"]),
        ]

    def _bars(self, tool: str) -> Text:
        from rich.text import Text

        first = min(row["started"] for rows in self.parts.values() for row in rows)
        most = max(row["attempts"] for row in self.parts[tool]) or 1
        bars = Text()
        for row in self.parts[tool]:
            # Intervals without attempts have no row: they are blanks between the bars.
            place = round((row["started"] - first).total_seconds() / row["seconds"])
            bars.append(" " * (place - len(bars)))
            height = -(-row["attempts"] * len(_BARS) // most) or 1
            bars.append(_BARS[height - 1], _colour(row))
        return bars

    def _error(self, tool: str) -> Text:
        from rich.text import Text

        row = self.errors.get(tool)
        if row is None:
            return Text()
        age = max((self.at - row["last_seen"].replace(tzinfo=UTC)).total_seconds(), 0)
        error = "  ".join(clean(row[name]) for name in ("code", "message") if row[name])
        return Text(f"{_age(age)}  {error}", no_wrap=True, overflow="ellipsis")


def load_view(store: Store, since: str, sort: str) -> TopView:
    """Return the current state of the tools in ``store``. Raises StoreMissing, StoreLocked and StoreBusy."""
    at = datetime.now(UTC)
    tools = sorted(_rows(store, "ranking", since=since), key=_SORTS[sort])
    parts, errors = _rows(store, "timeline", since=since, parts=PARTS), _rows(store, "errors", since=since)
    known = {row["tool"]: [part for part in parts if part["tool"] == row["tool"]] for row in tools}
    latest = {row["tool"]: row for row in sorted(errors, key=lambda row: row["last_seen"])}
    running = running_calls(open_store(store))
    return TopView(at, since, [row for row in tools if known[row["tool"]]], known, latest, sort=sort, running=running)


def load_view_or_note(store: Store, since: str, sort: str) -> TopView:
    """Return the state as ``load_view`` does; for a missing or locked store, an empty view with a note."""
    try:
        return load_view(store, since, sort)
    except (StoreMissing, StoreLocked, StoreBusy) as error:
        return TopView(datetime.now(UTC), since, [], {}, {}, str(error), sort)


def _rows(store: Store, name: str, **params: Any) -> list[Row]:
    return query_store(store, name, **params).dicts()


def _fitting(titles: list[str], figures: int, cells: list[list[Text]], width: int) -> int:
    """Return how many columns fit into ``width``: the figures, also the bars, or also the errors."""
    widths = [max(len(head), *(row[at].cell_len for row in cells)) + 2 for at, head in enumerate(titles)]
    bars = 1 + min(widths[0], _NAME + 2) + sum(widths[1 : figures + 1])
    if bars > width:
        return figures
    return figures + (2 if bars + min(widths[-1], _ERROR) <= width else 1)


def _colour(row: Row) -> str:
    if not row["failures"]:
        return "green"
    return "red" if 2 * row["failures"] >= row["attempts"] else "yellow"


def _age(seconds: float) -> str:
    for size, name in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds / size:.0f}{name} ago"
    return f"{seconds:.0f}s ago"

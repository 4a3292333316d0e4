"""The table in docs/integrations.md of what each integration records, one row for each framework.

The tests of an integration compute its row from real calls and compare it with the page. ``TOOLTRACE_WRITE_DOCS=1``
lets them write the row instead.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import records
from tooltrace.core.records import Gate, Message, ToolCall

PAGE = Path(__file__).parents[2] / "docs" / "integrations.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
HEADER = "| integration | call id | agent | conversation | arguments | result | exception | bad arguments | unknown tool | pause | model reads | streamed run | decorated tool |"


@dataclass
class Observed:
    """Records of the same calls in each framework; None where the framework has no such thing.

    ``added``: ``add(a=1, b=2)`` with call id ``c1``, of agent ``clerk`` in conversation ``chat``. ``failed``: a tool that
    raised ``FileNotFoundError``. ``decorated``: all rows of one call of a decorated tool.
    """

    added: ToolCall
    failed: ToolCall
    seen: Mapping[str, str | None]
    """Texts that the model read, by call id."""
    rejected: ToolCall | None = None
    unknown: ToolCall | None = None
    paused: ToolCall | None = None
    streamed: ToolCall | None = None
    decorated: list[ToolCall] = field(default_factory=list)
    conversation: str = "chat"
    absent: frozenset[str] = frozenset()
    """Columns of what the framework itself does not have."""

    def row(self) -> dict[str, bool]:
        """Recorded values by column."""
        added, failed = self.added, self.failed
        return {
            "call id": added.call_id == "c1",
            "agent": added.agent == "clerk",
            "conversation": added.conversation_id == self.conversation,
            "arguments": json.loads(added.arguments or "null") == {"a": 1, "b": 2},
            "result": json.loads(added.result or "null") == 3 or added.text == "3",
            "exception": (failed.status, failed.error_type) == ("error", "FileNotFoundError"),
            "bad arguments": self.rejected is not None
            and (self.rejected.status == "error" or self.rejected.ending == "refused"),
            "unknown tool": self.unknown is not None and self.unknown.ending == "refused",
            "pause": self.paused is not None and (self.paused.status, self.paused.ending) == (None, "paused"),
            "model reads": "3" in (self.seen.get(added.call_id or "") or ""),
            "streamed run": self.streamed is not None and self.streamed.status == "success",
            "decorated tool": len(self.decorated) == 1,
        }


def by_id(calls: Callable[[], list[ToolCall]]) -> dict[str, ToolCall]:
    """The calls by the model's id; none twice."""
    found = calls()
    assert len({call.call_id for call in found}) == len(found)
    return {call.call_id: call for call in found}


def messages(store: Path) -> dict[str, str | None]:
    """Texts that the model received, by call id."""
    return {record.call_id: record.text for record in records(store) if isinstance(record, Message)}


def check_review(store: Path, paused: ToolCall, resumed: ToolCall, kind: str, decision: str = "approved") -> Gate:
    """Check that the question about ``paused`` and the answer that ``resumed`` it are recorded; return the answer."""
    gates = [each for each in records(store) if isinstance(each, Gate) and each.call_id == paused.call_id]
    asked, answered = gates
    assert (asked.span_id, asked.kind, asked.decision, asked.answered_at) == (paused.span_id, kind, None, None)
    assert (answered.span_id, answered.kind, answered.decision) == (paused.span_id, kind, decision)
    assert (answered.asked_at, answered.resumed_span_id) == (asked.asked_at, resumed.span_id)
    assert answered.answered_at is not None
    return answered


def check(integration: str, observed: Observed) -> None:
    """Compare the row of ``integration`` with the page, or write it."""
    row = observed.row()
    marks = {column: "yes" if has else "–" if column in observed.absent else "no" for column, has in row.items()}
    assert not [column for column in observed.absent if row[column]], "absent, and recorded"
    line = f"| `{integration}` | " + " | ".join(marks[column.strip()] for column in HEADER.split("|")[2:-1]) + " |"
    lines = PAGE.read_text().splitlines()
    begin, end = lines.index(BEGIN), lines.index(END)
    rows = {text.split("|")[1].strip(): text for text in lines[begin + 3 : end]}
    if os.environ.get("TOOLTRACE_WRITE_DOCS") == "1":
        rows[f"`{integration}`"] = line
        separator = "|" + "---|" * (HEADER.count("|") - 1)
        lines[begin + 1 : end] = [HEADER, separator, *(rows[name] for name in sorted(rows))]
        PAGE.write_text("\n".join(lines) + "\n")
        return
    assert rows.get(f"`{integration}`") == line, f"run again with TOOLTRACE_WRITE_DOCS=1 to write the row into {PAGE}"

"""The audit of all tools as one matrix: a row for each tool, a column for each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tooltrace.report.build import SectionResult
from tooltrace.report.narrative import translate_rows
from tooltrace.wording.i18n import Translations

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AuditMatrix:
    """The result of the query ``audit``, by tool and point."""

    points: dict[int, str]
    """Names of the points by number, in order."""
    tools: dict[str, dict[int, Row]]
    """Rows of each tool by point, the most important tool first."""

    def missed(self) -> list[tuple[int, str, list[str]]]:
        """Return the points that a tool did not pass: number, what to change, and the tools."""
        found = []
        for point in self.points:
            rows = {tool: by_point[point] for tool, by_point in self.tools.items() if point in by_point}
            missing = [tool for tool, row in rows.items() if row["passed"] is False]
            if missing:
                found.append((point, str(rows[missing[0]]["fix"]), missing))
        return found


def audit_matrix(section: SectionResult, tools: list[str], words: Translations) -> AuditMatrix:
    """Return the matrix of ``tools``, in their order; a tool without rows is left out."""
    columns = section.result.columns
    rows = [
        dict(zip(columns, row, strict=True)) for row in translate_rows("audit", columns, section.result.rows, words)
    ]
    points = {row["point"]: row["name"] for row in sorted(rows, key=lambda row: row["point"])}
    by_tool = {tool: {row["point"]: row for row in rows if row["tool"] == tool} for tool in tools}
    return AuditMatrix(points, {tool: by_point for tool, by_point in by_tool.items() if by_point})

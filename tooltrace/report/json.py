"""A report for programs: JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from tooltrace.diagnosis.finding import as_result
from tooltrace.diagnosis.wording import english
from tooltrace.report.build import Report, SectionResult
from tooltrace.report.json_values import to_json
from tooltrace.version import __version__


def as_json(report: Report) -> str:
    """Return one JSON object: the time range, and every result with its query and parameters.

    Times are in ISO form, UTC; unknown values are null.
    """
    results = [report.comparison, report.figures, report.gap, report.tools, *report.overview, *report.of_tool]
    document: dict[str, Any] = {"tooltrace": __version__, "made_at": report.made_at, "store": report.name}
    if report.scope is not None:
        document["scope"] = asdict(report.scope)
    if report.compared is not None:
        document["compared"] = asdict(report.compared)
    if report.summary is not None:
        document["summary"] = {"state": report.summary.state, "text": english(report.summary.seen)}
        document["findings"] = as_result(report.summary.findings).dicts()
    document["answers"] = [_section(result) for result in results if result is not None]
    return to_json(document, indent=True) + "\n"


def _section(section: SectionResult) -> dict[str, Any]:
    columns = section.result.fields
    return {
        "query": section.part.query,
        "by": section.part.by,
        "parameters": section.params,
        "columns": [{"name": column.name, "unit": column.unit, "meaning": column.meaning} for column in columns],
        "rows": section.result.rows,
    }

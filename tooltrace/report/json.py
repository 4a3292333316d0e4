"""A report for programs: JSON."""

from __future__ import annotations

import math
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

import orjson

from tooltrace.report.build import PartResult, Report
from tooltrace.version import __version__

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_NAIVE_UTC | orjson.OPT_UTC_Z


def as_json(report: Report) -> str:
    """Return one JSON object: the scope, and every result with its query and parameters.

    Times are in ISO form, UTC; unknown values are null.
    """
    answers = [report.comparison, report.figures, report.gap, report.tools, *report.overview, *report.of_tool]
    whole: dict[str, Any] = {"tooltrace": __version__, "made_at": report.made_at, "store": report.name}
    if report.scope is not None:
        whole["scope"] = asdict(report.scope)
    if report.compared is not None:
        whole["compared"] = asdict(report.compared)
    whole["answers"] = [_answer(answer) for answer in answers if answer is not None]
    return orjson.dumps(whole, default=plain, option=_OPTIONS).decode() + "\n"


def plain(value: Any) -> Any:
    """Convert a value without a JSON type into a float or a string."""
    return float(value) if hasattr(value, "__float__") else str(value)


def _answer(answer: PartResult) -> dict[str, Any]:
    return {
        "query": answer.part.query,
        "by": answer.part.by,
        "parameters": answer.given,
        "columns": [
            {"name": column.name, "unit": column.unit, "meaning": column.meaning} for column in answer.result.fields
        ],
        "rows": [[_cell(value) for value in row] for row in answer.result.rows],
    }


def _cell(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return value

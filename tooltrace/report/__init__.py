"""Reports: the calls of one time window, or of two for comparison, as one document.

Every figure is the result of a named query; the document contains the query and its parameters.
"""

from __future__ import annotations

from tooltrace.report.build import Report, build_report, query_count
from tooltrace.report.time_range import TimeRange, fixed_range

__all__ = [
    "Report",
    "TimeRange",
    "build_report",
    "fixed_range",
    "query_count",
]

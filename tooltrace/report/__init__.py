"""Reports: what the store says of a window, or of two beside one another, as one document.

Every figure is the answer to a named query, and the document says which, and with what it was asked.
"""

from __future__ import annotations

from tooltrace.report.build import Report, build_report, query_count
from tooltrace.report.compare import Comparison, ComparisonSide, compare
from tooltrace.report.time_range import TimeRange

__all__ = ["Comparison", "ComparisonSide", "Report", "TimeRange", "build_report", "compare", "query_count"]

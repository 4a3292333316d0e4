"""Reports: what the store says of a window, or of two beside one another, as one document.

Every figure is the answer to a named query, and the document says which, and with what it was asked.
"""

from __future__ import annotations

from tooltrace.report.asking import Report, ask_all, asked_count
from tooltrace.report.compare import Comparison, Side, compare
from tooltrace.report.scope import Scope

__all__ = ["Comparison", "Report", "Scope", "Side", "ask_all", "asked_count", "compare"]

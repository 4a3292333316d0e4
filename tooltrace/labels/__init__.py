"""Say later whether a result was right: one label, a file of them, or what a query or a function makes of the history."""

from tooltrace.labels.api import outcome_from
from tooltrace.labels.label import label

__all__ = ["label", "outcome_from"]

"""Say later whether a result was right: one label, a file of them, or what a query or a function makes of the history."""

from tooltrace.outcomes.derive import outcome_from
from tooltrace.outcomes.single import label

__all__ = ["label", "outcome_from"]

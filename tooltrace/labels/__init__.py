"""Labels that say later whether a result was right: single ones, or many from a file, a query or a function."""

from tooltrace.labels.api import outcome_from
from tooltrace.labels.label import label

__all__ = ["label", "outcome_from"]

"""Judgements after the call: labels, which state whether a result was right, and corrections of how it was read."""

from tooltrace.labels.api import outcome_from
from tooltrace.labels.correction import correct
from tooltrace.labels.label import label

__all__ = ["correct", "label", "outcome_from"]

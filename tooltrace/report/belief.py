"""What the calibration of a tool comes to, in a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tooltrace.report.figures import figure, interval
from tooltrace.report.words import Words


def belief(row: Mapping[str, Any], words: Words) -> str:
    """Whether the tool's confidence can be believed, by a row of the query ``calibration``."""
    if not row["n"]:
        return words("belief.none")
    figures = {
        "n": f"{row['n']:,}",
        "said": figure(row["mean_confidence"], "share", words),
        "right": figure(row["accuracy"], "share", words),
        "range": interval(row["accuracy_low"], row["accuracy_high"], "share", words),
    }
    if row["too_few"]:
        return words("belief.few", **figures)
    return words(f"belief.{_kind(row)}", **figures)


def _kind(row: Mapping[str, Any]) -> str:
    if not row["miscalibrated"]:
        return "good"
    low, high = row["gap_low"], row["gap_high"]
    if low is not None and low > 0:
        return "over"
    return "under" if high is not None and high < 0 else "uneven"

"""Sentences of a report: calibration, explanations of rows, and verdicts of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from tooltrace.report.build import PartResult
from tooltrace.report.i18n import Translations
from tooltrace.report.numbers import figure, interval


def belief(row: Mapping[str, Any], words: Translations) -> str:
    """Return a sentence on the tool's calibration, from a row of the query ``calibration``."""
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


Row = tuple[Any, ...]


def explain_rows(query: str, names: Sequence[str], rows: Iterable[Row], words: Translations) -> list[Row]:
    """Translate the fixed words in the ``rows`` of ``query`` with columns ``names``; others stay as they are."""
    if query == "audit" and {"point", "figures"} <= set(names):
        return [_audited(names, row, words) for row in rows]
    own = [at for at, name in enumerate(names) if words.has_values(query, name)]
    return [_worded(query, names, row, own, words) for row in rows]


def _worded(query: str, names: Sequence[str], row: Row, own: Sequence[int], words: Translations) -> Row:
    said = list(row)
    for at in own:
        said[at] = words.value(query, names[at], row[at])
    return tuple(said)


def _audited(names: Sequence[str], row: Row, words: Translations) -> Row:
    known = dict(zip(names, row, strict=True))
    said = {
        "name": words.own(f"audit.name.{known['point']}"),
        "evidence": evidence(known["figures"], known.get("example_call_id"), words),
        "fix": words.own(f"audit.fix.{known['point']}"),
    }
    return tuple(said.get(name) or value for name, value in known.items())


def evidence(figures: str, example: str | None, words: Translations) -> str:
    """Return the sentence for the audit's ``figures``; empty where the language has none."""
    numbers = orjson.loads(figures)
    return words.own(f"audit.says.{numbers.pop('says')}").format(**numbers, example=example)


LEVELS = {"worse": frozenset({"worse"}), "maybe": frozenset({"worse", "maybe_worse"})}
"""Verdicts that count as a regression, by level; ``worse`` accepts only the certain ones."""
_CHANGED = frozenset({"worse", "maybe_worse", "maybe_better", "better"})


def count_verdicts(answer: PartResult) -> Counter[str]:
    """Count the measures by verdict."""
    at = answer.result.columns.index("verdict")
    return Counter(row[at] for row in answer.result.rows)


def top_rows(answer: PartResult, most: int) -> list[dict[str, Any]]:
    """Return at most ``most`` rows in their order; rows without a change are dropped first."""
    rows = answer.result.dicts()
    kept = sorted(range(len(rows)), key=lambda at: (rows[at]["verdict"] not in _CHANGED, at))[:most]
    return [rows[at] for at in sorted(kept)]


def fails_threshold(answer: PartResult, level: str) -> bool:
    """Whether any verdict is a regression at this level."""
    return any(verdict in LEVELS[level] for verdict in count_verdicts(answer))


def compared(answer: PartResult) -> int:
    """Return the number of measures with enough data on both sides."""
    return int(answer.result.rows[0][answer.result.columns.index("compared")]) if answer.result.rows else 0


def counts(answer: PartResult, words: Translations) -> str:
    """Return the numbers of verdicts in one sentence."""
    found = count_verdicts(answer)
    return words(
        "report.counts", **{name: found[name] for name in ("worse", "maybe_worse", "better", "maybe_better", "too_few")}
    )


def chance_note(answer: PartResult, words: Translations) -> str:
    """Return a note on how many differences chance alone would produce."""
    if not (n := compared(answer)):
        return words("report.noise.none")
    return words("report.noise", n=n, chance=f"{0.05 * n:.1f}")

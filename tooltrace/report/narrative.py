"""Sentences of a report: calibration, explanations of rows, and verdicts of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from tooltrace.report.build import SectionResult
from tooltrace.store.result import Row
from tooltrace.wording.i18n import Translations
from tooltrace.wording.numbers import figure, interval


def calibration_sentence(row: Mapping[str, Any], words: Translations) -> str:
    """Return a sentence on the tool's calibration, from a row of the query ``calibration``."""
    if not row["n"]:
        return words("calibration.none")
    figures = {
        "n": f"{row['n']:,}",
        "claimed": figure(row["mean_confidence"], "share", words),
        "right": figure(row["accuracy"], "share", words),
        "range": interval(row["accuracy_low"], row["accuracy_high"], "share", words),
    }
    return words(f"calibration.{_calibration_kind(row)}", **figures)


def _calibration_kind(row: Mapping[str, Any]) -> str:
    if row["too_few"]:
        return "few"
    if not row["miscalibrated"]:
        return "good"
    low, high = row["gap_low"], row["gap_high"]
    if low is not None and low > 0:
        return "over"
    return "under" if high is not None and high < 0 else "uneven"


def translate_rows(query: str, names: Sequence[str], rows: Iterable[Row], words: Translations) -> list[Row]:
    """Translate the fixed words in the ``rows`` of ``query`` with columns ``names``; other values are unchanged."""
    if query == "audit" and {"point", "figures"} <= set(names):
        return [_audit_row(names, row, words) for row in rows]
    translated = {at for at, name in enumerate(names) if words.has_values(query, name)}
    return [
        tuple(words.value(query, names[at], value) if at in translated else value for at, value in enumerate(row))
        for row in rows
    ]


def _audit_row(names: Sequence[str], row: Row, words: Translations) -> Row:
    known = dict(zip(names, row, strict=True))
    texts = {
        "name": words.exact(f"audit.name.{known['point']}"),
        "evidence": _evidence(known["figures"], known.get("example_call_id"), words),
        "fix": words.exact(f"audit.fix.{known['point']}"),
    }
    return tuple(texts.get(name) or value for name, value in known.items())


def _evidence(figures: str, example: str | None, words: Translations) -> str:
    """Return the sentence for the audit's ``figures``; empty where the language has none with these figures."""
    numbers = orjson.loads(figures)
    try:
        return words.exact(f"audit.sentence.{numbers.pop('sentence')}").format(**numbers, example=example)
    except KeyError:
        return ""


_CHANGED = frozenset({"worse", "maybe_worse", "maybe_better", "better"})


def count_verdicts(section: SectionResult) -> Counter[str]:
    """Count the measures by verdict."""
    return Counter(section.result.values("verdict"))


def top_rows(section: SectionResult, most: int) -> list[dict[str, Any]]:
    """Return at most ``most`` rows in their order; rows without a change are dropped first."""
    rows = section.result.dicts()
    chosen = sorted(range(len(rows)), key=lambda at: (rows[at]["verdict"] not in _CHANGED, at))[:most]
    return [rows[at] for at in sorted(chosen)]


def compared_count(section: SectionResult) -> int:
    """Return the number of measures with enough data on both sides."""
    return next(map(int, section.result.values("compared")), 0)


def verdict_counts(section: SectionResult, words: Translations) -> str:
    """Return the numbers of verdicts in one sentence."""
    found = count_verdicts(section)
    return words(
        "report.counts", **{name: found[name] for name in ("worse", "maybe_worse", "better", "maybe_better", "too_few")}
    )


def chance_note(section: SectionResult, words: Translations) -> str:
    """Return a note on how many differences chance alone would produce."""
    if not (n := compared_count(section)):
        return words("report.chance.none")
    return words("report.chance", n=n, chance=f"{0.05 * n:.1f}")

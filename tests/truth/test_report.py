"""The page of measured coverage is what its file of figures says."""

from __future__ import annotations

from pathlib import Path

from scipy import stats

from tests.truth import report

BURSTY = "an incident, by history, bursty ones too"
"""Counts incidents that the query marks as bursty as if they were false alarms."""
EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"


def test_the_page_is_generated_from_its_figures() -> None:
    figures = report.read(EXPLANATION / "coverage.csv")
    assert (EXPLANATION / "coverage.md").read_text() == report.page(figures, 500)


def test_the_published_figures_reach_the_goal() -> None:
    """A figure may be below the goal by chance: no lower than in 1 of 1,000 sets of histories at the goal."""
    figures = report.read(EXPLANATION / "coverage.csv")
    for each in report.below_goal(figures):
        n, share = int(each["answers"]), float(each["share"])
        if each["measure"] == BURSTY:
            continue
        assert each["kind"] == report.COVERAGE, each
        assert share * n >= stats.binom.ppf(0.001, n, report.LEAST_COVERAGE), each

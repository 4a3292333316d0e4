"""The page of measured coverage is what its file of figures says."""

from __future__ import annotations

from pathlib import Path

from tests.truth import report

EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"


def test_the_page_is_generated_from_its_figures() -> None:
    figures = report.read(EXPLANATION / "coverage.csv")
    assert (EXPLANATION / "coverage.md").read_text() == report.page(figures, 500)

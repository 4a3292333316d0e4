"""The generated pages are those that the code gives now."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.generate import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_generated_page_is_current(page: Path) -> None:
    current = page.read_text("utf-8") == PAGES[page]()
    assert current, f"{page.name} is out of date; regenerate it: make docs"

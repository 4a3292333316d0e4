"""The tables of docs/reference/protocols.md: what is true of each row is evaluated, with the names of the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "protocols.md"
TEXT = PAGE.read_text("utf-8")
NAMES = re.search(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
"""The first block of the page, which defines the names."""
ROW = re.compile(r"^\| .* \| `(.+)` \|$", re.MULTILINE)
SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
TRIED = [(section.partition(":")[0].split()[0], tried) for section in SECTIONS for tried in ROW.findall(section)]


@pytest.mark.parametrize(("system", "tried"), TRIED)
def test_the_statements_of_a_row_are_true(system: str, tried: str, store: object) -> None:
    assert NAMES is not None
    names: dict[str, Any] = {}
    exec(NAMES[1], names)
    assert eval(tried, names)


def test_every_row_of_every_table_is_tried() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ") and line != "| there | here | tried |"]
    assert len(rows) == len(TRIED)
    assert {system for system, _ in TRIED} == {"HelloAgents", "`ToolResult`", "Agno", "Eino", "Magic"}

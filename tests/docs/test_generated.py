"""The generated pages are those that the code gives now."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import tooltrace as tt
from docs.api_page import api_page
from docs.generate import PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_generated_page_is_current(page: Path) -> None:
    current = page.read_text("utf-8") == PAGES[page]()
    assert current, f"{page.name} is out of date; regenerate it: make docs"


def test_the_page_of_the_api_has_each_parameter_of_each_function_and_method() -> None:
    """That of the repository, where nothing reads the signatures from the code."""
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", api_page(), re.DOTALL | re.MULTILINE))
    functions = {name: getattr(tt, name) for name in tt.__all__ if inspect.isfunction(getattr(tt, name))}
    functions |= {"TraceLogger": tt.TraceLogger.record, "ToolRegistry": tt.ToolRegistry.execute}
    assert len(functions) > 20
    for name, function in functions.items():
        for parameter in inspect.signature(function).parameters:
            assert parameter == "self" or re.search(rf"\b{parameter}\b", sections[name]), (name, parameter)

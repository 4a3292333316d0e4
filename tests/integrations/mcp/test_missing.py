"""Without the framework, the error names the extra to install."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest


@pytest.mark.parametrize(
    ("integration", "framework", "extra"),
    [
        ("mcp", "mcp", "mcp"),
        ("fastmcp", "fastmcp", "fastmcp"),
        ("strands", "strands", "strands"),
        ("google_adk", "google.adk", "google-adk"),
    ],
)
def test_a_missing_framework_is_named(integration: str, framework: str, extra: str) -> None:
    try:
        known = find_spec(framework)
    except ModuleNotFoundError:
        known = None
    if known is not None:
        pytest.skip(f"{framework} is installed")
    module = import_module(f"tooltrace.integrations.{integration}")
    with pytest.raises(ImportError, match=rf"pip install 'tooltrace-recorder\[{extra}\]'"):
        module.install()

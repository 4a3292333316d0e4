"""The code of docs/how-to/frameworks.md runs in the environment of its framework and prints what the page shows.

A framework that is not installed is skipped: ``make test-frameworks`` has an environment for each.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.model_server import model_server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "frameworks.md"
BLOCKS = re.findall(
    r"^```python\n# trace_(\w+)\.py\n(.*?)^```\n\n```text\n(.*?)^```$",
    PAGE.read_text("utf-8"),
    re.DOTALL | re.MULTILINE,
)
"""The name of the integration, the program and its output."""
PACKAGES = {
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "langchain": "langchain_core",
    "mcp": "mcp.server.mcpserver",
}


def installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


def test_each_program_of_the_page_belongs_to_a_framework() -> None:
    assert [name for name, _, _ in BLOCKS] == list(PACKAGES)
    assert PAGE.read_text("utf-8").count("```python\n") == len(BLOCKS)


@pytest.mark.parametrize(("name", "program", "output"), BLOCKS, ids=[name for name, _, _ in BLOCKS])
def test_the_program_of_a_framework_prints_what_the_page_shows(
    name: str, program: str, output: str, tmp_path: Path
) -> None:
    if not installed(PACKAGES[name]):
        pytest.skip(f"{name} is not installed")
    with model_server() as environment:
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=os.environ | environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == output

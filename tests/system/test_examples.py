"""The examples run as they are, and their last question shows what they are about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
INTEGRATIONS = Path(__file__).parents[2] / "tooltrace" / "integrations"
SHOWN = {
    "briefing_agent.py": (
        '"search" worked 20 of 20 times',
        "│ alone   │    60 │     20 │",
        "│ briefed │    40 │      0 │",
    ),
    "confidence.py": ("envelope/hidden", "heuristic", "INVALID_PARAM", "0.9"),
    "eino.py": ("SKU_MALFORMED", "Retryable: yes", "Error TIMEOUT"),
    "magic.py": (
        "PERMISSION_DENIED",
        "refused: a message of a tool needs the id",
        "(The tool finished and returned nothing.)",
    ),
}


@pytest.mark.processes
@pytest.mark.parametrize("name", SHOWN)
def test_an_example_runs_and_shows_its_point(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "┌" in done.stdout, "it ends in a table"
    for words in SHOWN[name]:
        assert words in done.stdout


def test_there_is_one_for_each_system() -> None:
    names = {path.name for path in EXAMPLES.glob("*.py")}
    frameworks = {f"{path.stem}_agent.py" for path in INTEGRATIONS.iterdir() if f"{path.stem}_agent.py" in names}
    assert names == {*SHOWN, *frameworks}
    assert {"agno_agent.py", "fastmcp_agent.py", "google_adk_agent.py", "mcp_agent.py", "strands_agent.py"} <= names
